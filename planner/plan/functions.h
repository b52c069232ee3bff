#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bf {
struct SplitExtents;
}

namespace bf_aot {

// The functions that a verifier exports, as data: header, definitions, forwarders and the host's
// pointers are made from this. NAME_<suffix> is the symbol.

enum class EntryKind : std::uint8_t;
enum class Method : std::uint8_t;

enum class Purpose : std::uint8_t {
  kBounds,
  kVerify,
  kPropertyBox,
  kDecide,
  kContextInit,
  kCacheCounters,
  kContextSave,
  kContextLoad,
  kEvaluate,
  kStatusText,
  kInfo,
};

// The meaning of a function, from which its suffix and its parameters follow.
struct Signature {
  Purpose purpose = Purpose::kBounds;
  bool spec = false;          // bounds: of the rows of the specification
  bool coefficients = false;  // and the rows' coefficients over the inputs
  bool cached = false;        // with a context
  bool batch = false;         // several boxes
  bool parallel = false;      // several workers
  bool ranges = false;        // bounds: and the intervals of neurons before their ReLUs
  bool within = false;        // a limit: by the plan's methods in turn
  bool cheaper = false;       // bounds: by a method beside the plan's own,
  Method by = Method{};       // this one
  bool operator==(const Signature&) const = default;
};

enum class ParameterType : std::uint8_t {
  kFloats,
  kMemory,
  kSize,
  kResult,
  kStatus,
  kCode,  // a status, not a pointer to one
  kBudget,
  kSearch,
  kCounters,
  kExecutor,
  kLimit,
  kReached,
};

// The number of elements behind a pointer, for one box.
enum class Count : std::uint8_t {
  kOne,
  kInputs,
  kOutputs,
  kSpecRows,
  kCoefficients,
  kRanges,
  kBytes,
};

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::kFloats;
  bool written = false;
  Count count = Count::kOne;
  bool per_box = false;   // so many for each of `count` boxes
  bool optional = false;  // may be null
  bool operator==(const Parameter&) const = default;
};

class ParameterList {
 public:
  static constexpr std::size_t kMost = 12;

  constexpr void add(const Parameter& parameter) { items_[count_++] = parameter; }
  constexpr const Parameter* begin() const { return items_.data(); }
  constexpr const Parameter* end() const { return items_.data() + count_; }
  constexpr const Parameter& operator[](std::size_t i) const { return items_[i]; }
  constexpr std::size_t size() const { return count_; }

 private:
  std::array<Parameter, kMost> items_ = {};
  std::size_t count_ = 0;
};

constexpr bool has_context(const Signature& s) {
  return s.cached || s.purpose == Purpose::kContextInit || s.purpose == Purpose::kCacheCounters ||
         s.purpose == Purpose::kContextSave || s.purpose == Purpose::kContextLoad;
}

constexpr bool has_workspace(const Signature& s) {
  return s.purpose == Purpose::kBounds || s.purpose == Purpose::kVerify ||
         s.purpose == Purpose::kDecide || s.purpose == Purpose::kEvaluate;
}

