#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aot/loop/nest.h"

namespace bf::testing {

// A value and the roundings of the longest chain that made it, were it computed in float32.
struct Number {
  double value = 0;
  int depth = 0;
};

using Memory = std::map<std::string, std::vector<Number>>;

// Runs nests by the contract of aot/loop/nest.h, apart from the printer: in double, one point at a
// time, its loops as scheduled. An access outside a buffer and a tile that is cut short although
// the nest says that it is full fail the test.
class Interpreter {
 public:
  // `shared`: the outermost loop is shared with other nests, so that sums leave in each iteration.
  Interpreter(const loop::Nest& nest, Memory& memory, bool shared = false);

  void run();

  // Roundings of the longest chain that went into a sum.
  int deepest() const { return deepest_; }

 private:
  using Point = std::vector<std::int64_t>;  // values of the axes that are not reduced
  using Sums = std::map<Point, std::vector<Number>>;

  void run_loops(std::size_t level);
  void iterate(std::size_t level);
  void run_region();
  void run_point();
  void leave(const std::vector<Number>& sums);
  void execute(const loop::Statement& statement);
  void add(Sums& to, const Point& point, std::size_t sum, Number value);
  Number evaluate(const loop::Expr& expr);
  Number& element(const std::string& buffer, const loop::Index& index);
  std::int64_t offset(const loop::Index& index) const;
  std::int64_t axis_value(const std::string& axis) const { return loops_.at(axis); }
  bool is_reduced(const loop::Loop& loop) const { return nest_.axis(loop.axis).reduced; }
  bool in_first_block() const;
  Point point() const;

  const loop::Nest& nest_;
  Memory& memory_;
  std::size_t region_;                         // loops outside the accumulators
  std::map<std::string, std::int64_t> loops_;  // values; the loop named as its axis has its value
  std::map<std::string, Number> locals_;
  Sums sums_, partial_;
  int deepest_ = 0;
};

}  // namespace bf::testing
