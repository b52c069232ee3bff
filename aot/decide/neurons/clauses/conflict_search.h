#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "aot/decide/neurons/clauses/propagation.h"

namespace bf_aot::decide {

// Searches a node where inputs lie on one side of a gap or on the other, by assumptions of such
// sides and of signs. Where they contradict each other, those that do together are learned, and
// exclude what has all of them (conflict-driven clause learning: Marques-Silva, Sakallah 1999;
// Moskewicz et al. 2001). What is learned holds in the node. Proof: docs/proofs/neuron-splits.md.
class ConflictSearch {
 public:
  // propagation is kept by reference.
  explicit ConflictSearch(Propagation& propagation) : at_(propagation) {}

  // Called now and then; what it throws leaves run(), after which begin() is due.
  std::function<void()> pause = [] {};

  enum class End : std::uint8_t {
    kEmpty,  // no violation is left
    kPoint,  // assumptions do not contradict each other, and nothing is left to be assumed
    kSpent   // there were as many contradictions as allowed
  };
  // Requires begin(), and that is not empty. What is left afterwards holds at every violation in
  // the node.
  End run(std::size_t most_conflicts);

  // After kPoint: an input that may be a violation.
  const std::vector<float>& point() const { return point_; }
  std::size_t conflicts() const { return conflicts_; }  // of the last run

 private:
  // Which side of a gap an input is on, or the sign of a neuron, whose gap is at 0.
  struct Question {
    std::size_t variable = 0;
    Propagation::Gap gap;
    bool is_sign = false;
    bool is_high = false;  // the bound that was assumed last
    double activity = 0;
  };
  // A side: the variable is at most the gap's low end (is_high), or at least its high end.
  struct Side {
    std::size_t question = 0;
    bool is_high = false;
  };
  // Sides that no violation has all of. The first two are watched.
  struct Nogood {
    std::vector<Side> sides;
  };

  void find_questions();
  std::optional<Side> side_of(std::size_t step) const;
  double end_of(const Side& side) const;
  bool holds(const Side& side) const;
  bool fails(const Side& side) const;
  std::vector<std::size_t>& watchers_of(const Side& side);
  bool propagate();
  void follow(std::size_t step);
  void exclude(std::size_t nogood, std::size_t place);
  std::size_t level_of(std::size_t step) const;
  void explain(std::size_t step, std::vector<std::size_t>& steps) const;
  std::size_t step_of(const Side& side, std::size_t before) const;
  Nogood learn(std::size_t& level);
  void shorten(Nogood& made, const std::vector<std::size_t>& steps, std::size_t& level);
  void back_to(std::size_t level);
  void add(Nogood nogood);
  void bump(std::size_t question);
  std::optional<Side> next_assumption() const;
  void note_point();

  Propagation& at_;
  std::vector<Question> questions_;
  std::vector<std::vector<std::size_t>> questions_of_;  // by variable: rising
  std::vector<Nogood> nogoods_;
  std::vector<std::vector<std::size_t>> watchers_;  // by question and side: nogoods
  std::vector<std::size_t> levels_;                 // the first step of each assumption
  std::size_t followed_ = 0;                        // steps whose nogoods were looked at
  double rise_ = 1;
  std::size_t conflicts_ = 0;
  std::vector<bool> seen_;
  std::vector<float> point_;
};

}  // namespace bf_aot::decide
