#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aot/emit/loop/program.h"

namespace bf_aot::testing {

// A value and the roundings of the longest chain that made it, were it computed in float32.
struct Number {
  double value = 0;
  int depth = 0;
};

using Memory = std::map<std::string, std::vector<Number>>;

// Runs nests by the contract of aot/emit/loop/nest.h, apart from the printer: in double, one point
// at a time, its loops as scheduled. An access outside a buffer and a tile that is cut short
// although the nest says that it is full fail the test.
class Interpreter {
 public:
  using Values = std::map<std::string, std::int64_t>;  // of loops, by name

  Interpreter(const loop::Nest& nest, Memory& memory);

  // Inside the outermost loops, which have these values.
  void run(const Values& outside = {});

  // The values that a loop takes inside the others.
  std::vector<std::int64_t> values_of(std::size_t level, const Values& outside);

  // Roundings of the longest chain that went into a sum.
  int deepest() const { return deepest_; }

 private:
  using Point = std::vector<std::int64_t>;  // values of the axes that are not reduced
  using Sums = std::map<Point, std::vector<Number>>;

  void run_loops(std::size_t level);
  void iterate(std::size_t level);
  void run_region();
  void fill_sums(std::size_t level);
  void run_point();
  void leave(const std::vector<Number>& sums);
  void execute(const loop::Statement& statement);
  void add(Sums& to, const Point& point, std::size_t sum, Number value);
  Number evaluate(const loop::Expr& expr);
  Number& element(const std::string& buffer, const loop::Index& index);
  std::int64_t offset(const loop::Index& index) const;
  std::int64_t offset_of(const loop::Lookup& lookup) const;
  std::int64_t end_of(const loop::Loop& loop) const;
  bool are_within(const std::vector<loop::Range>& ranges) const;
  const std::string& walker(const std::string& axis) const;
  // Of a kept listed axis; of others the value.
  std::int64_t place_of(const std::string& axis) const { return loops_.at(walker(axis)); }
  bool counts(const loop::Axis& axis, std::int64_t value) const;
  std::int64_t axis_value(const std::string& axis) const;
  bool is_reduced(const loop::Loop& loop) const { return nest_.axis(loop.axis).reduced; }
  bool in_first_block() const;
  bool has_partial_sums() const;
  Point point() const;

  const loop::Nest& nest_;
  Memory& memory_;
  std::size_t region_;  // loops outside the accumulators
  Values loops_;
  std::map<std::string, Number> locals_;
  Sums sums_, partial_;
  int deepest_ = 0;
};

// The nests in their order and places. Returns the roundings of the longest chain.
int interpret(const loop::Program& program, Memory& memory);

}  // namespace bf_aot::testing
