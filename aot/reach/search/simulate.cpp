#include "aot/reach/search/simulate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot::reach {
namespace {

constexpr std::size_t kMostSteps = 512;  // of Runge and Kutta in a period

std::size_t elements_of_disturbances(const Loop& loop) {
  std::size_t count = 0;
  for (const Disturbance& w : loop.disturbances) count += w.box.lower.size();
  return count;
}

// Where the plant's inputs are among the elements of x, u and w: disturbances by their names, the
// others are the state and the control.
std::vector<std::size_t> inputs_of_plant(const Loop& loop, std::size_t controls) {
  const Graph& graph = loop.plant.graph;
  std::vector<std::size_t> sources;
  std::size_t others = 0;
  for (const ValueId id : graph.inputs) {
    std::size_t from = loop.states() + controls;
    bool found = false;
    for (const Disturbance& w : loop.disturbances) {
      if ((found = w.name == graph.value(id).name)) break;
      from += w.box.lower.size();
    }
    if (!found) from = others++ == 0 ? 0 : loop.states();
    const auto count = static_cast<std::size_t>(element_count(graph.value(id).shape));
    for (std::size_t i = 0; i < count; ++i) sources.push_back(from + i);
  }
  return sources;
}

// Steps that a loop takes in a period by what it says.
std::size_t steps_of_period(const Loop& loop) {
  if (loop.kind == PlantKind::kDiscrete) return loop.period.get_num().get_ui();
  return std::max<std::size_t>(loop.substeps, 1);
}

bool needs_all(const Requirement& requirement) {
  return requirement.kind == Requirement::Kind::kAlways ||
         requirement.kind == Requirement::Kind::kNever;
}

double lane_margin(const Formula& formula, std::span<const Lanes> values, std::size_t lane) {
  switch (formula.kind) {
    case Formula::Kind::kCompare: {
      const double value = values[formula.value][lane];
      if (std::isnan(value)) return std::numeric_limits<double>::infinity();
      return formula.strict && value == 0 ? -std::numeric_limits<double>::denorm_min() : -value;
    }
    case Formula::Kind::kAll: {
      double least = std::numeric_limits<double>::infinity();
      for (const Formula& part : formula.parts)
        least = std::min(least, lane_margin(part, values, lane));
      return least;
    }
    case Formula::Kind::kAny: {
      double most = -std::numeric_limits<double>::infinity();
      for (const Formula& part : formula.parts)
        most = std::max(most, lane_margin(part, values, lane));
      return most;
    }
  }
  return 0;
}

// The largest distance of two simulations at moments that both have, relative where states are
// above 1; infinite where one of them is not finite and the other is.
double distance(const std::vector<std::vector<double>>& a,
                const std::vector<std::vector<double>>& b) {
  double largest = 0;
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].size(); ++i) {
      if (!std::isfinite(a[t][i]) && !std::isfinite(b[t][i])) return largest;
      const double scale = std::max(1.0, std::fabs(b[t][i]));
      const double far = std::fabs(a[t][i] - b[t][i]) / scale;
      largest = std::isnan(far) ? std::numeric_limits<double>::infinity() : std::max(largest, far);
    }
  return largest;
}

std::vector<std::vector<double>> at_instants(const Simulation& simulation,
                                             const Trajectory& trajectory) {
  std::vector<std::vector<double>> states;
  for (std::size_t i = 0; i < simulation.moments().size(); ++i)
    if (simulation.moments()[i].instant) states.push_back(trajectory.states[i]);
  return states;
}

}  // namespace

double margin_of(const Formula& formula, std::span<const double> values) {
  std::vector<Lanes> lanes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i][0] = values[i];
  return lane_margin(formula, lanes, 0);
}

Simulation::Simulation(const Question& question, double accuracy, std::size_t coarsest,
                       system::Stop stop)
    : question_(question),
      stop_(std::move(stop)),
      plant_(question.loop.plant.graph),
      states_(question.loop.states()),
      disturbances_(elements_of_disturbances(question.loop)) {
  const Loop& loop = question.loop;
  if (loop.controller) controller_.emplace(loop.controller->graph);
  if (loop.observer) observer_.emplace(loop.observer->graph);
  controls_ = controller_ ? controller_->outputs() : 0;
  plant_inputs_ = inputs_of_plant(loop, controls_);
  BF_CHECK(plant_.outputs() == states_);
  for (const Requirement& requirement : question.requirements)
    conditions_.emplace_back(requirement.must.values);
  const Grid made = grid(is_stepped() ? steps_of_period(loop)
                                      : steps_for(accuracy, std::max<std::size_t>(coarsest, 1)));
  moments_ = made.moments;
  find_windows(made);
}

