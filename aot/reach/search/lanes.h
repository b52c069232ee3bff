#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/evaluate/scalar_program.h"
#include "frontend/graph/graph.h"

namespace bf_aot::reach {

// Holds the same number of so many trajectories side by side, in double: nothing is claimed of it.
inline constexpr std::size_t kLanes = 8;
struct alignas(64) Lanes : std::array<double, kLanes> {};

// Computes a scalar program in double for several points at once, each operation rounded to nearest
// in the program's order. Numbers that nobody reads any more give their places to others, so that
// all of them stay near the processor.
class LaneProgram {
 public:
  explicit LaneProgram(const ScalarProgram& program);

  // inputs: as many as the program's; outputs: likewise. They may not overlap.
  void run(std::span<const Lanes> inputs, std::span<Lanes> outputs) const;
  std::size_t outputs() const { return outputs_.size(); }

 private:
  friend class LaneCompiler;
  enum class Kind : std::uint8_t {
    kInput,      // input a
    kConstant,   // c
    kAdd,        // a + b
    kSubtract,   // a - b
    kMultiply,   // a b
    kDivide,     // a / b
    kRelu,       // max(a, 0)
    kLarger,     // max(a, b)
    kFunction,   // function b of a
    kScale,      // c a
    kAddScaled,  // a + c b
  };
  struct Operation {
    Kind kind = Kind::kConstant;
    std::uint32_t to = 0, a = 0, b = 0;  // places
    double c = 0;
  };

  std::vector<Operation> operations_;
  std::vector<Function> functions_;
  std::vector<std::uint32_t> outputs_;
  std::size_t places_ = 0;
};

// A network of a loop in lanes: by its scalar program, or by evaluate() where that is too long.
class LaneNetwork {
 public:
  explicit LaneNetwork(const Graph& graph);

  void run(std::span<const Lanes> inputs, std::span<Lanes> outputs) const;
  std::size_t outputs() const { return outputs_; }

 private:
  const Graph* graph_ = nullptr;  // where `program_` is empty
  std::vector<LaneProgram> program_;
  std::size_t outputs_ = 0;
};

}  // namespace bf_aot::reach
