#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aot/loop/expr.h"

namespace bf::loop {

// ---- What is computed: a tensor expression over axes of fixed extent.

// A dimension of a nest: begin <= value < end. A reduced axis is summed over.
struct Axis {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool reduced = false;
};

struct Let {
  std::string name;
  ExprPtr value;
};

struct Store {
  std::string buffer;
  Index index;
  ExprPtr value;
  // Only elements whose value of this axis is below the limit are stored; the others are padding.
  std::optional<std::pair<std::string, std::int64_t>> limit;
};

using Statement = std::variant<Let, Store>;

// accumulator += value, over the reduced axes.
struct Sum {
  std::string accumulator;
  ExprPtr value;
  // Where the sum goes when the accumulator's reduced loops end; empty: the epilogue reads it.
  std::string buffer;
  Index index;
  // Add to what `buffer` holds; else only the first block of an outer reduced loop overwrites it.
  bool add = false;
};

// At every point: `body`, then the sums. When the reduced axes are done, at every point of the
// others: `epilogue`.
struct Expression {
  std::vector<Axis> axes;
  std::vector<Statement> body;
  std::vector<Sum> sums;
  std::vector<Statement> epilogue;
};

// ---- How: a loop per axis and split, outermost first.

enum class LoopKind : std::uint8_t { kSerial, kUnrolled, kVector };

// Walks an axis, or one tile of the loop `outer` of the same axis, in steps.
struct Loop {
  std::string name;
  std::string axis;
  std::string outer;  // empty: the whole axis
  std::int64_t step = 1;
  LoopKind kind = LoopKind::kSerial;
};

// An expression with its schedule. It starts with one serial loop per axis, in the axes' order;
// the primitives below rearrange the loops and never change what is computed, but for the order of
// summation. Each aborts when it does not apply (our bug: schedules come from the planner).
class Nest {
 public:
  explicit Nest(Expression expression);

  const Expression& expression() const { return expression_; }
  const std::vector<Loop>& loops() const { return loops_; }

  const Axis& axis(const std::string& name) const;
  const Loop& loop(const std::string& name) const;
  bool has_loop(const std::string& name) const;

  // Loop `name` becomes two: `outer` in steps of `step` loop steps around it. The last tile may be
  // shorter; not inside an unrolled or vector loop.
  void split(const std::string& name, std::int64_t step, const std::string& outer);

  // The loops' order, outermost first; names every loop once.
  void reorder(const std::vector<std::string>& names);

  // All iterations side by side; the trip count must be exact. Loops inside are unrolled or vector.
  void unroll(const std::string& name);

  // The innermost loop becomes the lanes of vectors; its trip count is the number of lanes.
  void vectorize(const std::string& name);

  // Sums inside reduced loop `name` go to accumulators of their own, added to the outer ones once
  // per iteration: shorter chains of roundings.
  void partial_sums(const std::string& name);

  // Restricts an axis to a part of its range: a nest and its copy cover a range that no tile
  // divides.
  void restrict_axis(const std::string& name, std::int64_t begin, std::int64_t end);

  // Loads value `let` of the body once per point, where the compiler would read memory at every
  // use.
  void keep_in_register(const std::string& let);

  bool is_kept(const std::string& let) const;

  const std::string& partial_loop() const { return partial_loop_; }

  // Lanes of the vector loop; 1 when there is none.
  std::int64_t lanes() const;

  // Iterations of a loop when it is known at compile time: of a full tile of its outer loop.
  std::int64_t trip_count(const Loop& loop) const;

  // Whether every tile of the loop's outer loop is full.
  bool is_exact(const Loop& loop) const;

  // Whether some sum is kept in float32.
  bool sums_in_float() const;

  // Roundings of the longest chain of additions into one sum, the products' own included. Sums
  // leave their accumulators at the end of each iteration of the loop `shared` with other nests, if
  // any.
  std::int64_t summation_depth(const std::string& shared) const;

 private:
  Loop& mutable_loop(const std::string& name);
  std::size_t position(const std::string& name) const;

  Expression expression_;
  std::vector<Loop> loops_;
  std::string partial_loop_;
  std::vector<std::string> kept_;
};

}  // namespace bf::loop
