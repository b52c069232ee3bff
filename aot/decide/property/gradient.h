#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::decide {

// The specification's rows of a plan, and gradients of functions of them, at several points side by
// side, in plain float32: they only propose points. Not for several threads.
class RowGradients {
 public:
  static constexpr std::size_t kPoints = 16;

  // The plan has spec rows, and outlives the object.
  explicit RowGradients(const Plan& plan);

  // x: [inputs][kPoints]. Returns the rows, [spec rows][kPoints].
  const std::vector<float>& rows(const std::vector<float>& x);

  // Of sum_r weights_r rows_r at the points of the last rows(): [inputs][kPoints]. weights: as
  // rows(). Functions of steps have the slopes of chords as long as four times how far what their
  // layer reads differs between the points, the others of short ones.
  const std::vector<float>& gradient(const std::vector<float>& weights);

 private:
  void evaluate(LayerId id);
  void pull_back(LayerId id);
  const std::vector<float>& value(LayerId id) const;
  std::vector<float>& adjoint(LayerId id);

  const Plan& plan_;
  // By layer: z, a = activation of z, and the derivative by a, later z; [out][kPoints].
  PerLayer<std::vector<float>> before_, after_, adjoint_;
  std::vector<float> input_, input_adjoint_, rows_;
};

}  // namespace bf_aot::decide
