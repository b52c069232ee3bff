#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/lanes/function_lines.h"
#include "aot/decide/neurons/lanes/lane_matrix.h"
#include "aot/engine/run/ranges.h"
#include "planner/plan/config.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::engine {
class FunctionViews;
}

namespace bf_aot::decide {

// A network whose neurons are split (SplitNetworkPlan) on one box, without the ReLUs that are 0 on
// all of it: what nodes of a tree of neuron splits are bounded on. Proofs:
// docs/proofs/neuron-splits.md.
class BoxNetwork {
 public:
  // The form of a neuron's activation on the box.
  enum class Phase : std::uint8_t {
    kLinear,    // a = z: no ReLU, or z >= 0
    kOpen,      // a = relu(z), where z may have either sign
    kFunction,  // a = f(z); also a = z of an affine layer's neurons that are factors of products
  };

  // The matrix M from the activations of a layer, or from the inputs: forward z += M a, backward
  // coefficients over a += M^T coefficients over z.
  struct Part {
    int source = -1;  // index in layers(); -1: the inputs
    LaneMatrix forward, backward;
  };

  // One of the two factors of a product: the place of an activation in its layer, and the
  // activation's range on the box. open: the number, among open neurons, of a factor that is its
  // neuron's z and may be split.
  struct Factor {
    std::size_t place = 0;
    double lower = 0, upper = 0;
    std::optional<std::size_t> open = {};
  };

  struct BoxLayer {
    std::vector<int> neurons;          // their elements in the plan's layer
    std::vector<Phase> phase;          // of each neuron
    std::vector<double> lower, upper;  // the range of z
    std::vector<double> bias;
    std::vector<Part> parts;  // empty in a layer of products
    // The factors of each neuron, and their layers, numbered as in Part, in a layer of products z =
    // x y; else empty.
    std::vector<std::array<Factor, 2>> factors;
    std::array<int, 2> factor_sources = {-1, -1};
    std::size_t first_product = 0;  // the number of the first, counted over all layers
    std::vector<int> open;          // places in `neurons` of open ones and of functions
    std::size_t first_open = 0;     // the number of the first, counted over all layers
    const bf::FunctionView* function = nullptr;  // set where all neurons have it
    std::size_t first_function = 0;              // its first neuron's number among functions
    bool is_factor = false;                      // the function is z itself
    bool is_product = false;                     // of factors
    bool is_read = false;                        // a later layer reads it

    // Errors for the proof, all rounded up: |z*_j - (sum w a + b)_j| <= weight_error reach_j +
    // bias_error, with reach_j = sum |w_jk| max |a_k| and z* of the exact network. In a layer of
    // products reach_j is 4 max |x| max |y|.
    std::vector<double> reach;
    double weight_error = 0, bias_error = 0;

    std::size_t size() const { return neurons.size(); }
    // The function's behaviour where z lies in [low, high]. Factors are split in the middle.
    FunctionInterval interval(double low, double high) const;
  };

  // A row that conditions speak of: a neuron of a layer without activation.
  struct Row {
    int layer = 0, place = 0;
  };

  // Error terms of a proof, rounded up: of a coefficient, times its reach; of the weights of a row
  // that is read, or that several terms speak of; of the magnitudes of all that is added up; and
  // what products below the normal range lose together.
  struct Errors {
    double coefficient = 0, row = 0, sum = 0, underflow = 0;
  };

  // network: of all layers of the plan, in which each is at its own number. lower, upper: the box.
  // ranges: of the relaxed layers on it; others are made here. Null when it would take more than
  // `most_bytes`.
  static std::unique_ptr<const BoxNetwork> make(const Plan& plan, const SplitNetworkPlan& network,
                                                const std::vector<float>& lower,
                                                const std::vector<float>& upper,
                                                const std::vector<engine::Ranges>& ranges,
                                                std::size_t most_bytes);
  ~BoxNetwork();

  const std::vector<BoxLayer>& layers() const { return layers_; }
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t inputs() const { return lower_.size(); }
  const std::vector<float>& lower() const { return lower_; }  // of the box
  const std::vector<float>& upper() const { return upper_; }
  Norm norm() const { return norm_; }                   // of the ball in the box, as of the plan
  std::size_t open() const { return open_; }            // open neurons
  std::size_t functions() const { return functions_; }  // open neurons that are functions
  std::size_t products() const { return products_; }
  // The layer of an open neuron, and its place there.
  std::pair<int, int> place_of(std::size_t open) const { return places_[open]; }
  const std::vector<bool>& is_function() const { return is_function_; }  // by open neuron
  const BoxLayer& layer_of(std::size_t open) const {
    return layers_[static_cast<std::size_t>(places_[open].first)];
  }
  // The number of an open neuron among functions. Requires is_function()[open].
  std::size_t function_of(std::size_t open) const {
    const BoxLayer& layer = layer_of(open);
    return layer.first_function + (open - layer.first_open);
  }

  const Errors& errors() const { return errors_; }
  // The roundings that the errors were made of, see SplitCounts, for the neurons that are left.
  double roundings() const { return roundings_; }

 private:
  class Builder;

  BoxNetwork(std::vector<float> lower, std::vector<float> upper);

  std::vector<BoxLayer> layers_;
  std::vector<Row> rows_;
  std::vector<float> lower_, upper_;
  Norm norm_ = Norm::kLargest;
  std::unique_ptr<engine::FunctionViews> views_;
  std::size_t open_ = 0, functions_ = 0, products_ = 0;
  std::vector<std::pair<int, int>> places_;
  std::vector<bool> is_function_;
  Errors errors_;
  double roundings_ = 0;
};

}  // namespace bf_aot::decide
