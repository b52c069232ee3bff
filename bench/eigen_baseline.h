#pragma once

#include <memory>
#include <vector>

namespace bf_aot::bench {

// A layer z = W a + b, then relu(z) when `relu`. weight: [out][in].
struct DenseLayer {
  int in = 0;
  int out = 0;
  bool relu = false;
  std::vector<float> weight, bias;
};

enum class BaselineMethod { kIbp, kCrownIbp, kCrown };

// The program that a good engineer writes in an afternoon with Eigen: the bounds of the same
// methods in plain float32 on dynamic matrices, without any care for rounding. Its matrix products
// are Eigen's, on one thread; CROWN bounds the unstable rows only and meets them with the interval
// bounds.
class __attribute__((visibility("default"))) EigenBaseline {
 public:
  explicit EigenBaseline(const std::vector<DenseLayer>& layers);
  ~EigenBaseline();
  EigenBaseline(const EigenBaseline&) = delete;
  EigenBaseline& operator=(const EigenBaseline&) = delete;

  // lower, upper: of the box; out_lower, out_upper: as many as the last layer has outputs.
  void bounds(BaselineMethod method, const float* lower, const float* upper, float* out_lower,
              float* out_upper) const;

  // The number of neurons of each layer that the method bounds backward on this box: those that the
  // interval leaves unstable, and all outputs.
  std::vector<int> backward_counts(BaselineMethod method, const float* lower,
                                   const float* upper) const;

 private:
  class Network;
  std::unique_ptr<Network> network_;
};

}  // namespace bf_aot::bench
