#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::decide {

// Evaluates the specification's rows of a plan, and gradients of their weighted sums, at several
// points side by side. It computes in plain float32, since it only proposes points. Not for several
// threads.
class RowGradients {
 public:
  static constexpr std::size_t kPoints = 16;

  // The plan must have rows of a specification, and outlive the object.
  explicit RowGradients(const Plan& plan);

  // x: [inputs][kPoints]. Returns the rows, [spec rows][kPoints].
  const std::vector<float>& rows(const std::vector<float>& x);

  // The gradient of sum_r weights_r rows_r at the points of the last rows(), [inputs][kPoints];
  // weights: as rows(). The slope of an activation is that of a chord about the point. For
  // functions with steps, such as floor, the chord is as long as four times the spread of the
  // layer's values z over the points, so that it sees steps; for others it is short.
  const std::vector<float>& gradient(const std::vector<float>& weights);

 private:
  void evaluate(LayerId id);
  void pull_back(LayerId id);
  const std::vector<float>& value(LayerId id) const;
  std::vector<float>& adjoint(LayerId id);

  const Plan& plan_;
  // by layer, [out][kPoints]: z, a = activation of z, and the derivative by a, later by z
  PerLayer<std::vector<float>> before_, after_, adjoint_;
  std::vector<float> input_, input_adjoint_, rows_;
};

}  // namespace bf_aot::decide
