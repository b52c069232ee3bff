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
  constexpr void add(const Parameter& parameter) { items_[count_++] = parameter; }
  constexpr const Parameter* begin() const { return items_.data(); }
  constexpr const Parameter* end() const { return items_.data() + count_; }
  constexpr const Parameter& operator[](std::size_t i) const { return items_[i]; }
  constexpr std::size_t size() const { return count_; }

 private:
  std::array<Parameter, 12> items_ = {};
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
  switch (s.purpose) {
    case Purpose::kBounds: {
      const Count rows = s.spec ? Count::kSpecRows : Count::kOutputs;
      box(false);
      list.add({"out_lower", kFloats, true, rows, s.batch});
      list.add({"out_upper", kFloats, true, rows, s.batch});
      if (s.coefficients)
        list.add({"coefficients", kFloats, true, Count::kCoefficients, s.batch, true});
      if (s.ranges) list.add({"ranges", kFloats, true, Count::kRanges, s.batch, true});
      return;
    }
    case Purpose::kVerify:
      box(false);
      list.add({s.batch ? "results" : "result", kResult, true, Count::kOne, s.batch});
      return;
    case Purpose::kPropertyBox:
      list.add({"index", kSize});
      return box(true);
    case Purpose::kDecide:
      box(false);
      list.add({"budget", kBudget, false, Count::kOne, false, true});
      list.add({"result", kResult, true});
      list.add({"search", kSearch, true, Count::kOne, false, true});
      return;
    case Purpose::kCacheCounters:
      list.add({"counters", kCounters, true});
      return;
    case Purpose::kContextSave:
    case Purpose::kContextLoad:
      list.add({"blob", kMemory, s.purpose == Purpose::kContextSave, Count::kBytes});
      list.add({"blob_bytes", kSize});
      return;
    case Purpose::kEvaluate:
      list.add({"x", kFloats, false, Count::kInputs});
      list.add({"y", kFloats, true, Count::kOutputs});
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
    list.add({"context", kMemory, written, Count::kBytes});
    list.add({"context_bytes", kSize});
  }
  if (s.batch) list.add({"count", kSize});
  add_operands(s, list);
  if (s.batch) list.add({"statuses", kStatus, true, Count::kOne, true});
  if (has_workspace(s)) {
    list.add({"workspace", kMemory, true, Count::kBytes});
    list.add({"workspace_bytes", kSize});
  }
  if (s.parallel) list.add({"executor", kExecutor, false, Count::kOne, false, true});
  return list;
}

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

// The extents of search nodes of a plan that splits neurons.
bf::SplitExtents split_extents(const Plan& plan);

// Fills plan.functions in the order of the header. property: the rows are a property's, so that
// there are functions that decide it.
void list_functions(Plan& plan, bool property);

}  // namespace bf_aot
