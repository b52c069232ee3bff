#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "frontend/diagnostic.h"
#include "planner/cost/cost_terms.h"
#include "runtime/bf/contract/tables.h"
#include "runtime/bf/contract/tiles.h"

// Forward steps, and what all parts have in common.

namespace bf_aot {
namespace {

// Pairs of an output position and a tap of one dimension whose input lies inside the image.
double valid_pairs(const ConvGeometry& g, std::size_t d) {
  double pairs = 0;
  const auto near = g.transposed ? g.in_size[d] : g.out_size[d];
  const auto far = g.transposed ? g.out_size[d] : g.in_size[d];
  for (std::int64_t p = 0; p < near; ++p)
    for (std::int64_t t = 0; t < g.kernel[d]; ++t) {
      const std::int64_t q = p * g.stride[d] - g.pad[d] + t * g.dilation[d];
      pairs += q >= 0 && q < far ? 1 : 0;
    }
  return pairs;
}

bool is_smooth(const Layer& layer) {
  return layer.function && !is_piecewise_linear(layer.function->kind);
}

// Layers that an entry's steps read.
std::set<LayerId> layers_of(const Entry& entry) {
  std::set<LayerId> used;
  for (const Step& step : entry.steps)
    std::visit(
        [&](const auto& x) {
          if constexpr (requires { x.layer; }) used.insert(x.layer);
        },
        step);
  return used;
}

}  // namespace

double surprises(double changes, double n) {
  constexpr double kLearned = 128;
  return changes * std::min(1.0, n / kLearned);
}

ConvWork conv_work(const ConvGeometry& g) {
  ConvWork made;
  const double z = valid_pairs(g, 0), y = valid_pairs(g, 1), x = valid_pairs(g, 2);
  const double channels = static_cast<double>(g.batch * g.out_channels * g.in_group());
  made.products = channels * z * y * x;
  made.rows_of_taps = z * y;
  made.taps = z * y * x;
  return made;
}

StepCoster::StepCoster(const Plan& plan, const Entry& entry, const MachineProfile& profile)
    : plan_(plan), entry_(entry), profile_(profile), lanes_(plan.config.target.vector_bytes / 4) {
  working_set_ = static_cast<double>(entry.arena_bytes());
  for (const LayerId index : layers_of(entry))
    working_set_ += static_cast<double>(plan.layout(index).bytes);
}

StepCost StepCoster::cost(const Step& step, const StepActivity& activity) {
  made_ = {};
  std::visit([&](const auto& x) { visit(x, activity); }, step);
  return std::move(made_);
}

double StepCoster::row_vectors(int rows) const {
  int lanes = lanes_;
  while (rows % lanes != 0) lanes /= 2;
  return 1.0 * rows / lanes;
}

// A machine measured with wider vectors than the code's runs narrow ones at the same rate.
double StepCoster::peak(bool wide, int lanes) const {
  if (lanes == 1) return wide ? profile_.float64_scalar : profile_.float32_scalar;
  const double share = std::min(1.0, 4.0 * lanes / profile_.vector_bytes);
  return share * (wide ? profile_.float64_vector : profile_.float32_vector);
}

double StepCoster::bytes_of_layer(LayerId index) const {
  const Layer& region = layer(index);
  if (region.kind == LayerKind::kDense) {
    const int panel = std::max(1, plan_.layout(index).panel);
    return 4.0 * region.in * divided_up(region.out, panel) * panel;
  }
  return static_cast<double>(plan_.layout(index).bytes);
}

CallTime StepCoster::call_time(Family family, const Work& work, int lanes,
                               double working_set) const {
  const FamilyCost& rate = profile_.of(family);
  const double slots32 = work.slots32 < 0 ? work.float32 : work.slots32;
  const double slots64 = work.slots64 < 0 ? work.float64 : work.slots64;
  const double compute =
      (slots32 / peak(false, lanes) + slots64 / peak(true, lanes)) / rate.efficiency;
  const double memory = work.bytes / bandwidth(profile_, working_set);
  return {work.items * rate.item + work.groups * rate.group + std::max(compute, memory),
          memory > compute};
}

void StepCoster::add(Family family, const std::string& name, KernelId kernel, double calls,
                     const Work& work, int lanes, double working_set) {
  if (calls <= 0) return;
  last_ = 0;
  while (last_ < made_.parts.size() &&
         (made_.parts[last_].name != name || made_.parts[last_].kernel != kernel))
    ++last_;
  if (last_ == made_.parts.size()) {
    TaskPart part;
    part.name = name;
    part.kernel = kernel;
    made_.parts.push_back(std::move(part));
  }
  made_.parts[last_].calls += calls;
  CallTime time = call_time(family, work, lanes, working_set);
  time.seconds += profile_.call;
  count(calls, work, time);
}

void StepCoster::add(Family family, const std::string& name, KernelId kernel, double calls,
                     const Work& work) {
  add(family, name, kernel, calls, work, lanes_, working_set_);
}

void StepCoster::also(Family family, double calls, const Work& work, double working_set) {
  if (calls > 0)
    count(calls, work,
          call_time(family, work, lanes_, working_set > 0 ? working_set : working_set_));
}

void StepCoster::also_branches(double calls, double surprises) {
  Work work;
  work.items = surprises;
  also(Family::kBranch, calls, work);
}

void StepCoster::count(double calls, const Work& work, const CallTime& time) {
  const double seconds = calls * time.seconds;
  const Cost cost{calls * (work.float32 + work.float64), calls * work.bytes, seconds,
                  calls * work.float64, time.waits ? seconds : 0};
  TaskPart& part = made_.parts[last_];
  part.flops += cost.flops;
  part.bytes += cost.bytes;
  part.seconds += cost.seconds;
  made_.total += cost;
}

void StepCoster::visit(const BindBox& step, const StepActivity&) {
  Work work;
  work.float64 = 4.0 * plan_.input_count;
  work.items = plan_.input_count;
  add(Family::kBind, "bind_box", step.kernel, 1, work);
}

namespace {

// A panel's sums are `per_weight` multiply-adds for each vector: as many accumulators as that has
// vectors must hide the latency of one multiply-add.
double panels(const Kernel& kernel) {
  return divided_up(kernel.out, std::max(1, kernel.panel));
}

double padded_weights(const Kernel& kernel) {
  return panels(kernel) * kernel.in * std::max(1, kernel.panel);
}

double slots(const Kernel& kernel, int lanes, int per_weight, int chains) {
  const double vectors = static_cast<double>(std::max(1, kernel.panel)) / lanes;
  return 2 * panels(kernel) * kernel.in * lanes * std::max(per_weight * vectors, 1.0 * chains);
}

// Vectors of outputs that the end of a kernel stores, times the chunks that went into them.
double panel_vectors(const Kernel& kernel) {
  const double chunks =
      kernel.schedule.chunk > 0 ? divided_up(kernel.in, kernel.schedule.chunk) : 1;
  return padded_weights(kernel) / kernel.in / kernel.schedule.lanes * chunks;
}

}  // namespace

// A forward kernel as if its inputs were those that their list has.
Kernel StepCoster::live_part(KernelId id, LayerId input) const {
  Kernel code = kernel(id);
  if (code.live_in) code.in = std::max(1, static_cast<int>(code.in * live_share(input)));
  return code;
}

void StepCoster::visit(const IntervalAffine& step, const StepActivity&) {
  const Kernel code = live_part(step.kernel, layer(step.layer).input);
  Work work;
  work.float32 = 4.0 * code.in * code.out;
  work.slots32 = slots(code, code.schedule.lanes, 2, profile_.chains);
  work.bytes = 4 * padded_weights(code);
  work.groups = panel_vectors(code);
  work.items = padded_weights(code) / code.in / code.schedule.lanes;
  add(Family::kIntervalAffine, code.function, step.kernel, 1, work, code.schedule.lanes,
      working_set_);
  function_of(step.layer, "interval_function");
}

// A function in float32, or none.
void StepCoster::function_of(LayerId index, const char* routine) {
  if (!layer(index).function) return;
  Work work;
  work.items = layer(index).out;
  add(Family::kFunction, routine, -1, 1, work);
}

// For each panel of outputs one pass over its weights makes the radius and another the centre. The
// second finds them in a cache level that holds a panel.
void StepCoster::visit(const CentreAffine& step, const StepActivity&) {
  const Kernel code = live_part(step.kernel, layer(step.layer).input);
  const int lanes = code.schedule.lanes;
  Work radius, centre;
  radius.float32 = 2.0 * code.in * code.out;
  radius.slots32 = slots(code, lanes, 1, profile_.chains);
  radius.bytes = 4 * padded_weights(code);
  radius.groups = panel_vectors(code);
  add(Family::kCentreAffine, code.function, step.kernel, 1, radius, lanes, working_set_);
  // Twice the vectors in double, of half the lanes; scalar code has one of each. Remainders are
  // loaded, widened and added besides.
  const double operations = code.residual ? 2 : 1;
  centre.float64 = radius.float32;
  centre.slots64 =
      operations * (lanes > 1 ? slots(code, lanes / 2, 1, profile_.chains) : radius.slots32);
  centre.bytes = operations * radius.bytes;
  also(Family::kCentreAffine, 1, centre, code.residual ? working_set_ : 4.0 * code.in * code.panel);
  if (step.magnitudes) {
    add(Family::kCentreAffine, code.function, step.kernel, 1, radius, lanes, working_set_);
    also(Family::kCentreAffine, 1, centre,
         code.residual ? working_set_ : 4.0 * code.in * code.panel);
  }
  Work slack, around;
  slack.items = layer(step.layer).in;
  around.items = layer(step.layer).out;
  add(Family::kCentreSlack, "centre_slack", -1, 1, slack);
  if (step.below != BufferId::kNone) add(Family::kAround, "interval_around", -1, 1, around);
}

void StepCoster::visit(const EvaluateAffine& step, const StepActivity&) {
  const Kernel& code = kernel(step.kernel);
  Work work;
  work.float32 = 2.0 * code.in * code.out;
  work.slots32 = slots(code, code.schedule.lanes, 1, profile_.chains);
  work.bytes = 4 * padded_weights(code);
  work.groups = panel_vectors(code);
  add(Family::kEvaluateAffine, code.function, step.kernel, 1, work, code.schedule.lanes,
      working_set_);
  function_of(step.layer, "apply_function");
}

void StepCoster::visit(const IntervalSum& step, const StepActivity&) {
  const Layer& region = layer(step.layer);
  Work own;
  own.items = region.out;
  add(Family::kIntervalSum, "interval_sum", -1, 1, own);
  for (std::size_t t = 0; t < step.parts.size(); ++t)
    forward_term(step.layer, t, step.parts[t].kernel, true);
  function_of(step.layer, "interval_function");
}

void StepCoster::visit(const IntervalMax& step, const StepActivity&) {
  Work work;
  work.items = layer(step.layer).out +
               static_cast<double>(max_candidates(layer(step.layer))) / (step.groups ? lanes_ : 1);
  add(Family::kIntervalSum, kernel(step.kernel).function, step.kernel, 1, work);
}

void StepCoster::visit(const CentreSum& step, const StepActivity&) {
  const Layer& region = layer(step.layer);
  Work own;
  own.items = region.out;
  add(Family::kSumLayer, "sum", -1, 1, own);
  for (std::size_t t = 0; t < step.parts.size(); ++t) {
    Work slack;
    slack.items = region.terms[t].in;
    add(Family::kCentreSlack, "centre_slack", -1, 1, slack);
    for (int passes = step.magnitudes ? 2 : 1; passes > 0; --passes)
      forward_term(step.layer, t, step.parts[t].kernel, false);
  }
}

// Centres and radii of one term; both in float32, or centres in double.
void StepCoster::forward_term(LayerId index, std::size_t number, KernelId id, bool narrow) {
  const Layer& region = layer(index);
  const Term& term = region.terms[number];
  const std::string& name = kernel(id).function;
  Work work;
  work.items = region.out;
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    const ConvGeometry& g = conv->geometry;
    const ConvWork runs = conv_work(g);
    const bool dense = g.in.spatial[2] == 1 && g.stride[2] == 1;
    (narrow ? work.float32 : work.float64) = 4 * runs.products;
    work.bytes = 4.0 * static_cast<double>(term.weight.size());
    // Where a run of pixels begins and ends is computed, but not in tiles of channels and pixels,
    // nor in rows that are one run.
    const bool tiled = lanes_ > 1 && g.out_group() >= bf::kFewChannels;
    const bool whole = dense && g.kernel[2] == 1 && g.pad[2] == 0;
    work.groups = whole || tiled ? 0
                                 : static_cast<double>(g.batch * g.out_channels * g.in_group()) *
                                       runs.rows_of_taps * static_cast<double>(g.kernel[2]) *
                                       divided_up(static_cast<double>(g.out_size[2]), bf::kStrip);
    add(narrow ? Family::kConvInterval : Family::kConvCentre, name, id, 1, work,
        dense || tiled ? lanes_ : 1, working_set_);
  } else if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
    work.groups = region.out;
    work.items = static_cast<double>(sparse->column.size());
    work.float64 = 4 * work.items;
    work.bytes = 8 * work.items;
    add(Family::kSparseCentre, name, id, 1, work, 1, working_set_);
  } else if (narrow) {
    add(Family::kIntervalSum, name, id, 1, work);
  } else {
    work.groups = number > 0 ? region.out : 0;  // added to what other terms gave
    add(Family::kGatherCentre, name, id, 1, work);
  }
}

