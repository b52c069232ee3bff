#include "frontend/functions/composite/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>

#include "frontend/diagnostic.h"
#include "frontend/functions/composite/shape.h"

namespace bf_aot {
namespace {

std::string text_of(const Bounded& x) {
  return x.error == 0 ? fmt::format("{}", x.value) : fmt::format("({} +- {})", x.value, x.error);
}

// Writes an expression; a step that several others read is written once, and named.
class Writer {
 public:
  explicit Writer(const std::vector<CompositeStep>& steps) : steps_(steps), uses_(steps.size(), 0) {
    for (const CompositeStep& step : steps) {
      if (step.kind != CompositeStep::Kind::kVariable) ++uses_[index(step.left)];
      if (has_right(step)) ++uses_[index(step.right)];
    }
  }

  std::string write() {
    std::vector<std::string> texts;
    std::string definitions;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::string text = write(steps_[i], texts);
      if (steps_[i].kind != CompositeStep::Kind::kVariable && uses_[i] > 1) {
        const std::string name = fmt::format("t{}", i);
        definitions += fmt::format("{} = {}; ", name, text);
        text = name;
      }
      texts.push_back(std::move(text));
    }
    return definitions + texts.back();
  }

 private:
  using Kind = CompositeStep::Kind;

  static std::size_t index(int step) { return static_cast<std::size_t>(step); }
  static bool has_right(const CompositeStep& step) {
    return step.kind == Kind::kSum || step.kind == Kind::kProduct;
  }

  static std::string write(const CompositeStep& step, const std::vector<std::string>& texts) {
    switch (step.kind) {
      case Kind::kVariable:
        return "x";
      case Kind::kLine:
        return fmt::format("({} {} + {})", text_of(step.factor), texts[index(step.left)],
                           text_of(step.offset));
      case Kind::kSum:
        return fmt::format("({} + {})", texts[index(step.left)], texts[index(step.right)]);
      case Kind::kProduct:
        return fmt::format("({} * {})", texts[index(step.left)], texts[index(step.right)]);
      case Kind::kFunction:
        break;
    }
    return fmt::format("{}({})", to_string(step.function), texts[index(step.left)]);
  }

  const std::vector<CompositeStep>& steps_;
  std::vector<int> uses_;
};

bool is_finite(const Bounded& x) {
  return std::isfinite(x.value) && std::isfinite(x.error);
}

}  // namespace

const Composite* Composite::of(const std::vector<CompositeStep>& steps) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const Composite>> known;
  BF_CHECK(!steps.empty());
  for (const CompositeStep& step : steps)
    if (!is_finite(step.factor) || !is_finite(step.offset)) return nullptr;
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const auto& each) { return each->steps_ == steps; });
  if (found != known.end()) return found->get();
  std::optional<CompositeShape> shape = shape_of(steps);
  if (!shape) return nullptr;
  std::unique_ptr<Composite> made(new Composite());
  made->steps_ = steps;
  made->parts_ = std::move(shape->parts);
  made->degree_ = shape->degree;
  made->text_ = Writer(steps).write();
  known.push_back(std::move(made));
  return known.back().get();
}

}  // namespace bf_aot
