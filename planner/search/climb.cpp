#include "planner/search/climb.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {

Landscape::Landscape(std::vector<int> options, Measure measure, std::function<bool()> may_measure)
    : options_(std::move(options)),
      measure_(std::move(measure)),
      may_measure_(std::move(may_measure)) {}

void Landscape::start_from(Candidate candidate) {
  BF_CHECK(candidate.size() == options_.size());
  if (std::ranges::count(starts_, candidate) == 0) starts_.push_back(std::move(candidate));
}

const Metrics& Landscape::measure(const Candidate& candidate) {
  const auto found = known_.find(candidate);
  if (found != known_.end()) return found->second;
  return known_.emplace(candidate, measure_(candidate)).first->second;
}

const Metrics* Landscape::find(const Candidate& candidate) const {
  const auto found = known_.find(candidate);
  return found == known_.end() ? nullptr : &found->second;
}

double Landscape::size() const {
  double count = 1;
  for (const int n : options_) count *= n;
  return count;
}

bool Landscape::may_continue() {
  if (may_measure_()) return true;
  cut_ = true;
  return false;
}

// Ties go to the candidate that comes first.
Candidate Landscape::best_known(const Goal& goal) const {
  BF_CHECK(!known_.empty());
  auto best = known_.begin();
  for (auto it = known_.begin(); it != known_.end(); ++it)
    if (goal.prefers(it->second, best->second)) best = it;
  return best->first;
}

// The candidates that differ from `from` in one axis. With few axes also those that exchange the
// options of two, as far as both have them: what one layer gives up another gets.
std::vector<Candidate> Landscape::neighbours(const Candidate& from) const {
  constexpr std::size_t kFewAxes = 12;
  std::vector<Candidate> list;
  for (std::size_t axis = 0; axis < options_.size(); ++axis)
    for (int option = 0; option < options_[axis]; ++option) {
      Candidate to = from;
      if (std::exchange(to[axis], option) != option) list.push_back(std::move(to));
    }
  for (std::size_t a = 0; a < options_.size() && options_.size() <= kFewAxes; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (from[a] == from[b] || from[a] >= options_[b] || from[b] >= options_[a]) continue;
      Candidate to = from;
      std::swap(to[a], to[b]);
      list.push_back(std::move(to));
    }
  return list;
}

// Replaces `best` by the best of it and its neighbours. Whether there is anything new among them.
bool Landscape::step(const Goal& goal, int width, std::vector<Candidate>& best,
                     std::map<Candidate, bool>& expanded) {
  std::vector<Candidate> pool = best;
  bool any = false;
  for (const Candidate& from : best) {
    if (std::exchange(expanded[from], true)) continue;
    any = true;
    for (Candidate& to : neighbours(from)) {
      if (find(to) == nullptr && !may_continue()) continue;
      measure(to);
      if (std::ranges::count(pool, to) == 0) pool.push_back(std::move(to));
    }
  }
  std::ranges::stable_sort(pool, [&](const Candidate& a, const Candidate& b) {
    const Metrics &x = known_.at(a), &y = known_.at(b);
    return goal.prefers(x, y) || (!goal.prefers(y, x) && a < b);
  });
  pool.resize(std::min(pool.size(), static_cast<std::size_t>(width)));
  best = std::move(pool);
  return any;
}

void Landscape::climb_from(const Goal& goal, int width, Candidate start) {
  std::vector<Candidate> best = {std::move(start)};
  std::map<Candidate, bool> expanded;
  while (step(goal, width, best, expanded)) {
  }
}

Candidate Landscape::climb(const Goal& goal, int width) {
  for (const Candidate& start : starts_) measure(start);
  for (const Candidate& start : starts_) climb_from(goal, width, start);
  climb_from(goal, width, best_known(goal));
  return best_known(goal);
}

Candidate Landscape::exhaust(const Goal& goal) {
  Candidate candidate(options_.size(), 0);
  while (true) {
    measure(candidate);
    std::size_t axis = 0;
    while (axis < options_.size() && ++candidate[axis] == options_[axis]) candidate[axis++] = 0;
    if (axis == options_.size()) return best_known(goal);
  }
}

}  // namespace bf_aot