// The moments of `steps` equal steps a period; of continuous plants also the ends of windows.
Simulation::Grid Simulation::grid(std::size_t steps) const {
  const Loop& loop = question_.loop;
  const mpq_class length = loop.period / steps, end = loop.period * loop.steps;
  std::set<mpq_class> others;
  if (!is_stepped())
    for (const Requirement& requirement : question_.requirements)
      if (!needs_all(requirement))
        for (const mpq_class& time : {requirement.from, requirement.to})
          if (time > 0 && time < end) others.insert(time);
  Grid made;
  const auto add = [&](const mpq_class& time, std::size_t period, bool instant) {
    made.moments.push_back({time.get_d(), period, instant});
    made.times.push_back(time);
  };
  auto next = others.begin();
  for (std::size_t i = 0; i <= loop.steps * steps; ++i) {
    const mpq_class time = length * i;
    for (; next != others.end() && *next <= time; ++next)
      if (*next < time) add(*next, (i - 1) / steps, false);
    add(time, std::min(i / steps, loop.steps - 1), i % steps == 0);
  }
  return made;
}

// Doubles the steps until they change states at the beginnings of periods by less than 15 times the
// accuracy, which is how much further from the truth the coarser ones are; or until that is no
// help, as where states grow beyond all bounds.
std::size_t Simulation::steps_for(double accuracy, std::size_t coarsest) const {
  Simulation trial = *this;
  const std::vector<Scenario> scenarios = typical_scenarios(question_.loop, kLanes, 1);
  const auto states_by = [&](std::size_t steps) {
    trial.moments_ = trial.grid(steps).moments;
    std::vector<std::vector<double>> states;
    for (const Trajectory& trajectory : trial.run(scenarios))
      for (std::vector<double>& state : at_instants(trial, trajectory))
        states.push_back(std::move(state));
    return states;
  };
  constexpr std::size_t kLeastTried = 16;
  std::vector<std::vector<double>> before = states_by(coarsest);
  double far = std::numeric_limits<double>::infinity();
  std::size_t steps = coarsest;
  while (steps < kMostSteps) {
    steps *= 2;
    std::vector<std::vector<double>> now = states_by(steps);
    const double change = distance(before, now);
    if (change <= 15 * accuracy || (steps > kLeastTried && !(change < far / 2))) break;
    far = change;
    before = std::move(now);
  }
  return steps;
}

void Simulation::find_windows(const Grid& grid) {
  for (const Requirement& requirement : question_.requirements) {
    if (needs_all(requirement)) {
      windows_.push_back({0, grid.times.size()});
      continue;
    }
    const auto begin = std::lower_bound(grid.times.begin(), grid.times.end(), requirement.from);
    const auto end = std::upper_bound(grid.times.begin(), grid.times.end(), requirement.to);
    windows_.push_back({static_cast<std::size_t>(begin - grid.times.begin()),
                        static_cast<std::size_t>(std::max(begin, end) - grid.times.begin())});
  }
}

void Simulation::control(std::span<const Lanes> state, std::span<Lanes> to) const {
  if (!controller_) return;
  if (!observer_) return controller_->run(state, to);
  std::vector<Lanes> seen(observer_->outputs());
  observer_->run(state, seen);
  controller_->run(seen, to);
}

void Simulation::derive(const std::vector<Lanes>& inputs, std::span<Lanes> to) const {
  std::vector<Lanes> read;
  read.reserve(plant_inputs_.size());
  for (const std::size_t source : plant_inputs_) read.push_back(inputs[source]);
  plant_.run(read, to);
}

namespace {

// x + factor slope, of as many elements as the slope has.
void add_scaled(std::span<const Lanes> x, double factor, std::span<const Lanes> slope,
                std::span<Lanes> to) {
  for (std::size_t i = 0; i < slope.size(); ++i)
    for (std::size_t l = 0; l < kLanes; ++l) to[i][l] = x[i][l] + factor * slope[i][l];
}

}  // namespace