void StepCoster::visit(const Relax& step, const StepActivity& activity) {
  const Layer& region = layer(step.layer);
  const double bent = activity.neurons;
  Work work;
  work.items = region.out;
  work.groups = bent;
  // Lines around a smooth function are made for a table alone.
  if (is_smooth(region)) work.groups = step.table == BufferId::kNone ? 0 : bent;
  const Family family = is_smooth(region)               ? Family::kFunction
                        : region.function               ? Family::kPieces
                        : step.table == BufferId::kNone ? Family::kRelaxBox
                                                        : Family::kRelax;
  add(family, kernel(step.kernel).function, step.kernel, 1, work);
  also_branches(1, surprises(activity.changes, region.out));
  if (step.slopes != BufferId::kNone) {
    Work table;
    table.groups = region.out;
    also(Family::kSlopes, 1, table);
  }
  if (step.slopes != BufferId::kNone && region.function) {
    // Pairs of lines that are made one by one cost so much more than those of vectors of neurons.
    const double alone = lanes_ > 1 ? 2.5 : 1;
    Work lines;
    lines.items = region.out;
    lines.groups = bf::kKnots * bent * alone;
    also(family, 1, lines);
  }
  if (is_smooth(region) && step.table != BufferId::kNone) {
    Work searched;
    searched.items = activity.turned;
    also(Family::kFunctionTurn, 1, searched);
  }
}

