#include "planner/manifest/plan_json_steps.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

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

// One overload per kind.

Json fields(const Names& names, const BindBox& step) {
  return {{"centre", names.buffer(step.centre)},
          {"radius", names.buffer(step.radius)},
          {"gamma", step.gamma},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const IntervalAffine& step) {
  Json json = {{"layer", names.layer(step.layer)},
               {"centre_in", names.buffer(step.centre_in)},
               {"radius_in", names.buffer(step.radius_in)},
               {"live_in", names.buffer(step.live_in)},
               {"centre_out", names.buffer(step.centre_out)},
               {"radius_out", names.buffer(step.radius_out)},
               {"inflate", step.inflate},
               {"magnitude", step.magnitude},
               {"absolute", step.absolute},
               {"gamma", step.gamma},
               {"position", step.position},
               {"kernel", names.kernel(step.kernel)}};
  if (step.low != BufferId::kNone) {
    json["low"] = names.buffer(step.low);
    json["high"] = names.buffer(step.high);
  }
  return json;
}

Json parts_json(const Names& names, const std::vector<SumPart>& parts) {
  Json made = Json::array();
  for (const SumPart& part : parts)
    made.push_back({{"centre_in", names.buffer(part.centre_in)},
                    {"radius_in", names.buffer(part.radius_in)},
                    {"kernel", names.kernel(part.kernel)}});
  return made;
}

Json fields(const Names& names, const IntervalSum& step) {
  return {{"layer", names.layer(step.layer)},
          {"parts", parts_json(names, step.parts)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"head", step.head},
          {"inflate", step.inflate},
          {"magnitude", step.magnitude},
          {"absolute", step.absolute},
          {"gamma", step.gamma},
          {"position", step.position}};
}

Json view_json(const StridedView& view) {
  return {{"offset", view.offset}, {"count", view.count}, {"stride", view.stride}};
}

Json fields(const Names& names, const IntervalMax& step) {
  Json groups = nullptr;
  if (step.groups)
    groups = {{"firsts", view_json(step.groups->firsts)}, {"taps", view_json(step.groups->taps)}};
  return {{"layer", names.layer(step.layer)},
          {"groups", std::move(groups)},
          {"centre_in", names.buffer(step.centre_in)},
          {"radius_in", names.buffer(step.radius_in)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"inflate", step.inflate},
          {"magnitude", step.magnitude},
          {"absolute", step.absolute},
          {"kernel", names.kernel(step.kernel)}};
}

Json magnitudes_json(const Names& names, const std::optional<CentreMagnitudes>& magnitudes) {
  if (!magnitudes) return nullptr;
  return {{"in", names.buffer(magnitudes->in)},
          {"out", names.buffer(magnitudes->out)},
          {"relative", magnitudes->relative},
          {"absolute", magnitudes->absolute},
          {"pay", magnitudes->pay}};
}

Json fields(const Names& names, const CentreAffine& step) {
  return {{"layer", names.layer(step.layer)},
          {"centre_in", names.buffer(step.centre_in)},
          {"radius_in", names.buffer(step.radius_in)},
          {"live_in", names.buffer(step.live_in)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"below", names.buffer(step.below)},
          {"above", names.buffer(step.above)},
          {"slack", names.buffer(step.slack)},
          {"inflate", step.inflate},
          {"centre_relative", step.centre_relative},
          {"absolute", step.absolute},
          {"row_norm", step.row_norm},
          {"bias_norm", step.bias_norm},
          {"magnitudes", magnitudes_json(names, step.magnitudes)},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const CentreSum& step) {
  return {{"layer", names.layer(step.layer)},
          {"parts", parts_json(names, step.parts)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"below", names.buffer(step.below)},
          {"above", names.buffer(step.above)},
          {"slack", names.buffer(step.slack)},
          {"inflate", step.inflate},
          {"centre_relative", step.centre_relative},
          {"absolute", step.absolute},
          {"bias_norm", step.bias_norm},
          {"magnitudes", magnitudes_json(names, step.magnitudes)}};
}

Json fields(const Names& names, const Relax& step) {
  Json json = {{"layer", names.layer(step.layer)},
               {"centre", names.buffer(step.centre)},
               {"below", names.buffer(step.below)},
               {"above", names.buffer(step.above)},
               {"radius", names.buffer(step.radius)},
               {"slack", names.buffer(step.slack)},
               {"table", names.buffer(step.table)},
               {"slopes", names.buffer(step.slopes)},
               {"live", names.buffer(step.live)},
               {"centre_out", names.buffer(step.centre_out)},
               {"radius_out", names.buffer(step.radius_out)},
               {"product", step.product},
               {"wide_product", step.wide_product},
               {"stored", step.stored},
               {"slope", step.slope},
               {"offset", step.offset},
               {"free_offset", step.free_offset},
               {"inflate", step.inflate},
               {"kernel", names.kernel(step.kernel)}};
  if (step.kept_position >= 0) json["kept_position"] = step.kept_position;
  return json;
}

Json fields(const Names& names, const StartLines& step) {
  return {{"layer", names.layer(step.layer)},
          {"input_radius", names.buffer(step.input_radius)},
          {"radius", names.buffer(step.radius)},
          {"lines_out", names.buffer(step.lines_out)},
          {"product", step.product},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const ForwardLines& step) {
  return {{"layer", names.layer(step.layer)},
          {"lines_in", names.buffer(step.lines_in)},
          {"lines_out", names.buffer(step.lines_out)},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const TightenLines& step) {
  return {{"layer", names.layer(step.layer)},    {"centre", names.buffer(step.centre)},
          {"radius", names.buffer(step.radius)}, {"slack", names.buffer(step.slack)},
          {"lines", names.buffer(step.lines)},   {"below", names.buffer(step.below)},
          {"above", names.buffer(step.above)},   {"around", step.bounds.around},
          {"inflate", step.bounds.inflate},      {"concretize", step.bounds.concretize},
          {"absolute", step.bounds.absolute}};
}

Json fields(const Names& names, const RelaxLines& step) {
  return {{"layer", names.layer(step.layer)},
          {"centre", names.buffer(step.centre)},
          {"radius", names.buffer(step.radius)},
          {"slack", names.buffer(step.slack)},
          {"lines", names.buffer(step.lines)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"lines_out", names.buffer(step.lines_out)},
          {"around", step.bounds.around},
          {"inflate", step.bounds.inflate},
          {"concretize", step.bounds.concretize},
          {"absolute", step.bounds.absolute},
          {"gamma", step.gamma},
          {"gamma_sum", step.gamma_sum},
          {"least", step.least},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const RelaxProduct& step) {
  return {{"layer", names.layer(step.layer)},
          {"centre_x", names.buffer(step.centre_x)},
          {"radius_x", names.buffer(step.radius_x)},
          {"centre_y", names.buffer(step.centre_y)},
          {"radius_y", names.buffer(step.radius_y)},
          {"table", names.buffer(step.table)},
          {"slack", names.buffer(step.slack)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"product", step.product},
          {"offset", step.offset},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const RelaxMax& step) {
  return {{"layer", names.layer(step.layer)},
          {"centre_in", names.buffer(step.centre_in)},
          {"radius_in", names.buffer(step.radius_in)},
          {"table", names.buffer(step.table)},
          {"choice", names.buffer(step.choice)},
          {"slack", names.buffer(step.slack)},
          {"live", names.buffer(step.live)},
          {"centre_out", names.buffer(step.centre_out)},
          {"radius_out", names.buffer(step.radius_out)},
          {"product", step.product},
          {"offset", step.offset},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const ListLive& step) {
  return {{"layer", names.layer(step.layer)},
          {"centre", names.buffer(step.centre)},
          {"radius", names.buffer(step.radius)},
          {"live", names.buffer(step.live)}};
}

Json outs_json(const Names& names, const std::vector<BackwardOut>& outs) {
  Json list = Json::array();
  for (const BackwardOut& out : outs)
    list.push_back({{"term", out.term},
                    {"coefficients", names.buffer(out.coefficients)},
                    {"add", out.add},
                    {"live", out.live},
                    {"spread", out.spread},
                    {"kernel", names.kernel(out.kernel)}});
  return list;
}

// The fields that a link has only when its rows choose slopes.
Json link_slopes_json(const Names& names, const BackwardLink& link) {
  Json forward = Json::array();
  for (const KernelId kernel : link.forward) forward.push_back(names.kernel(kernel));
  const bool dense = names.plan.layer(link.layer).kind == LayerKind::kDense;
  const bool values = link.values != BufferId::kNone;
  return {{"relaxed", names.buffer(link.relaxed)},
          {"relax", dense ? names.kernel(link.relax) : Json(nullptr)},
          {"table", names.buffer(link.slopes.table)},
          {"slope", names.buffer(link.slopes.slope)},
          {"mean", names.buffer(link.slopes.mean)},
          {"square", names.buffer(link.slopes.square)},
          {"values", names.buffer(link.values)},
          {"forward", std::move(forward)},
          {"step", values ? names.kernel(link.step) : Json(nullptr)}};
}

Json link_json(const Names& names, const BackwardLink& link, bool optimised) {
  Json remake = Json::array();
  for (const RepeatedStep& step : link.remake) remake.push_back(step_json(names, widened(step)));
  return {{"layer", names.layer(link.layer)},
          {"table", names.buffer(link.table)},
          {"slack", names.buffer(link.slack)},
          {"choice", names.buffer(link.choice)},
          {"live_out", names.buffer(link.live_out)},
          {"live_in", names.buffer(link.live_in)},
          {"live", names.buffer(link.live)},
          {"coefficients_in", names.buffer(link.coefficients_in)},
          {"coefficients_out", names.buffer(link.coefficients_out)},
          {"sum", names.buffer(link.sum)},
          {"kernel", names.kernel(link.kernel)},
          {"outs", outs_json(names, link.outs)},
          {"remake", std::move(remake)},
          {"optimised", optimised ? link_slopes_json(names, link) : Json(nullptr)}};
}

Json images_json(const Names& names, const std::vector<RowImage>& images) {
  Json list = Json::array();
  for (const RowImage& image : images)
    list.push_back({{"tensor", image.tensor < 0 ? Json(nullptr) : Json(names.layer(image.tensor))},
                    {"batch", image.batch},
                    {"channels", image.channels},
                    {"image_size", image.size}});
  return list;
}

// `start` is the kernel of a dense layer's rows, `starts` stands for it in a sum.
Json fields(const Names& names, const BackwardRows& step) {
  const bool dense = names.plan.layer(step.layer).kind == LayerKind::kDense;
  Json links = Json::array();
  for (const BackwardLink& link : step.links)
    links.push_back(link_json(names, link, step.iterations > 0));
  Json json = {{"layer", names.layer(step.layer)},
               {"unstable_only", step.unstable_only},
               {"iterations", step.iterations},
               {"warm_iterations", step.warm_iterations},
               {"tile", step.tile},
               {"wide", step.wide},
               {"images", images_json(names, step.images)},
               {"centre", names.buffer(step.centre)},
               {"below", names.buffer(step.below)},
               {"above", names.buffer(step.above)},
               {"slack", names.buffer(step.slack)},
               {"neurons", names.buffer(step.neurons)},
               {"coefficients", names.buffer(step.coefficients)},
               {"live_in", names.buffer(step.live_in)},
               {"sums", names.buffer(step.sums)},
               {"radius", names.buffer(step.radius)},
               {"input_radius", names.buffer(step.input_radius)},
               {"input_coefficients", names.buffer(step.input_coefficients)},
               {"input_values", names.buffer(step.input_values)},
               {"starts", outs_json(names, step.starts)},
               {"links", std::move(links)},
               {"concretize_inflate", step.concretize_inflate},
               {"underflow", step.underflow},
               {"weight_relative", step.weight_relative},
               {"inflate", step.inflate},
               {"start", dense ? names.kernel(step.start) : Json(nullptr)},
               {"concretize", names.kernel(step.concretize)},
               {"last", step.last.empty() ? Json(nullptr) : fields(names, step.last.front())}};
  if (step.kept_position >= 0) json["kept_position"] = step.kept_position;
  return json;
}

Json fields(const Names& names, const WriteBounds& step) {
  return {{"layer", names.layer(step.layer)},
          {"position", step.position},
          {"centre", names.buffer(step.centre)},
          {"below", names.buffer(step.below)},
          {"above", names.buffer(step.above)}};
}

Json fields(const Names& names, const EvaluateAffine& step) {
  return {{"layer", names.layer(step.layer)},
          {"in", names.buffer(step.in)},
          {"out", names.buffer(step.out)},
          {"position", step.position},
          {"kernel", names.kernel(step.kernel)}};
}

Json fields(const Names& names, const WriteValues& step) {
  return {{"layer", names.layer(step.layer)},
          {"position", step.position},
          {"centre", names.buffer(step.centre)}};
}

Json fields(const Names& names, const MeetAnchor& step) {
  return {{"layer", names.layer(step.layer)},  {"centre", names.buffer(step.centre)},
          {"below", names.buffer(step.below)}, {"above", names.buffer(step.above)},
          {"low", names.buffer(step.low)},     {"high", names.buffer(step.high)}};
}

Json fields(const Names& names, const KeepAnchor& step) {
  return {{"layer", names.layer(step.layer)},  {"centre", names.buffer(step.centre)},
          {"below", names.buffer(step.below)}, {"above", names.buffer(step.above)},
          {"low", names.buffer(step.low)},     {"high", names.buffer(step.high)}};
}

Json fields(const Names& names, const MeetOutputs& step) {
  return {{"low", names.buffer(step.low)}, {"high", names.buffer(step.high)}};
}

}  // namespace

Json step_json(const Names& names, const Step& step) {
  Json json = {{"step", step_name(step)}};
  json.update(std::visit([&](const auto& s) { return fields(names, s); }, step));
  return json;
}

}  // namespace bf_aot
