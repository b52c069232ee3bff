#include "planner/plan/steps.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

namespace bf_aot {
namespace {

// ---- access_of: one overload per step, so that a new step cannot be forgotten.

void add(std::vector<BufferId>& list, BufferId id) {
  if (id == BufferId::kNone || std::find(list.begin(), list.end(), id) != list.end()) return;
  list.push_back(id);
}

Access make_access(std::initializer_list<BufferId> reads, std::initializer_list<BufferId> writes) {
  Access access;
  for (BufferId id : reads) add(access.reads, id);
  for (BufferId id : writes) add(access.writes, id);
  return access;
}

Access access(const BindBox& step) {
  return make_access({}, {step.centre, step.radius});
}

Access access(const IntervalAffine& step) {
  return make_access({step.centre_in, step.radius_in, step.live_in},
                     {step.centre_out, step.radius_out, step.low, step.high});
}

void add_reads(const std::vector<SumPart>& parts, Access& access) {
  for (const SumPart& part : parts) {
    add(access.reads, part.centre_in);
    add(access.reads, part.radius_in);
  }
}

Access access(const IntervalSum& step) {
  Access access = make_access({}, {step.centre_out, step.radius_out});
  add_reads(step.parts, access);
  return access;
}

Access access(const IntervalMax& step) {
  return make_access({step.centre_in, step.radius_in}, {step.centre_out, step.radius_out});
}

void add_writes(const std::optional<CentreMagnitudes>& magnitudes, Access& access) {
  if (!magnitudes) return;
  add(access.writes, magnitudes->in);
  add(access.writes, magnitudes->out);
}

Access access(const CentreAffine& step) {
  Access access =
      make_access({step.centre_in, step.radius_in, step.live_in},
                  {step.centre_out, step.radius_out, step.below, step.above, step.slack});
  add_writes(step.magnitudes, access);
  return access;
}

Access access(const CentreSum& step) {
  Access access =
      make_access({}, {step.centre_out, step.radius_out, step.below, step.above, step.slack});
  add_reads(step.parts, access);
  add_writes(step.magnitudes, access);
  return access;
}

// slack[2] is made here, beside the two that CentreAffine left. Boxes alone need neither slack nor
// radius.
Access access(const Relax& step) {
  if (step.table == BufferId::kNone)
    return make_access({step.centre, step.below, step.above}, {step.centre_out, step.radius_out});
  return make_access(
      {step.centre, step.below, step.above, step.radius, step.slack},
      {step.table, step.slopes, step.live, step.centre_out, step.radius_out, step.slack});
}

Access access(const RelaxProduct& step) {
  return make_access({step.centre_x, step.radius_x, step.centre_y, step.radius_y},
                     {step.table, step.slack, step.centre_out, step.radius_out});
}

Access access(const RelaxMax& step) {
  return make_access(
      {step.centre_in, step.radius_in},
      {step.table, step.choice, step.slack, step.live, step.centre_out, step.radius_out});
}

Access access(const StartLines& step) {
  return make_access({step.input_radius, step.radius}, {step.lines_out});
}

Access access(const ForwardLines& step) {
  return make_access({step.lines_in}, {step.lines_out});
}

Access access(const TightenLines& step) {
  return make_access({step.centre, step.radius, step.slack, step.lines}, {step.below, step.above});
}

Access access(const RelaxLines& step) {
  return make_access({step.centre, step.radius, step.slack, step.lines},
                     {step.centre_out, step.radius_out, step.lines_out});
}

Access access(const ListLive& step) {
  return make_access({step.centre, step.radius}, {step.live});
}

// Buffers of the steps that a link repeats: those that it reads, and those that it makes itself.
std::vector<std::pair<BufferId, bool>> remade_of(const BackwardLink& link) {
  std::vector<std::pair<BufferId, bool>> used;
  std::set<BufferId> made;
  for (const RepeatedStep& step : link.remake) {
    const Access access = access_of(widened(step));
    for (const BufferId id : access.reads)
      if (!made.contains(id)) used.emplace_back(id, true);
    made.insert(access.writes.begin(), access.writes.end());
  }
  for (const BufferId id : made) used.emplace_back(id, false);
  return used;
}

// The list of neurons, the coefficients and the sums are scratch: written, then read, inside.
Access access(const BackwardRows& step) {
  Access access =
      make_access({step.centre, step.below, step.above, step.slack, step.radius, step.input_radius},
                  {step.below, step.above, step.neurons, step.coefficients, step.sums});
  add(access.reads, step.live_in);
  for (const BackwardOut& out : step.starts) add(access.writes, out.coefficients);
  for (const BackwardLink& link : step.links) {
    if (link.remake.empty()) add(access.reads, link.table);
    for (const auto& [id, reads] : remade_of(link)) add(reads ? access.reads : access.writes, id);
    for (const BufferId id : {link.slack, link.choice, link.live, link.live_out, link.live_in})
      add(access.reads, id);
    add(access.writes, link.coefficients_in);
    add(access.writes, link.coefficients_out);
    add(access.writes, link.sum);
    for (const BackwardOut& out : link.outs) add(access.writes, out.coefficients);
    add(access.reads, link.slopes.table);
    for (const BufferId id :
         {link.relaxed, link.slopes.slope, link.slopes.mean, link.slopes.square, link.values})
      add(access.writes, id);
  }
  add(access.writes, step.input_coefficients);
  add(access.writes, step.input_values);
  return access;
}

Access access(const WriteBounds& step) {
  return make_access({step.centre, step.below, step.above}, {});
}

Access access(const EvaluateAffine& step) {
  return make_access({step.in}, {step.out});
}

Access access(const WriteValues& step) {
  return make_access({step.centre}, {});
}

Access access(const MeetAnchor& step) {
  return make_access({step.centre, step.below, step.above, step.low, step.high},
                     {step.below, step.above});
}

Access access(const KeepAnchor& step) {
  return make_access({step.centre, step.below, step.above}, {step.low, step.high});
}

Access access(const MeetOutputs& step) {
  return make_access({step.low, step.high}, {step.low, step.high});
}

// ---- step_name

std::string_view name(const BindBox&) {
  return "bind_box";
}
std::string_view name(const IntervalAffine&) {
  return "interval_affine";
}
std::string_view name(const IntervalSum&) {
  return "interval_sum";
}
std::string_view name(const IntervalMax&) {
  return "interval_max";
}
std::string_view name(const CentreAffine&) {
  return "centre_affine";
}
std::string_view name(const CentreSum&) {
  return "centre_sum";
}
std::string_view name(const Relax&) {
  return "relax";
}
std::string_view name(const RelaxProduct&) {
  return "relax_product";
}
std::string_view name(const RelaxMax&) {
  return "relax_max";
}
std::string_view name(const StartLines&) {
  return "start_lines";
}
std::string_view name(const ForwardLines&) {
  return "forward_lines";
}
std::string_view name(const TightenLines&) {
  return "tighten_lines";
}
std::string_view name(const RelaxLines&) {
  return "relax_lines";
}
std::string_view name(const ListLive&) {
  return "list_live";
}
std::string_view name(const BackwardRows&) {
  return "backward_rows";
}
std::string_view name(const WriteBounds&) {
  return "write_bounds";
}
std::string_view name(const EvaluateAffine&) {
  return "evaluate_affine";
}
std::string_view name(const WriteValues&) {
  return "write_values";
}
std::string_view name(const MeetAnchor&) {
  return "meet_anchor";
}
std::string_view name(const KeepAnchor&) {
  return "keep_anchor";
}
std::string_view name(const MeetOutputs&) {
  return "meet_outputs";
}

}  // namespace

const RowImage* find_image(const BackwardRows& step, LayerId tensor) {
  const auto found = std::ranges::find(step.images, tensor, &RowImage::tensor);
  return found == step.images.end() ? nullptr : &*found;
}

Step widened(const RepeatedStep& step) {
  return std::visit([](const auto& s) { return Step(s); }, step);
}

std::optional<LayerId> layer_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> std::optional<LayerId> {
        if constexpr (requires { s.layer; })
          return s.layer;
        else
          return std::nullopt;
      },
      step);
}

std::string_view step_name(const Step& step) {
  return std::visit([](const auto& s) { return name(s); }, step);
}

Access access_of(const Step& step) {
  return std::visit([](const auto& s) { return access(s); }, step);
}

}  // namespace bf_aot
