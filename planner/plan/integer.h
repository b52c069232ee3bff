#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/plan/buffers.h"

namespace bf_aot {

// A verifier that computes with integers alone: what it is made of. See
// docs/proofs/integer-grid.md.
//
// A tensor on a grid is a code in 0..255 for each element. Its bounds are two arrays of codes,
// `lower` and `upper`. Every step computes the exact image of the box that its operands form.

constexpr int kGridCodes = 256;

struct GridTensor {
  std::string name;  // unique C identifier
  Origin origin;
  int count = 0;
  int low = 0, high = 0;  // every element of every input has a code between these
  BufferId lower = BufferId::kNone, upper = BufferId::kNone;
  bool operator==(const GridTensor&) const = default;
};

// Index into IntegerPlan::tensors.
using GridId = int;

// The arithmetic that makes a code of the integer sum of a row.
enum class Rounding : std::uint8_t {
  kFloor,     // (multiplier sum + addend) >> shift
  kHalfEven,  // the same, rounded to nearest, ties to even
  kSteps,     // low + the number of `steps` that are at most sum
};

// The function from sums to codes of one row: never decreasing. All between low and high.
struct Requantizer {
  std::int64_t multiplier = 0;
  std::int64_t addend = 0;
  int shift = 0;
  bool odd = false;       // of kHalfEven: the codes' parity is not that of the rounded number
  int low = 0, high = 0;  // what the least and the largest sum have
  std::int64_t least = 0, most = 0;  // sums that occur
  // The definition of the function: steps[k] is the least sum whose code exceeds low + k, for low +
  // k below high. All are in (least, most].
  std::vector<std::int64_t> steps;
  bool operator==(const Requantizer&) const = default;
};

struct Requantization {
  Rounding rounding = Rounding::kFloor;
  int multiplier_bytes = 4;
  std::vector<Requantizer> rows;  // for each row or channel, or one for all
  bool operator==(const Requantization&) const = default;
};

// The caller's box to codes: the number of a table's keys that are at most the input's key, which
// orders floats as their bits do (bf::integer::key_of).
struct QuantizeBox {
  GridId out = 0;
  std::vector<std::int64_t> source;             // which input an element is of; empty: its own
  std::vector<std::vector<std::int32_t>> keys;  // of each table, never decreasing
  std::vector<int> table;                       // of each element; empty: the first
  bool operator==(const QuantizeBox&) const = default;
};

// Row sums of weight times code.
struct GridDense {
  GridId in = 0, out = 0;
  int rows = 0, columns = 0;
  std::vector<std::int16_t> weight;  // [rows][columns]
  int weight_bytes = 1;
  Requantization codes;
  bool operator==(const GridDense&) const = default;
};

// Row sums of each window of an image, which is copied first. What lies outside of the image has
// the code `zero`.
struct GridConv {
  GridId in = 0, out = 0;
  ConvGeometry geometry;
  std::vector<std::int16_t> weight;  // [out_channels][in_group][taps]
  int weight_bytes = 1;
  int zero = 0;  // the code that means 0; of no matter where every window lies inside
  BufferId window_lower = BufferId::kNone, window_upper = BufferId::kNone;
  Requantization codes;
  bool operator==(const GridConv&) const = default;
};

// Row sums of few codes.
struct GridSparse {
  GridId in = 0, out = 0;
  std::vector<std::int64_t> row_start, column;
  std::vector<std::int16_t> weight;  // as column; empty: all are 1
  Requantization codes;
  bool operator==(const GridSparse&) const = default;
};

// Elementwise sums of two tensors: a_weight a + b_weight b + addend, rounded as a Requantizer's
// product, between low and high; or, of kSteps, low + the number of `steps` that are at most
// a_weight a + b_weight b. a_weight, b_weight > 0.
struct GridSum {
  GridId a = 0, b = 0, out = 0;
  Rounding rounding = Rounding::kFloor;
  bool odd = false;
  std::int64_t a_weight = 0, b_weight = 0, addend = 0;
  int shift = 0;
  int low = 0, high = 0;
  std::vector<std::int64_t> steps;
  // The definition of the sum: the exact code of each pair (a, b), [256][256].
  std::vector<std::uint8_t> code;
  bool operator==(const GridSum&) const = default;
};

// The largest code of each row.
struct GridMax {
  GridId in = 0, out = 0;
  std::vector<std::int64_t> row_start, source;
  bool operator==(const GridMax&) const = default;
};

// The direction in which the values of a table go as the code rises.
enum class CodeOrder : std::uint8_t { kRises, kFalls, kNeither };

struct CodeTable {
  std::array<std::uint8_t, kGridCodes> code = {};
  CodeOrder order = CodeOrder::kRises;
  bool operator==(const CodeTable&) const = default;
};

// A function of single codes.
struct GridTable {
  GridId in = 0, out = 0;
  std::vector<std::int64_t> source;  // which code an element is of; empty: its own
  std::vector<CodeTable> tables;     // none: copies
  std::vector<int> table;            // of each element; empty: the first
  bool operator==(const GridTable&) const = default;
};

// Elements first .. first + count - 1 of a tensor, from codes of another one.
struct GridPart {
  GridId in = 0;
  int first = 0, count = 0;
  int begin = 0;                     // code begin + i, or
  std::vector<std::int64_t> source;  // which code an element is of; empty: `begin` says
  bool copies = true;                // else by `table`
  CodeTable table;
  bool operator==(const GridPart&) const = default;
};

// Tensors side by side, each with codes of its own.
struct GridParts {
  GridId out = 0;
  std::vector<GridPart> parts;  // in order; all elements
  bool operator==(const GridParts&) const = default;
};

// Codes to bounds of the caller's outputs, which are on both sides of the number that each means.
struct BoundTable {
  std::array<float, kGridCodes> lower = {}, upper = {};
  bool falls = false;  // the number falls as the code rises
  bool operator==(const BoundTable&) const = default;
};

struct DequantizeBounds {
  GridId in = 0;
  int first = 0;  // of the outputs' elements
  int count = 0;
  std::vector<std::int64_t> source;  // which code an element is of; empty: its own
  std::vector<BoundTable> tables;
  std::vector<int> table;  // of each element; empty: the first
  Origin origin;
  bool operator==(const DequantizeBounds&) const = default;
};

// Bounds of one output that is an integer sum times a number, plus another: for every sum that
// occurs
//   multiplier sum + low_addend <= 2^shift output <= multiplier sum + high_addend.
struct SumBounds {
  std::int64_t multiplier = 0, low_addend = 0, high_addend = 0;
  std::int64_t least = 0, most = 0;  // sums that occur
  bool operator==(const SumBounds&) const = default;
};

// Row sums of weight times code to bounds of the caller's outputs, which are not rounded to codes.
struct DequantizeSums {
  GridId in = 0;
  int first = 0;  // of the outputs' elements
  int rows = 0, columns = 0;
  std::vector<std::int16_t> weight;  // [rows][columns]
  int weight_bytes = 1;
  int shift = 0;
  std::vector<SumBounds> bounds;  // of each row
  Origin origin;
  bool operator==(const DequantizeSums&) const = default;
};

// Codes that are any of the one that is read, one less and one more, from 0 to `highest`.
struct GridLoose {
  GridId in = 0, out = 0;
  int highest = 0;
  bool operator==(const GridLoose&) const = default;
};

// The part of a property's rows that comes from one tensor: sums of weight times code.
struct PropertySums {
  GridId in = 0;
  std::vector<std::int64_t> weight;  // [rows][codes of the tensor]
  int weight_bytes = 8;              // 2, 4 or 8
  bool operator==(const PropertySums&) const = default;
};

// The condition that a row's sum is at most `threshold`, or at least that.
struct GridCondition {
  int row = 0;
  bool at_least = false;
  std::int64_t threshold = 0;
  bool operator==(const GridCondition&) const = default;
};

// A property over codes: rows of integers, each of which is a row of the property but for a factor
// and an offset, and what its conditions say of them.
struct GridProperty {
  int rows = 1;
  std::vector<PropertySums> sums;         // whose parts of a row add up
  std::vector<std::int64_t> slack;        // the row lies between its sum and that much above it
  std::vector<GridCondition> conditions;  // in the order of VerdictTables::terms
  bool operator==(const GridProperty&) const = default;
};

// Lines beside the codes of a row's sum S, for every sum that occurs, in codes times 2^fraction:
//   code 2^fraction <= max(slope S + above, low 2^fraction)
//   code 2^fraction >= min(slope S + below, high 2^fraction)
// low and high: the row's least and largest code. 0 <= slope.
struct GridLine {
  std::int64_t slope = 0, above = 0, below = 0;
  bool operator==(const GridLine&) const = default;
};

// A dense layer in method crown: its rows go back over all layers before it.
struct CrownLayer {
  int step = 0;                 // of IntegerPlan::steps: a GridDense or DequantizeSums
  int shift = 0;                // coefficients of rows that begin at its sums are times 2^shift
  std::int64_t relaxed = 0;     // where its lines lie in the room, bytes
  std::vector<GridLine> lines;  // of each row; none of a DequantizeSums
  bool operator==(const CrownLayer&) const = default;
};

// Method crown over codes: docs/proofs/integer-crown.md.
struct GridCrown {
  int fraction = 0;   // bits of lines
  int row_shift = 0;  // of rows of the property; negative: divided by 2^-row_shift
  int widest = 0;     // numbers of a row of coefficients, of which the room begins with two
  BufferId room = BufferId::kNone;
  std::vector<CrownLayer> layers;  // in order; each reads what the one before makes
  bool operator==(const GridCrown&) const = default;
};

using IntegerStep = std::variant<QuantizeBox, GridDense, GridConv, GridSparse, GridSum, GridMax,
                                 GridTable, GridParts, GridLoose, DequantizeBounds, DequantizeSums>;

struct IntegerPlan {
  std::vector<GridTensor> tensors;
  std::vector<IntegerStep> steps;  // in order; those that make outputs come last
  std::optional<GridProperty> property;
  std::optional<GridCrown> crown;  // of method crown

  const GridTensor& tensor(GridId id) const { return tensors.at(static_cast<std::size_t>(id)); }
  GridTensor& tensor(GridId id) { return tensors.at(static_cast<std::size_t>(id)); }
  bool operator==(const IntegerPlan&) const = default;
};

// The name of the tensor that a step makes; "outputs_<first>" for a step that makes outputs.
std::string name_of_result(const IntegerPlan& plan, const IntegerStep& step);

// The nodes that a step came from.
const Origin& origin_of(const IntegerPlan& plan, const IntegerStep& step);

// "dense", "conv", ...
std::string_view name_of(const IntegerStep& step);

// The tensors that a step reads, and the one that it makes; -1: it makes outputs.
std::vector<GridId> inputs_of(const IntegerStep& step);
GridId output_of(const IntegerStep& step);

// The bytes of each index of an emitted table: 2 if all of them fit, else 4.
int index_bytes(const std::vector<std::int64_t>& indices);

// The bytes of a step's emitted constants: weights, requantizers and tables.
std::int64_t constant_bytes(const IntegerStep& step);
std::int64_t constant_bytes(const PropertySums& sums);

std::string_view to_string(Rounding rounding);
std::string_view to_string(CodeOrder order);

}  // namespace bf_aot
