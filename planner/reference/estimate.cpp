#include "planner/reference/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "planner/network/linear_terms.h"
#include "planner/reference/machine.h"

namespace bf_aot::reference {
namespace {

constexpr double kSamplingWork = 6e4;  // of one smooth function's lines

double products(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return static_cast<double>(layer.in) * layer.out;
  double total = 0;
  for (const Term& term : layer.terms)
    total += static_cast<double>(term_products(layer.out, term)) + layer.out;
  return total;
}

bool is_smooth(const Layer& layer) {
  return layer.function && !is_piecewise_linear(layer.function->kind);
}

// Returns true if a smooth function bends another way at the one end than at the other.
bool turns(const Function& f, double low, double high) {
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return false;
  const double h = (high - low) / 16;
  const auto curvature = [&](double x) {
    return value_of(f, x - h) - 2 * value_of(f, x) + value_of(f, x + h);
  };
  return curvature(low + h) * curvature(high - h) < 0;
}

// The way in which a neuron is relaxed: 0 to a constant, 1 by the identity, 2 otherwise.
int kind_of(const Layer& layer, double low, double high) {
  if (layer.function) return is_bent(*layer.function, low, high) ? 2 : 1;
  if (!layer.relu) return 1;
  return low >= 0 ? 1 : high <= 0 ? 0 : 2;
}

void count_kinds(const Layer& layer, const Interval<double>& bounds, LayerId index,
                 Estimator::Result& result) {
  int before = -1;
  for (Eigen::Index j = 0; j < bounds.lower.size(); ++j) {
    const double low = bounds.lower(j), high = bounds.upper(j);
    const int kind = kind_of(layer, low, high);
    result.changes[index] += j > 0 && kind != std::exchange(before, kind) ? 1 : 0;
    if (j == 0) before = kind;
    result.turned[index] += is_smooth(layer) && turns(*layer.function, low, high) ? 1 : 0;
    result.live[index] += kind != 0 ? 1 : 0;
  }
}

}  // namespace

double work_of(const Plan& plan, const Step& step, std::size_t rows) {
  const std::optional<LayerId> id = layer_of(step);
  if (!id) return 0;
  const Layer& layer = plan.layer(*id);
  if (std::holds_alternative<ListLive>(step)) return layer.out;
  if (std::holds_alternative<Relax>(step))
    return layer.out * (is_smooth(layer) ? kSamplingWork : 10.0);
  if (const auto* const backward = std::get_if<BackwardRows>(&step)) {
    double once = products(layer);
    for (const BackwardLink& link : backward->links) once += products(plan.layer(link.layer));
    const int passes = backward->iterations > 0 ? 2 * backward->iterations - 1 : 1;
    return 4 * passes * static_cast<double>(rows) * once;
  }
  return 4 * products(layer);
}

class Estimator::Runs {
 public:
  explicit Runs(const Plan& plan) : plan_(plan), maps_(plan) {
    for (const LayerId i : plan.layer_ids()) {
      PerLayer<bool> cone(plan.layers.size(), false);
      cone[i] = true;
      for (const LayerId input : inputs_of(plan.layer(i)))
        for (LayerId k = 0; input.is_layer() && k < i; ++k)
          if (cones_[input][k]) cone[k] = true;
      cones_.push_back(std::move(cone));
    }
  }

  std::size_t add_box(const Box& box) {
    boxes_.push_back(box);
    return boxes_.size() - 1;
  }

  void set_most_rows(std::size_t most) {
    most_rows_ = most;
    forget();
  }

  Result run(const Entry& entry, std::size_t number) {
    const Box& box = boxes_.at(number);
    Machine<double> machine(plan_, entry, maps_, box.lower, box.upper, most_rows_);
    for (const Step& step : entry.steps) run_step(machine, step, number);
    return collect(machine);
  }

  double work() const { return work_; }

