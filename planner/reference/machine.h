#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/network/layer_loops.h"
#include "planner/plan/plan.h"
#include "planner/reference/linear.h"
#include "planner/reference/lines.h"
#include "planner/reference/log_softmax.h"
#include "planner/reference/numbers.h"
#include "planner/reference/relaxation.h"
#include "planner/reference/rows.h"
#include "planner/reference/tighten.h"

// The reference machine, over any ordered field: double in executor.cpp, rationals in exact.cpp.
// It follows the steps and their buffers, and ignores offsets, kernels, tiles and error terms.
namespace bf_aot::reference {

// The result of a step: the buffers that it writes, in order, and the bounds of its layer.
template <typename Scalar>
struct StepResult {
  std::vector<Vector<Scalar>> buffers;
  Interval<Scalar> bounds;
  std::size_t rows = 0;  // neurons of backward rows
};

template <typename Scalar>
class Machine {
 public:
  // `maps` may serve several machines over the same layers. most_rows: of the neurons that one step
  // bounds by backward rows, execute at most so many; see tighten().
  Machine(const Plan& plan, const Entry& entry, MapCache<Scalar>& maps,
          const std::vector<Scalar>& lower, const std::vector<Scalar>& upper,
          std::size_t most_rows = std::numeric_limits<std::size_t>::max())
      : plan_(plan),
        entry_(entry),
        memory_(entry.buffers.size()),
        maps_(maps),
        most_rows_(most_rows) {
    const auto count = static_cast<std::size_t>(plan.input_count);
    BF_CHECK(lower.size() == count && upper.size() == count);
    for (std::size_t i = 0; i < count; ++i) BF_CHECK(lower[i] <= upper[i]);
    box_.lower = Eigen::Map<const Vector<Scalar>>(lower.data(), plan.input_count);
    box_.upper = Eigen::Map<const Vector<Scalar>>(upper.data(), plan.input_count);
    const bool spec = is_spec(entry.kind);
    outputs_.lower.resize(spec ? plan.spec_rows : plan.output_count);
    outputs_.upper.resize(outputs_.lower.size());
  }

  void run() {
    for (const Step& step : entry_.steps) run(step);
  }
  void run(const Step& step) {
    std::visit([this](const auto& s) { this->execute(s); }, step);
  }

  // Takes the place of run(step) when another machine on the same box ran the step on equal inputs.
  void restore(const Step& step, LayerId layer, const StepResult<Scalar>& made) {
    const std::vector<BufferId> writes = access_of(step).writes;
    BF_CHECK(writes.size() == made.buffers.size());
    for (std::size_t i = 0; i < writes.size(); ++i) memory(writes[i]) = made.buffers[i];
    if (const auto* relaxed = std::get_if<Relax>(&step)) keep_table(*relaxed);
    if (made.bounds.lower.size() > 0) layers_[layer] = made.bounds;
    if (made.rows > 0) rows_[layer] = made.rows;
  }
  StepResult<Scalar> result(const Step& step, LayerId layer) {
    StepResult<Scalar> made;
    for (const BufferId id : access_of(step).writes) made.buffers.push_back(memory(id));
    if (layers_.contains(layer)) made.bounds = layers_.at(layer);
    if (rows_.contains(layer)) made.rows = rows_.at(layer);
    return made;
  }

  const Interval<Scalar>& outputs() const { return outputs_; }
  const std::map<LayerId, Interval<Scalar>>& layers() const { return layers_; }
  // The number of each layer's neurons that were to be bounded by backward rows.
  const std::map<LayerId, std::size_t>& rows() const { return rows_; }

  // The number of neurons whose relaxation is not exact, for each layer with an activation.
  std::map<LayerId, std::size_t> bent() const {
    std::map<LayerId, std::size_t> counts;
    for (const auto& [index, bounds] : layers_) {
      if (!layer(index).relu && !layer(index).function) continue;
      std::size_t& count = counts[index];
      for (Eigen::Index j = 0; j < bounds.lower.size(); ++j)
        count += is_unstable(layer(index), bounds, j) ? 1 : 0;
    }
    return counts;
  }

 private:
  const Layer& layer(LayerId index) const { return plan_.layer(index); }
  Vector<Scalar>& memory(BufferId id) { return memory_.at(static_cast<std::size_t>(id)); }

