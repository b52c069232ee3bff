#pragma once

#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/network/layer_loops.h"
#include "planner/plan/plan.h"
#include "planner/reference/linear.h"
#include "planner/reference/log_softmax.h"
#include "planner/reference/relaxation.h"

// The network at a point, from the plan's layers.
namespace bf_aot::reference {

template <typename Scalar>
Vector<Scalar> activation(const Layer& layer, Vector<Scalar> z) {
  for (Scalar& value : z) {
    if (layer.relu && value < 0) value = 0;
    if (layer.function) value = value_of(*layer.function, value);
  }
  return z;
}

// read(tensor): the value of a layer before this one, or of the input.
template <typename Scalar, typename Read>
Vector<Scalar> evaluate_layer(const Layer& layer, const Read& read) {
  if (layer.is_affine()) {
    const AffineMap<Scalar> map(layer);
    const std::vector<LayerId> inputs = inputs_of(layer);
    Vector<Scalar> z = map.bias;
    for (std::size_t i = 0; i < inputs.size(); ++i) map.parts[i]->apply(read(inputs[i]), z);
    return activation(layer, std::move(z));
  }
  Vector<Scalar> z(layer.out);
  const Vector<Scalar>& x = read(layer.terms.at(0).input);
  if (layer.kind == LayerKind::kProduct) {
    const Vector<Scalar>& y = read(layer.terms.at(1).input);
    for (Eigen::Index j = 0; j < z.size(); ++j)
      z(j) = x(source_of(std::get<GatherMap>(layer.terms[0].map), j)) *
             y(source_of(std::get<GatherMap>(layer.terms[1].map), j));
    return z;
  }
  if (layer.kind == LayerKind::kContraction) {
    const Vector<Scalar>& y = read(layer.terms.at(1).input);
    for_each_contracted(layer, [&](Eigen::Index j, Eigen::Index from_x, Eigen::Index from_y,
                                   Eigen::Index, Eigen::Index, bool first) {
      const Scalar product = x(from_x) * y(from_y);
      z(j) = first ? product : Scalar(z(j) + product);
    });
    return z;
  }
  const SparseMap& map = std::get<SparseMap>(layer.terms[0].map);
  if (layer.kind == LayerKind::kLogSoftmax) return log_softmax(map, x);
  for (std::size_t j = 0; j + 1 < map.row_start.size(); ++j) {
    auto k = static_cast<std::size_t>(map.row_start[j]);
    Scalar most = x(map.column[k]);
    for (++k; k < static_cast<std::size_t>(map.row_start[j + 1]); ++k)
      most = Scalar(larger<Scalar>(most, x(map.column[k])));
    z(static_cast<Eigen::Index>(j)) = most;
  }
  return z;
}

// All heads' values.
template <typename Scalar>
std::vector<Scalar> evaluate_heads(const Plan& plan, const std::vector<Scalar>& x,
                                   const std::vector<LayerId>& heads) {
  BF_CHECK(x.size() == static_cast<std::size_t>(plan.input_count));
  const Vector<Scalar> input = Eigen::Map<const Vector<Scalar>>(x.data(), plan.input_count);
  PerLayer<Vector<Scalar>> values;
  const auto read = [&](LayerId tensor) -> const Vector<Scalar>& {
    return tensor < 0 ? input : values[tensor];
  };
  for (const Layer& layer : plan.layers) {
    Vector<Scalar> value = evaluate_layer<Scalar>(layer, read);
    values.push_back(std::move(value));
  }
  std::vector<Scalar> outputs;
  for (LayerId head : heads) {
    const Vector<Scalar>& value = values[head];
    outputs.insert(outputs.end(), value.begin(), value.end());
  }
  return outputs;
}

}  // namespace bf_aot::reference