// No family of their own: lines cost what passes of other kinds over as many numbers do.
void StepCoster::visit(const StartLines& step, const StepActivity&) {
  const Kernel& code = kernel(step.kernel);
  Work work;
  work.float32 = 1.0 * code.in * code.out;
  work.bytes = 4 * padded_weights(code);
  work.items = 1.0 * code.lines * divided_up(code.out, lanes_);
  add(Family::kIntervalAffine, code.function, step.kernel, 1, work);
}

void StepCoster::visit(const ForwardLines& step, const StepActivity&) {
  const Kernel& code = kernel(step.kernel);
  const int rows = code.lines + 1;
  Work work;
  work.float32 = 2.0 * rows * code.in * code.out;
  work.slots32 = 2.0 * rows * padded_weights(code);
  work.bytes = 4 * padded_weights(code);
  work.groups = rows * panel_vectors(code);
  add(Family::kIntervalAffine, code.function, step.kernel, 1, work, code.schedule.lanes,
      working_set_);
}

void StepCoster::visit(const TightenLines& step, const StepActivity&) {
  Work reach;
  reach.items = 1.0 * line_rows(plan_.input_count) * divided_up(layer(step.layer).out, lanes_);
  add(Family::kAround, "tighten_lines", -1, 1, reach);
}

