// Whole verifiers on real networks, in paired samples with the double reference and with a
// straightforward Eigen implementation of the same method.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aot/build/cache.h"
#include "aot/build/compile.h"
#include "aot/engine/verifier/compiled_verifier.h"
#include "aot/input/json_io.h"
#include "bench/eigen_baseline.h"
#include "bench/measure.h"
#include "bench/networks.h"
#include "bench/probe.h"
#include "frontend/diagnostic.h"
#include "planner/planner.h"
#include "planner/reference/executor.h"

namespace bf_aot::bench {
namespace {

constexpr int kRounds = 12;
constexpr int kSamples = 3;  // per round, the least of them: longer calls meet more disturbance
constexpr int kReferenceRounds = 2;  // it is slow, and a rough figure will do
constexpr std::size_t kBoxes = 3;

// The baseline of a network that is one chain of dense layers; null for others.
std::unique_ptr<EigenBaseline> make_baseline(const Plan& plan) {
  std::vector<DenseLayer> layers;
  for (const Layer& layer : plan.layers) {
    if (layer.kind != LayerKind::kDense) return nullptr;
    BF_CHECK(layer.input == static_cast<int>(layers.size()) - 1);
    layers.push_back(
        {layer.in, layer.out, layer.relu, layer.weight, {layer.bias.begin(), layer.bias.end()}});
  }
  return std::make_unique<EigenBaseline>(layers);
}

BaselineMethod baseline_method(Method method) {
  switch (method) {
    case Method::kIbp:
      return BaselineMethod::kIbp;
    case Method::kCrownIbp:
      return BaselineMethod::kCrownIbp;
    case Method::kCrown:
      return BaselineMethod::kCrown;
    case Method::kAlphaCrown:
    case Method::kForward:
    case Method::kAuto:
      break;  // the baseline has the three methods that it is compared on
  }
  BF_CHECK(!"a method of the baseline");
  return BaselineMethod::kCrown;
}

// A network compiled for one method; made when its first benchmark runs.
struct Subject {
  Subject(const Network& network, Method method) {
    build::CompileOptions options;
    options.planner.method = method;
    options.planner.target = find_target("host");
    build::Verifier verifier = build::compile(network.model, "verifier", options);
    const build::CachedVerifier cached =
        build::cached_verifier(verifier.files, options.planner.target, {});
    plan = std::move(verifier.plan);
    host = std::make_unique<engine::CompiledVerifier>(cached.library, plan);
    baseline = make_baseline(plan);
    const input::Golden golden =
        input::read_golden(network.golden, plan.input_count, plan.output_count);
    for (const input::GoldenBox& box : golden.boxes)
      boxes.push_back(input::round_outward(box.file, plan.input_count));
  }

  Plan plan;
  std::unique_ptr<engine::CompiledVerifier> host;
  std::unique_ptr<EigenBaseline> baseline;
  std::vector<input::FloatBox> boxes;
};

struct Work {
  double flops = 0;  // without padding: what the method needs on this box
  double bytes = 0;  // of float weights, read once forward
};

// Forward passes of all layers; backward rows of both signs for `counts` neurons of each.
Work work_of(const Plan& plan, const std::vector<int>& counts) {
  Work work;
  double below = 0;  // flops of one row through the layers before
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const double weights = static_cast<double>(plan.layers[i].in) * plan.layers[i].out;
    work.flops += 4 * weights + 2.0 * counts.at(i) * below;
    work.bytes += 4 * weights;
    below += 2 * weights;
  }
  return work;
}

double deviation(const engine::Bounds& ours, const std::vector<float>& lower,
                 const std::vector<float>& upper) {
  double worst = 0;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const double low = static_cast<double>(lower[i]), high = static_cast<double>(upper[i]);
    worst = std::max({worst, std::abs(ours.lower[i] - low) / (1 + std::abs(low)),
                      std::abs(ours.upper[i] - high) / (1 + std::abs(high))});
  }
  return worst;
}

class VerifierBench {
 public:
  VerifierBench(const Network& network, const Subject& subject, std::size_t index)
      : network_(network),
        subject_(subject),
        box_(subject.boxes.at(index)),
        first_box_(index == 0),
        lower_(box_.lower.begin(), box_.lower.end()),
        upper_(box_.upper.begin(), box_.upper.end()),
        out_lower_(static_cast<std::size_t>(subject.plan.output_count)),
        out_upper_(out_lower_.size()) {}

