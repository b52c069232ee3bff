#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aot/emit/loop/expr.h"
#include "aot/emit/loop/primitive.h"

namespace bf_aot::loop {

// ---- The computation: a tensor expression over axes of fixed extent.

// A dimension of a nest: begin <= value < end. A reduced axis is summed over.
//
// A listed axis takes those values alone that a list names, which is known at run time: 32-bit
// integers, first the count of values; then 0 .. entries - 1 in an order in which the values of the
// list come first, rising; then how many of these lie below 0, 8, 16, .. and all.
//   Reduced, only its innermost loop knows the list: it goes through the values in its tile.
//   Kept, its loops go through places begin .. end - 1 of the order, up to the last that holds a
//   value; but register tiles are whole, and what they make for other places is no result.
struct Axis {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool reduced = false;
  std::string list = {};  // buffer; empty: the axis is not listed
  std::int64_t entries = 0;

  bool is_listed() const { return !list.empty(); }
  bool walks_places() const { return is_listed() && !reduced; }
  // The range of values: begin <= value < end.
  std::int64_t first_value() const { return walks_places() ? 0 : begin; }
  std::int64_t end_of_values() const { return walks_places() ? entries : end; }
  bool operator==(const Axis&) const = default;
};

// The axis with a list.
Axis listed(Axis axis, std::string list);

struct Let {
  std::string name;
  ExprPtr value;
};

struct Store {
  std::string buffer;
  Index index;
  ExprPtr value;
  std::vector<Range> within;  // elsewhere nothing is stored
};

using Statement = std::variant<Let, Store>;

// The assignment accumulator += value, over the reduced axes.
struct Sum {
  std::string accumulator;
  ExprPtr value;
  // The place of the sum when the accumulator's reduced loops end; empty: the epilogue reads it.
  std::string buffer;
  Index index;
  // The sum is added to what `buffer` holds; else the first block of an outer reduced loop
  // overwrites it.
  bool add = false;
};

// A computation. At every point the body runs, then the sums grow. When the reduced axes are done,
// the epilogue runs at every point of the other axes.
struct Expression {
  std::vector<Axis> axes;
  std::vector<Statement> body;
  std::vector<Sum> sums;
  std::vector<Statement> epilogue;
};

// ---- The schedule: a loop per axis and split, outermost first.

enum class LoopKind : std::uint8_t { kSerial, kParallel, kBound, kUnrolled, kVector, kCall };

// Walks an axis, or one tile of the loop `outer` of the same axis, in steps.
struct Loop {
  std::string name;
  std::string axis;
  std::string outer;  // empty: the whole axis
  std::int64_t step = 1;
  LoopKind kind = LoopKind::kSerial;
  int unroll = 1;       // copies of the body of a serial loop
  bool rolled = false;  // in a register tile: what follows the sums loops over it
  int stride = 1;       // of a bound loop: see Bind
  int items = 1;
  bool operator==(const Loop&) const = default;

  // Returns whether its iterations run one after the other here; those of others lie side by side
  // in a register tile or in a call.
  bool is_counted() const {
    return kind == LoopKind::kSerial || kind == LoopKind::kParallel || kind == LoopKind::kBound;
  }
};

// The reason why something does not apply, as the end of a sentence: "loop 'i' is not innermost".
// None: it applies.
using Reason = std::optional<std::string>;

// An expression with its schedule. It starts with one serial loop per axis, in the axes' order.
class Nest {
 public:
  explicit Nest(Expression expression);
  // Makes a part of another nest's loops around an expression of the same axes.
  Nest(Expression expression, std::vector<Loop> loops);

  const Expression& expression() const { return expression_; }
  const std::vector<Loop>& loops() const { return loops_; }
  // The primitives that have been applied, in order.
  const std::vector<Primitive>& applied() const { return applied_; }

  const Axis& axis(const std::string& name) const;
  const Loop& loop(const std::string& name) const;
  bool has_axis(const std::string& name) const;
  bool has_loop(const std::string& name) const;

  // The first condition of a primitive that does not hold. Never aborts, whatever the names.
  Reason why_not(const Primitive& primitive) const;

  // Aborts, with the reason, when the primitive does not apply.
  void apply(const Primitive& primitive);

  // Apply a primitive each; see primitive.h.
  void split(const std::string& loop, std::int64_t step, const std::string& outer);
  void reorder(const std::vector<std::string>& order);
  void unroll(const std::string& loop, int factor = 0);
  void roll(const std::string& loop);
  void vectorize(const std::string& loop);
  void parallel(const std::string& loop);
  void bind(const std::string& loop, int stride, int items);
  void cache_write(const std::string& loop);
  void keep(const std::string& let);
  void restrict_axis(const std::string& axis, std::int64_t begin, std::int64_t end);
  void inline_let(const std::string& let);
  void prefetch(const std::string& buffer, std::int64_t bytes);
  void tensorize(const std::string& loop, const std::string& intrinsic);

  // The reason why the schedule as it stands cannot run, since primitives may lead through orders
  // of loops in which sums would be lost; none if it can.
  Reason why_incomplete() const;

  bool is_kept(const std::string& let) const;
  const std::string& partial_loop() const { return partial_loop_; }
  // The distance in bytes ahead of reads; 0: nothing is prefetched.
  std::int64_t prefetched(const std::string& buffer) const;
  // The intrinsic that the innermost loop calls; empty: none.
  const std::string& called() const { return called_; }

  // The number of leading loops that this nest shares with another: see Program. Sums leave in each
  // iteration of these.
  std::size_t shared() const { return shared_; }
  void share(std::size_t loops);

  // The number of loops outside the accumulators: those that are shared, and those up to the last
  // counted loop of more than one iteration over a kept axis.
  std::size_t region() const;

  // Whether the items of a group share the nest.
  bool is_bound() const;

  bool is_reduced(const Loop& loop) const { return axis(loop.axis).reduced; }

  // The number of lanes of the vector loop; 1 when there is none.
  std::int64_t lanes() const;

  // The number of iterations of a loop in a full tile of its outer loop, where it is known at
  // compile time.
  std::int64_t trip_count(const Loop& loop) const;

  // Returns whether the loop has one iteration, whatever a list says, so that no loop is printed.
  bool runs_once(const Loop& loop) const;

  // Returns whether every tile of the loop's outer loop is full.
  bool is_exact(const Loop& loop) const;

  // Returns whether some sum is kept in float32.
  bool sums_in_float() const;

  // The number of roundings in the longest chain of additions into one sum, the products' own
  // included.
  std::int64_t summation_depth() const;

 private:
  friend struct Legality;
  friend struct Application;
  friend class Program;

  std::size_t position(const std::string& name) const;

  Expression expression_;
  std::vector<Loop> loops_;
  std::vector<Primitive> applied_;
  std::string partial_loop_;
  std::vector<std::string> kept_;
  std::map<std::string, std::int64_t> prefetched_;
  std::string called_;
  std::size_t shared_ = 0;
};

}  // namespace bf_aot::loop
