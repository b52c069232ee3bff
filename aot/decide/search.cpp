#include "aot/decide/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace bf_aot::cli {
namespace {

using Point = std::vector<float>;

constexpr std::size_t kAllCorners = 6;  // free inputs up to which every corner is tried
constexpr int kRandomPoints = 300;
constexpr int kProofs = 20;  // attempts to prove a point, each an evaluation in slow arithmetic

class Search {
 public:
  Search(const Property& property, std::size_t index, const Evaluation& evaluate,
         const WitnessCheck& check, double seconds, const StopAsked& stop)
      : property_(property),
        case_(property.cases[index]),
        index_(index),
        evaluate_(evaluate),
        check_(check),
        seconds_(seconds),
        stop_(stop) {
    for (std::size_t i = 0; i < case_.box.lower.size(); ++i) {
      lower_.push_back(static_cast<float>(case_.box.lower[i]));
      upper_.push_back(static_cast<float>(case_.box.upper[i]));
      if (lower_[i] < upper_[i]) free_.push_back(i);
    }
    for (const Clause& clause : case_.clauses) {
      std::vector<Term>& terms = clauses_.emplace_back();
      for (const Condition& condition : clause) terms.push_back(to_term(condition));
    }
  }

  std::optional<Witness> run() {
    try_fixed_points();
    std::uniform_real_distribution<float> unit(0, 1);
    for (int k = 0; k < kRandomPoints && go_on(); ++k) {
      Point point = centre();
      const bool corner = k % 2 == 0;
      for (const std::size_t i : free_) {
        const float t = corner ? std::round(unit(random_)) : unit(random_);
        point[i] = std::clamp(lower_[i] * (1 - t) + upper_[i] * t, lower_[i], upper_[i]);
      }
      visit(point);
    }
    while (go_on() && !free_.empty()) {
      descend();
      best_score_ = std::numeric_limits<double>::infinity();  // start elsewhere
      Point point = centre();
      for (const std::size_t i : free_) {
        const float t = unit(random_);
        point[i] = std::clamp(lower_[i] * (1 - t) + upper_[i] * t, lower_[i], upper_[i]);
      }
      visit(point);
    }
    return std::move(found_);
  }

 private:
  // Of sum factor_k y_k + sum inputs x <= limit, in double.
  struct Term {
    std::vector<std::pair<std::size_t, double>> outputs, inputs;
    double limit = 0;
  };

  Term to_term(const Condition& condition) const {
    Term term;
    if (condition.row >= 0)
      for (const auto& [k, factor] : property_.rows[static_cast<std::size_t>(condition.row)])
        term.outputs.emplace_back(k, condition.negated ? -factor.get_d() : factor.get_d());
    for (const auto& [k, factor] : condition.inputs) term.inputs.emplace_back(k, factor.get_d());
    term.limit = condition.limit.get_d();
    return term;
  }

  bool go_on() const {
    return !found_ && proofs_ < kProofs && stopwatch_.seconds() < seconds_ && !stop_();
  }

  Point centre() const {
    Point point(lower_.size());
    for (std::size_t i = 0; i < point.size(); ++i)
      point[i] = std::clamp(0.5f * lower_[i] + 0.5f * upper_[i], lower_[i], upper_[i]);
    return point;
  }

  // How far the point is from a violation: not at all when <= 0.
  double score(const Point& point) const {
    const std::vector<float> y = evaluate_(point);
    double best = std::numeric_limits<double>::infinity();
    for (const std::vector<Term>& clause : clauses_) {
      double worst = -std::numeric_limits<double>::infinity();
      for (const Term& term : clause) {
        double value = -term.limit;
        for (const auto& [k, factor] : term.outputs) value += factor * static_cast<double>(y[k]);
        for (const auto& [i, factor] : term.inputs) value += factor * static_cast<double>(point[i]);
        worst = std::max(worst, value);
      }
      best = std::min(best, worst);
    }
    return best;
  }

  double visit(const Point& point) {
    const double value = score(point);
    if (value <= 0 && proofs_ < kProofs) {
      ++proofs_;
      found_ = check_.prove(index_, {point.begin(), point.end()});
    }
    if (value < best_score_) {
      best_score_ = value;
      best_ = point;
    }
    return value;
  }

  void try_fixed_points() {
    visit(centre());
    const bool all = free_.size() <= kAllCorners;
    const std::size_t corners = free_.empty() ? 0 : all ? std::size_t{1} << free_.size() : 2;
    for (std::size_t corner = 0; corner < corners && !found_ && !stop_(); ++corner) {
      Point point = centre();
      for (std::size_t k = 0; k < free_.size(); ++k) {
        const bool up = (all ? corner >> k : corner) % 2 != 0;
        point[free_[k]] = up ? upper_[free_[k]] : lower_[free_[k]];
      }
      visit(point);
    }
  }

  // From the best point along the signs of slopes that differences estimate; the step is a part of
  // the box's width, halved whenever it does not help.
  void descend() {
    constexpr double kLeastStep = 1e-4;
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
        const double slope = score(high) - score(low);
        if (slope != 0) next[i] = slope < 0 ? high[i] : low[i];
      }
      const double reached = visit(next);
      if (reached < value) {
        at = std::move(next);
        value = reached;
      } else {
        step /= 2;
      }
    }
  }

  const Property& property_;
  const PropertyCase& case_;
  const std::size_t index_;
  const Evaluation& evaluate_;
  const WitnessCheck& check_;
  const double seconds_;
  const StopAsked& stop_;
  const Stopwatch stopwatch_;
  std::mt19937 random_{1};
  Point lower_, upper_;  // the case's box, rounded
  std::vector<std::size_t> free_;
  std::vector<std::vector<Term>> clauses_;
  Point best_;
  double best_score_ = std::numeric_limits<double>::infinity();
  int proofs_ = 0;
  std::optional<Witness> found_;
};

}  // namespace

std::optional<Witness> search_violation(const Property& property, std::size_t index,
                                        const Evaluation& evaluate, const WitnessCheck& check,
                                        double seconds, const StopAsked& stop) {
  return Search(property, index, evaluate, check, seconds, stop).run();
}

}  // namespace bf_aot::cli
