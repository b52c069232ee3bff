#include "aot/decide/search/violation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "aot/decide/boxes/relations.h"
#include "aot/decide/property/case_ball.h"
#include "frontend/property/clause_boxes.h"

namespace bf_aot::decide {
namespace {

using Point = std::vector<float>;

constexpr std::size_t kAllCorners = 6;  // free inputs up to which every corner is tried
constexpr int kRandomPoints = 300;
constexpr int kFewPoints = 32;  // tried before points that follow gradients
constexpr std::size_t kFewInputs = 16;
// After this many attempts to prove a point, each an evaluation in slow arithmetic, further ones
// may take no more than half of the time.
constexpr int kProofs = 20;
constexpr double kFreeSeconds = 0.1;

class ViolationSearch {
 public:
  ViolationSearch(const Property& property, std::size_t index, const Evaluation& evaluate,
                  const PointCheck& prove, double seconds, const system::Stop& stop,
                  const SearchStart& start)
      : property_(property),
        case_(property.cases[index]),
        index_(index),
        evaluate_(evaluate),
        prove_(prove),
        seconds_(seconds),
        stop_(stop),
        gradients_(start.gradients),
        norm_(start.norm),
        random_(start.seed) {
    const Box box = norm_ == Norm::kLargest ? box_of_case(property, case_) : case_.box;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      lower_.push_back(static_cast<float>(box.lower[i]));
      upper_.push_back(static_cast<float>(box.upper[i]));
      if (lower_[i] < upper_[i]) free_.push_back(i);
    }
    for (const Clause& clause : case_.clauses) {
      std::vector<Term>& terms = clauses_.emplace_back();
      for (const Condition& condition : clause)
        if (!property.row_of(condition).outputs.empty()) terms.push_back(to_term(condition));
      relations_.emplace_back(property, clause, lower_, upper_);
      related_ = related_ || !relations_.back().empty();
    }
  }

  std::optional<Witness> run() {
    try_fixed_points();
    for (int k = 0; k < (gradients_ == nullptr ? kRandomPoints : kFewPoints) && go_on(); ++k)
      visit(placed(random_point(k % 2 == 0)));
    for (int round = 0; go_on() && !free_.empty(); ++round) {
      // Differences are cheap with few inputs, and find what lies behind steps.
      const bool slopes = gradients_ != nullptr && (round % 2 == 0 || free_.size() > kFewInputs);
      if (slopes) {
        descend_together(round);
      } else {
        descend();
        best_score_ = std::numeric_limits<double>::infinity();  // start elsewhere
        visit(placed(random_point(false)));
      }
    }
    return std::move(found_);
  }

 private:
  // A condition sum factor_k y_k + sum factor_i x_i <= limit of a violation, in double. Those on
  // inputs alone are in relations_.
  struct Term {
    std::vector<std::pair<std::size_t, double>> outputs, inputs;
    double limit = 0;
    int row = 0;  // of the property; the left side is `sign` times it
    float sign = 1;
  };

  Term to_term(const Condition& condition) const {
    Term term;
    const double sign = condition.negated ? -1 : 1;
    const PropertyRow& row = property_.row_of(condition);
    for (const auto& [k, factor] : row.outputs) term.outputs.emplace_back(k, sign * factor.get_d());
    for (const auto& [k, factor] : row.inputs) term.inputs.emplace_back(k, sign * factor.get_d());
    term.limit = condition.limit.get_d();
    term.row = condition.row;
    term.sign = condition.negated ? -1.0F : 1.0F;
    return term;
  }

  bool go_on() const { return !found_ && stopwatch_.seconds() < seconds_ && !stop_(); }

  Point random_point(bool corner) {
    std::uniform_real_distribution<float> unit(0, 1);
    Point point = centre();
    for (const std::size_t i : free_) {
      const float t = corner ? std::round(unit(random_)) : unit(random_);
      point[i] = std::clamp(lower_[i] * (1 - t) + upper_[i] * t, lower_[i], upper_[i]);
    }
    return point;
  }

  Point centre() const {
    Point point(lower_.size());
    for (std::size_t i = 0; i < point.size(); ++i)
      point[i] = std::clamp(0.5f * lower_[i] + 0.5f * upper_[i], lower_[i], upper_[i]);
    return point;
  }