  // The sign of a ReLU's argument is unknown, or a function is bent over its argument's interval.
  static bool is_unstable(const Layer& layer, const Interval<Scalar>& bounds, Eigen::Index j) {
    return layer.function ? is_bent(*layer.function, bounds.lower(j), bounds.upper(j))
                          : bounds.unstable(j);
  }

  // An end of the argument's interval, cut off at what the argument never leaves.
  static Scalar argument(const Function& f, const Scalar& end) {
    if (std::isfinite(f.least) && end < f.least) return Scalar(f.least);
    if (std::isfinite(f.most) && end > f.most) return Scalar(f.most);
    return end;
  }

  static Relaxed<Scalar> relax(const Layer& layer, const Scalar& low, const Scalar& high) {
    if (layer.relu) return relax_relu(low, high);
    if (layer.function)
      return relax_function(*layer.function, argument(*layer.function, low),
                            argument(*layer.function, high));
    return {1, 1, 0, 0, low, high};
  }

  // Bounds of the activations alone.
  static Interval<Scalar> activate(const Layer& layer, Interval<Scalar> bounds) {
    for (Eigen::Index j = 0; j < bounds.lower.size(); ++j) {
      const Relaxed<Scalar> made = relax(layer, bounds.lower(j), bounds.upper(j));
      bounds.lower(j) = made.low;
      bounds.upper(j) = made.high;
    }
    return bounds;
  }

  void write_output(int position, const Layer& head, const Interval<Scalar>& bounds) {
    const Interval<Scalar> made = activate(head, bounds);
    outputs_.lower.segment(position, head.out) = made.lower;
    outputs_.upper.segment(position, head.out) = made.upper;
  }

  void store(BufferId centre, BufferId radius, const Interval<Scalar>& box) {
    memory(centre) = box.centre();
    memory(radius) = box.radius();
  }

  // Interval arithmetic, part by part: |W| r around W c + b.
  struct Boxes {
    BufferId centre, radius;
  };
  Interval<Scalar> propagate(LayerId index, const std::vector<Boxes>& inputs) {
    const AffineMap<Scalar>& map = maps_.of(index);
    Vector<Scalar> middle = map.bias;
    Vector<Scalar> spread = zeros<Scalar>(middle.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      map.parts.at(i)->apply(memory(inputs[i].centre), middle);
      map.parts.at(i)->apply_magnitudes(memory(inputs[i].radius), spread);
    }
    Interval<Scalar> bounds{middle - spread, middle + spread};
    bounds.forget_nan();
    return bounds;
  }

  // The interval that the buffers of a pre-activation mean.
  Interval<Scalar> load(BufferId centre, BufferId below, BufferId above) {
    return {memory(centre) - memory(below), memory(centre) + memory(above)};
  }

  void execute(const BindBox& step) { store(step.centre, step.radius, box_); }

  void execute(const IntervalAffine& step) {
    const Layer& target = layer(step.layer);
    const Interval<Scalar> bounds = propagate(step.layer, {{step.centre_in, step.radius_in}});
    layers_[step.layer] = bounds;
    if (step.centre_out == BufferId::kNone) return write_output(step.position, target, bounds);
    store(step.centre_out, step.radius_out, activate(target, bounds));
  }

  static std::vector<Boxes> boxes_of(const std::vector<SumPart>& parts) {
    std::vector<Boxes> inputs;
    for (const SumPart& part : parts) inputs.push_back({part.centre_in, part.radius_in});
    return inputs;
  }

  void execute(const IntervalSum& step) {
    const Layer& target = layer(step.layer);
    const Interval<Scalar> bounds = propagate(step.layer, boxes_of(step.parts));
    layers_[step.layer] = bounds;
    store(step.centre_out, step.radius_out, activate(target, bounds));
    if (step.head) write_output(step.position, target, bounds);
  }

