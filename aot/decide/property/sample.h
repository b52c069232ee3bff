#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/verifier/verifier.h"
#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/passes/passes.h"

namespace bf_aot::decide {

// What the network gives for one point: |y_i - value_i| <= error_i, proven (sums in twice the
// precision of double, every rounding counted). Outputs first, then the rows of C y.
struct SampledPoint {
  std::vector<double> input;
  std::vector<Bounded> values;
};

// Evaluates a network as it was imported, before any pass: an oracle apart from what is checked.
class Sampler {
 public:
  explicit Sampler(std::filesystem::path model, std::vector<std::string> outputs = {});
  explicit Sampler(Graph imported) : graph_(std::move(imported)) {}
  // A network that was imported from `model` with the tensors `outputs` as its outputs: release()
  // lets go of it, and graph() reads it again.
  Sampler(Graph imported, std::filesystem::path model, std::vector<std::string> outputs)
      : model_(std::move(model)), outputs_(std::move(outputs)), graph_(std::move(imported)) {}
  // The same network with other outputs, see order_outputs(): has_ordered_outputs() is true of it.
  Sampler ordered() const;
  // Of evaluation in float32: errors hold whatever it makes of the network, see round_float32().
  // Throws: BF2110, BF2111.
  Sampler(Graph imported, const Float32Semantics& semantics);

  // `rows`: C, exact doubles.
  SampledPoint evaluate(const std::vector<double>& input,
                        const std::vector<std::vector<double>>& rows) const;

  // The network's outputs, one after another, for inputs that are known up to an error.
  std::vector<Bounded> outputs(const std::vector<Bounded>& input) const;

  // The same in rational arithmetic; nothing when the network has operations or constants that are
  // not rational.
  std::optional<std::vector<mpq_class>> exact_outputs(const std::vector<mpq_class>& input) const;

  const Graph& graph() const;

  // A large network from a file goes until it is asked for again, when the file is read again: its
  // numbers would be most of what a process holds while it plans. Not while another thread uses it.
  void release() const;
  bool float32() const { return float32_; }

  // Corners, points of faces and inner points of a box, all float32 numbers, in equal shares; the
  // centre is not among them. The same for the same arguments.
  static std::vector<std::vector<double>> points(const input::FloatBox& box, int count,
                                                 std::uint64_t seed);

  // True when value `i` of the point lies in [lower, upper]. Decided by its error bound where that
  // is enough, else in rational arithmetic.
  bool inside(const SampledPoint& point, const std::vector<std::vector<double>>& rows,
              std::size_t i, double lower, double upper) const;

 private:
  Sampler() = default;

  template <class Number>
  std::vector<std::vector<Number>> split(const std::vector<Number>& input) const;
  bool inside_exactly(const SampledPoint& point, const std::vector<std::vector<double>>& rows,
                      std::size_t i, double lower, double upper) const;

  std::filesystem::path model_;  // or empty
  std::vector<std::string> outputs_;
  mutable std::optional<Graph> graph_;
  bool float32_ = false;
  bool ordered_ = false;
};

}  // namespace bf_aot::decide
