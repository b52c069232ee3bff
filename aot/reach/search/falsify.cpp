#include "aot/reach/search/falsify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace bf_aot::reach {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCorners = 64;
constexpr std::size_t kRandomPoints = 64;
constexpr std::size_t kMostDifferences = 64;  // axes whose slopes one round asks for
constexpr double kLeastSigma = 1e-5;
constexpr double kProgress = 1e-3;  // of a margin, below which steps become shorter

using Point = std::vector<double>;

struct Tried {
  Point point;
  double margin = kInfinite;
};

class Falsifier {
 public:
  Falsifier(const Simulation& simulation, const FalsifySettings& settings, const Prover& prover)
      : simulation_(simulation),
        settings_(settings),
        prover_(prover),
        space_(simulation.question().loop),
        random_(settings.seed),
        best_(simulation.question().requirements.size()) {
    made_.least.assign(best_.size(), kInfinite);
    asked_.assign(best_.size(), 0);
  }

  Falsified run() {
    if (best_.empty()) return made_;
    seed();
    // Requirements take turns, those that are nearest to being broken first.
    std::vector<std::size_t> order(best_.size());
    for (std::size_t r = 0; r < order.size(); ++r) order[r] = r;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return made_.least[a] < made_.least[b]; });
    for (std::size_t turn = 0; turn < settings_.most_descents && !is_over(); ++turn)
      for (const std::size_t r : order)
        if (is_open(r)) descend(r, turn);
    std::stable_sort(made_.candidates.begin(), made_.candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.margin < b.margin; });
    return std::move(made_);
  }

 private:
  bool is_open(std::size_t r) const { return prover_ || !(made_.least[r] < 0); }
  bool none_open() const {
    for (std::size_t r = 0; r < best_.size(); ++r)
      if (is_open(r)) return false;
    return true;
  }
  // Where no requirement that is open has a finite margin, there is nothing to descend from.
  bool is_over() const {
    if (made_.violation || made_.runs >= settings_.most_runs || settings_.stop()) return true;
    for (std::size_t r = 0; r < best_.size(); ++r)
      if (is_open(r) && std::isfinite(made_.least[r])) return space_.size() == 0;
    return true;
  }

  // The margins of points by one requirement; all requirements learn of them.
  std::vector<double> tries(const std::vector<Point>& points, std::size_t r) {
    std::vector<Scenario> scenarios;
    for (const Point& point : points) scenarios.push_back(space_.at(point));
    const std::vector<std::vector<Margin>> margins = simulation_.margins(scenarios);
    made_.runs += points.size();
    std::vector<double> mine;
    for (std::size_t k = 0; k < points.size(); ++k) {
      for (std::size_t q = 0; q < best_.size(); ++q)
        learn(q, points[k], scenarios[k], margins[k][q]);
      mine.push_back(margins[k][r].value);
    }
    return mine;
  }

  void learn(std::size_t r, const Point& point, const Scenario& scenario, const Margin& margin) {
    std::vector<Tried>& best = best_[r];
    const auto less = [](double value, const Tried& tried) { return value < tried.margin; };
    best.insert(std::upper_bound(best.begin(), best.end(), margin.value, less),
                {point, margin.value});
    if (best.size() > 16) best.pop_back();
    if (!(margin.value < made_.least[r])) return;
    made_.least[r] = margin.value;
    if (!(margin.value < 0)) return;
    keep({scenario, r, margin.value, simulation_.moments()[margin.moment].time});
  }

  // Keeps the deepest candidates of each requirement. Each that is kept is deeper than those
  // before.
  void keep(Candidate candidate) {
    const std::size_t r = candidate.requirement;
    const auto mine = [&](const Candidate& other) { return other.requirement == r; };
    std::vector<Candidate>& all = made_.candidates;
    if (std::count_if(all.begin(), all.end(), mine) >=
        static_cast<std::ptrdiff_t>(settings_.most_kept))
      all.erase(std::find_if(all.begin(), all.end(), mine));
    all.push_back(std::move(candidate));
  }

  // Asks for a proof of a requirement's deepest candidate where it is `times` as deep as the one
  // that was asked for before.
  void ask(std::size_t r, double times) {
    if (!prover_ || made_.violation || !(made_.least[r] < times * asked_[r])) return;
    const auto mine = [&](const Candidate& other) { return other.requirement == r; };
    const auto deepest = std::find_if(made_.candidates.rbegin(), made_.candidates.rend(), mine);
    asked_[r] = made_.least[r];
    made_.violation = prover_(*deepest);
  }

  void try_batch(const std::vector<Point>& points) {
    for (std::size_t from = 0; from < points.size() && !made_.violation; from += 2 * kLanes) {
      if (from > 0 && (settings_.stop() || made_.runs >= settings_.most_runs)) return;
      const std::size_t to = std::min(points.size(), from + 2 * kLanes);
      tries({points.begin() + static_cast<std::ptrdiff_t>(from),
             points.begin() + static_cast<std::ptrdiff_t>(to)},
            0);
      for (std::size_t r = 0; r < best_.size(); ++r) ask(r, 2);
      if (none_open()) return;
    }
  }

  void seed() {
    std::vector<Point> points;
    for (const Box& cell : settings_.cells)
      for (const bool corner : {false, true}) points.push_back(point_of(cell, corner));
    points.emplace_back(space_.size(), 0.5);
    add_corners(points);
    add_faces(points);
    for (std::size_t k = 0; k < kRandomPoints && space_.size() > 0; ++k)
      points.push_back(random_point());
    try_batch(points);
  }

  Point random_point() {
    Point point(space_.size());
    for (double& share : point) share = random_share(random_);
    return point;
  }

  // The cell's middle, or one of its corners, with disturbances in the middle or at their ends.
  Point point_of(const Box& cell, bool corner) {
    Point point(space_.size(), 0.5);
    std::vector<double> state;
    for (std::size_t i = 0; i < cell.lower.size(); ++i) {
      const double share = corner ? static_cast<double>(random_() & 1) : 0.5;
      state.push_back((1 - share) * cell.lower[i] + share * cell.upper[i]);
    }
    space_.move_start(point, state);
    for (std::size_t k = space_.states(); corner && k < point.size(); ++k)
      point[k] = static_cast<double>(random_() & 1);
    return point;
  }

  void add_corners(std::vector<Point>& points) {
    const bool all = space_.size() < 16 && std::size_t{1} << space_.size() <= kMostCorners;
    for (std::size_t c = 0; c < (all ? std::size_t{1} << space_.size() : kMostCorners); ++c) {
      Point point(space_.size());
      for (std::size_t k = 0; k < point.size(); ++k)
        point[k] = static_cast<double>((all ? c >> k : random_()) & 1);
      points.push_back(std::move(point));
    }
  }

  // The middles of faces; of the start and of constant disturbances alone where there are many.
  void add_faces(std::vector<Point>& points) const {
    for (std::size_t k = 0; k < std::min(space_.size(), kMostDifferences); ++k)
      for (const double end : {0.0, 1.0}) {
        points.emplace_back(space_.size(), 0.5);
        points.back()[k] = end;
      }
  }

  // One descent: from the best points first, later from random ones.
  void descend(std::size_t r, std::size_t turn) {
    if (is_over()) return;
    Tried now;
    if (turn < best_[r].size() && turn < 4) {
      now = best_[r][turn];
    } else {
      now.point = random_point();
      now.margin = tries({now.point}, r)[0];
    }
    if (!std::isfinite(now.margin)) return;
    for (double sigma = 0.25; sigma > kLeastSigma && !made_.violation;) {
      if (made_.runs >= settings_.most_runs || settings_.stop() || !is_open(r)) return;
      const double before = now.margin;
      slope_round(r, now);
      random_round(r, now, sigma);
      sigma *= before - now.margin > kProgress * std::fabs(before) ? 1.2 : 0.4;
      ask(r, 2);
    }
    ask(r, 1);
  }

  // Takes the best of the points if it is better.
  void take(std::size_t r, Tried& now, std::vector<Point> points) {
    const std::vector<double> margins = tries(points, r);
    const auto least = std::min_element(margins.begin(), margins.end());
    if (*least < now.margin)
      now = {std::move(points[static_cast<std::size_t>(least - margins.begin())]), *least};
  }

  // Steps of several lengths down the slope, which differences say, and along its signs.
  void slope_round(std::size_t r, Tried& now) {
    const Point slope = slope_at(r, now);
    double largest = 0;
    for (const double s : slope) largest = std::max(largest, std::fabs(s));
    if (!(largest > 0) || !std::isfinite(largest)) return;
    std::vector<Point> points;
    for (const double length : {1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001}) {
      Point point = now.point;
      for (std::size_t k = 0; k < point.size(); ++k)
        point[k] = std::clamp(point[k] - length * slope[k] / largest, 0.0, 1.0);
      points.push_back(std::move(point));
    }
    points.push_back(now.point);
    for (std::size_t k = 0; k < slope.size(); ++k)
      if (slope[k] != 0) points.back()[k] = slope[k] > 0 ? 0 : 1;
    take(r, now, std::move(points));
  }

  // Where there are many axes, a random share of them changes; the others stay 0.
  Point slope_at(std::size_t r, const Tried& now) {
    constexpr double kDifference = 1e-4;
    std::vector<std::size_t> axes;
    for (std::size_t k = 0; k < space_.size(); ++k)
      if (space_.size() <= kMostDifferences ||
          random_share(random_) * static_cast<double>(space_.size()) < kMostDifferences)
        axes.push_back(k);
    std::vector<Point> points;
    for (const std::size_t k : axes) {
      points.push_back(now.point);
      points.back()[k] += now.point[k] > 0.5 ? -kDifference : kDifference;
    }
    Point slope(space_.size());
    if (axes.empty()) return slope;
    const std::vector<double> margins = tries(points, r);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double rise = (margins[i] - now.margin) / (points[i][axes[i]] - now.point[axes[i]]);
      slope[axes[i]] = std::isfinite(rise) ? rise : 0;
    }
    return slope;
  }

  void random_round(std::size_t r, Tried& now, double sigma) {
    std::normal_distribution<double> normal(0, sigma);
    std::vector<Point> points;
    for (std::size_t l = 0; l < kLanes; ++l) {
      points.push_back(now.point);
      for (double& share : points.back()) share = std::clamp(share + normal(random_), 0.0, 1.0);
    }
    take(r, now, std::move(points));
  }

  const Simulation& simulation_;
  const FalsifySettings& settings_;
  const Prover& prover_;
  ScenarioSpace space_;
  std::mt19937_64 random_;
  std::vector<std::vector<Tried>> best_;  // of each requirement, by margin
  std::vector<double> asked_;             // the margin of the last candidate given to the prover
  Falsified made_;
};

}  // namespace

Falsified falsify(const Simulation& simulation, const FalsifySettings& settings,
                  const Prover& prover) {
  return Falsifier(simulation, settings, prover).run();
}

}  // namespace bf_aot::reach
