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
#include "frontend/import/file/model_cut.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/passes/passes.h"

namespace bf_aot::decide {

// The values of the network at one point: |y_i - value_i| <= error_i, proven (sums in twice the
// precision of double, every rounding counted). Outputs come first, then the rows of C y.
struct SampledPoint {
  std::vector<double> input;
  std::vector<Bounded> values;
};

// Evaluates a network as it was imported, before any pass: an oracle that is independent of the
// compiler's passes and of verifiers.
class Sampler {
 public:
  explicit Sampler(std::filesystem::path model, ModelCut cut = {});
  explicit Sampler(Graph imported) : graph_(std::move(imported)) {}
  // The network is what `cut` leaves of `model`: release() frees it, and graph() reads it again.
  Sampler(Graph imported, std::filesystem::path model, ModelCut cut)
      : model_(std::move(model)), cut_(std::move(cut)), graph_(std::move(imported)) {}
  // This network with outputs that compare as its own do but without the final Softmax, see
  // order_outputs(). Requires has_ordered_outputs().
  Sampler ordered() const;
  // Evaluates in float32: errors hold for whatever such evaluation makes of the network, see
  // round_float32(). Throws: BF2110, BF2111.
  Sampler(Graph imported, const Float32Semantics& semantics);

  // Evaluates outputs and rows at a point. `rows`: C, exact doubles.
  SampledPoint evaluate(const std::vector<double>& input,
                        const std::vector<std::vector<double>>& rows) const;

  // The network's outputs, one after another, for inputs that are known up to an error.
  std::vector<Bounded> outputs(const std::vector<Bounded>& input) const;

  // The outputs in rational arithmetic; none when the network has operations or constants that are
  // not rational.
  std::optional<std::vector<mpq_class>> exact_outputs(const std::vector<mpq_class>& input) const;

  // The outputs where no evaluation in float32 rounds anything at a point, see
  // evaluate_unrounded(); none elsewhere, and of large networks. Requires float32().
  std::optional<std::vector<double>> unrounded_outputs(const std::vector<double>& input) const;

  const Graph& graph() const;

  // Frees a large network that was read from a file until it is asked for again, when the file is
  // read again: its numbers would be most of what a process holds while it plans. Not while another
  // thread uses it.
  void release() const;
  bool float32() const { return float32_; }

  // Points of a box, in equal shares corners, points of faces and inner points, all float32
  // numbers; the centre is not among them. Equal arguments give equal points.
  static std::vector<std::vector<double>> points(const input::FloatBox& box, int count,
                                                 std::uint64_t seed);

  // Returns whether value `i` of the point lies in [lower, upper]. The value's error bound decides
  // where it is small enough, else rational arithmetic.
  bool inside(const SampledPoint& point, const std::vector<std::vector<double>>& rows,
              std::size_t i, double lower, double upper) const;

 private:
  Sampler() = default;

  template <class Number>
  std::vector<std::vector<Number>> split(const std::vector<Number>& input) const;
  bool inside_exactly(const SampledPoint& point, const std::vector<std::vector<double>>& rows,
                      std::size_t i, double lower, double upper) const;

  std::filesystem::path model_;  // or empty
  ModelCut cut_;
  mutable std::optional<Graph> graph_;
  std::optional<Graph> unrounded_;  // as it was before round_float32()
  bool float32_ = false;
  bool ordered_ = false;
};

}  // namespace bf_aot::decide
