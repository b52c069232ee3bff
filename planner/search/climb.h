#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "planner/search/goal.h"

namespace bf_aot {

// An option of each axis, by number.
using Candidate = std::vector<int>;

// A space of candidates and the metrics measured in it. Searches share their measurements, so that
// a candidate is measured once.
class Landscape {
 public:
  using Measure = std::function<Metrics(const Candidate&)>;

  // options: how many each axis has. may_measure: false ends a search with the best so far.
  Landscape(std::vector<int> options, Measure measure, std::function<bool()> may_measure);

  // Adds candidates that every search looks at first.
  void start_from(Candidate candidate);

  // Searches from each start and from the best that earlier searches found: keeps the `width` best,
  // measures all candidates that differ from one of them in one axis, or, when there are few axes,
  // exchange the options of two, and so on until none of the best is new. width 1 is steepest
  // descent.
  Candidate climb(const Goal& goal, int width);

  // Measures every candidate.
  Candidate exhaust(const Goal& goal);

  // The best of what is measured.
  Candidate best_known(const Goal& goal) const;

  const Metrics& measure(const Candidate& candidate);
  // Null when it was not measured.
  const Metrics* find(const Candidate& candidate) const;
  const std::map<Candidate, Metrics>& known() const { return known_; }

  const std::vector<int>& options() const { return options_; }
  double size() const;                   // number of candidates
  bool was_cut() const { return cut_; }  // a search ended before its time

 private:
  void climb_from(const Goal& goal, int width, Candidate start);
  std::vector<Candidate> neighbours(const Candidate& from) const;
  bool step(const Goal& goal, int width, std::vector<Candidate>& best,
            std::map<Candidate, bool>& expanded);
  bool may_continue();

  std::vector<int> options_;
  Measure measure_;
  std::function<bool()> may_measure_;
  std::vector<Candidate> starts_;
  std::map<Candidate, Metrics> known_;
  bool cut_ = false;
};

}  // namespace bf_aot
