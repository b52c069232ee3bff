#include "aot/engine/device/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/device/device_library.h"
#include "aot/system/progress.h"

namespace bf_aot::engine {
namespace {

// Chains of multiply-adds that converge, and sums of what is read. An item of a processor has
// vectors of OpenCL, as its compiler makes of rows.
constexpr char kSource[] = R"(
#include "bf/c/probe.h"

#define BF_JOIN_(a, b) a##b
#define BF_JOIN(a, b) BF_JOIN_(a, b)
#if BF_LANES > 1
typedef BF_JOIN(float, BF_LANES) bf_floats;
#if BF_WIDE_LANES > 1
typedef BF_JOIN(double, BF_WIDE_LANES) bf_doubles;
#define BF_FIRST_WIDE(x) x.s0
#else
typedef double bf_doubles;
#define BF_FIRST_WIDE(x) x
#endif
typedef BF_JOIN(uint, BF_LANES) bf_words;
#define BF_FIRST(x) x.s0
#else
typedef float bf_floats;
typedef double bf_doubles;
typedef uint32_t bf_words;
#define BF_FIRST(x) x
#define BF_FIRST_WIDE(x) x
#endif

#define BF_CHAINS(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define BF_START(i) bf_chain chain##i = (bf_chain)(0.125f * (float)(i + BF_ITEM));
#define BF_STEP(i) chain##i = BF_FMA(chain##i, factor, term);
#define BF_SUM(i) sum += chain##i;

// counts: steps. Each item makes 12 chains of so many.
BF_ENTRY bf_peak_float32(BF_GLOBAL const int32_t* counts, BF_GLOBAL float* memory,
                         BF_GLOBAL float* made) {
  typedef bf_floats bf_chain;
  const bf_chain factor = (bf_chain)(0.5f * (float)counts[1]), term = (bf_chain)(0.25f);
  BF_CHAINS(BF_START)
  for (int32_t step = 0; step < counts[0]; ++step) {
    BF_CHAINS(BF_STEP)
  }
  bf_chain sum = (bf_chain)(0.0f);
  BF_CHAINS(BF_SUM)
  made[BF_BOX * BF_ITEMS + BF_ITEM] = BF_FIRST(sum);
}

BF_ENTRY bf_peak_float64(BF_GLOBAL const int32_t* counts, BF_GLOBAL float* memory,
                         BF_GLOBAL float* made) {
  typedef bf_doubles bf_chain;
  const bf_chain factor = (bf_chain)(0.5 * (double)counts[1]), term = (bf_chain)(0.25);
  BF_CHAINS(BF_START)
  for (int32_t step = 0; step < counts[0]; ++step) {
    BF_CHAINS(BF_STEP)
  }
  bf_chain sum = (bf_chain)(0.0);
  BF_CHAINS(BF_SUM)
  made[BF_BOX * BF_ITEMS + BF_ITEM] = (float)BF_FIRST_WIDE(sum);
}

// counts: vectors that each group writes, those that lie between groups' first ones.
BF_ENTRY bf_peak_fill(BF_GLOBAL const int32_t* counts, BF_GLOBAL float* memory,
                      BF_GLOBAL float* made) {
  BF_GLOBAL bf_words* const to = (BF_GLOBAL bf_words*)memory + BF_BOX * (size_t)counts[1];
  for (int32_t i = BF_ITEM; i < counts[0]; i += BF_ITEMS) to[i] = (bf_words)((uint32_t)i);
  made[BF_BOX * BF_ITEMS + BF_ITEM] = 0.0f;
}

#define BF_TIMES(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define BF_ZERO(k) bf_words sum##k = (bf_words)(0u);
#define BF_READ(k) sum##k += from[i + k * BF_ITEMS] ^ turn;
#define BF_TOTAL(k) total += sum##k;

// counts: vectors that each group reads, a multiple of 8 of each item; those that lie between
// groups' first ones; how often they are read.
BF_ENTRY bf_peak_read(BF_GLOBAL const int32_t* counts, BF_GLOBAL float* memory,
                      BF_GLOBAL float* made) {
  BF_GLOBAL const bf_words* const from =
      (BF_GLOBAL const bf_words*)memory + BF_BOX * (size_t)counts[1];
  BF_TIMES(BF_ZERO)
  for (int32_t round = 0; round < counts[2]; ++round) {
    const bf_words turn = (bf_words)((uint32_t)round);
    for (int32_t i = BF_ITEM; i < counts[0]; i += 8 * BF_ITEMS) {
      BF_TIMES(BF_READ)
    }
  }
  bf_words total = (bf_words)(0u);
  BF_TIMES(BF_TOTAL)
  made[BF_BOX * BF_ITEMS + BF_ITEM] = (float)BF_FIRST(total);
}
)";

constexpr std::size_t kChains = 12, kReads = 8;
constexpr std::size_t kKilo = 1024, kMega = kKilo * kKilo;
constexpr std::size_t kGroupsOfProcessor = 64;  // enough to hide latencies, and uneven ends

// Samples are this long, at least, so that launching takes little of them.
constexpr double kSampleSeconds = 0.004;
constexpr int kSamples = 15;

class Measuring {
 public:
  explicit Measuring(const build::DeviceName& name)
      : name_(name), where_(fmt::format("{}:{}", name.library, name.index)) {
    library_ = library_of(name);
    items_ = static_cast<std::size_t>(device_items(name));
    open();
    many_ = kGroupsOfProcessor * std::max<std::size_t>(1, parts_.processors);
    const std::size_t wished = std::max(4 * parts_.cache_bytes, 64 * kMega);
    memory_ = std::min({wished, kMega * 1024, parts_.memory_bytes / 2});
    if (!library_->make_room(memory_, many_ * items_ * sizeof(float))) fail_here();
    call("bf_peak_fill", many_, {numbers_of(memory_ / many_), numbers_of(memory_ / many_)});
  }

