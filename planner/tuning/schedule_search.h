#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "planner/plan/kernels.h"
#include "planner/tuning/boosted_trees.h"
#include "planner/tuning/features.h"

namespace bf_aot {

enum class SearchStrategy : std::uint8_t {
  kRandom,     // every schedule that is not measured yet is as likely as another
  kAnnealing,  // simulated annealing in a cost model that learns from what is measured
  kModel,      // the cost model's favourite alone
};

std::string_view to_string(SearchStrategy strategy);

// A measured schedule of this or of another kernel, as the model learns from it.
struct CostSample {
  Features features;
  double log_ratio = 0;  // log of seconds / the default's seconds in the same turns
};

// Random numbers that are the same everywhere, which those of the standard's distributions are not.
class SearchRandom {
 public:
  explicit SearchRandom(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t next() { return bits_(); }
  std::size_t below(std::size_t count);  // count > 0
  double uniform();                      // [0, 1)

 private:
  std::mt19937_64 bits_;
};

// Proposes which schedules of a kernel to measure next. Deterministic: equal seeds and observations
// give equal proposals. It never proposes one twice, nor one that was observed.
class ScheduleSearch {
 public:
  // others: what is known of other kernels.
  ScheduleSearch(const Kernel& kernel, const Target& target, SearchStrategy strategy,
                 std::uint64_t seed, std::vector<CostSample> others);

  std::size_t size() const { return space_.size(); }
  const std::vector<Schedule>& space() const { return space_; }

  // Proposes up to `count` schedules, never the default, which every measurement includes.
  std::vector<Schedule> propose(int count);

  // seconds / the default's; not finite: the schedule failed.
  void observe(const Schedule& schedule, double ratio);

  // Predicted logarithm of that ratio.
  double predict(const Schedule& schedule) const;

 private:
  std::optional<std::size_t> index_of(const Schedule& schedule) const;
  std::vector<double> row(std::size_t index) const;
  void learn();
  std::size_t neighbour(std::size_t index);
  std::vector<std::size_t> anneal();
  std::optional<std::size_t> any_new();

  Target target_;
  Kernel kernel_;
  SearchStrategy strategy_;
  SearchRandom random_;
  std::vector<Schedule> space_;
  std::vector<Features> features_;  // by schedule
  std::vector<bool> taken_;         // by schedule: proposed or observed
  std::vector<double> predicted_;   // by schedule
  std::vector<CostSample> samples_;
  std::optional<std::size_t> best_;
  double best_ratio_ = 0;
};

}  // namespace bf_aot
