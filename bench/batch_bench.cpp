// Batches of boxes on real networks, in paired samples with the same boxes one call each.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "aot/input/json_io.h"
#include "bench/loaded_verifier.h"
#include "bench/measure.h"
#include "bench/networks.h"
#include "bench/probe.h"
#include "runtime/bf.h"

namespace bf_aot::bench {
namespace {

constexpr int kRounds = 12;
constexpr double kGoalPeak = 178;  // GFLOP/s in float32, of the goal for forward lines

using Bounds = bf_status (*)(const float*, const float*, float*, float*, void*, std::size_t);
using BoundsBatch = bf_status (*)(std::size_t, const float*, const float*, float*, float*,
                                  bf_status*, void*, std::size_t);

// A network compiled for one method and `count` boxes, and boxes as a search makes them: parts of
// the first golden box, half as wide on every side, anywhere in it.
class Subject {
 public:
  Subject(const Network& network, Method method, std::size_t count)
      : count_(count),
        verifier_(network.model, method, count, 1),
        single_(verifier_.function<Bounds>("_bounds")),
        batch_(verifier_.function<BoundsBatch>("_bounds_batch")),
        inputs_(static_cast<std::size_t>(plan().input_count)),
        outputs_(static_cast<std::size_t>(plan().output_count)) {
    for (std::vector<float>* const each : {&single_lower_, &single_upper_, &lower_, &upper_})
      each->resize(count * outputs_);
    statuses_.resize(count);
    make_boxes(network);
  }

  void one_by_one() {
    for (std::size_t i = 0; i < count_; ++i)
      expect_ok(single_(low_.data() + i * inputs_, high_.data() + i * inputs_,
                        single_lower_.data() + i * outputs_, single_upper_.data() + i * outputs_,
                        verifier_.workspace(), verifier_.bytes()));
  }

  void together() {
    expect_ok(batch_(count_, low_.data(), high_.data(), lower_.data(), upper_.data(),
                     statuses_.data(), verifier_.workspace(), verifier_.bytes()));
  }

  // Largest difference of a bound between the two, relative to the width of its output's interval.
  double deviation() const {
    double worst = 0;
    for (std::size_t i = 0; i < lower_.size(); ++i) {
      const float apart =
          std::max(std::abs(lower_[i] - single_lower_[i]), std::abs(upper_[i] - single_upper_[i]));
      if (apart > 0) worst = std::max(worst, static_cast<double>(apart / (upper_[i] - lower_[i])));
    }
    return worst;
  }

  const Plan& plan() const { return verifier_.plan(); }

  double weights() const {
    double count = 0;
    for (const Layer& layer : plan().layers) count += static_cast<double>(layer.in) * layer.out;
    return count;
  }

  // Floating-point operations for one box, a multiply-add counted as two: centres and radii of
  // intervals.
  double flops_of_intervals() const { return 4 * weights(); }

  // Floating-point operations for one box by `forward`, of either precision: the centre, the
  // interval, the lines and their spread. Lines of the first layer are its weights.
  double flops_of_lines() const {
    const Layer& first = plan().layers.front();
    const double given = static_cast<double>(first.in) * first.out;
    return 2 * (weights() * (plan().input_count + 4) - given * plan().input_count);
  }

 private:
  void make_boxes(const Network& network) {
    const input::Golden golden =
        input::read_golden(network.golden, plan().input_count, plan().output_count);
    const input::FloatBox whole = input::round_outward(golden.boxes.at(0).file, plan().input_count);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> place(0, 1);
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t k = 0; k < inputs_; ++k) {
        const float half = (whole.upper[k] - whole.lower[k]) / 2;
        const float low = whole.lower[k] + place(random) * half;
        low_.push_back(low);
        high_.push_back(std::max(low, std::min(low + half, whole.upper[k])));
      }
  }

  std::size_t count_;
  LoadedVerifier verifier_;
  Bounds single_;
  BoundsBatch batch_;
  std::size_t inputs_, outputs_;
  std::vector<float> low_, high_, single_lower_, single_upper_, lower_, upper_;
  std::vector<bf_status> statuses_;
};

void run(benchmark::State& state, const Network& network, Method method, std::size_t count) {
  Subject subject(network, method, count);
  Samples together, apart, peak;
  Timer batch([&] { subject.together(); });
  Timer single([&] { subject.one_by_one(); });
  for ([[maybe_unused]] auto round : state) {
    peak.add(sample_peak_gflops());
    together.add(batch.sample());
    state.SetIterationTime(together.min());
    apart.add(single.sample());
  }
  if (!(subject.deviation() <= 1e-3)) state.SkipWithError("the bounds are not those of one box");
  const double boxes = static_cast<double>(count);
  state.counters["ns_min"] = together.min() * 1e9;
  state.counters["ns_per_box"] = together.min() / boxes * 1e9;
  state.counters["single_ns"] = apart.min() / boxes * 1e9;
  state.counters["side_by_side"] = subject.plan().batch.side_by_side;
  state.counters["batch_speedup"] = apart.min() / together.min();
  if (method == Method::kForward) {
    // Scaled to a processor that has the peak at which the goal was set.
    const double share = kGoalPeak / peak.max();
    state.counters["peak_gflops"] = peak.max();
    state.counters["boxes_per_second"] = boxes / together.min();
    state.counters["boxes_at_goal_peak"] = boxes / together.min() * share;
    state.counters["limit_at_goal_peak"] = kGoalPeak * 1e9 / subject.flops_of_lines();
  }
  if (count != 64) return;
  const double peer = peer_batch_nanoseconds(network.name, input::golden_key(method));
  if (peer <= 0) return;
  state.counters["peer_ratio"] = peer / (together.min() * 1e9);
  if (method == Method::kIbp && network.dense)  // at all of the peak
    state.counters["limit_ratio"] = peer * peak.max() / (subject.flops_of_intervals() * boxes);
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) try {
  using bf_aot::bench::Network;
  const bf_aot::bench::Networks networks;
  for (const Network& network : networks.all())
    for (const bf_aot::Method method : {bf_aot::Method::kIbp, bf_aot::Method::kCrownIbp,
                                        bf_aot::Method::kCrown, bf_aot::Method::kForward})
      for (const std::size_t count : {std::size_t{16}, std::size_t{64}}) {
        if (method == bf_aot::Method::kForward && !network.dense) continue;
        const std::string name =
            fmt::format("batch/{}/{}/{}", network.name, bf_aot::input::golden_key(method), count);
        bf_aot::bench::with_rounds(
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&network, method, count](benchmark::State& state) {
                                           bf_aot::bench::run(state, network, method, count);
                                         }),
            bf_aot::bench::kRounds);
      }
  return bf_aot::bench::run_benchmarks(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_batch: {}\n", error.what());
  return 1;
}