  void run(benchmark::State& state) {
    if (!subject_.baseline) return run_alone(state);
    const BaselineMethod method = baseline_method(subject_.plan.config.method);
    work_ = work_of(subject_.plan, subject_.baseline->backward_counts(method, box_.lower.data(),
                                                                      box_.upper.data()));
    Samples seconds, reference, eigen, peak, read;
    ReadProbe probe(static_cast<std::size_t>(work_.bytes));
    Timer eigen_timer([this] { run_baseline(); });
    Timer reference_timer([this] { reference_bounds(); });
    for ([[maybe_unused]] auto round : state) {
      seconds.add(subject_.host->time(box_, {kSamples}).min);
      state.SetIterationTime(seconds.min());
      eigen.add(eigen_timer.sample());
      peak.add(sample_peak_gflops());
      read.add(probe.sample_gigabytes_per_second());
      if (static_cast<int>(peak.count()) <= kReferenceRounds)
        reference.add(reference_timer.sample());
    }
    report(state, seconds, peak, read);
    state.counters["reference_ns"] = reference.min() * 1e9;
    state.counters["reference_speedup"] = reference.min() / seconds.min();
    report_baseline(state, seconds, eigen);
  }

 private:
  // Measures the verifier alone: without a baseline there is no count of the work either.
  void run_alone(benchmark::State& state) {
    Samples seconds;
    for ([[maybe_unused]] auto round : state) {
      seconds.add(subject_.host->time(box_, {kSamples}).min);
      state.SetIterationTime(seconds.min());
    }
    report_time(state, seconds);
  }

  reference::Bounds reference_bounds() const {
    return reference::execute(subject_.plan, *subject_.plan.find_entry(EntryKind::kBounds), lower_,
                              upper_);
  }

  void run_baseline() {
    subject_.baseline->bounds(baseline_method(subject_.plan.config.method), box_.lower.data(),
                              box_.upper.data(), out_lower_.data(), out_upper_.data());
  }

  void report_time(benchmark::State& state, const Samples& seconds) const {
    state.counters["ns_min"] = seconds.min() * 1e9;
    state.counters["ns_median"] = seconds.median() * 1e9;
    const std::string method = input::golden_key(subject_.plan.config.method);
    if (const double peer = peer_nanoseconds(network_.name, method); peer > 0 && first_box_)
      state.counters["peer_ratio"] = peer / (seconds.min() * 1e9);
  }

  void report(benchmark::State& state, const Samples& seconds, const Samples& peak,
              const Samples& read) const {
    report_time(state, seconds);
    state.counters["flops"] = work_.flops;
    state.counters["gflops"] = work_.flops / seconds.min() * 1e-9;
    state.counters["peak_gflops"] = peak.max();
    state.counters["read_gbps"] = read.max();
    const double least =
        std::max(work_.flops / peak.max(), work_.bytes / read.max()) * 1e-9;  // seconds
    state.counters["roofline_percent"] = 100 * least / seconds.min();
  }

  // A baseline that computes something else would be no baseline. Where the two slopes of a
  // relaxation tie, as in tllverifybench, float32 picks another line than double now and then.
  void report_baseline(benchmark::State& state, const Samples& seconds,
                       const Samples& eigen) const {
    constexpr double kSame = 0.25;
    const double apart = deviation(subject_.host->bounds(box_), out_lower_, out_upper_);
    if (!(apart <= kSame))
      state.SkipWithError(fmt::format("the baseline's bounds differ by {}", apart).c_str());
    state.counters["eigen_ns"] = eigen.min() * 1e9;
    state.counters["eigen_speedup"] = eigen.min() / seconds.min();
    state.counters["eigen_deviation"] = apart;
  }

  const Network& network_;
  const Subject& subject_;
  const input::FloatBox& box_;
  bool first_box_;
  std::vector<double> lower_, upper_;
  std::vector<float> out_lower_, out_upper_;
  Work work_;
};

void register_network(const Network& network, Method method) {
  const auto subject = std::make_shared<std::unique_ptr<Subject>>();
  for (std::size_t box = 0; box < kBoxes; ++box) {
    const std::string name =
        fmt::format("verifier/{}/{}/box{}", network.name, input::golden_key(method), box);
    with_rounds(
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&network, subject, method, box](benchmark::State& state) {
                                       if (!*subject)
                                         *subject = std::make_unique<Subject>(network, method);
                                       VerifierBench(network, **subject, box).run(state);
                                     }),
        kRounds);
  }
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) try {
  const bf_aot::bench::Networks networks;
  for (const bf_aot::bench::Network& network : networks.all())
    for (const bf_aot::Method method :
         {bf_aot::Method::kIbp, bf_aot::Method::kCrownIbp, bf_aot::Method::kCrown})
      bf_aot::bench::register_network(network, method);
  return bf_aot::bench::run_benchmarks(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_verifier: {}\n", error.what());
  return 1;
}