  void execute(const IntervalMax& step) {
    const SparseMap& map = std::get<SparseMap>(layer(step.layer).terms.at(0).map);
    const Vector<Scalar> lower = memory(step.centre_in) - memory(step.radius_in);
    const Vector<Scalar> upper = memory(step.centre_in) + memory(step.radius_in);
    const Eigen::Index n = layer(step.layer).out;
    Interval<Scalar> bounds{zeros<Scalar>(n), zeros<Scalar>(n)};
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto first = map.column.begin() + map.row_start[static_cast<std::size_t>(j)];
      const auto end = map.column.begin() + map.row_start[static_cast<std::size_t>(j) + 1];
      bounds.lower(j) = lower(*first);
      bounds.upper(j) = upper(*first);
      bool known = true;
      for (auto k = first; k != end; ++k) {
        bounds.lower(j) = larger(bounds.lower(j), lower(*k));
        bounds.upper(j) = larger(bounds.upper(j), upper(*k));
        known = known && is_finite(lower(*k)) && is_finite(upper(*k));
      }
      forget(bounds, j, known);
    }
    store(step.centre_out, step.radius_out, bounds);
    layers_[step.layer] = std::move(bounds);
  }

  template <typename Centre>
  void set_centre(const Centre& step, const std::vector<Boxes>& inputs) {
    const Interval<Scalar> bounds = propagate(step.layer, inputs);
    store(step.centre_out, step.radius_out, bounds);
    if (step.below != BufferId::kNone) {
      memory(step.below) = memory(step.radius_out);
      memory(step.above) = memory(step.radius_out);
    }
    layers_[step.layer] = bounds;
  }
  void execute(const CentreAffine& step) { set_centre(step, {{step.centre_in, step.radius_in}}); }
  void execute(const CentreSum& step) { set_centre(step, boxes_of(step.parts)); }

  // A table holds a' <= slope_upper z + intercept and a' >= slope_lower z + intercept; the
  // generated code has offsets relative to centres instead.
  void execute(const Relax& step) {
    const Layer& target = layer(step.layer);
    Interval<Scalar> bounds = load(step.centre, step.below, step.above);
    Vector<Scalar> table = zeros<Scalar>(bf::kRelaxRows * target.out);
    for (Eigen::Index j = 0; j < target.out; ++j) {
      const Relaxed<Scalar> made = relax(target, bounds.lower(j), bounds.upper(j));
      table(bf::kSlopeUpper * target.out + j) = made.slope_upper;
      table(bf::kSlopeLower * target.out + j) = made.slope_lower;
      table(bf::kOffsetUpper * target.out + j) = made.intercept_upper;
      table(bf::kOffsetLower * target.out + j) = made.intercept_lower;
      bounds.lower(j) = made.low;
      bounds.upper(j) = made.high;
    }
    if (step.table != BufferId::kNone) memory(step.table) = std::move(table);
    keep_table(step);
    if (step.keeps_point) return store_at_points(step, bounds);
    store(step.centre_out, step.radius_out, bounds);
  }

  // The centres are those of z, as the activation makes them.
  void store_at_points(const Relax& step, const Interval<Scalar>& bounds) {
    Vector<Scalar> centre = memory(step.centre);
    Vector<Scalar> radius(centre.size());
    for (Eigen::Index j = 0; j < centre.size(); ++j) {
      if (layer(step.layer).relu && (centre(j) < 0 || !(bounds.upper(j) > 0))) centre(j) = 0;
      radius(j) = larger<Scalar>(bounds.upper(j) - centre(j), centre(j) - bounds.lower(j));
    }
    memory(step.centre_out) = std::move(centre);
    memory(step.radius_out) = std::move(radius);
  }

  void execute(const MeetBall& step) {
    const Layer& target = layer(step.layer);
    const bool dense = target.kind == LayerKind::kDense;
    Vector<Scalar> half = zeros<Scalar>(target.out), reach = zeros<Scalar>(1);
    for (std::size_t t = 0; t < step.terms.size(); ++t) {
      const BallNorms& norms = dense ? target.ball : target.terms[t].ball;
      const Vector<Scalar>& radius = memory(step.terms[t].radius_in);
      Scalar within(0), squares(0);
      for (Eigen::Index k = 0; k < radius.size(); ++k) {
        within = larger<Scalar>(within, radius(k));
        squares += radius(k) * radius(k);
      }
      if (const BufferId reach_in = step.terms[t].reach_in; reach_in != BufferId::kNone)
        within = smaller<Scalar>(memory(reach_in)(0), root_above<Scalar>(squares));
      reach(0) += Scalar(norms.norm) * within;
      for (Eigen::Index j = 0; j < half.size(); ++j)
        half(j) += Scalar(static_cast<double>(norms.rows[static_cast<std::size_t>(j)])) * within;
    }
    for (Eigen::Index j = 0; j < half.size(); ++j) {
      memory(step.below)(j) = smaller<Scalar>(memory(step.below)(j), half(j));
      memory(step.above)(j) = smaller<Scalar>(memory(step.above)(j), half(j));
    }
    memory(step.half) = std::move(half);
    memory(step.reach) = std::move(reach);
  }