  // The point, moved to where the conditions on inputs of a clause hold.
  Point placed(Point point, std::size_t clause) const {
    const auto at = [&point](std::size_t i) -> float& { return point[i]; };
    relations_[clause].place(at);
    move_into_ball(norm_, lower_, upper_, at);
    return point;
  }
  // The point, moved to where the conditions on inputs of the next clause hold: each has its turn.
  Point placed(Point point) {
    return placed(std::move(point), related_ ? turn_++ % relations_.size() : 0);
  }

  // The distance of the point from a violation; <= 0 where it is one.
  double score(const Point& point) const {
    const std::vector<float> y = evaluate_(point);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < clauses_.size(); ++c) {
      double worst = relation_value(c, [&point](std::size_t i) { return point[i]; });
      for (const Term& term : clauses_[c]) {
        double value = -term.limit;
        for (const auto& [k, factor] : term.outputs) value += factor * static_cast<double>(y[k]);
        for (const auto& [i, factor] : term.inputs) value += factor * static_cast<double>(point[i]);
        worst = std::max(worst, value);
      }
      best = std::min(best, worst);
    }
    return best;
  }

  // The distance of a point from the conditions of a clause on inputs alone: -infinity where they
  // hold, or miss the point by so little that its check can mend that.
  template <class At>
  double relation_value(std::size_t clause, const At& at) const {
    const Relations& relations = relations_[clause];
    return relations.are_missed(at) ? relations.most_excess(at)
                                    : -std::numeric_limits<double>::infinity();
  }

  double visit(const Point& point) {
    const double value = score(point);
    if (value <= 0 && is_worth_proving()) {
      const system::Stopwatch proving;
      ++proofs_;
      found_ = prove_(index_, {point.begin(), point.end()});
      proving_ += proving.seconds();
    }
    if (value < best_score_) {
      best_score_ = value;
      best_ = point;
    }
    return value;
  }

  // A proof evaluates the network in arithmetic that counts roundings, which takes seconds where
  // the network is large: after the first they take half of the time, but for some that take no
  // time.
  bool is_worth_proving() const {
    return proofs_ == 0 || (proofs_ < kProofs && proving_ < kFreeSeconds) ||
           proving_ < stopwatch_.seconds() / 2;
  }

  void try_fixed_points() {
    visit(placed(centre()));
    const bool all = free_.size() <= kAllCorners;
    const std::size_t corners = free_.empty() ? 0 : all ? std::size_t{1} << free_.size() : 2;
    for (std::size_t corner = 0; corner < corners && !found_ && !stop_(); ++corner) {
      Point point = centre();
      for (std::size_t k = 0; k < free_.size(); ++k) {
        const bool up = (all ? corner >> k : corner) % 2 != 0;
        point[free_[k]] = up ? upper_[free_[k]] : lower_[free_[k]];
      }
      visit(placed(std::move(point)));
    }
    try_poles();
  }

  // A linear form is least at a pole of a cross-polytope.
  void try_poles() {
    for (std::size_t k = 0; norm_ == Norm::kSum && k < 2 * free_.size() && go_on(); ++k) {
      Point point = centre();
      const std::size_t i = free_[k / 2];
      point[i] = k % 2 == 0 ? lower_[i] : upper_[i];
      visit(placed(std::move(point)));
    }
  }

  // Descends from the best point along the signs of slopes that differences estimate. The step is a
  // part of the box's width, halved whenever it does not help.
  void descend() {
    constexpr double kLeastStep = 1e-4;
    const std::size_t clause = related_ ? turn_++ % relations_.size() : 0;
    Point at = best_;
    double value = best_score_;
    for (double step = 0.5; step > kLeastStep && go_on();) {
      Point next = at;
      for (const std::size_t i : free_) {
        if (!go_on()) return;
        const auto width = static_cast<float>(step) * (upper_[i] - lower_[i]);
        Point low = at, high = at;
        low[i] = std::max(lower_[i], at[i] - width);
        high[i] = std::min(upper_[i], at[i] + width);
        const double slope = score(placed(high, clause)) - score(placed(low, clause));
        if (slope != 0) next[i] = slope < 0 ? high[i] : low[i];
      }
      next = placed(std::move(next), clause);
      const double reached = visit(next);
      if (reached < value) {
        at = std::move(next);
        value = reached;
      } else {
        step /= 2;
      }
    }
  }

  // ---- Gradients: points side by side, [inputs][kSide].

  static constexpr std::size_t kSide = RowGradients::kPoints;

  Point point_of(const std::vector<float>& x, std::size_t p) const {
    Point point(lower_.size());
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = x[i * kSide + p];
    return point;
  }

