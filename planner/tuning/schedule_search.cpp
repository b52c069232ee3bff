#include "planner/tuning/schedule_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/diagnostic.h"
#include "planner/tuning/schedule_space.h"

namespace bf_aot {
namespace {

constexpr std::size_t kLeastSamples = 6;  // a model of fewer says nothing
constexpr double kFailed = 2;  // log ratio that the model learns of a schedule that fails
constexpr int kSteps = 400;    // of annealing, in one chain
constexpr int kAnnealings = 4;
constexpr double kExplore = 0.25;  // of proposals are any that is new

}  // namespace

std::string_view to_string(SearchStrategy strategy) {
  switch (strategy) {
    case SearchStrategy::kRandom:
      return "random";
    case SearchStrategy::kAnnealing:
      return "annealing";
    case SearchStrategy::kModel:
      return "model";
  }
  BF_CHECK(!"a SearchStrategy");
  return {};
}

std::size_t SearchRandom::below(std::size_t count) {
  BF_CHECK(count > 0);
  return static_cast<std::size_t>(next() % count);
}

double SearchRandom::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

ScheduleSearch::ScheduleSearch(const Kernel& kernel, const Target& target, SearchStrategy strategy,
                               std::uint64_t seed, std::vector<CostSample> others)
    : target_(target),
      kernel_(kernel),
      strategy_(strategy),
      random_(seed),
      space_(legal_schedules(kernel, target)),
      taken_(space_.size()),
      predicted_(space_.size()),
      samples_(std::move(others)) {
  for (const Schedule& schedule : space_)
    features_.push_back(features_of(kernel, schedule, target));
  taken_.front() = true;
  best_ = 0;
  best_ratio_ = 1;
  learn();
}

std::optional<std::size_t> ScheduleSearch::index_of(const Schedule& schedule) const {
  const auto found = std::ranges::find(space_, schedule);
  if (found == space_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - space_.begin());
}

double ScheduleSearch::predict(const Schedule& schedule) const {
  const auto index = index_of(schedule);
  BF_CHECK(index);
  return predicted_[*index];
}

// Predicts from samples. While there are too few, the loops' arithmetic predicts; later its
// logarithm is one of the features.
void ScheduleSearch::learn() {
  const double own = analytic_cost(kernel_, space_.front(), target_);
  for (std::size_t i = 0; i < space_.size(); ++i)
    predicted_[i] = std::log(analytic_cost(kernel_, space_[i], target_) / own);
  if (samples_.size() < kLeastSamples) return;
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (const CostSample& sample : samples_) {
    rows.emplace_back(sample.features.begin(), sample.features.end());
    targets.push_back(sample.log_ratio);
  }
  const BoostedTrees model(rows, targets);
  for (std::size_t i = 0; i < space_.size(); ++i)
    predicted_[i] = model.predict({features_[i].begin(), features_[i].end()});
}

void ScheduleSearch::observe(const Schedule& schedule, double ratio) {
  const auto index = index_of(schedule);
  if (!index) return;  // of a log, and not legal here
  taken_[*index] = true;
  const bool works = std::isfinite(ratio) && ratio > 0;
  samples_.push_back({features_[*index], works ? std::log(ratio) : kFailed});
  if (works && ratio < best_ratio_) {
    best_ = index;
    best_ratio_ = ratio;
  }
}

std::optional<std::size_t> ScheduleSearch::any_new() {
  const auto left = static_cast<std::size_t>(std::ranges::count(taken_, false));
  if (left == 0) return std::nullopt;
  std::size_t skip = random_.below(left);
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && skip-- == 0) return i;
  return std::nullopt;
}

// A random one of the schedules that differ from this one in the fewest members.
std::size_t ScheduleSearch::neighbour(std::size_t index) {
  const Schedule& from = space_[index];
  const auto distance = [&](const Schedule& to) {
    return (to.vectors != from.vectors) + (to.columns != from.columns) + (to.chunk != from.chunk) +
           (to.groups_first != from.groups_first) + (to.unroll != from.unroll) +
           (to.pixels != from.pixels);
  };
  for (int most = 1; most <= 5; ++most) {
    std::vector<std::size_t> near;
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (i != index && distance(space_[i]) <= most) near.push_back(i);
    if (!near.empty()) return near[random_.below(near.size())];
  }
  return index;
}

// Schedules that chains of annealing passed through, the best predicted ones first.
std::vector<std::size_t> ScheduleSearch::anneal() {
  std::vector<bool> seen(space_.size());
  for (int chain = 0; chain < kAnnealings; ++chain) {
    std::size_t at = chain == 0 && best_ ? *best_ : random_.below(space_.size());
    seen[at] = true;
    for (int step = 0; step < kSteps; ++step) {
      const double temperature = 0.2 * (1 - static_cast<double>(step) / kSteps) + 1e-3;
      const std::size_t to = neighbour(at);
      seen[to] = true;
      if (random_.uniform() < std::exp((predicted_[at] - predicted_[to]) / temperature)) at = to;
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < space_.size(); ++i)
    if (seen[i] && !taken_[i]) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return predicted_[i]; });
  return order;
}

std::vector<Schedule> ScheduleSearch::propose(int count) {
  std::vector<Schedule> made;
  const auto take = [&](std::size_t index) {
    taken_[index] = true;
    made.push_back(space_[index]);
  };
  std::vector<std::size_t> order;
  if (strategy_ != SearchStrategy::kRandom) learn();
  if (strategy_ == SearchStrategy::kAnnealing) order = anneal();
  if (strategy_ == SearchStrategy::kModel) {
    order.resize(space_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return predicted_[i]; });
  }
  for (const std::size_t index : order) {
    if (static_cast<int>(made.size()) >= count) break;
    if (taken_[index]) continue;
    const bool explore = strategy_ == SearchStrategy::kAnnealing && random_.uniform() < kExplore;
    const auto other = explore ? any_new() : std::nullopt;
    take(other ? *other : index);
  }
  while (strategy_ != SearchStrategy::kModel && static_cast<int>(made.size()) < count) {
    const auto index = any_new();
    if (!index) break;
    take(*index);
  }
  return made;
}

}  // namespace bf_aot