void StepCoster::visit(const RelaxLines& step, const StepActivity& activity) {
  const Kernel& code = kernel(step.kernel);
  Work relaxed, lines;
  relaxed.items = code.in;
  relaxed.groups = activity.neurons;
  add(Family::kRelax, code.function, step.kernel, 1, relaxed);
  also_branches(1, surprises(activity.changes, code.in));
  lines.items = 2.0 * (code.lines + 1) * divided_up(code.in, lanes_);
  also(Family::kAround, 1, lines);
}

void StepCoster::visit(const RelaxProduct& step, const StepActivity&) {
  Work work;
  work.items = layer(step.layer).out;
  work.float64 = 40 * work.items;
  work.slots64 = 0;  // in the item
  add(Family::kRelaxProduct, kernel(step.kernel).function, step.kernel, 1, work);
}

void StepCoster::visit(const ListLive& step, const StepActivity& activity) {
  Work work;
  work.items = layer(step.layer).out;
  add(Family::kListRows, "list_live", -1, 1, work);
  live_[step.layer] = activity.neurons;
}

double StepCoster::live_share(LayerId tensor) const {
  const auto found = live_.find(tensor);
  return found == live_.end() ? 1 : std::max(1.0, found->second) / layer(tensor).out;
}

void StepCoster::visit(const RelaxMax& step, const StepActivity&) {
  const Layer& region = layer(step.layer);
  Work work;
  work.groups = region.out;
  work.items = static_cast<double>(max_candidates(region));
  add(Family::kRelaxMax, kernel(step.kernel).function, step.kernel, 1, work);
}

