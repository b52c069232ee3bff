#pragma once

#include <Eigen/Core>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/plan.h"

// The reference machine, over any ordered field: double in executor.cpp, rationals in exact.cpp.
// It follows the steps and their buffers, and ignores offsets, kernels, tiles and error terms.
namespace bf::reference {

template <typename Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Scalar>
Scalar magnitude(const Scalar& x) {
  return x < 0 ? Scalar(-x) : x;
}

template <typename Scalar>
const Scalar& larger(const Scalar& a, const Scalar& b) {
  return a < b ? b : a;
}

template <typename Scalar>
const Scalar& smaller(const Scalar& a, const Scalar& b) {
  return b < a ? b : a;
}

// Eigen's product for machine numbers; for rationals plain loops, which skip the many zeros.
template <typename Scalar>
Matrix<Scalar> product(const Matrix<Scalar>& a, const Matrix<Scalar>& b) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return a * b;
  } else {
    Matrix<Scalar> result = Matrix<Scalar>::Constant(a.rows(), b.cols(), Scalar(0));
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      for (Eigen::Index k = 0; k < a.cols(); ++k)
        if (a(i, k) != 0)
          for (Eigen::Index j = 0; j < b.cols(); ++j) result(i, j) += a(i, k) * b(k, j);
    return result;
  }
}

template <typename Scalar>
Vector<Scalar> product(const Matrix<Scalar>& a, const Vector<Scalar>& x) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return a * x;
  } else {
    Vector<Scalar> result = Vector<Scalar>::Constant(a.rows(), Scalar(0));
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      for (Eigen::Index k = 0; k < a.cols(); ++k) result(i) += a(i, k) * x(k);
    return result;
  }
}

// A layer's exact affine map: weight + residual, as far as Scalar can hold the sum.
template <typename Scalar>
struct AffineMap {
  Matrix<Scalar> weight;
  Matrix<Scalar> magnitudes;  // |weight|
  Vector<Scalar> bias;

  explicit AffineMap(const Layer& layer)
      : weight(layer.out, layer.in), magnitudes(layer.out, layer.in), bias(layer.out) {
    for (int row = 0; row < layer.out; ++row) {
      bias(row) = Scalar(layer.bias[static_cast<std::size_t>(row)]);
      for (int column = 0; column < layer.in; ++column) {
        const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(layer.in) +
                        static_cast<std::size_t>(column);
        Scalar w(static_cast<double>(layer.weight[at]));
        if (!layer.residual.empty()) w += Scalar(static_cast<double>(layer.residual[at]));
        magnitudes(row, column) = magnitude(w);
        weight(row, column) = std::move(w);
      }
    }
  }

  Vector<Scalar> operator()(const Vector<Scalar>& x) const { return product(weight, x) + bias; }
};

template <typename Scalar>
Vector<Scalar> relu(Vector<Scalar> x) {
  for (Scalar& value : x)
    if (value < 0) value = 0;
  return x;
}

template <typename Scalar>
struct Interval {
  Vector<Scalar> lower, upper;

  Vector<Scalar> centre() const { return (lower + upper) / Scalar(2); }
  Vector<Scalar> radius() const { return (upper - lower) / Scalar(2); }
  bool unstable(Eigen::Index j) const { return lower(j) < 0 && upper(j) > 0; }
};

// All heads' values at a point.
template <typename Scalar>
std::vector<Scalar> evaluate_heads(const Plan& plan, const std::vector<Scalar>& x,
                                   const std::vector<int>& heads) {
  BF_CHECK(x.size() == static_cast<std::size_t>(plan.input_count));
  const Vector<Scalar> input = Eigen::Map<const Vector<Scalar>>(x.data(), plan.input_count);
  std::vector<Vector<Scalar>> values;
  for (const Layer& layer : plan.layers) {
    const Vector<Scalar>& from =
        layer.input < 0 ? input : values[static_cast<std::size_t>(layer.input)];
    Vector<Scalar> z = AffineMap<Scalar>(layer)(from);
    values.push_back(layer.relu ? relu<Scalar>(std::move(z)) : std::move(z));
  }
  std::vector<Scalar> outputs;
  for (int head : heads) {
    const Vector<Scalar>& value = values.at(static_cast<std::size_t>(head));
    outputs.insert(outputs.end(), value.begin(), value.end());
  }
  return outputs;
}

template <typename Scalar>
class Machine {
 public:
  Machine(const Plan& plan, const Entry& entry, const std::vector<Scalar>& lower,
          const std::vector<Scalar>& upper)
      : plan_(plan), entry_(entry), memory_(entry.buffers.size()) {
    const auto count = static_cast<std::size_t>(plan.input_count);
    BF_CHECK(lower.size() == count && upper.size() == count);
    for (std::size_t i = 0; i < count; ++i) BF_CHECK(lower[i] <= upper[i]);
    box_.lower = Eigen::Map<const Vector<Scalar>>(lower.data(), plan.input_count);
    box_.upper = Eigen::Map<const Vector<Scalar>>(upper.data(), plan.input_count);
    const bool spec = entry.kind == EntryKind::kSpecBounds;
    outputs_.lower.resize(spec ? plan.spec_rows : plan.output_count);
    outputs_.upper.resize(outputs_.lower.size());
  }

