#include "aot/decide/verifiers.h"

#include <algorithm>
#include <cmath>

#include "aot/system/progress.h"
#include "planner/network/split_network.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// Share of the time for splits that may be spent on optimising the slopes of neurons that maxima
// are written as.
constexpr double kOptimisedShare = 0.25;

// Whether neurons could be split with CompileOptions::max_as_relu alone.
bool has_maxima_to_split(const Plan& plan) {
  return plan.config.semantics == Semantics::kReal && can_split_but_for_maxima(plan) &&
         !can_split_neurons(plan);
}

// Predicted seconds of bounds of the rows on one box, the same for any number of threads.
double seconds_of_one_thread(const Plan& plan) {
  double seconds = 0;
  for (const Task& task : plan.find_entry(EntryKind::kSpecBounds)->tasks)
    seconds += task.predicted_seconds;
  return seconds;
}

// Predicts the seconds that optimised slopes of all rows take on one box, by the cost model as
// has_time_for_all(): each iteration takes about twice what bounds without them take.
double optimising_seconds(const Plan& outputs_alone) {
  return seconds_of_one_thread(outputs_alone) * 2 * outputs_alone.config.iterations;
}

}  // namespace

void DecisionVerifiers::make(const DecisionMethod& method) {
  const system::Stopwatch making;
  last_ = make_(method);
  last_method_ = method;
  seconds_ += making.seconds();
  methods_.push_back(method);
}

bool DecisionVerifiers::can_choose_lines() const {
  return last_.plan != nullptr && std::ranges::any_of(last_.plan->layers, has_choices);
}

bool DecisionVerifiers::has_time_for_all(std::size_t open_cases) const {
  const Plan& plan = *last_.plan;
  double rows = 0, outputs = 1;
  for (const LayerId id : plan.layer_ids()) {
    const Layer& layer = plan.layer(id);
    if (plan.is_head(id))
      outputs = std::max(outputs, static_cast<double>(layer.out));
    else if (layer.is_affine() && (layer.relu || layer.function))
      rows += layer.out;
  }
  constexpr double kTile = 16;  // rows of a tile, about
  const double once = seconds_of_one_thread(plan);
  const auto open = static_cast<double>(open_cases);
  return open * once * (rows / kTile) / std::ceil(outputs / kTile) <= settings_.bound_seconds;
}

bool DecisionVerifiers::may_split_neurons() const {
  return can_split_neurons(*last_.plan) || has_maxima_to_split(*last_.plan);
}

const DecisionVerifier& DecisionVerifiers::of_neurons(bool of_boxes) {
  const bool maxima = has_maxima_to_split(*last_.plan);
  const bool optimised = of_boxes && !settings_.method;
  if (!maxima && !optimised) return last_;
  DecisionMethod method = last_method_;
  if (optimised) method = {Method::kAlphaCrown, AlphaRows::kAll};
  method.branches = false;
  method.max_as_relu = maxima;
  make_of_neurons(method);
  methods_.push_back(method);
  return of_neurons_;
}

DecisionMethod DecisionVerifiers::method_of_boxes() const {
  DecisionMethod method;
  method.method = settings_.method.value_or(Method::kCrown);
  method.alpha = settings_.alpha;
  method.branches = true;
  method.of_boxes = true;
  return method;
}

AwaitedDevice* DecisionVerifiers::device_of(DecisionMethod method) {
  if (!make_device_ || !is_of_devices(method.method)) return nullptr;
  method.on_device = true;
  for (const auto& [place, device] : devices_)
    if (methods_[place].name() == method.name() && methods_[place].branches == method.branches)
      return device.get();
  const system::Stopwatch making;
  std::unique_ptr<AwaitedDevice> made = make_device_(method);
  seconds_ += making.seconds();
  methods_.push_back(method);
  return (devices_[methods_.size() - 1] = std::move(made)).get();
}

void DecisionVerifiers::check_devices() {
  for (const auto& [place, device] : devices_) (void)device->get();
}

std::vector<DecisionMethod> DecisionVerifiers::methods() const {
  std::vector<DecisionMethod> made = methods_;
  for (const auto& [place, device] : devices_) made[place].unused = device->bounded() == 0;
  return made;
}

const DecisionVerifier& DecisionVerifiers::of_boxes() {
  const DecisionMethod method = method_of_boxes();
  const system::Stopwatch making;
  of_boxes_ = make_(method);
  seconds_ += making.seconds();
  methods_.push_back(method);
  return of_boxes_;
}

// A network without maxima has more neurons, whose rows take longer to optimise: their slopes stay
// as they are where that would take much of the time for splits.
void DecisionVerifiers::make_of_neurons(DecisionMethod& method) {
  const bool timed = method.max_as_relu && method.alpha == AlphaRows::kAll && !settings_.method &&
                     !settings_.tree_only;
  const system::Stopwatch making;
  if (timed) method.alpha = AlphaRows::kOutputs;
  of_neurons_ = make_(method);
  if (timed && optimising_seconds(*of_neurons_.plan) <=
                   kOptimisedShare * std::min(settings_.branch_seconds, settings_.bound_seconds)) {
    method.alpha = AlphaRows::kAll;
    of_neurons_ = make_(method);
  }
  seconds_ += making.seconds();
}

}  // namespace bf_aot::decide