  // The amount by which a term does not hold at point p; <= 0 where it holds. rows: [rows][kSide].
  double term_value(const Term& term, const std::vector<float>& rows, std::size_t p) const {
    return static_cast<double>(term.sign * rows[static_cast<std::size_t>(term.row) * kSide + p]) -
           term.limit;
  }

  double clause_value(std::size_t clause, const std::vector<float>& rows,
                      const std::vector<float>& x, std::size_t p) const {
    double worst = relation_value(clause, [&](std::size_t i) { return x[i * kSide + p]; });
    for (const Term& term : clauses_[clause]) worst = std::max(worst, term_value(term, rows, p));
    return worst;
  }

  // The clause that is nearest to holding.
  std::size_t nearest_clause(const std::vector<float>& rows, const std::vector<float>& x,
                             std::size_t p) const {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < clauses_.size(); ++c)
      if (const double value = clause_value(c, rows, x, p); value < least) {
        least = value;
        nearest = c;
      }
    return nearest;
  }

  // A round's points, and what is known of them in a step.
  struct PointSet {
    std::vector<float> x;             // [inputs][kSide]
    std::vector<float> weights;       // of the rows of the terms that a point is to go down
    std::vector<std::size_t> clause;  // whose conditions on inputs a point is kept to
  };

  PointSet start_points(bool from_best, std::size_t rows) {
    PointSet points{std::vector<float>(lower_.size() * kSide), std::vector<float>(rows * kSide),
                    std::vector<std::size_t>(kSide)};
    for (std::size_t p = 0; p < kSide; ++p) {
      const Point point = p == 0 && from_best ? best_ : placed(random_point(p % 4 == 1));
      for (std::size_t i = 0; i < point.size(); ++i) points.x[i * kSide + p] = point[i];
    }
    return points;
  }

  // Adds what point p is to go down: the terms of a clause that do not hold, or its worst.
  void aim_at(std::size_t clause, const std::vector<float>& rows, std::size_t p,
              PointSet& points) const {
    points.clause[p] = clause;
    double worst = -std::numeric_limits<double>::infinity();
    for (const Term& term : clauses_[clause]) worst = std::max(worst, term_value(term, rows, p));
    for (const Term& term : clauses_[clause]) {
      const double value = term_value(term, rows, p);
      if (value <= 0 && value < worst) continue;
      points.weights[static_cast<std::size_t>(term.row) * kSide + p] += term.sign;
    }
  }

  // Visits the points that may violate, and aims all of them: the odd ones at a clause each, the
  // others at the nearest.
  void aim(int round, bool random, const std::vector<float>& rows, PointSet& points) {
    std::fill(points.weights.begin(), points.weights.end(), 0.0F);
    for (std::size_t p = 0; p < kSide; ++p) {
      const std::size_t nearest = nearest_clause(rows, points.x, p);
      if (clause_value(nearest, rows, points.x, p) <= 0 && go_on()) visit(point_of(points.x, p));
      if (random) continue;
      const std::size_t turn = p / 2 + static_cast<std::size_t>(round) * kSide / 2;
      aim_at(p % 2 == 0 ? nearest : turn % clauses_.size(), rows, p, points);
    }
  }

  // Points that go down the slope of the terms of a clause that do not hold, by steps of the sign
  // that become shorter. The odd points of a round aim at one clause each; the points of every
  // other round begin by going along a random combination of the rows.
  void descend_together(int round) {
    constexpr int kSteps = 40, kDiversified = 5;
    const std::size_t count = std::max<std::size_t>(property_.rows.size(), 1);
    PointSet points = start_points(round == 0, count);
    std::vector<float> random_weights(count * kSide);
    std::uniform_real_distribution<float> both(-1, 1);
    for (float& weight : random_weights) weight = both(random_);
    for (int step = 0; step < kSteps && go_on(); ++step) {
      const bool random = round % 2 == 1 && step < kDiversified;
      aim(round, random, gradients_->rows(points.x), points);
      if (found_) return;
      const float length = 0.35F * static_cast<float>(kSteps - step) / kSteps;
      move(points, gradients_->gradient(random ? random_weights : points.weights), length);
    }
  }

  // Moves points against their slopes, by a part of the box's width: in a box along the sign of the
  // slope, in balls where the ball's own distance falls most.
  void move(PointSet& points, const std::vector<float>& slope, float length) {
    std::vector<float> all(slope);
    const auto at = [&points](std::size_t p) {
      return [&points, p](std::size_t i) -> float& { return points.x[i * kSide + p]; };
    };
    for (std::size_t p = 0; p < kSide && related_; ++p)
      relations_[points.clause[p]].bend(
          at(p), [&all, p](std::size_t i) -> float& { return all[i * kSide + p]; });
    switch (norm_) {
      case Norm::kLargest:
        move_in_box(points.x, all, length);
        break;
      case Norm::kEuclid:
        for (std::size_t p = 0; p < kSide; ++p) move_in_ellipsoid(points.x, all, p, length);
        break;
      case Norm::kSum:
        for (std::size_t p = 0; p < kSide; ++p) move_in_cross(points.x, all, p, length);
        break;
    }
    for (std::size_t p = 0; p < kSide && related_; ++p) relations_[points.clause[p]].place(at(p));
    for (std::size_t p = 0; p < kSide; ++p) move_into_ball(norm_, lower_, upper_, at(p));
  }

  void move_in_box(std::vector<float>& x, const std::vector<float>& slope, float length) const {
    for (const std::size_t i : free_) {
      const float by = length * (upper_[i] - lower_[i]);
      for (std::size_t p = 0; p < kSide; ++p) {
        float& to = x[i * kSide + p];
        const float down = slope[i * kSide + p];
        to = std::clamp(to - (down > 0 ? by : down < 0 ? -by : 0.0F), lower_[i], upper_[i]);
      }
    }
  }

  // Along the slope, in units of the half widths.
  void move_in_ellipsoid(std::vector<float>& x, const std::vector<float>& slope, std::size_t p,
                         float length) const {
    float sum = 0;
    for (const std::size_t i : free_) {
      const float fall = slope[i * kSide + p] * (upper_[i] - lower_[i]);
      sum += fall * fall;
    }
    if (!(sum > 0)) return;
    const float by = length / std::sqrt(sum);
    for (const std::size_t i : free_) {
      const float width = upper_[i] - lower_[i];
      float& to = x[i * kSide + p];
      to = std::clamp(to - by * slope[i * kSide + p] * width * width, lower_[i], upper_[i]);
    }
  }

  // Towards the point that is least among those of which up to eight inputs, the number depends on
  // the point, share the distance (Frank and Wolfe 1956): few inputs, by much each, change a sum
  // most.
  void move_in_cross(std::vector<float>& x, const std::vector<float>& slope, std::size_t p,
                     float length) const {
    const auto fall = [&](std::size_t i) {
      return std::fabs(slope[i * kSide + p]) * (upper_[i] - lower_[i]);
    };
    std::vector<std::size_t> steepest = free_;
    const std::size_t count = std::min(free_.size(), 1 + p % 8);
    std::ranges::partial_sort(steepest, steepest.begin() + static_cast<std::ptrdiff_t>(count),
                              [&](std::size_t i, std::size_t k) { return fall(i) > fall(k); });
    steepest.resize(count);
    const float part = std::min(1.0F, 2 * length);
    for (const std::size_t i : free_) {
      const float middle = 0.5F * lower_[i] + 0.5F * upper_[i];
      float& to = x[i * kSide + p];
      to = middle + (1 - part) * (to - middle);
    }
    for (const std::size_t i : steepest) {
      const float by = part * 0.5F * (upper_[i] - lower_[i]) / static_cast<float>(count);
      float& to = x[i * kSide + p];
      to = std::clamp(slope[i * kSide + p] > 0 ? to - by : to + by, lower_[i], upper_[i]);
    }
  }

  const Property& property_;
  const PropertyCase& case_;
  const std::size_t index_;
  const Evaluation& evaluate_;
  const PointCheck& prove_;
  const double seconds_;
  const system::Stop& stop_;
  RowGradients* const gradients_;
  const Norm norm_;
  std::mt19937 random_;
  const system::Stopwatch stopwatch_;
  Point lower_, upper_;  // the case's box, rounded
  std::vector<std::size_t> free_;
  std::vector<std::vector<Term>> clauses_;
  std::vector<Relations> relations_;  // of the clauses
  bool related_ = false;              // some clause has any
  std::size_t turn_ = 0;
  Point best_;
  double best_score_ = std::numeric_limits<double>::infinity();
  int proofs_ = 0;
  double proving_ = 0;  // seconds
  std::optional<Witness> found_;
};

}  // namespace

std::optional<Witness> search_violation(const Property& property, std::size_t index,
                                        const Evaluation& evaluate, const PointCheck& prove,
                                        double seconds, const system::Stop& stop,
                                        const SearchStart& start) {
  return ViolationSearch(property, index, evaluate, prove, seconds, stop, start).run();
}

}  // namespace bf_aot::decide
