// Single kernels on random data, as printed from their scheduled nests, against what the machine
// did between the same samples.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "bench/kernel_library.h"
#include "bench/measure.h"
#include "bench/probe.h"
#include "bench/unpriced.h"
#include "frontend/diagnostic.h"
#include "planner/planner.h"
#include "runtime/bf/core/live_neurons.h"

namespace bf_aot::bench {
namespace {

constexpr int kRounds = 60;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Arguments of a kernel: every array long enough for any role in it.
class Arguments {
 public:
  explicit Arguments(const bf_aot::apps::LoadedKernel& loaded)
      : in_(loaded.kernel.in), out_(loaded.kernel.out) {
    const Kernel& kernel = loaded.kernel;
    for (const bf_aot::apps::Parameter& parameter : loaded.parameters) {
      const std::size_t vector =
          static_cast<std::size_t>(std::max(kernel.in, kernel.out) + kernel.panel) * 8 *
          static_cast<std::size_t>(kernel.boxes);
      const std::size_t table =
          static_cast<std::size_t>(kernel.in) * static_cast<std::size_t>(kernel.out + kernel.panel);
      const std::size_t tile = vector * static_cast<std::size_t>(std::max(kernel.rows, 1));
      const bool weights = parameter.name == "weight" || parameter.name == "residual";
      pointers_.push_back(allocate(weights ? table : kernel.rows > 0 ? tile : vector));
      fill(parameter, weights ? table : kernel.rows > 0 ? tile : vector);
    }
  }
  void* const* data() const { return pointers_.data(); }

 private:
  void* allocate(std::size_t elements) {
    constexpr std::size_t kAlign = 64;
    const std::size_t bytes = (elements * sizeof(double) + kAlign - 1) / kAlign * kAlign;
    memory_.emplace_back(std::aligned_alloc(kAlign, bytes));
    std::memset(memory_.back().get(), 0, bytes);
    return memory_.back().get();
  }

  // Magnitudes near one, so that nothing underflows however often a kernel works in place: its
  // relaxation multiplies by slopes, all 1 here.
  void fill(const bf_aot::apps::Parameter& parameter, std::size_t elements) {
    std::uniform_real_distribution<float> uniform(0.5f, 1.0f);
    const auto value = [&] {
      const float size = parameter.name == "table" ? 1.0f : uniform(random_);
      const bool flip = parameter.name == "weight" || parameter.name == "coefficients";
      return flip && (random_() & 1) != 0 ? -size : size;
    };
    if (parameter.type.find("int32") != std::string::npos) {  // a list of all
      auto* to = static_cast<std::int32_t*>(pointers_.back());
      const int n = parameter.name == "live_in" ? in_ : out_;
      bf::list_if(
          n, [](int) { return true; }, to);
    } else if (parameter.type.find("double") != std::string::npos) {
      auto* to = static_cast<double*>(pointers_.back());
      for (std::size_t i = 0; i < elements; ++i) to[i] = static_cast<double>(value());
    } else {
      auto* to = static_cast<float*>(pointers_.back());
      for (std::size_t i = 0; i < elements; ++i) to[i] = value();
    }
  }