// inputs: x, u and w; x is moved on.
void Simulation::step(std::vector<Lanes>& inputs, double length) const {
  std::vector<Lanes> k1(states_);
  derive(inputs, k1);
  if (question_.loop.kind == PlantKind::kDiscrete) {
    std::copy(k1.begin(), k1.end(), inputs.begin());
    return;
  }
  const std::vector<Lanes> x(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states_));
  if (question_.loop.kind == PlantKind::kEuler) return add_scaled(x, length, k1, inputs);
  std::vector<Lanes> k2(states_), k3(states_), k4(states_);
  add_scaled(x, length / 2, k1, inputs);
  derive(inputs, k2);
  add_scaled(x, length / 2, k2, inputs);
  derive(inputs, k3);
  add_scaled(x, length, k3, inputs);
  derive(inputs, k4);
  for (std::size_t i = 0; i < states_; ++i)
    for (std::size_t l = 0; l < kLanes; ++l)
      inputs[i][l] = x[i][l] + length / 6 * (k1[i][l] + 2 * k2[i][l] + 2 * k3[i][l] + k4[i][l]);
}

constexpr std::size_t kAsks = 64;  // moments between two questions whether to end

// Requires at most kLanes scenarios and at least one, which stands for those that are missing.
void Simulation::walk(std::span<const Scenario> scenarios, const Visit& visit) const {
  const Loop& loop = question_.loop;
  const auto scenario = [&](std::size_t lane) -> const Scenario& {
    return scenarios[std::min(lane, scenarios.size() - 1)];
  };
  std::vector<Lanes> inputs(states_ + controls_ + disturbances_), computed(controls_);
  const std::span<Lanes> state(inputs.data(), states_), held(inputs.data() + states_, controls_);
  for (std::size_t i = 0; i < states_; ++i)
    for (std::size_t l = 0; l < kLanes; ++l) inputs[i][l] = scenario(l).start[i];
  for (std::size_t i = 0; loop.delayed && i < controls_; ++i)
    computed[i].fill(loop.first_control[i].value);
  const double euler =
      loop.kind == PlantKind::kEuler ? mpq_class(loop.period / steps_of_period(loop)).get_d() : 0;
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    if (m % kAsks == 0 && stop_()) throw Stopped{};
    const bool last = m + 1 == moments_.size();
    if (moments_[m].instant && !last) {
      if (loop.delayed) std::copy(computed.begin(), computed.end(), held.begin());
      control(state, loop.delayed ? std::span<Lanes>(computed) : held);
      for (std::size_t i = 0; i < disturbances_; ++i)
        for (std::size_t l = 0; l < kLanes; ++l)
          inputs[states_ + controls_ + i][l] = scenario(l).disturbances[moments_[m].period][i];
    }
    visit(m, state, held);
    if (last) break;
    step(inputs, euler != 0 ? euler : moments_[m + 1].time - moments_[m].time);
  }
}

std::vector<Trajectory> Simulation::run(std::span<const Scenario> scenarios) const {
  std::vector<Trajectory> made(scenarios.size());
  for (std::size_t from = 0; from < scenarios.size(); from += kLanes) {
    const std::size_t count = std::min(kLanes, scenarios.size() - from);
    walk(scenarios.subspan(from, count), [&](std::size_t m, auto state, auto held) {
      for (std::size_t l = 0; l < count; ++l) {
        std::vector<double> x, u;
        for (const Lanes& lanes : state) x.push_back(lanes[l]);
        for (const Lanes& lanes : held) u.push_back(lanes[l]);
        Trajectory& to = made[from + l];
        to.states.push_back(std::move(x));
        if (moments_[m].instant && m + 1 < moments_.size()) to.controls.push_back(std::move(u));
      }
    });
  }
  return made;
}

