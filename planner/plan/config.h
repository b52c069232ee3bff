#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/machine/machine_profile.h"
#include "planner/machine/target.h"
#include "planner/plan/schedule.h"
#include "planner/plan/search_config.h"

namespace bf_aot {

// The planner's configuration: what a user asks for.

enum class Method : std::uint8_t { kIbp, kCrownIbp, kCrown, kAlphaCrown, kForward, kAuto };
enum class Lowering : std::uint8_t {
  kReference,  // no code
  kGeneric,    // portable scalar code
  kPrebuilt,   // vectors of the target, with the extents that code is built for: prebuilt.h
  kVector,     // vectors of the target, schedules by rules
  kTuned,      // the same, schedules by measurement where there is one
};
// The arithmetic of the network that bounds hold for (docs/proofs/float32.md).
enum class Semantics : std::uint8_t {
  kReal,          // its exact value
  kFloat32,       // whatever evaluation in float32 makes of it
  kFloat32Exact,  // what NAME_evaluate of the same plan makes of it
  kQuantisedAny,  // its exact value with each code one more or less, docs/proofs/quantised-any.md
};

// Returns true if the network is evaluated in float32, whose range its inputs must not leave.
constexpr bool is_in_float32(Semantics semantics) {
  return semantics == Semantics::kFloat32 || semantics == Semantics::kFloat32Exact;
}

// The arithmetic that computes bounds: floating point, or integers alone, for a network whose
// tensors are rounded to grids. kAuto takes integers where the target has no floating-point unit
// and the network and the other options allow it.
enum class Arithmetic : std::uint8_t { kAuto, kFloat, kInteger };

// The language of generated code: C++17, C99 for compilers that have no C++, or that of a device,
// which is C99's with its own words.
enum class Language : std::uint8_t { kCpp, kC, kOpenCl, kCuda };

constexpr bool is_of_device(Language language) {
  return language == Language::kOpenCl || language == Language::kCuda;
}

// The bounds kept for one pre-activation.
enum class Domain : std::uint8_t {
  kInterval,   // one forward pass (IBP)
  kBackward,   // interval, then backward linear bounds (CROWN)
  kOptimised,  // the same, then again with lower slopes of ReLUs improved for each row
               // (alpha-CROWN)
  kForward,    // interval, then lines that went forward with the intervals
};

// The rows that choose slopes with method alpha-crown: those of the outputs and the specification,
// or those of unstable hidden neurons too.
enum class AlphaRows : std::uint8_t { kOutputs, kAll };

// The kind of splits of NAME_decide: boxes at an input, or at the sign of a neuron before its ReLU.
enum class Splits : std::uint8_t { kInputs, kNeurons, kAuto };

// The set of inputs that bounds hold for, with the box's centre c and half widths r:
//   kLargest   max_k |x_k - c_k| / r_k <= 1, the box itself;
//   kEuclid    sum_k ((x_k - c_k) / r_k)^2 <= 1, an ellipsoid;
//   kSum       sum_k |x_k - c_k| / r_k <= 1, a cross-polytope.
// The latter two touch each face of the box in its middle. Inputs of width 0 stay at c. See
// docs/proofs/balls.md.
enum class Norm : std::uint8_t { kLargest, kEuclid, kSum };

// The extent of one task of a plan.
enum class Granularity : std::uint8_t {
  kStep,    // a step: a kernel or a routine with its checks
  kRegion,  // all steps of a layer: its affine map, its bounds, its activation
  kEntry,   // a whole entry point
};

// The results that calls of the cached entry points keep for each other; see plan_cache.h.
struct Reuse {
  bool ibp = false;     // the same box again: everything that was made for it
  bool bounds = false;  // a box inside an earlier one: that one's bounds, by intersection
  bool alpha = false;   // optimised slopes: where the next optimisation starts

  bool any() const { return ibp || bounds || alpha; }
  bool operator==(const Reuse&) const = default;
};

constexpr int kMostBatch = 1 << 16;  // boxes

struct PlannerConfig {
  Method method = Method::kCrown;
  std::vector<Method> cheaper;  // whose bounds a call within a limit makes before, cheapest first
  Semantics semantics = Semantics::kReal;
  bool flush_to_zero = false;  // of kFloat32: the network's graph was made for that
  Lowering lowering = Lowering::kVector;
  Language language = Language::kCpp;          // others: of lowering generic alone
  Arithmetic arithmetic = Arithmetic::kFloat;  // of a plan: not kAuto
  std::vector<TunedSchedule> tuned;            // of lowering tuned; by rising key, each once
  Target target;
  int row_tile = 0;     // rows of a backward tile; 0: chosen by the planner
  int iterations = 20;  // of optimised slopes: backward passes of each row, 1 to 1000
  AlphaRows alpha = AlphaRows::kOutputs;
  Norm norm = Norm::kLargest;