  void run() {
    for (const Step& step : entry_.steps)
      std::visit([this](const auto& s) { this->execute(s); }, step);
  }

  const Interval<Scalar>& outputs() const { return outputs_; }
  const std::map<int, Interval<Scalar>>& layers() const { return layers_; }

  // Per layer with a ReLU: neurons that may lie on both sides of 0.
  std::vector<int> unstable() const {
    std::vector<int> counts;
    for (const auto& [index, bounds] : layers_) {
      if (!layer(index).relu) continue;
      counts.push_back(0);
      for (Eigen::Index j = 0; j < bounds.lower.size(); ++j)
        counts.back() += bounds.unstable(j) ? 1 : 0;
    }
    return counts;
  }

 private:
  const Layer& layer(int index) const { return plan_.layers.at(static_cast<std::size_t>(index)); }
  Vector<Scalar>& memory(BufferId id) { return memory_.at(static_cast<std::size_t>(id)); }

  const AffineMap<Scalar>& map_of(int index) {
    const auto found = maps_.find(index);
    if (found != maps_.end()) return found->second;
    return maps_.emplace(index, AffineMap<Scalar>(layer(index))).first->second;
  }

  void write_output(int position, const Layer& head, Interval<Scalar> bounds) {
    if (head.relu) bounds = {relu<Scalar>(bounds.lower), relu<Scalar>(bounds.upper)};
    outputs_.lower.segment(position, head.out) = bounds.lower;
    outputs_.upper.segment(position, head.out) = bounds.upper;
  }

  void store(BufferId centre, BufferId radius, const Interval<Scalar>& box) {
    memory(centre) = box.centre();
    memory(radius) = box.radius();
  }

  // Interval arithmetic: |W| r around W c + b.
  Interval<Scalar> propagate(int index, BufferId centre, BufferId radius) {
    const AffineMap<Scalar>& map = map_of(index);
    const Vector<Scalar> middle = map(memory(centre));
    const Vector<Scalar> spread = product(map.magnitudes, memory(radius));
    return {middle - spread, middle + spread};
  }

  // What a pre-activation's buffers say, and back.
  Interval<Scalar> load(BufferId centre, BufferId below, BufferId above) {
    return {memory(centre) - memory(below), memory(centre) + memory(above)};
  }

  void execute(const BindBox& step) { store(step.centre, step.radius, box_); }

  void execute(const IntervalAffine& step) {
    const Layer& target = layer(step.layer);
    Interval<Scalar> bounds = propagate(step.layer, step.centre_in, step.radius_in);
    layers_[step.layer] = bounds;
    if (step.centre_out == BufferId::kNone) return write_output(step.position, target, bounds);
    if (target.relu) bounds = {relu<Scalar>(bounds.lower), relu<Scalar>(bounds.upper)};
    store(step.centre_out, step.radius_out, bounds);
  }

  void execute(const CentreAffine& step) {
    const Interval<Scalar> bounds = propagate(step.layer, step.centre_in, step.radius_in);
    store(step.centre_out, step.radius_out, bounds);
    memory(step.below) = memory(step.radius_out);
    memory(step.above) = memory(step.radius_out);
    layers_[step.layer] = bounds;
  }

  // a' <= slope_upper z + offset_upper and a' >= slope_lower z + offset_lower on [lower, upper].
  void execute(const Relax& step) {
    const Layer& target = layer(step.layer);
    Interval<Scalar> bounds = load(step.centre, step.below, step.above);
    Vector<Scalar> table = Vector<Scalar>::Constant(kRelaxRows * target.out, Scalar(0));
    const auto row = [&](RelaxRow which, Eigen::Index j) -> Scalar& {
      return table(which * target.out + j);
    };
    for (Eigen::Index j = 0; j < target.out; ++j) {
      const Scalar& l = bounds.lower(j);
      const Scalar& u = bounds.upper(j);
      if (!target.relu || l >= 0) {
        row(kSlopeUpper, j) = row(kSlopeLower, j) = 1;
      } else if (u > 0) {  // unstable; an inactive neuron's rows are 0
        const Scalar slope = u / (u - l);
        row(kSlopeUpper, j) = slope;
        row(kOffsetUpper, j) = -slope * l;
        row(kSlopeLower, j) = u > -l ? 1 : 0;
      }
    }
    memory(step.table) = std::move(table);
    if (target.relu) bounds = {relu<Scalar>(bounds.lower), relu<Scalar>(bounds.upper)};
    store(step.centre_out, step.radius_out, bounds);
  }

  // Lower bounds of rows over a layer's pre-activation: coefficients z + constant.
  struct Rows {
    Matrix<Scalar> coefficients;
    Vector<Scalar> constant;
  };