  DevicePeaks peaks() {
    DevicePeaks made;
    made.name = library_->name();
    made.source = "measured by bf-aot on " + where_;
    made.items = static_cast<int>(items_);
    made.float32 = multiply_adds("bf_peak_float32", lanes_);
    made.float64 = multiply_adds("bf_peak_float64", std::max<std::size_t>(1, lanes_ / 2));
    const auto processors = static_cast<int>(std::max<std::size_t>(1, parts_.processors));
    if (parts_.near_bytes > 0)
      made.memories.push_back({static_cast<double>(parts_.near_bytes), processors,
                               reads(std::min(parts_.near_bytes / 2, 16 * kKilo))});
    if (parts_.cache_bytes > parts_.near_bytes)
      made.memories.push_back(
          {static_cast<double>(parts_.cache_bytes), 1, reads(parts_.cache_bytes / 2)});
    made.memories.push_back({std::numeric_limits<double>::infinity(), 1, apart()});
    return made;
  }

 private:
  // The vectors of an item are told to a processor's compiler.
  void open() {
    if (!library_->find(name_.index)) fail_here();
    lanes_ = items_ > 1 ? 1 : std::clamp<std::size_t>(library_->parts().lanes, 1, 16);
    const std::string more =
        lanes_ > 1 ? fmt::format("-DBF_LANES={} -DBF_WIDE_LANES={}", lanes_, lanes_ / 2) : "";
    library_ = library_of(name_);
    if (!library_->open(program(), name_.index, more)) fail_here();
    parts_ = library_->parts();
  }

  bf_device_program program() {
    text_ = peaks_text(build::language_of_device(name_.library), items_);
    source_ = text_.c_str();
    bf_device_program made = {};
    made.source = &source_;
    made.texts = 1;
    made.arena_bytes = kMega;
    made.items = items_;
    return made;
  }

  [[noreturn]] void fail_here() const { refuse(*library_, name_, where_); }

  void call(const char* entry, std::size_t groups, std::initializer_list<std::size_t> numbers) {
    std::vector<std::int32_t> counts;
    for (const std::size_t number : numbers) counts.push_back(static_cast<std::int32_t>(number));
    if (!library_->measure(entry, items_, groups, counts)) fail_here();
  }

  // The vectors of so many bytes.
  std::size_t numbers_of(std::size_t bytes) const { return bytes / sizeof(float) / lanes_; }

  // The best rate of calls `of(repeats)` that do `units` for each repeat.
  template <class Call>
  double rate(double units, const Call& of) {
    const auto seconds = [&](std::size_t repeats) {
      const system::Stopwatch stopwatch;
      of(repeats);
      return stopwatch.seconds();
    };
    const auto least = [&](std::size_t repeats, int samples) {
      double best = seconds(repeats);
      for (int i = 1; i < samples; ++i) best = std::min(best, seconds(repeats));
      return best;
    };
    of(1);  // which may compile it
    std::size_t repeats = 1;
    while (repeats < std::size_t{1} << 24 && least(repeats, 3) < kSampleSeconds) repeats *= 2;
    const double best = least(repeats, kSamples);
    return units * static_cast<double>(repeats) / best;
  }

  // Both rates, of one group and of many.
  template <class Measure>
  DeviceRate rates(const Measure& of) {
    const double group = of(std::size_t{1});
    return {group, std::max(group, of(many_))};
  }

  DeviceRate multiply_adds(const char* entry, std::size_t lanes) {
    constexpr std::size_t kSteps = 64;
    return rates([&](std::size_t groups) {
      return rate(static_cast<double>(2 * kChains * kSteps * lanes * items_ * groups),
                  [&](std::size_t repeats) {
                    call(entry, groups, {kSteps * repeats, 1});
                  });
    });
  }

  // Reads of the same bytes by every group.
  DeviceRate reads(std::size_t bytes) {
    const std::size_t turn = kReads * items_;
    const std::size_t count =
        std::max<std::size_t>(1, numbers_of(std::min(bytes, memory_)) / turn) * turn;
    return rates([&](std::size_t groups) {
      return rate(static_cast<double>(sizeof(float) * lanes_ * count * groups),
                  [&](std::size_t repeats) {
                    call("bf_peak_read", groups, {count, 0, repeats});
                  });
    });
  }

  // Reads of all of the memory, a part by each group.
  DeviceRate apart() {
    const std::size_t turn = kReads * items_;
    return rates([&](std::size_t groups) {
      const std::size_t count =
          std::max<std::size_t>(1, numbers_of(memory_ / groups) / turn) * turn;
      return rate(static_cast<double>(sizeof(float) * lanes_ * count * groups),
                  [&](std::size_t repeats) {
                    call("bf_peak_read", groups, {count, count, repeats});
                  });
    });
  }

  const build::DeviceName name_;
  const std::string where_;
  std::unique_ptr<DeviceLibrary> library_;
  DeviceParts parts_;
  std::size_t items_ = 1, lanes_ = 1, many_ = 1, memory_ = 0;
  std::string text_;
  const char* source_ = nullptr;
};

}  // namespace

std::string peaks_text(Language language, std::size_t items) {
  const char* const words =
      language == Language::kCuda ? "bf/c/words/cuda.h" : "bf/c/words/opencl.h";
  return build::device_text(
      language, fmt::format("#define BF_ITEMS {}\n#include \"{}\"\n{}", items, words, kSource));
}

DevicePeaks measure_peaks(const build::DeviceName& name) {
  return Measuring(name).peaks();
}

}  // namespace bf_aot::engine
