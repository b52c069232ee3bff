#include "bench/measure.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "bench/probe.h"

namespace bf_aot::bench {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

double Samples::min() const {
  return *std::min_element(values_.begin(), values_.end());
}

double Samples::max() const {
  return *std::max_element(values_.begin(), values_.end());
}

double Samples::median() const {
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void pin_to_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &set);
  sched_setaffinity(0, sizeof set, &set);
}

int run_benchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  pin_to_core();
  benchmark::AddCustomContext("processor", processor_name());
  benchmark::AddCustomContext("vector_bytes", std::to_string(4 * probe_lanes()));
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

benchmark::internal::Benchmark* with_rounds(benchmark::internal::Benchmark* made, int rounds) {
  return made->Iterations(rounds)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

}  // namespace bf_aot::bench