 private:
  // All that a step's result depends on: the box, the step's kind and layer, the number of its
  // results, and the domains of all layers that the layer is made of. Steps after the layer's rows
  // depend on its own domain too, rows on how often they choose slopes.
  using Key = std::vector<std::size_t>;
  Key key_of(const Step& step, LayerId index, std::size_t box, std::size_t writes) const {
    Key key = {box, step.index(), static_cast<std::size_t>(index.number()), writes};
    const auto* const rows = std::get_if<BackwardRows>(&step);
    if (rows != nullptr) key.push_back(static_cast<std::size_t>(rows->iterations));
    const bool before = rows != nullptr || std::holds_alternative<CentreAffine>(step) ||
                        std::holds_alternative<CentreSum>(step);
    for (const LayerId k : layer_range(0, index.next()))
      if (cones_[index][k] && (k < index || !before))
        key.push_back(static_cast<std::size_t>(plan_.domain(k).domain));
    return key;
  }

  void run_step(Machine<double>& machine, const Step& step, std::size_t box) {
    const std::optional<LayerId> layer = layer_of(step);
    const std::size_t writes = access_of(step).writes.size();
    if (!layer || writes == 0) return machine.run(step);
    Key key = key_of(step, *layer, box, writes);
    if (const auto found = memo_.find(key); found != memo_.end())
      return machine.restore(step, *layer, found->second);
    machine.run(step);
    StepResult<double> made = machine.result(step, *layer);
    work_ += work_of(plan_, step, std::min(made.rows, most_rows_));
    remember(std::move(key), std::move(made));
  }

  void forget() {
    memo_.clear();
    numbers_ = 0;
  }

  // All is forgotten at once when it becomes much.
  void remember(Key key, StepResult<double> made) {
    constexpr std::size_t kMostNumbers = std::size_t{1} << 24;
    auto numbers = static_cast<std::size_t>(made.bounds.lower.size()) * 2;
    for (const Vector<double>& buffer : made.buffers)
      numbers += static_cast<std::size_t>(buffer.size());
    if (numbers_ + numbers > kMostNumbers) forget();
    numbers_ += numbers;
    memo_.emplace(std::move(key), std::move(made));
  }

  Result collect(const Machine<double>& machine) const {
    Result result;
    const Interval<double>& outputs = machine.outputs();
    result.lower.assign(outputs.lower.begin(), outputs.lower.end());
    result.upper.assign(outputs.upper.begin(), outputs.upper.end());
    for (Eigen::Index j = 0; j < outputs.lower.size(); ++j)
      result.widths.push_back(outputs.upper(j) - outputs.lower(j));
    result.rows.assign(plan_.layers.size(), 0);
    result.bent.assign(plan_.layers.size(), 0);
    result.changes.assign(plan_.layers.size(), 0);
    result.turned.assign(plan_.layers.size(), 0);
    result.live.assign(plan_.layers.size(), 0);
    for (const auto& [index, bounds] : machine.layers())
      count_kinds(plan_.layer(index), bounds, index, result);
    for (const auto& [index, rows] : machine.rows()) result.rows[index] = rows;
    for (const auto& [index, bent] : machine.bent()) result.bent[index] = bent;
    return result;
  }

  const Plan& plan_;
  MapCache<double> maps_;
  std::vector<Box> boxes_;
  std::size_t most_rows_ = std::numeric_limits<std::size_t>::max();
  PerLayer<PerLayer<bool>> cones_;  // per layer: itself and what it is made of
  std::map<Key, StepResult<double>> memo_;
  std::size_t numbers_ = 0;  // in memo_
  double work_ = 0;
};

Estimator::Estimator(const Plan& plan) : runs_(std::make_unique<Runs>(plan)) {}
Estimator::~Estimator() = default;

std::size_t Estimator::add_box(const Box& box) {
  return runs_->add_box(box);
}
void Estimator::set_most_rows(std::size_t most) {
  runs_->set_most_rows(most);
}
Estimator::Result Estimator::run(const Entry& entry, std::size_t box) {
  return runs_->run(entry, box);
}
double Estimator::work() const {
  return runs_->work();
}

}  // namespace bf_aot::reference