constexpr void add_operands(const Signature& s, ParameterList& list) {
  using enum ParameterType;
  const auto box = [&](bool written) {
    list.add({"lower", kFloats, written, Count::kInputs, s.batch});
    list.add({"upper", kFloats, written, Count::kInputs, s.batch});
  };
  const auto within = [&] {
    list.add({.name = "limit", .type = kLimit, .optional = true});
    list.add({.name = "reached", .type = kReached, .written = true});
  };
  switch (s.purpose) {
    case Purpose::kBounds: {
      const Count rows = s.spec ? Count::kSpecRows : Count::kOutputs;
      box(false);
      list.add({"out_lower", kFloats, true, rows, s.batch});
      list.add({"out_upper", kFloats, true, rows, s.batch});
      if (s.coefficients)
        list.add({.name = "coefficients",
                  .type = kFloats,
                  .written = true,
                  .count = Count::kCoefficients,
                  .per_box = s.batch,
                  .optional = true});
      if (s.ranges)
        list.add({.name = "ranges",
                  .type = kFloats,
                  .written = true,
                  .count = Count::kRanges,
                  .per_box = s.batch,
                  .optional = true});
      if (s.within) within();
      return;
    }
    case Purpose::kVerify:
      box(false);
      list.add({.name = s.batch ? "results" : "result",
                .type = kResult,
                .written = true,
                .per_box = s.batch});
      if (s.within) within();
      return;
    case Purpose::kPropertyBox:
      list.add({"index", kSize});
      return box(true);
    case Purpose::kDecide:
      box(false);
      list.add({.name = "budget", .type = kBudget, .optional = true});
      list.add({.name = "result", .type = kResult, .written = true});
      list.add({.name = "search", .type = kSearch, .written = true, .optional = true});
      return;
    case Purpose::kCacheCounters:
      list.add({.name = "counters", .type = kCounters, .written = true});
      return;
    case Purpose::kContextSave:
    case Purpose::kContextLoad:
      list.add({"blob", kMemory, s.purpose == Purpose::kContextSave, Count::kBytes});
      list.add({"blob_bytes", kSize});
      return;
    case Purpose::kEvaluate:
      list.add({.name = "x", .type = kFloats, .count = Count::kInputs});
      list.add({.name = "y", .type = kFloats, .written = true, .count = Count::kOutputs});
      return;
    case Purpose::kStatusText:
      list.add({"status", kCode});
      return;
    case Purpose::kContextInit:
    case Purpose::kInfo:
      return;
  }
}

constexpr ParameterList parameters_of(const Signature& s) {
  using enum ParameterType;
  ParameterList list;
  if (has_context(s)) {
    const bool written = s.purpose != Purpose::kCacheCounters && s.purpose != Purpose::kContextSave;
    list.add({.name = "context", .type = kMemory, .written = written, .count = Count::kBytes});
    list.add({"context_bytes", kSize});
  }
  if (s.batch) list.add({"count", kSize});
  add_operands(s, list);
  if (s.batch) list.add({.name = "statuses", .type = kStatus, .written = true, .per_box = true});
  if (has_workspace(s)) {
    list.add({.name = "workspace", .type = kMemory, .written = true, .count = Count::kBytes});
    list.add({"workspace_bytes", kSize});
  }
  if (s.parallel) list.add({.name = "executor", .type = kExecutor, .optional = true});
  return list;
}

// The pointers among a function's parameters, those that are written first.
constexpr ParameterList pointers_of(const Signature& s) {
  ParameterList list;
  for (const bool written : {true, false})
    for (const Parameter& each : parameters_of(s))
      if (each.written == written && each.type != ParameterType::kSize &&
          each.type != ParameterType::kCode)
        list.add(each);
  return list;
}

constexpr std::optional<Method> cheaper_method(const Signature& s) {
  return s.cheaper ? std::optional(s.by) : std::nullopt;
}

// "crown_ibp", as it stands in names of functions.
std::string symbol_of(Method method);

// "spec_bounds_batch_parallel"
std::string suffix_of(const Signature& signature);

// Memory that a function asks for, with the macros of the header that say so: NAME_<macro>.
struct Workspace {
  std::string macro;  // empty: none
  std::int64_t bytes = 0;
  std::string worker_macro;  // for each worker but the first; empty: there is one
  std::int64_t worker_bytes = 0;
  bool operator==(const Workspace&) const = default;
};

struct ExportedFunction {
  Signature signature;
  std::optional<EntryKind> entry;  // whose steps it runs itself
  Workspace workspace;
  bool operator==(const ExportedFunction&) const = default;
};

struct Plan;

// How many elements a pointer has behind it for one box; bytes of memory. Not for workspaces.
std::int64_t element_count(const Plan& plan, const Parameter& parameter);

enum class SplitRole : std::uint8_t;

// Where the choices and curves of a layer's neurons are, counted over the layers before it, in
// verifiers that split neurons.
struct SplitPlaces {
  int choices = 0, curves = 0;
  bool multiplies = false, functions = false;  // there are products, functions

  void add(SplitRole role, int neurons);
};

// The extents of search nodes of a plan that splits neurons.
bf::SplitExtents split_extents(const Plan& plan);

// Fills plan.functions in the order of the header. property: the rows are a property's, so that
// there are functions that decide it.
void list_functions(Plan& plan, bool property);

}  // namespace bf_aot
