#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/prove/fast_bounds.h"
#include "aot/prove/pieces.h"
#include "aot/prove/prover.h"
#include "aot/prove/slope_search.h"

// Writes the trees of a certificate. Its leaves are bounded by the checker's arithmetic.

namespace bf_aot::prove {

// Holds what all writers of a certificate share.
struct Question {
  const bf_check::Network& network;
  const bf_check::Property& property;
  const ProofRequest& request;
  unsigned coefficient_bits;
  const SlopeSearch& slopes;           // writers copy it
  std::vector<double> input_weights;   // see SlopeSearch
  const std::function<void()>& pause;  // throws where making the certificate is to end
};

// A node whose tree is to be written.
struct OpenNode {
  std::size_t of_case = 0;
  Pieces::At piece;
  bool root = false;                 // of its case: what follows is made when it is begun
  bool boxes = false;                // boxes are split, else neurons
  bool derives = false;              // begins with bounds that are derived anew
  std::vector<std::size_t> clauses;  // that the tree is about
  bf_check::Part part;
  Proposal proposal;                                        // of neurons
  std::vector<std::pair<std::uint32_t, signed char>> path;  // neurons that are split, and sides
  bool is_cut = false;                                      // elements are cut above it
  std::uint64_t depth = 0;
};

// Where nodes at this depth are left to others.
struct Frontier {
  std::uint64_t depth = 0;
  std::function<void(OpenNode)> leave;  // also sets the piece
};

class TreeWriter {
 public:
  // frontier: null where all is written by the writers of `tasks`.
  TreeWriter(const Question& question, Pieces& pieces, Tasks<OpenNode>& tasks,
             const Frontier* frontier);
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  // Writes the node's tree, or leaves parts of it to other writers. Throws: NoCertificate;
  // bf_check::NotProven a value beyond the grid.
  void write(OpenNode node);

  const ProofTotals& totals() const { return totals_; }

 private:
  // A plane below a clause's condition on a part: the violation has plane(x) <= 0.
  struct Plane {
    std::uint64_t atom = 0;
    SumBound bound;
    std::vector<double> slope;  // by input
    double constant = 0;        // in units of values, as slope times value is
  };
  // A condition of the clause, its bound, and the choices that it is by.
  struct Best {
    std::uint64_t atom = 0;
    double bound = 0;
    Proposal proposal;
  };

  // A split of a relaxation: of a neuron by its side, else of the element at a place.
  struct Split {
    std::uint32_t relaxation, element;
    std::int64_t place;
    bool is_neuron;
  };

  void pause();
  void put(std::uint64_t number);
  void put_place(std::int64_t place);
  void put_leaf(std::uint64_t atom);
  void expect_depth(std::uint64_t depth) const;
  void begin_node(std::uint64_t depth);
  void begin_root(OpenNode& node);
  void derive(bf_check::Part& part);
  bool excludes(const bf_check::Part& part, const bf_check::Combination& combination,
                const bf_check::Choices& choices);
  void enter(const OpenNode& node);
  void walk(OpenNode& node);
  void several(std::size_t count, std::uint64_t depth,
               const std::function<OpenNode(std::size_t)>& make);

  double least(const bf_check::Part& part, const Plane& plane) const;
  std::vector<double> slopes_of(const SumBound& bound) const;
  Plane plane_of(const bf_check::Part& part, std::uint64_t atom, SumBound bound) const;
  bool excludes(const bf_check::Part& part, const Plane& plane);
  bool leaf(const bf_check::Part& part, std::vector<double>* scores, std::vector<Plane>& planes);
  void add_share(const bf_check::Part& part, const std::vector<double>& factors,
                 std::vector<double>& scores) const;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> combination(
      const bf_check::Part& part, const std::vector<Plane>& planes) const;
  bool combined_leaf(const bf_check::Part& part, const std::vector<Plane>& planes);
  std::uint32_t widest(const bf_check::Part& part, const std::vector<double>& scores) const;
  std::optional<std::uint32_t> clip(bf_check::Part& part, const Plane& plane, bf_check::Part& away);
  void halve(OpenNode& node, std::uint32_t input);
  void box(OpenNode& node);
  void divide(OpenNode& node, std::vector<double>& scores, const std::vector<Plane>& planes,
              std::size_t next, double share);

  Best best_of(const bf_check::Part& part, const Proposal& start, int steps);
  bool leaf_by(const bf_check::Part& part, const Best& best);
  void neurons(OpenNode& node);
  Split split_of(const bf_check::Part& part, std::uint32_t n) const;
  OpenNode half_of(const OpenNode& node, const Split& split, std::size_t i) const;
  void put_split(const Split& split);
  Split chosen_split(const OpenNode& node, std::uint64_t atom,
                     const std::vector<std::uint32_t>& candidates);
  bool is_wide(const bf_check::Part& part, std::uint32_t n) const;
  void split_neurons(OpenNode& node);
  void last_neuron(OpenNode& node, const Best& start);

  const Question& question_;
  const bf_check::Network& network_;
  Pieces& pieces_;
  Tasks<OpenNode>& tasks_;
  const Frontier* frontier_;
  bf_check::Work work_;
  bf_check::Bounder bounder_;
  FastBounds fast_;
  SlopeSearch slopes_;
  const bf_check::Case* case_ = nullptr;                   // of atoms_
  std::vector<std::vector<bf_check::Combination>> atoms_;  // by clause
  std::vector<std::size_t> clauses_;                       // of the node that is written
  std::vector<signed char> side_;                          // by neuron, of that node
  std::vector<std::uint32_t> path_;                        // neurons that are split there
  Pieces::At piece_;                                       // that is written
  ProofTotals totals_;
};

}  // namespace bf_aot::prove