  // Over the activations of a layer -> over its inputs.
  void pass(const BackwardLink& link, Rows& rows) {
    const Vector<Scalar>& table = memory(link.table);
    const int count = layer(link.layer).out;
    for (Eigen::Index i = 0; i < rows.coefficients.rows(); ++i) {
      for (Eigen::Index j = 0; j < count; ++j) {
        Scalar& a = rows.coefficients(i, j);
        const bool lower = a >= 0;
        rows.constant(i) += a * table((lower ? kOffsetLower : kOffsetUpper) * count + j);
        a *= table((lower ? kSlopeLower : kSlopeUpper) * count + j);
      }
    }
    const AffineMap<Scalar>& map = map_of(link.layer);
    rows.constant += product(rows.coefficients, map.bias);
    rows.coefficients = product(rows.coefficients, map.weight);
  }

  // Least value over the box.
  Vector<Scalar> concretize(const Rows& rows) const {
    Vector<Scalar> least = rows.constant;
    for (Eigen::Index i = 0; i < least.size(); ++i)
      for (Eigen::Index k = 0; k < rows.coefficients.cols(); ++k) {
        const Scalar& a = rows.coefficients(i, k);
        least(i) += a * (a >= 0 ? box_.lower(k) : box_.upper(k));
      }
    return least;
  }

  // Rows +W_j and -W_j for each chosen neuron j.
  Rows start(int index, const std::vector<Eigen::Index>& chosen) {
    const AffineMap<Scalar>& map = map_of(index);
    const auto count = static_cast<Eigen::Index>(chosen.size());
    Rows rows{Matrix<Scalar>(2 * count, map.weight.cols()), Vector<Scalar>(2 * count)};
    for (Eigen::Index i = 0; i < count; ++i) {
      const Eigen::Index j = chosen[static_cast<std::size_t>(i)];
      rows.coefficients.row(i) = map.weight.row(j);
      rows.coefficients.row(count + i) = -map.weight.row(j);
      rows.constant(i) = map.bias(j);
      rows.constant(count + i) = -map.bias(j);
    }
    return rows;
  }

  void execute(const BackwardRows& step) {
    Interval<Scalar> bounds = load(step.centre, step.below, step.above);
    std::vector<Eigen::Index> chosen;
    for (Eigen::Index j = 0; j < bounds.lower.size(); ++j)
      if (!step.unstable_only || bounds.unstable(j)) chosen.push_back(j);
    Rows rows = start(step.layer, chosen);
    for (const BackwardLink& link : step.links) pass(link, rows);
    const Vector<Scalar> least = concretize(rows);
    const auto count = static_cast<Eigen::Index>(chosen.size());
    for (Eigen::Index i = 0; i < count; ++i) {
      const Eigen::Index j = chosen[static_cast<std::size_t>(i)];
      bounds.lower(j) = larger<Scalar>(bounds.lower(j), least(i));
      bounds.upper(j) = smaller<Scalar>(bounds.upper(j), -least(count + i));
    }
    memory(step.below) = memory(step.centre) - bounds.lower;
    memory(step.above) = bounds.upper - memory(step.centre);
    layers_[step.layer] = std::move(bounds);
  }

  void execute(const WriteBounds& step) {
    write_output(step.position, layer(step.layer), load(step.centre, step.below, step.above));
  }

  // A point entry: the box is a point, and so are the outputs.
  void execute(const EvaluateAffine& step) {
    BF_CHECK(box_.lower == box_.upper);
    const Layer& target = layer(step.layer);
    Vector<Scalar> z =
        map_of(step.layer)(step.in == BufferId::kNone ? box_.lower : memory(step.in));
    if (step.out == BufferId::kNone) {
      write_output(step.position, target, {z, z});
      return;
    }
    memory(step.out) = target.relu ? relu<Scalar>(std::move(z)) : std::move(z);
  }

  const Plan& plan_;
  const Entry& entry_;
  Interval<Scalar> box_, outputs_;
  std::vector<Vector<Scalar>> memory_;  // by buffer; offsets play no part
  std::map<int, AffineMap<Scalar>> maps_;
  std::map<int, Interval<Scalar>> layers_;
};

// Runs an entry and moves its results to Bounds or ExactBounds.
template <typename Result, typename LayerResult, typename Scalar>
Result run_machine(const Plan& plan, const Entry& entry, const std::vector<Scalar>& lower,
                   const std::vector<Scalar>& upper) {
  Machine<Scalar> machine(plan, entry, lower, upper);
  machine.run();
  const auto list = [](const Vector<Scalar>& x) { return std::vector<Scalar>(x.begin(), x.end()); };
  Result result;
  result.lower = list(machine.outputs().lower);
  result.upper = list(machine.outputs().upper);
  result.unstable = machine.unstable();
  for (const auto& [index, bounds] : machine.layers())
    result.layers.push_back(LayerResult{index, list(bounds.lower), list(bounds.upper)});
  return result;
}

}  // namespace bf::reference
