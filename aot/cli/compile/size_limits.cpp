#include "aot/cli/compile/size_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/values.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// The methods from tight to loose, which is also from much code and memory to little.
constexpr Method kMethods[] = {Method::kAlphaCrown, Method::kCrown, Method::kCrownIbp,
                               Method::kIbp};

std::int64_t excess(std::int64_t bytes, std::uint64_t limit) {
  return limit == 0 ? 0 : std::max<std::int64_t>(0, bytes - static_cast<std::int64_t>(limit));
}

struct Candidate {
  build::CompileOptions options;
  artifacts::Resources resources;
};

std::string words_of(const Candidate& candidate) {
  const PlannerConfig& planner = candidate.options.planner;
  std::string text = fmt::format("--method {}", to_string(planner.method));
  if (planner.memory_budget > 0) text += fmt::format(" --memory-budget {}", planner.memory_budget);
  return text;
}

std::string sizes_of(const artifacts::Resources& resources) {
  return fmt::format("{} bytes of flash and {} of RAM", resources.flash, resources.ram);
}

class Alternatives {
 public:
  Alternatives(const SizeLimits& limits, const Measure& measure)
      : limits_(limits), measure_(measure) {}

  bool fits(const artifacts::Resources& resources) const {
    return excess(resources.flash, limits_.flash) == 0 && excess(resources.ram, limits_.ram) == 0;
  }

  // Finds the tightest candidate that keeps the limits; none where none does.
  std::optional<Candidate> tightest(const build::CompileOptions& options,
                                    const artifacts::Resources& resources) {
    smallest_ = Candidate{options, resources};
    const auto* const given =
        std::find(std::begin(kMethods), std::end(kMethods), options.planner.method);
    if (given != std::end(kMethods))
      if (auto found = with_less_memory({options, resources})) return found;
    // Methods that are not listed are as tight as crown at most, or made of it.
    const auto* next = given == std::end(kMethods) ? std::begin(kMethods) + 1 : given + 1;
    for (; next != std::end(kMethods); ++next) {
      Candidate other{options, {}};
      other.options.planner.method = *next;
      other.options.planner.memory_budget = 0;
      if (!try_out(other)) continue;
      if (fits(other.resources)) return other;
      if (auto found = with_less_memory(other)) return found;
    }
    return std::nullopt;
  }

  // The smallest of all candidates that were measured. Requires a call of tightest().
  const Candidate& smallest() const { return *smallest_; }

 private:
  // Measures a candidate; false where no such verifier can be planned.
  bool try_out(Candidate& candidate) {
    try {
      candidate.resources = measure_(candidate.options);
    } catch (const CompileError&) {
      return false;
    }
    const auto over = [&](const artifacts::Resources& resources) {
      return excess(resources.flash, limits_.flash) + excess(resources.ram, limits_.ram);
    };
    if (over(candidate.resources) < over(smallest_->resources)) smallest_ = candidate;
    return true;
  }

  // The candidate with as small a workspace as the limit asks for. It takes several attempts, since
  // the stack may grow a little when the workspace shrinks.
  std::optional<Candidate> with_less_memory(Candidate candidate) {
    constexpr int kAttempts = 4;
    for (int i = 0; i < kAttempts; ++i) {
      const std::int64_t over = excess(candidate.resources.ram, limits_.ram);
      if (over == 0 || excess(candidate.resources.flash, limits_.flash) > 0) return std::nullopt;
      std::int64_t& budget = candidate.options.planner.memory_budget;
      budget = std::min(candidate.resources.called, budget > 0 ? budget : INT64_MAX) - over;
      if (budget <= 0 || !try_out(candidate)) return std::nullopt;
      if (fits(candidate.resources)) return candidate;
    }
    return std::nullopt;
  }

  const SizeLimits& limits_;
  const Measure& measure_;
  std::optional<Candidate> smallest_;
};

}  // namespace

void add_size_limits(CommandLine& app, SizeLimits& limits) {
  constexpr char kGroup[] = "Sizes";
  takes_bytes(app.add_option("--max-flash", limits.flash,
                             "refuse a verifier that takes more: its code and constants, and the "
                             "compiler's functions that it calls"))
      ->group(kGroup);
  takes_bytes(app.add_option("--max-ram", limits.ram,
                             "refuse a verifier that takes more: workspace, context, variables and "
                             "the deepest stack of a call"))
      ->group(kGroup);
}

std::vector<std::string> sizes_within(const SizeLimits& limits,
                                      const artifacts::Resources& resources) {
  std::vector<std::string> lines;
  const auto add = [&](const char* option, std::int64_t bytes, std::uint64_t limit) {
    if (limit > 0)
      lines.push_back(fmt::format("{:<10}{} of {} bytes{}", option, bytes, limit,
                                  resources.built ? "" : ", without code and stack"));
  };
  add("max-flash", resources.flash, limits.flash);
  add("max-ram", resources.ram, limits.ram);
  return lines;
}

void expect_within(const SizeLimits& limits, const build::CompileOptions& options,
                   const artifacts::Resources& resources, const Measure& measure) {
  const char* const where = excess(resources.flash, limits.flash) > 0 ? "--max-flash" : "--max-ram";
  if (limits.ram > 0 && resources.built && !resources.stack_known)
    fail("BF3106", "--max-ram", "the compiler does not bound the stack of a call",
         "use GCC, or leave --max-ram out");
  Alternatives alternatives(limits, measure);
  if (alternatives.fits(resources)) return;
  std::string message = "this verifier takes " + sizes_of(resources);
  if (!resources.built) message += ", without its code and its stack";
  const auto fitting = alternatives.tightest(options, resources);
  if (fitting)
    fail("BF3106", where, message,
         fmt::format("{} takes {}", words_of(*fitting), sizes_of(fitting->resources)));
  const Candidate& smallest = alternatives.smallest();
  fail("BF3106", where, message,
       fmt::format("the smallest is {}: {}", words_of(smallest), sizes_of(smallest.resources)));
}

}  // namespace bf_aot::cli
