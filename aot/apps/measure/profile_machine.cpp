#include "aot/apps/measure/profile_machine.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "aot/build/cache.h"
#include "aot/system/files.h"
#include "aot/system/measure.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

// Chains of multiply-adds that converge, and reads. Each function returns what it did.
constexpr char kProbe[] = R"(
namespace {
template <typename T, int kBytes>
struct Of { typedef T type __attribute__((vector_size(kBytes))); };
template <typename T>
struct Of<T, sizeof(T)> { typedef T type; };

#define BF_EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define BF_START(i) V chain##i = term * static_cast<T>(i);
#define BF_STEP(i) chain##i = chain##i * factor + term;
#define BF_SUM(i) sum += chain##i;

template <typename T, int kBytes>
__attribute__((noinline)) double multiply_add(long steps, double seed) {
  using V = typename Of<T, kBytes>::type;
  const V factor = V{} + static_cast<T>(0.999 * seed), term = V{} + static_cast<T>(0.001 * seed);
  BF_EACH(BF_START)
  for (long step = 0; step < steps; ++step) {
    BF_EACH(BF_STEP)
  }
  V sum = V{};
  BF_EACH(BF_SUM)
  volatile V keep = sum;
  (void)keep;
  return 24.0 * static_cast<double>(kBytes / sizeof(T)) * static_cast<double>(steps);
}

__attribute__((noinline)) void nothing(const void* volatile*, int, long) { __asm__ volatile(""); }
}  // namespace

extern "C" {
double bf_probe_flops(int kind, long steps, double seed) {
  if (kind == 0) return multiply_add<float, BF_BYTES>(steps, seed);
  if (kind == 1) return multiply_add<float, 4>(steps, seed);
  if (kind == 2) return multiply_add<double, (BF_BYTES < 8 ? 8 : BF_BYTES)>(steps, seed);
  return multiply_add<double, 8>(steps, seed);
}

double bf_probe_read(const void* from, long bytes) {
  typedef int V __attribute__((vector_size(BF_BYTES < 16 ? 16 : BF_BYTES)));
  const V* at = static_cast<const V*>(from);
  V bits[8] = {};
  const long count = bytes / static_cast<long>(sizeof(V));
  for (long i = 0; i + 8 <= count; i += 8) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) bits[k] ^= at[i + k];
  }
  for (int k = 1; k < 8; ++k) bits[0] ^= bits[k];
  volatile V keep = bits[0];
  (void)keep;
  return static_cast<double>(bytes);
}

double bf_probe_call(long calls) {
  const void* volatile pointer = nullptr;
  for (long i = 0; i < calls; ++i) nothing(&pointer, 1, i);
  return static_cast<double>(calls);
}
}
)";

// The probe, compiled and loaded.
class Probe {
 public:
  Probe(const build::CompilerOptions& options, const Target& target) {
    build::Toolchain toolchain = build::find_toolchain(options, target);
    // Scalar chains must stay scalar; vectors are written as such.
    toolchain.flags.insert(toolchain.flags.end(),
                           {"-fno-tree-vectorize", "-fno-tree-slp-vectorize"});
    toolchain.flags.push_back("-DBF_BYTES=" + std::to_string(target.vector_bytes));
    const system::Staging staging(build::cache_folder());
    const std::vector<emit::EmittedFile> files = {{".cpp", kProbe}};
    staging.write("probe.cpp", kProbe);
    build::build_shared(toolchain, staging.folder(), "probe", files);
    const std::filesystem::path path = staging.folder() / "probe.so";
    library_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (library_ == nullptr) fail("BF3305", path.string(), "cannot load the measuring code");
  }

  template <typename Function>
  Function* get(const char* name) const {
    void* const address = dlsym(library_.get(), name);
    BF_CHECK(address != nullptr);
    return reinterpret_cast<Function*>(address);
  }

 private:
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, Close> library_;
};

constexpr int kSamples = 25;

// The best of several samples, in units per second.
double best_rate(const std::function<double()>& run) {
  double units = 0;
  const system::Timing timing = system::measure([&] { units = run(); }, kSamples);
  return units / timing.min;
}

// The data cache of a level, as Linux reports it of the first core: "32768K".
double level_size(int level, double otherwise) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    std::string type;
    int number = 0;
    double size = 0;
    char unit = ' ';
    if (!(std::ifstream(folder + "level") >> number) || !(std::ifstream(folder + "type") >> type) ||
        !(std::ifstream(folder + "size") >> size >> unit) || number != level ||
        type == "Instruction")
      continue;
    return size * (unit == 'K' ? 1024 : unit == 'M' ? 1048576 : 1);
  }
  return otherwise;
}

void measure_levels(const Probe& probe, MachineProfile& profile) {
  const auto read = probe.get<double(const void*, long)>("bf_probe_read");
  constexpr double kKilo = 1024, kMega = kKilo * kKilo;
  const double sizes[] = {level_size(1, 32 * kKilo), level_size(2, 512 * kKilo),
                          level_size(3, 8 * kMega), std::numeric_limits<double>::infinity()};
  profile.levels.clear();
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    if (!profile.levels.empty() && !(sizes[i] > profile.levels.back().bytes)) continue;
    // Half of a cache is read, since other data live there; beyond the caches, several times the
    // last one.
    const double span = i < 3 ? sizes[i] / 2 : std::min(8 * sizes[2], 256 * kMega);
    const auto bytes = static_cast<std::size_t>(span) / 4096 * 4096;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(4096, bytes),
                                                             &std::free);
    if (memory == nullptr) continue;
    std::memset(memory.get(), 1, bytes);
    profile.levels.push_back(
        {sizes[i], best_rate([&] { return read(memory.get(), static_cast<long>(bytes)); })});
  }
}

}  // namespace

void measure_machine(const build::CompilerOptions& options, const Target& target,
                     MachineProfile& profile) {
  build::expect_runs_here(target);
  const Probe probe(options, target);
  const auto flops = probe.get<double(int, long, double)>("bf_probe_flops");
  double* const peaks[] = {&profile.float32_vector, &profile.float32_scalar,
                           &profile.float64_vector, &profile.float64_scalar};
  for (int kind = 0; kind < 4; ++kind)
    *peaks[kind] = best_rate([&] { return flops(kind, 10000, 1.0); });
  const auto call = probe.get<double(long)>("bf_probe_call");
  profile.call = 1 / best_rate([&] { return call(10000); });
  measure_levels(probe, profile);
  profile.vector_bytes = target.vector_bytes;
  profile.target = target.name;
}

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  return {};
}

}  // namespace bf_aot::apps
