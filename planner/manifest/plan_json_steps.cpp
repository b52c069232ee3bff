#include "planner/manifest/plan_json_steps.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "planner/plan/step_fields.h"

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json Names::buffer(BufferId id) const {
  return id == BufferId::kNone ? Json(nullptr) : Json(entry.buffer(id).name);
}

Json Names::buffers(const std::vector<BufferId>& ids) const {
  Json list = Json::array();
  for (BufferId id : ids) list.push_back(buffer(id));
  return list;
}

Json Names::layer(LayerId index) const {
  return index < 0 ? Json(nullptr) : Json(plan.layer(index).name);
}

Json Names::kernel(KernelId id) const {
  return plan.kernel(id).key;
}

namespace {

Json view_json(const StridedView& view) {
  return {{"offset", view.offset}, {"count", view.count}, {"stride", view.stride}};
}

class FieldsJson {
 public:
  explicit FieldsJson(const Names& names) : names_(names) {}

  template <typename Field, typename... Rest>
  void operator()(const char* name, const Field& field, const Rest&... rest) {
    json[name] = value(field);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

  template <typename Part>
  static Json of(const Names& names, const Part& part) {
    FieldsJson made(names);
    if constexpr (std::is_same_v<Part, BackwardRows>) made.optimised_ = part.iterations > 0;
    visit_fields(made, part);
    return std::move(made.json);
  }

  Json json = Json::object();

 private:
  template <typename Number>
  Json value(Number number) const {
    return number;
  }
  Json value(BufferId id) const { return names_.buffer(id); }
  Json value(LayerId id) const { return names_.layer(id); }
  Json value(const KernelField& field) const {
    const bool given =
        !field.dense.is_layer() || names_.plan.layer(field.dense).kind == LayerKind::kDense;
    return given && field.given ? names_.kernel(field.id) : Json(nullptr);
  }
  Json value(const std::optional<GroupView>& groups) const {
    if (!groups) return nullptr;
    return {{"firsts", view_json(groups->firsts)}, {"taps", view_json(groups->taps)}};
  }
  Json value(const std::optional<CentreMagnitudes>& magnitudes) const {
    return magnitudes ? of(names_, *magnitudes) : Json(nullptr);
  }
  template <typename Part>
  Json value(const std::vector<Part>& parts) const {
    Json list = Json::array();
    for (const Part& part : parts) list.push_back(item(part));
    return list;
  }
  Json value(const std::vector<BackwardRows>& last) const {
    return last.empty() ? Json(nullptr) : of(names_, last.front());
  }

  Json item(KernelId kernel) const { return names_.kernel(kernel); }
  Json item(const RepeatedStep& step) const { return step_json(names_, widened(step)); }
  Json item(const RowImage& image) const {
    return {{"tensor", names_.layer(image.tensor)},
            {"batch", image.batch},
            {"channels", image.channels},
            {"image_size", image.size}};
  }
  Json item(const BackwardLink& link) const {
    Json made = of(names_, link);
    FieldsJson slopes(names_);
    if (optimised_) visit_slope_fields(slopes, link);
    made["optimised"] = optimised_ ? std::move(slopes.json) : Json(nullptr);
    return made;
  }
  template <typename Part>
  Json item(const Part& part) const {
    return of(names_, part);
  }

  const Names& names_;
  bool optimised_ = false;  // the rows' links have slopes to choose
};

}  // namespace

Json step_json(const Names& names, const Step& step) {
  Json json = {{"step", step_name(step)}};
  json.update(std::visit([&](const auto& s) { return FieldsJson::of(names, s); }, step));
  return json;
}

}  // namespace bf_aot