// A product of a contraction takes about a tenth of what one with a plane of its own does.
void StepCoster::visit(const RelaxContraction& step, const StepActivity&) {
  Work work;
  work.items = 0.1 * static_cast<double>(layer(step.layer).contraction.products());
  add(Family::kRelaxProduct, kernel(step.kernel).function, step.kernel, 1, work);
}

// Three times what a product of two elements takes.
void StepCoster::visit(const RelaxLogSoftmax& step, const StepActivity&) {
  Work work;
  work.items = 3.0 * layer(step.layer).out;
  add(Family::kRelaxProduct, kernel(step.kernel).function, step.kernel, 1, work);
}

void StepCoster::add_writes(const char* name, int elements) {
  Work work;
  work.items = elements;
  add(Family::kWrite, name, -1, 1, work);
}

void StepCoster::visit(const WriteBounds& step, const StepActivity&) {
  add_writes("write_bounds", layer(step.layer).out);
}

void StepCoster::visit(const WriteValues& step, const StepActivity&) {
  add_writes("write_values", layer(step.layer).out);
}

void StepCoster::visit(const MeetBall& step, const StepActivity&) {
  add_writes("meet_ball", layer(step.layer).out);
}

void StepCoster::visit(const MeetAnchor& step, const StepActivity&) {
  add_writes("meet_anchor", layer(step.layer).out);
}

void StepCoster::visit(const KeepAnchor& step, const StepActivity&) {
  add_writes("keep_anchor", layer(step.layer).out);
}

void StepCoster::visit(const MeetOutputs&, const StepActivity&) {
  add_writes("meet_outputs", is_spec(entry_.kind) ? plan_.spec_rows : plan_.output_count);
}

}  // namespace bf_aot