  void execute(const StartLines& step) {
    memory(step.lines_out) = lines_of_box<Scalar>(maps_.of(step.layer), memory(step.input_radius),
                                                  layer(step.layer).out);
  }

  void execute(const ForwardLines& step) {
    const Layer& target = layer(step.layer);
    memory(step.lines_out) = lines_through<Scalar>(maps_.of(step.layer), memory(step.lines_in),
                                                   plan_.input_count, target.in, target.out);
  }

  // The layer's bounds.
  template <typename LineStep>
  LineReach<Scalar> tighten_by_lines(const LineStep& step) {
    LineReach<Scalar> reach =
        reach_of_lines<Scalar>(memory(step.lines), plan_.input_count, memory(step.radius));
    const Vector<Scalar>& centre = memory(step.centre);
    layers_[step.layer] = {centre - reach.below, centre + reach.above};
    return reach;
  }

  void execute(const TightenLines& step) {
    LineReach<Scalar> reach = tighten_by_lines(step);
    memory(step.below) = std::move(reach.below);
    memory(step.above) = std::move(reach.above);
  }

  void execute(const RelaxLines& step) {
    tighten_by_lines(step);
    Interval<Scalar> bounds = layers_.at(step.layer);
    const Vector<Scalar> centre = memory(step.centre);
    std::vector<Relaxed<Scalar>> relaxed;
    for (Eigen::Index j = 0; j < bounds.lower.size(); ++j) {
      relaxed.push_back(relax(layer(step.layer), bounds.lower(j), bounds.upper(j)));
      bounds.lower(j) = relaxed.back().low;
      bounds.upper(j) = relaxed.back().high;
    }
    store(step.centre_out, step.radius_out, bounds);
    memory(step.lines_out) = relaxed_lines<Scalar>(memory(step.lines), plan_.input_count, relaxed,
                                                   centre, memory(step.centre_out));
  }

  // Returns the centre over the radius, in [-1, 1]: 1 or -1 where the box has no 0; 0 for points.
  static Scalar ratio_of(const Scalar& centre, const Scalar& radius) {
    if (!is_finite(radius) || radius == 0) return Scalar(0);
    const Scalar ratio = centre / radius;
    return larger<Scalar>(smaller<Scalar>(ratio, Scalar(1)), Scalar(-1));
  }