  int in_, out_;
  std::mt19937 random_{7};
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<void*> pointers_;
};

// A level of instructions that one code may be compared at: the host's vectors, or AVX2's on a
// machine with wider ones.
struct Level {
  const char* prefix;  // of the benchmarks' names
  Target target;
  double (*peak)();  // a sample, GFLOP/s
};

std::vector<Level> levels() {
  std::vector<Level> made = {{"kernel/", find_target("host"), sample_peak_gflops}};
  if (made[0].target.name == "x86-64-v4")
    made.push_back({"kernel_avx2/", find_target("x86-64-v3"), sample_peak_gflops_of_32_bytes});
  return made;
}

// Useful work: padding and the price of soundness are not counted.
double flops(const Kernel& kernel) {
  const double weights = static_cast<double>(kernel.in) * kernel.out;
  if (kernel.lines > 0) return 2 * weights * (kernel.lines + 1) * kernel.boxes;
  return kernel.rows > 0 ? 2 * weights * kernel.rows : 4 * weights * kernel.boxes;
}

// Times a kernel. unpriced: the kernel without what soundness costs, or null.
void run(benchmark::State& state, const Level& level, const bf_aot::apps::LoadedKernel& loaded,
         const bf_aot::apps::LoadedKernel* unpriced) {
  const Kernel& kernel = loaded.kernel;
  const Arguments arguments(loaded);
  const double bytes = 4.0 * kernel.in * kernel.out;
  ReadProbe probe(static_cast<std::size_t>(bytes));
  Timer timer([&] { loaded.run(arguments.data()); });
  const bf_aot::apps::LoadedKernel& other = unpriced != nullptr ? *unpriced : loaded;
  const Arguments others(other);
  Timer other_timer([&] { other.run(others.data()); });
  Samples seconds, without, peak, read;
  for ([[maybe_unused]] auto round : state) {
    peak.add(level.peak());
    seconds.add(timer.sample());
    read.add(probe.sample_gigabytes_per_second());
    seconds.add(timer.sample());
    if (unpriced != nullptr) without.add(other_timer.sample());
    state.SetIterationTime(seconds.min());
  }
  const double gflops = flops(kernel) / seconds.min() * 1e-9;
  const double rate = bytes / seconds.min() * 1e-9;
  state.counters["ns_min"] = seconds.min() * 1e9;
  state.counters["ns_median"] = seconds.median() * 1e9;
  state.counters["gflops"] = gflops;
  state.counters["peak_gflops"] = peak.max();
  state.counters["peak_percent"] = 100 * gflops / peak.max();
  state.counters["gbps"] = rate;
  state.counters["read_gbps"] = read.max();
  state.counters["read_percent"] = 100 * rate / read.max();
  if (unpriced != nullptr)
    state.counters["soundness_percent"] = 100 * (seconds.min() / without.min() - 1);
}

class Selection {
 public:
  // Every printed kernel of the plan that works on the layer in x out.
  void add(const Plan& plan, KernelKind kind, int in, int out) {
    for (const Kernel& kernel : plan.kernels) {
      const bool known = std::ranges::any_of(
          kernels_, [&](const Kernel& other) { return other.function == kernel.function; });
      if (kernel.kind == kind && kernel.in == in && kernel.out == out && !known)
        kernels_.push_back(kernel);
    }
  }
  const std::vector<Kernel>& kernels() const { return kernels_; }

 private:
  std::vector<Kernel> kernels_;
};

std::vector<Kernel> select_kernels(const Target& target) {
  Selection selection;
  // The tables fit in the first cache, the second, the third, and in none.
  const std::pair<int, int> forward[] = {
      {50, 50}, {256, 256}, {784, 256}, {3072, 512}, {16384, 4096}};
  const std::pair<int, int> centred[] = {{50, 50}, {256, 256}, {784, 256}};
  const std::pair<int, int> backward[] = {{256, 256}, {784, 256}, {50, 50}, {5, 50}};
  for (const auto& [in, out] : forward)
    selection.add(plan_around_layer(target, Method::kIbp, in, out, 0), KernelKind::kIntervalAffine,
                  in, out);
  for (const auto& [in, out] : centred)
    selection.add(plan_around_layer(target, Method::kCrown, in, out, 0), KernelKind::kCentreAffine,
                  in, out);
  for (const auto& [in, out] : backward)
    for (const int row_tile : {0, 16, 32})
      selection.add(plan_around_layer(target, Method::kCrown, in, out, row_tile),
                    KernelKind::kBackwardAffine, in, out);
  for (const Method method : {Method::kIbp, Method::kCrown}) {  // boxes side by side
    const Plan plan = plan_around_layer(target, method, 50, 50, 0, 64);
    for (const KernelKind kind : {KernelKind::kIntervalAffine, KernelKind::kBackwardAffine})
      selection.add(plan, kind, 50, 50);
  }
  selection.add(plan_around_layer(target, Method::kForward, 5, 50, 0, 64),
                KernelKind::kForwardLines, 50, 64);
  return selection.kernels();
}

// The loaded kernel of that name; null: there is none.
const bf_aot::apps::LoadedKernel* find(const apps::KernelLibrary& library, const Kernel& kernel) {
  for (const bf_aot::apps::LoadedKernel& loaded : library.kernels())
    if (loaded.kernel.function == kernel.function) return &loaded;
  return nullptr;
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) try {
  using namespace bf_aot::bench;
  struct Subject {
    Level level;
    bf_aot::apps::KernelLibrary priced, unpriced;
  };
  std::vector<Subject> subjects;
  for (const Level& level : levels()) {
    const std::vector<bf_aot::Kernel> kernels = select_kernels(level.target);
    std::vector<bf_aot::Kernel> priced;
    std::ranges::copy_if(kernels, std::back_inserter(priced), has_prices);
    subjects.push_back({level, load_kernels(level.target, kernels),
                        load_kernels(level.target, priced, print_unpriced)});
  }
  for (const Subject& subject : subjects)
    for (const bf_aot::apps::LoadedKernel& loaded : subject.priced.kernels()) {
      const std::string name = subject.level.prefix + loaded.kernel.function;
      const auto measure = [&](benchmark::State& state) {
        run(state, subject.level, loaded, find(subject.unpriced, loaded.kernel));
      };
      with_rounds(benchmark::RegisterBenchmark(name.c_str(), measure), kRounds);
    }
  return run_benchmarks(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_kernels: {}\n", error.what());
  return 1;
}
