// Work shared by two workers against the same alone, in paired samples: one box, and 64 boxes in a
// call. Needs two cores that nobody else uses: where there is one, a pair takes longer than one.

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "aot/input/json_io.h"
#include "bench/loaded_verifier.h"
#include "bench/measure.h"
#include "bench/networks.h"
#include "runtime/bf.h"
#include "runtime/host/thread_executor.h"

namespace bf_aot::bench {
namespace {

constexpr int kRounds = 40;
constexpr std::size_t kBoxes = 64, kWorkers = 2;

using Bounds = bf_status (*)(const float*, const float*, float*, float*, void*, std::size_t,
                             const bf_executor*);
using BoundsBatch = bf_status (*)(std::size_t, const float*, const float*, float*, float*,
                                  bf_status*, void*, std::size_t, const bf_executor*);

// A network compiled for one method, and its first golden box.
class Subject {
 public:
  Subject(const Network& network, Method method)
      : verifier_(network.model, method, kBoxes, kWorkers),
        bounds_(verifier_.function<Bounds>("_bounds_parallel")),
        batch_(verifier_.function<BoundsBatch>("_bounds_batch_parallel")) {
    const Plan& plan = verifier_.plan();
    const input::Golden golden =
        input::read_golden(network.golden, plan.input_count, plan.output_count);
    const input::FloatBox box = input::round_outward(golden.boxes.at(0).file, plan.input_count);
    for (std::size_t i = 0; i < kBoxes; ++i) {
      low_.insert(low_.end(), box.lower.begin(), box.lower.end());
      high_.insert(high_.end(), box.upper.begin(), box.upper.end());
    }
    lower.resize(kBoxes * static_cast<std::size_t>(plan.output_count));
    upper = lower;
    statuses_.resize(kBoxes);
  }

  void one(const bf_executor* executor) {
    expect_ok(bounds_(low_.data(), high_.data(), lower.data(), upper.data(), verifier_.workspace(),
                      verifier_.bytes(), executor));
  }

  void many(const bf_executor* executor) {
    expect_ok(batch_(kBoxes, low_.data(), high_.data(), lower.data(), upper.data(),
                     statuses_.data(), verifier_.workspace(), verifier_.bytes(), executor));
  }

  std::vector<float> lower, upper;

 private:
  LoadedVerifier verifier_;
  Bounds bounds_;
  BoundsBatch batch_;
  std::vector<float> low_, high_;
  std::vector<bf_status> statuses_;
};

// Holds the calling thread, and those that it starts, on the first core or on the others: a
// scheduler with other things to do may leave two threads on one core.
void hold_on(bool first) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  for (long i = 0; i < cores; ++i)
    if ((i == 0) == first || cores == 1) CPU_SET(static_cast<unsigned>(i), &set);
  sched_setaffinity(0, sizeof set, &set);
}

template <typename Call>
void compare(benchmark::State& state, Subject& subject, const Call& call) {
  hold_on(false);
  const bf::host::ThreadExecutor threads(kWorkers);
  hold_on(true);
  Samples alone, shared;
  Timer one([&] { call(nullptr); });
  Timer two([&] { call(threads.get()); });
  for ([[maybe_unused]] auto round : state) {
    shared.add(two.sample());
    state.SetIterationTime(shared.min());
    alone.add(one.sample());
  }
  call(nullptr);
  const std::vector<float> lower = subject.lower;
  call(threads.get());
  if (std::memcmp(lower.data(), subject.lower.data(), 4 * lower.size()) != 0)
    state.SkipWithError("other bits");
  state.counters["ns_min"] = shared.min() * 1e9;
  state.counters["alone_ns"] = alone.min() * 1e9;
  state.counters["speedup"] = alone.min() / shared.min();
}

void run(benchmark::State& state, const Network& network, Method method, bool batch) {
  Subject subject(network, method);
  if (batch)
    compare(state, subject, [&](const bf_executor* executor) { subject.many(executor); });
  else
    compare(state, subject, [&](const bf_executor* executor) { subject.one(executor); });
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) try {
  using bf_aot::bench::Network;
  const bf_aot::bench::Networks networks;
  for (const Network& network : networks.all())
    for (const bf_aot::Method method : {bf_aot::Method::kCrownIbp, bf_aot::Method::kCrown})
      for (const bool batch : {false, true}) {
        const std::string name = fmt::format("parallel/{}/{}/{}", network.name,
                                             bf_aot::input::golden_key(method), batch ? "64" : "1");
        bf_aot::bench::with_rounds(
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&network, method, batch](benchmark::State& state) {
                                           bf_aot::bench::run(state, network, method, batch);
                                         }),
            bf_aot::bench::kRounds);
      }
  return bf_aot::bench::run_benchmarks(argc, argv);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_parallel: {}\n", error.what());
  return 1;
}