  // Mixtures of McCormick's planes: with centres x_c, y_c and t in [-1, 1] (x - x_c)(y - y_c) is at
  // least t (r_y (x - x_c) + r_x (y - y_c)) - r_x r_y, and at most t (r_y (x - x_c) - r_x (y -
  // y_c))
  // + r_x r_y. t makes the slope of one factor small. The interval is that of the products of the
  // corners.
  void execute(const RelaxProduct& step) {
    const Layer& target = layer(step.layer);
    const auto& maps = target.terms;
    const GatherMap& at_x = std::get<GatherMap>(maps.at(0).map);
    const GatherMap& at_y = std::get<GatherMap>(maps.at(1).map);
    const int n = target.out;
    Vector<Scalar> table = zeros<Scalar>(bf::kProductRows * n);
    Interval<Scalar> bounds{zeros<Scalar>(n), zeros<Scalar>(n)};
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto g = source_of(at_x, j), h = source_of(at_y, j);
      const Scalar x = memory(step.centre_x)(g), y = memory(step.centre_y)(h);
      const Scalar rx = memory(step.radius_x)(g), ry = memory(step.radius_y)(h);
      const Scalar u = ratio_of(x, rx), v = ratio_of(y, ry);
      const bool apart = magnitude(u) == 1 && magnitude(v) == 1;
      const bool alike = (u < 0) == (v < 0);
      const Scalar least = smaller<Scalar>(magnitude(u), magnitude(v));
      const Scalar nearest = apart ? Scalar(-v) : v < 0 ? least : Scalar(-least);
      for (const bool upper : {true, false}) {
        Scalar over_x = y, over_y = x;
        if (is_finite(rx) && is_finite(ry)) {
          const Scalar t = apart || alike != upper ? nearest : Scalar(0);
          over_x += t * ry;
          over_y += upper ? Scalar(-t * rx) : Scalar(t * rx);
        }
        table((upper ? bf::kUpperSlopeX : bf::kLowerSlopeX) * n + j) = over_x;
        table((upper ? bf::kUpperSlopeY : bf::kLowerSlopeY) * n + j) = over_y;
        table((upper ? bf::kProductUpper : bf::kProductLower) * n + j) =
            x * y - over_x * x - over_y * y + (upper ? rx * ry : Scalar(-rx * ry));
      }
      bounds.lower(j) = bounds.upper(j) = (x - rx) * (y - ry);
      const Scalar others[] = {(x - rx) * (y + ry), (x + rx) * (y - ry), (x + rx) * (y + ry)};
      for (const Scalar& corner : others) {
        bounds.lower(j) = smaller(bounds.lower(j), corner);
        bounds.upper(j) = larger(bounds.upper(j), corner);
      }
      forget(bounds, j, is_finite(rx) && is_finite(ry));
      if (step.most > 0) {
        bounds.lower(j) = larger<Scalar>(bounds.lower(j), Scalar(-step.most));
        bounds.upper(j) = smaller<Scalar>(bounds.upper(j), Scalar(step.most));
        if (is_finite(rx * ry) && 2 * rx * ry < bounds.upper(j) - bounds.lower(j)) continue;
        for (int row = 0; row < bf::kProductUpper; ++row) table(row * n + j) = 0;
        table(bf::kProductUpper * n + j) = bounds.upper(j);
        table(bf::kProductLower * n + j) = bounds.lower(j);
      }
    }
    finish(step, std::move(table), std::move(bounds));
  }

  // The lower bound is the candidate of the largest lower bound, of equals that of the largest
  // upper one. The upper one is the same candidate where no other can exceed it, else the largest
  // upper bound.
  void execute(const RelaxMax& step) {
    const Layer& target = layer(step.layer);
    const SparseMap& map = std::get<SparseMap>(target.terms.at(0).map);
    const Vector<Scalar> lower = memory(step.centre_in) - memory(step.radius_in);
    const Vector<Scalar> upper = memory(step.centre_in) + memory(step.radius_in);
    const int n = target.out;
    Vector<Scalar> table = zeros<Scalar>(bf::kMaxRows * n), chosen = zeros<Scalar>(n);
    Interval<Scalar> bounds{zeros<Scalar>(n), zeros<Scalar>(n)};
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto first = map.column.begin() + map.row_start[static_cast<std::size_t>(j)];
      const auto end = map.column.begin() + map.row_start[static_cast<std::size_t>(j) + 1];
      std::int32_t best = *first;
      bounds.upper(j) = upper(best);
      for (auto k = first; k != end; ++k) {
        if (lower(*k) > lower(best) || (lower(*k) == lower(best) && upper(*k) > upper(best)))
          best = *k;
        bounds.upper(j) = larger(bounds.upper(j), upper(*k));
      }
      bounds.lower(j) = lower(best);
      chosen(j) = best;
      for (auto k = first; k != end; ++k)
        if (*k != best && upper(*k) > lower(best)) table(bf::kMaxConstant * n + j) = 1;
      if (table(bf::kMaxConstant * n + j) == 1) table(bf::kMaxUpper * n + j) = bounds.upper(j);
      forget(bounds, j, is_finite(bounds.lower(j)) && is_finite(bounds.upper(j)));
    }
    if (step.choice != BufferId::kNone) memory(step.choice) = std::move(chosen);
    finish(step, std::move(table), std::move(bounds));
  }

  // Sums of RelaxProduct's planes. Where rows of x add up to 1, sum x y = c + sum x (y - c) with c
  // the mean of the column's centres or 0, whichever is nearer to them, and boxes are those of
  // bound_means().
  void execute(const RelaxContraction& step) {
    const Layer& target = layer(step.layer);
    const ContractionShape& shape = target.contraction;
    const Eigen::Index n = target.out;
    Vector<Scalar> table = zeros<Scalar>(shape.table());
    Interval<Scalar> bounds{zeros<Scalar>(n), zeros<Scalar>(n)};
    if (step.centre_x == BufferId::kNone) {
      bound_means(step, bounds);
      return finish(step, std::move(table), std::move(bounds));
    }
    const Vector<Scalar>&x_c = memory(step.centre_x), &y_c = memory(step.centre_y);
    const Vector<Scalar>&x_r = memory(step.radius_x), &y_r = memory(step.radius_y);
    const Vector<Scalar> shift = shifts(target, y_c);
    std::vector<bool> known(static_cast<std::size_t>(n), true);
    for_each_contracted(target, [&](Eigen::Index j, Eigen::Index from_x, Eigen::Index from_y,
                                    Eigen::Index at_x, Eigen::Index at_y, bool first) {
      const Scalar& x = x_c(from_x);
      const Scalar &rx = x_r(from_x), &ry = y_r(from_y);
      const Scalar y = y_c(from_y) - shift(at_y / shape.sums);
      const Scalar h = ratio_of(x, rx) / 2, g = ratio_of(y, ry) / 2;
      const Scalar known_x = is_finite(rx) ? rx : Scalar(0),
                   known_y = is_finite(ry) ? ry : Scalar(0);
      const Scalar above = h - g, below = -h - g;  // mixtures
      table(j) += rx * ry - above * (known_y * x - known_x * y_c(from_y)) - x * y_c(from_y);
      table(n + j) += -rx * ry - below * (known_y * x + known_x * y_c(from_y)) - x * y_c(from_y);
      put_factor(table, 2 * n + at_x, shape.left(), {x - known_x * h, known_x, h});
      put_factor(table, 2 * n + 3 * shape.left() + at_y, shape.right(),
                 {y - known_y * g, known_y, g});
      Scalar low = (x - rx) * (y - ry), high = low;
      const Scalar others[] = {(x - rx) * (y + ry), (x + rx) * (y - ry), (x + rx) * (y + ry)};
      for (const Scalar& corner : others) {
        low = smaller(low, corner);
        high = larger(high, corner);
      }
      if (first) {
        table(j) += shift(at_y / shape.sums);
        table(n + j) += shift(at_y / shape.sums);
        bounds.lower(j) = bounds.upper(j) = shift(at_y / shape.sums);
      }
      bounds.lower(j) += low;
      bounds.upper(j) += high;
      if (!is_finite(rx) || !is_finite(ry)) known[static_cast<std::size_t>(j)] = false;
    });
    for (Eigen::Index j = 0; j < n; ++j) forget(bounds, j, known[static_cast<std::size_t>(j)]);
    if (target.scores) bound_means(step, bounds);
    finish(step, std::move(table), std::move(bounds));
  }

  // Puts the slope, radius and half ratio of a factor's element, of `count` elements.
  static void put_factor(Vector<Scalar>& table, Eigen::Index at, Eigen::Index count,
                         const std::array<Scalar, 3>& numbers) {
    for (const Scalar& number : numbers) {
      table(at) = number;
      at += count;
    }
  }

  // Centres and radii of a factor.
  struct Factor {
    const Vector<Scalar>&centre, &radius;
  };

  // The ranges of means whose weights are powers of scores in their boxes.
  void bound_means(const RelaxContraction& step, Interval<Scalar>& bounds) {
    const Layer& target = layer(step.layer);
    const Factor y = {memory(step.centre_y), memory(step.radius_y)};
    const Factor scores = {memory(step.centre_s), memory(step.radius_s)};
    const auto k = static_cast<std::size_t>(target.contraction.sums);
    std::vector<std::pair<Scalar, Scalar>> of_scores;     // the ends of one output's
    std::vector<std::pair<Scalar, std::size_t>> ends[2];  // minus the lower, the upper
    for_each_contracted(target, [&](Eigen::Index j, Eigen::Index from_x, Eigen::Index from_y,
                                    Eigen::Index, Eigen::Index, bool first) {
      if (first) {
        of_scores.clear();
        for (auto& side : ends) side.clear();
      }
      ends[0].emplace_back(y.radius(from_y) - y.centre(from_y), of_scores.size());
      ends[1].emplace_back(y.centre(from_y) + y.radius(from_y), of_scores.size());
      of_scores.push_back(ends_of(scores, target.scores->column[static_cast<std::size_t>(from_x)]));
      if (of_scores.size() < k) return;
      bounds.lower(j) = -largest_mean(of_scores, ends[0]);
      bounds.upper(j) = largest_mean(of_scores, ends[1]);
      forget(bounds, j, is_finite(bounds.lower(j)) && is_finite(bounds.upper(j)));
    });
  }

  // The ends of a score; of -1, whose share is 0, both far below all others.
  static std::pair<Scalar, Scalar> ends_of(const Factor& scores, std::int32_t score) {
    if (score >= 0)
      return {scores.centre(score) - scores.radius(score),
              scores.centre(score) + scores.radius(score)};
    if constexpr (std::is_floating_point_v<Scalar>)
      return {-std::numeric_limits<Scalar>::infinity(), -std::numeric_limits<Scalar>::infinity()};
    else
      throw NoRationalBounds();
  }

  // The largest ends have the largest powers, the others the least: from as many of them as makes
  // their mean largest. The largest end alone where a power is no number.
  static Scalar largest_mean(const std::vector<std::pair<Scalar, Scalar>>& scores,
                             std::vector<std::pair<Scalar, std::size_t>>& ends) {
    if constexpr (std::is_floating_point_v<Scalar>) {
      std::ranges::sort(ends, std::greater());
      Scalar top = -std::numeric_limits<Scalar>::infinity(), sum = 0, weight = 0;
      for (const auto& score : scores) top = std::max(top, score.second);
      const auto power = [&](const Scalar& score) { return std::exp(score - top); };
      for (const auto& [end, at] : ends) {
        sum += power(scores[at].first) * end;
        weight += power(scores[at].first);
      }
      Scalar most = sum / weight;
      for (const auto& [end, at] : ends) {
        const Scalar more = power(scores[at].second) - power(scores[at].first);
        sum += more * end;
        weight += more;
        if (!(sum / weight <= most)) most = sum / weight;
      }
      return std::isfinite(most) ? most : ends.front().first;
    } else {
      throw NoRationalBounds();
    }
  }

  // Returns c of each column of y, in batches.
  static Vector<Scalar> shifts(const Layer& target, const Vector<Scalar>& y_c) {
    const ContractionShape& shape = target.contraction;
    const GatherMap& y = std::get<GatherMap>(target.term(1).map);
    Vector<Scalar> shift = zeros<Scalar>(Eigen::Index{shape.batch} * shape.columns);
    for (Eigen::Index column = 0; target.scores && column < shift.size(); ++column) {
      const auto centre = [&](int l) -> const Scalar& {
        return y_c(source_of(y, column * shape.sums + l));
      };
      Scalar mean(0), from_zero(0), from_mean(0);
      for (int l = 0; l < shape.sums; ++l) mean += centre(l);
      mean /= shape.sums;
      for (int l = 0; l < shape.sums; ++l) {
        from_zero += magnitude(centre(l));
        from_mean += magnitude(Scalar(centre(l) - mean));
      }
      if (from_mean < from_zero) shift(column) = mean;
    }
    return shift;
  }

  // In rationals there are no planes of powers.
  void execute([[maybe_unused]] const RelaxLogSoftmax& step) {
    if constexpr (std::is_floating_point_v<Scalar>) {
      const Layer& target = layer(step.layer);
      Vector<Scalar> table = zeros<Scalar>(Eigen::Index{bf::kLogSoftmaxRows} * target.out);
      Interval<Scalar> bounds{zeros<Scalar>(target.out), zeros<Scalar>(target.out)};
      relax_log_softmax(std::get<SparseMap>(target.terms.at(0).map), memory(step.centre_in),
                        memory(step.radius_in), bounds, table);
      finish(step, std::move(table), std::move(bounds));
    } else {
      throw NoRationalBounds();
    }
  }

  static void forget(Interval<Scalar>& bounds, Eigen::Index j, bool known) {
    if constexpr (std::is_floating_point_v<Scalar>)
      if (!known) {
        bounds.lower(j) = -std::numeric_limits<Scalar>::infinity();
        bounds.upper(j) = std::numeric_limits<Scalar>::infinity();
      }
  }

  template <typename RelaxStep>
  void finish(const RelaxStep& step, Vector<Scalar> table, Interval<Scalar> bounds) {
    if (step.table != BufferId::kNone) memory(step.table) = std::move(table);
    store(step.centre_out, step.radius_out, bounds);
    layers_[step.layer] = std::move(bounds);
  }

  // Keeps a table for rows that make it anew, by steps that verify() has compared with this one.
  void keep_table(const Relax& step) {
    if (step.table != BufferId::kNone && plan_.domain(entry_, step.layer).remade)
      tables_[step.layer] = memory(step.table);
  }

  // The memory that rows read: buffers, and tables that they would make anew.
  struct RowMemory {
    const Machine& machine;

    const Vector<Scalar>& operator()(BufferId id) const {
      return machine.memory_.at(static_cast<std::size_t>(id));
    }
    const Vector<Scalar>& table(const BackwardLink& link) const {
      return link.remake.empty() ? (*this)(link.table) : machine.tables_.at(link.layer);
    }
  };

  void execute(const BackwardRows& step) {
    Interval<Scalar> bounds = load(step.centre, step.below, step.above);
    std::vector<Eigen::Index> chosen;
    for (Eigen::Index j = 0; j < bounds.lower.size(); ++j)
      if (!step.unstable_only || is_unstable(layer(step.layer), bounds, j)) chosen.push_back(j);
    const RowMemory memory_of{*this};
    rows_[step.layer] = chosen.size();
    tighten<Scalar>(plan_, step, box_, chosen, most_rows_, maps_, memory_of, bounds);
    memory(step.below) = memory(step.centre) - bounds.lower;
    memory(step.above) = bounds.upper - memory(step.centre);
    layers_[step.layer] = std::move(bounds);
  }

  // Products with what is 0 are 0 here too: nothing is left out.
  void execute(const ListLive&) {}

  // A first call: nothing was kept.
  void execute(const MeetAnchor&) {}
  void execute(const KeepAnchor&) {}
  void execute(const MeetOutputs&) {}

  void execute(const WriteBounds& step) {
    write_output(step.position, layer(step.layer), load(step.centre, step.below, step.above));
  }

  // A point entry: the box is a point, and so are the outputs.
  void execute(const EvaluateAffine& step) {
    BF_CHECK(box_.lower == box_.upper);
    const Layer& target = layer(step.layer);
    const AffineMap<Scalar>& map = maps_.of(step.layer);
    Vector<Scalar> z = map.bias;
    map.parts.at(0)->apply(step.in == BufferId::kNone ? box_.lower : memory(step.in), z);
    if (step.out == BufferId::kNone) return write_output(step.position, target, {z, z});
    memory(step.out) = activate(target, {z, z}).lower;
  }
  void execute(const WriteValues& step) {
    BF_CHECK(box_.lower == box_.upper);
    const Vector<Scalar>& z = memory(step.centre);
    write_output(step.position, layer(step.layer), {z, z});
  }

  const Plan& plan_;
  const Entry& entry_;
  Interval<Scalar> box_, outputs_;
  std::vector<Vector<Scalar>> memory_;  // by buffer; offsets play no part
  MapCache<Scalar>& maps_;
  std::size_t most_rows_;
  std::map<LayerId, Interval<Scalar>> layers_;
  std::map<LayerId, std::size_t> rows_;
  std::map<LayerId, Vector<Scalar>> tables_;
};

// Runs an entry and moves its results to Bounds or ExactBounds.
template <typename Result, typename LayerResult, typename Scalar>
Result run_machine(const Plan& plan, const Entry& entry, const std::vector<Scalar>& lower,
                   const std::vector<Scalar>& upper) {
  MapCache<Scalar> maps(plan);
  Machine<Scalar> machine(plan, entry, maps, lower, upper);
  machine.run();
  const auto list = [](const Vector<Scalar>& x) { return std::vector<Scalar>(x.begin(), x.end()); };
  Result result;
  result.lower = list(machine.outputs().lower);
  result.upper = list(machine.outputs().upper);
  for (const auto& [index, bent] : machine.bent())
    result.unstable.push_back(static_cast<int>(bent));
  for (const auto& [index, bounds] : machine.layers())
    result.layers.push_back(LayerResult{index, list(bounds.lower), list(bounds.upper)});
  return result;
}

}  // namespace bf_aot::reference