  Granularity granularity = Granularity::kRegion;
  std::optional<MachineProfile> profile;  // to predict times with; none: the target's
  Reuse reuse;
  int batch = 1;                    // boxes per call of the batch entry points; 1: there are none
  int items = 1;                    // of a device's group, which bounds one box
  int workers = 1;                  // most that share a call's work; 1: no entry points for several
  bool decide = false;              // also by branch and bound: needs rows of a specification
  Splits splits = Splits::kInputs;  // of that; of a plan: not kAuto

  SearchConfig search;                       // of method auto
  std::int64_t memory_budget = 0;            // bytes of workspace; 0: none
  std::vector<std::string> disabled_passes;  // of the planner; see planner_passes()

  // Error terms to leave out, by name (see error_term_names). For the mutation test alone: it shows
  // that each term is needed. No command-line option reaches it.
  std::vector<std::string> dropped_error_terms;

  bool operator==(const PlannerConfig&) const = default;
};

std::string_view to_string(Method method);
std::string_view to_string(Domain domain);
std::string_view to_string(AlphaRows rows);
std::string_view to_string(Splits splits);  // "inputs", "neurons", "auto"
std::string_view to_string(Norm norm);      // "linf", "l2", "l1"
std::string_view to_string(Lowering lowering);
std::string_view to_string(Language language);
std::string_view to_string(Arithmetic arithmetic);
std::string_view to_string(Semantics semantics);

// Returns true if kernels may use the target's vectors.
constexpr bool uses_vectors(Lowering lowering) {
  return lowering == Lowering::kPrebuilt || lowering == Lowering::kVector ||
         lowering == Lowering::kTuned;
}
std::string_view to_string(Granularity granularity);

// The names of the values of an enum in options, manifests and messages: one table an enum, in the
// order in which help texts list them. A new value is a line here.

template <class Value>
struct NamedValue {
  Value value;
  std::string_view name;  // a literal: ends in '\0'
};

template <class Value>
inline constexpr std::array<NamedValue<Value>, 0> kNames;

template <>
inline constexpr auto kNames<Method> = std::to_array<NamedValue<Method>>({
    {Method::kIbp, "ibp"},
    {Method::kCrownIbp, "crown-ibp"},
    {Method::kCrown, "crown"},
    {Method::kAlphaCrown, "alpha-crown"},
    {Method::kForward, "forward"},
    {Method::kAuto, "auto"},
});

template <>
inline constexpr auto kNames<Lowering> = std::to_array<NamedValue<Lowering>>({
    {Lowering::kGeneric, "generic"},
    {Lowering::kPrebuilt, "prebuilt"},
    {Lowering::kVector, "vector"},
    {Lowering::kTuned, "tuned"},
    {Lowering::kReference, "reference"},
});

template <>
inline constexpr auto kNames<Semantics> = std::to_array<NamedValue<Semantics>>({
    {Semantics::kReal, "real"},
    {Semantics::kFloat32, "float32"},
    {Semantics::kFloat32Exact, "float32-exact"},
    {Semantics::kQuantisedAny, "quantised-any"},
});

template <>
inline constexpr auto kNames<Arithmetic> = std::to_array<NamedValue<Arithmetic>>({
    {Arithmetic::kAuto, "auto"},
    {Arithmetic::kFloat, "float"},
    {Arithmetic::kInteger, "integer"},
});

template <>
inline constexpr auto kNames<Language> = std::to_array<NamedValue<Language>>({
    {Language::kCpp, "c++"},
    {Language::kC, "c"},
    {Language::kOpenCl, "opencl"},
    {Language::kCuda, "cuda"},
});

template <>
inline constexpr auto kNames<AlphaRows> = std::to_array<NamedValue<AlphaRows>>({
    {AlphaRows::kOutputs, "outputs"},
    {AlphaRows::kAll, "all"},
});

template <>
inline constexpr auto kNames<Splits> = std::to_array<NamedValue<Splits>>({
    {Splits::kAuto, "auto"},
    {Splits::kInputs, "inputs"},
    {Splits::kNeurons, "neurons"},
});

template <>
inline constexpr auto kNames<Norm> = std::to_array<NamedValue<Norm>>({
    {Norm::kLargest, "linf"},
    {Norm::kEuclid, "l2"},
    {Norm::kSum, "l1"},
});

template <>
inline constexpr auto kNames<Granularity> = std::to_array<NamedValue<Granularity>>({
    {Granularity::kStep, "step"},
    {Granularity::kRegion, "region"},
    {Granularity::kEntry, "entry"},
});

template <>
inline constexpr auto kNames<SearchKind> = std::to_array<NamedValue<SearchKind>>({
    {SearchKind::kGreedy, "greedy"},
    {SearchKind::kBeam, "beam"},
    {SearchKind::kExhaustive, "exhaustive"},
});

// All methods of a plan, the cheapest first, and their names: "ibp,crown".
std::vector<Method> methods_of(const PlannerConfig& config);
std::string methods_text(const PlannerConfig& config);

// The profile that a plan's times are predicted with: the configured one, else its target's.
const MachineProfile& profile_of(const PlannerConfig& config);

}  // namespace bf_aot