std::vector<std::vector<Margin>> Simulation::margins(std::span<const Scenario> scenarios) const {
  const std::vector<Requirement>& requirements = question_.requirements;
  std::vector<std::vector<Margin>> made(scenarios.size(), std::vector<Margin>(requirements.size()));
  std::vector<Lanes> inputs(2 * states_ + controls_), values;
  for (std::size_t from = 0; from < scenarios.size(); from += kLanes) {
    const std::size_t count = std::min(kLanes, scenarios.size() - from);
    walk(scenarios.subspan(from, count), [&](std::size_t m, auto state, auto held) {
      std::copy(held.begin(), held.end(), std::copy(state.begin(), state.end(), inputs.begin()));
      if (m == 0)
        std::copy(state.begin(), state.end(), inputs.end() - static_cast<std::ptrdiff_t>(states_));
      for (std::size_t r = 0; r < requirements.size(); ++r) {
        if (m < windows_[r].begin || m >= windows_[r].end) continue;
        values.resize(conditions_[r].outputs());
        conditions_[r].run(inputs, values);
        for (std::size_t l = 0; l < count; ++l) {
          const double margin = lane_margin(requirements[r].must.formula, values, l);
          if (margin < made[from + l][r].value) made[from + l][r] = {margin, m};
        }
      }
    });
  }
  return made;
}

ScenarioSpace::ScenarioSpace(const Loop& loop) : loop_(loop) {
  for (std::size_t i = 0; i < loop.states(); ++i) {
    const double lower = loop.initial.lower[i], upper = loop.initial.upper[i];
    middle_.start.push_back(std::clamp(lower / 2 + upper / 2, lower, upper));
    if (lower < upper) axes_.push_back({lower, upper, i, {}});
  }
  states_ = axes_.size();
  std::vector<double> values;
  for (const Disturbance& w : loop.disturbances)
    for (std::size_t i = 0; i < w.box.lower.size(); ++i) {
      const double lower = w.box.lower[i], upper = w.box.upper[i];
      const std::size_t element = values.size();
      values.push_back(std::clamp(lower / 2 + upper / 2, lower, upper));
      if (lower == upper) continue;
      if (w.is_constant()) axes_.push_back({lower, upper, element, {}});
      for (std::size_t p = 0; !w.is_constant() && p < loop.steps; ++p)
        axes_.push_back({lower, upper, element, p});
    }
  middle_.disturbances.assign(loop.steps, values);
}

Scenario ScenarioSpace::at(std::span<const double> point) const {
  Scenario made = middle_;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const Axis& axis = axes_[k];
    const double share = point[k];
    const double value = share <= 0   ? axis.lower
                         : share >= 1 ? axis.upper
                                      : std::clamp((1 - share) * axis.lower + share * axis.upper,
                                                   axis.lower, axis.upper);
    if (k < states_) {
      made.start[axis.element] = value;
    } else if (axis.period) {
      made.disturbances[*axis.period][axis.element] = value;
    } else {
      for (std::vector<double>& values : made.disturbances) values[axis.element] = value;
    }
  }
  return made;
}

void ScenarioSpace::move_start(std::vector<double>& point, std::span<const double> state) const {
  for (std::size_t k = 0; k < states_; ++k) {
    const Axis& axis = axes_[k];
    point[k] = std::clamp((state[axis.element] - axis.lower) / (axis.upper - axis.lower), 0.0, 1.0);
  }
}

double random_share(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

std::vector<Scenario> typical_scenarios(const Loop& loop, std::size_t count, std::uint64_t seed) {
  const ScenarioSpace space(loop);
  std::mt19937_64 random(seed);
  const bool all = space.states() < 16 && std::size_t{1} << space.states() <= count / 2;
  const std::size_t corners = all ? std::size_t{1} << space.states() : count / 2;
  std::vector<Scenario> made;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<double> point(space.size());
    for (double& share : point) share = random_share(random);
    for (std::size_t k = 0; c < corners && k < point.size(); ++k)
      point[k] = all && k < space.states() ? static_cast<double>(c >> k & 1) : std::round(point[k]);
    made.push_back(space.at(point));
  }
  return made;
}

std::vector<std::vector<std::vector<double>>> sample(const Simulation& simulation,
                                                     std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<std::vector<double>>> made;
  for (const Trajectory& trajectory :
       simulation.run(typical_scenarios(simulation.question().loop, count, seed)))
    made.push_back(at_instants(simulation, trajectory));
  return made;
}

}  // namespace bf_aot::reach
