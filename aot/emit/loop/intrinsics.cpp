#include "aot/emit/loop/intrinsics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "aot/emit/loop/substitute.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

Intrinsic copy() {
  Expression what;
  what.axes = {{"i", 0, 1, false}};
  what.body = {Store{"to", axis("i"), load("from", axis("i")), {}}};
  return {"copy_floats",
          {"to", "from"},
          what,
          R"([[maybe_unused]] inline void copy_floats(float* to, const float* from, int count) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}
)"};
}

Intrinsic clear() {
  Expression what;
  what.axes = {{"i", 0, 1, false}};
  what.body = {Store{"to", axis("i"), literal(0), {}}};
  return {"clear_floats",
          {"to"},
          what,
          R"([[maybe_unused]] inline void clear_floats(float* to, int count) {
  __builtin_memset(to, 0, static_cast<std::size_t>(count) * sizeof(float));
}
)"};
}

Intrinsic inner_product() {
  Expression what;
  what.axes = {{"i", 0, 1, true}};
  what.sums = {Sum{"sum", load("x", axis("i")) * load("y", axis("i")), "", {}, false}};
  return {
      "inner_product",
      {"x", "y"},
      what,
      R"([[maybe_unused]] inline float inner_product(const float* x, const float* y, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}
)"};
}

// Compares a nest's innermost loop with an intrinsic, and binds the function's buffers.
class Matcher {
 public:
  Matcher(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic)
      : nest_(nest), loop_(loop), intrinsic_(intrinsic) {}

  Reason match() {
    const Expression& pattern = intrinsic_.expression;
    if (nest_.is_reduced(loop_) != pattern.axes.front().reduced)
      return fmt::format("loop '{}' is {}summed over", loop_.name,
                         nest_.is_reduced(loop_) ? "" : "not ");
    if (loop_.unroll > 1) return fmt::format("loop '{}' is unrolled", loop_.name);
    if (loop_.name == nest_.partial_loop())
      return fmt::format("sums are cached in loop '{}'", loop_.name);
    if (loop_.step != 1) return fmt::format("loop '{}' walks tiles", loop_.name);
    const Expression inlined = without_lets(nest_.expression());
    if (inlined.body.size() != pattern.body.size() || inlined.sums.size() != pattern.sums.size())
      return fmt::format("{} statements and {} sums are not the {} and {} of '{}'",
                         inlined.body.size(), inlined.sums.size(), pattern.body.size(),
                         pattern.sums.size(), intrinsic_.name);
    for (std::size_t i = 0; i < pattern.body.size(); ++i) {
      const auto& mine = std::get<Store>(inlined.body[i]);
      const auto& theirs = std::get<Store>(pattern.body[i]);
      if (!mine.within.empty()) return "a store has a padding predicate";
      if (Reason reason = bind(theirs.buffer, mine.buffer, mine.index)) return reason;
      if (Reason reason = match(*mine.value, *theirs.value)) return reason;
      for (const auto& [parameter, access] : bound_)
        if (parameter != theirs.buffer && access.buffer == mine.buffer)
          return fmt::format("'{}' is read and stored", mine.buffer);
    }
    for (std::size_t i = 0; i < pattern.sums.size(); ++i)
      if (Reason reason = match(*inlined.sums[i].value, *pattern.sums[i].value)) return reason;
    return std::nullopt;
  }

  std::vector<Access> arguments() const {
    std::vector<Access> made;
    for (const std::string& parameter : intrinsic_.parameters) made.push_back(bound_.at(parameter));
    return made;
  }

 private:
  Reason match(const Expr& mine, const Expr& theirs) {
    const auto differs = [&] {
      return fmt::format("'{}' is not '{}' of '{}'", to_string(mine), to_string(theirs),
                         intrinsic_.name);
    };
    if (mine.kind != theirs.kind || mine.type != theirs.type || mine.value != theirs.value ||
        mine.operands.size() != theirs.operands.size())
      return differs();
    if (mine.kind == ExprKind::kLoad) {
      if (!mine.within.empty()) return "a load has a padding predicate";
      return bind(theirs.name, mine.name, mine.index);
    }
    if (mine.name != theirs.name) return differs();
    for (std::size_t i = 0; i < mine.operands.size(); ++i)
      if (Reason reason = match(*mine.operands[i], *theirs.operands[i])) return reason;
    return std::nullopt;
  }

  // Neighbours along the loop, from one place on.
  Reason bind(const std::string& parameter, const std::string& buffer, const Index& index) {
    std::int64_t stride = 0;
    for (const IndexTerm& term : index.terms) {
      if (term.axis != loop_.axis) continue;
      const bool whole_tiles = !loop_.outer.empty() &&
                               term.tile % nest_.loop(loop_.outer).step == 0 &&
                               nest_.axis(loop_.axis).begin % term.tile == 0;
      if (term.tile == 1)
        stride += term.coefficient;
      else if (!whole_tiles)
        stride = -1;
    }
    for (const Lookup& each : index.lookups)
      if (std::ranges::find(each.terms, loop_.axis, &IndexTerm::axis) != each.terms.end())
        stride = -1;
    if (stride != 1)
      return fmt::format("'{}[{}]' is not walked element by element", buffer, to_string(index));
    const auto [place, is_new] =
        bound_.try_emplace(parameter, Access{buffer, index, false, {}, {}});
    if (!is_new && !(place->second.buffer == buffer && place->second.index == index))
      return fmt::format("'{}' of '{}' is two things", parameter, intrinsic_.name);
    return std::nullopt;
  }

  const Nest& nest_;
  const Loop& loop_;
  const Intrinsic& intrinsic_;
  std::map<std::string, Access> bound_;
};

}  // namespace

const std::vector<Intrinsic>& intrinsics() {
  static const std::vector<Intrinsic> all = {copy(), clear(), inner_product()};
  return all;
}

const Intrinsic* find_intrinsic(const std::string& name) {
  const auto found = std::ranges::find(intrinsics(), name, &Intrinsic::name);
  return found == intrinsics().end() ? nullptr : &*found;
}

Reason why_not_matching(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic) {
  return Matcher(nest, loop, intrinsic).match();
}

std::vector<Access> arguments(const Nest& nest, const Loop& loop, const Intrinsic& intrinsic) {
  Matcher matcher(nest, loop, intrinsic);
  BF_CHECK(!matcher.match());
  return matcher.arguments();
}

}  // namespace bf_aot::loop
