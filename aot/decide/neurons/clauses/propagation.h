#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/box_network.h"
#include "aot/decide/neurons/clauses/input_functions.h"
#include "aot/decide/neurons/clauses/sums.h"
#include "aot/decide/neurons/split_node.h"

namespace bf_aot::decide {

// Finds what the conditions of a node and of its clause leave of the ranges of inputs and neurons,
// by intervals along the network and back, and by planes below the terms over the inputs: as unit
// propagation does where ReLUs encode clauses. What is found holds at every violation in the node.
// Proof: docs/proofs/neuron-splits.md. Not for several threads.
class Propagation {
 public:
  // Variables are the inputs, then what each neuron's function is applied to. least and largest are
  // the ends of their activations.
  struct Ranges {
    std::vector<double> low, high;
    std::vector<double> least, largest;
  };

  // The reason why a bound holds.
  enum class Cause : std::uint8_t {
    kAssumed,  // nothing: it was assumed
    kSum,      // the sum that neuron `of` is
    kPart,     // what neuron `of` leaves its part `part`
    kPlane,    // a term's plane
    kOther     // one that the caller numbers by `of`
  };
  // A bound that became tighter, in the order in which this was found.
  struct Step {
    std::size_t variable = 0;
    bool is_high = false;  // which bound
    Cause cause = Cause::kAssumed;
    bool from_above = false;  // kPart: by the largest value that the neuron may have
    std::size_t of = 0, part = 0;
    double limit = 0;              // kPart: of the part
    double before = 0, value = 0;  // the bound; value is an infinity where nothing is left
    std::size_t earlier = 0;       // the last step of the same bound before, or kNone
  };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // No violation has the input between these ends.
  struct Gap {
    double low = 0, high = 0;
  };

  // Returns whether a network is one of ReLUs alone, which is what is covered, and not too large.
  static bool covers(const BoxNetwork& network);

  // Both are kept by reference. Requires covers(network).
  Propagation(const BoxNetwork& network, const std::vector<ClauseTerm>& terms);

  // Begins with the ranges of a node, and narrows them. False where no violation is left.
  bool begin(const SplitNode& node);

  // Adds what was found since begin() to its node: splits, whose multipliers are 0, and ranges.
  void store(SplitNode& node) const;

  // An open neuron whose sign is not known, and which of its halves has more left.
  struct Choice {
    std::size_t open = 0;
    bool positive_first = false;
  };
  // Narrows the ranges for either sign of open neurons, and returns the neuron whose signs have the
  // greatest part in conditions; nothing where all signs are known, or where is_empty(). Where a
  // sign leaves no violation, the other becomes known.
  std::optional<Choice> choose();
  // Returns whether no violation is left.
  bool is_empty() const { return empty_; }

  // The share of the activations of all open neurons, from 0 to 1, that is left of what they may be
  // on the box, as far as is found in a node by what follows from the terms. Begins anew.
  double share_of(const SplitNode& node);

  // The rest is for searches in a node, after begin(): they take assumptions back.

  // Returns whether sums are exact, as their numbers are small multiples of 2^-20. Elsewhere bounds
  // differ by roundings, each of which would be a reason of its own.
  bool is_exact() const;
  std::size_t inputs() const { return sums_.inputs; }
  const Ranges& ranges() const { return ranges_; }
  const std::vector<Gap>& gaps_of(std::size_t input) const { return gaps_[input]; }  // rising
  // The number of sums that an input has a part in.
  std::size_t readers_of(std::size_t input) const { return readers_[input].size(); }
  // The variables of open neurons that do not depend on inputs with gaps alone.
  std::vector<std::size_t> open_beside_gaps() const;

  // While it is on, neurons that depend on inputs with gaps alone are not looked at, planes are not
  // made, and ranges that no other variable reads are not noted.
  void search(bool on);
  // Bounds a variable by a cause kAssumed or kOther.
  void bound(std::size_t variable, bool is_high, double value, Cause cause, std::size_t of = 0);
  // Says that a cause kOther leaves nothing, as which the last step then stands.
  void refute(std::size_t variable, bool is_high, std::size_t of);
  // Looks at the next sum that waits; false where there is none, or where too many were looked at.
  bool visit_next();
  // The steps since what was kept, and those that contradict each other where is_empty().
  const std::vector<Step>& trail() const { return trail_; }
  const std::vector<std::size_t>& conflict() const { return conflict_; }
  // The last step of a bound before a step; kNone where that is kept.
  std::size_t last_before(std::size_t variable, bool is_high, std::size_t step) const;
  // Adds the steps that a step with cause kSum or kPart follows from.
  void explain(std::size_t step, std::vector<std::size_t>& steps) const;
  // Takes all steps from this one on back.
  void undo(std::size_t step);
  // Keeps what was found as what holds without assumptions; the trail is empty then.
  void keep();
  // Looks at all sums, and at planes.
  void propagate_all();

 private:
  // A part of a neuron's sum: a function of an input, or weight times the activation of a variable.
  struct Part {
    std::size_t variable = 0;
    double weight = 0;
    std::size_t function = kNone;
  };
  // An open neuron whose sign says on which side of a gap an input is.
  struct Deciding {
    std::size_t input = 0;
    Gap gap;
    std::size_t open = 0;
  };
  struct Reader {
    std::size_t neuron = 0, part = 0;
  };

  std::size_t row_of(const ClauseTerm& term) const;
  std::size_t variable_of(int layer, std::size_t place) const;
  void add_layer(const BoxNetwork::BoxLayer& layer);
  void find_price();
  void find_parts();
  void find_readers();
  void load_box();
  void load(const SplitNode& node);
  void find_gaps();
  void find_units();
  void find_deciding();
  // An end of a range that lies in a gap is moved to the gap's other end.
  double beyond_gaps(std::size_t input, double end, bool is_high) const;
  double share() const;
  bool is_known(std::size_t open) const;
  double left_of(std::size_t open) const;
  std::vector<std::size_t> candidates() const;
  void assign(std::size_t variable, double low, double high);
  void note(std::size_t variable, bool is_high, double value);
  void set(std::size_t variable, double low, double high);
  void set_activation(std::size_t variable, double low, double high);
  void fail(std::size_t variable, bool is_high);
  void narrow_input(const Part& part);
  void ask(std::size_t neuron);
  void ask_readers(std::size_t variable, double low, double high);
  void propagate();
  void forget_waiting();
  std::pair<double, double> ends_of(const Part& part, double low, double high) const;
  std::pair<double, double> sum_of(std::size_t neuron);
  void visit(std::size_t neuron);
  void cut_inputs(const ClauseTerm& term);
  void find_conditions();
  std::optional<double> weight_of(std::size_t open, bool positive);
  double value_before(std::size_t variable, bool is_high, std::size_t step) const;
  void explain_end(const Part& part, bool is_high, std::size_t step,
                   std::vector<std::size_t>& steps) const;
  void explain_own(const Part& part, std::size_t step, std::vector<std::size_t>& steps) const;

  const BoxNetwork& network_;
  const std::vector<ClauseTerm>& terms_;
  Sums sums_;
  std::vector<std::size_t> first_;  // the first variable of each layer
  std::vector<std::size_t> open_;   // the variables of open neurons
  std::vector<double> price_;       // of each neuron: what a coefficient over it is off by
  std::optional<InputFunctions> functions_;
  std::vector<std::vector<Part>> parts_;      // of each neuron's sum
  std::vector<std::vector<Reader>> readers_;  // of each variable: the parts that read it
  // The least, and the largest, ends of a neuron's parts are looked at where these are true.
  std::vector<bool> needs_low_, needs_high_;
  std::vector<bool> is_exact_;  // of each neuron: products with its weights are exact
  std::vector<double> unit_;    // the widest part of each neuron's sum on the box
  std::vector<double> on_box_;  // the largest activations of open neurons on the box
  double sum_error_ = 0;        // of the numbers that a plane's offset is the sum of

  Ranges ranges_;
  bool empty_ = false;
  std::vector<std::vector<Gap>> gaps_;  // of each input
  std::vector<Deciding> deciding_;
  bool searches_ = false;
  std::vector<bool> is_idle_;  // of each neuron, while a search is on
  std::vector<Step> trail_;
  std::vector<std::size_t> last_;  // by variable, low then high: its last step, or kNone
  Ranges kept_;
  std::vector<std::size_t> conflict_;
  Step cause_;                         // of what is set
  std::size_t visited_ = kNone;        // the neuron that is looked at
  std::vector<std::size_t> waiting_;   // neurons whose sums are to be looked at
  std::size_t next_ = 0, visits_ = 0;  // of them; that are left
  std::vector<bool> waits_;
  std::vector<bool> is_condition_;            // of each neuron, see find_conditions()
  std::vector<double> width_before_, width_;  // of its sum: then, and when it was seen last
  bool planes_due_ = false;
  std::vector<std::pair<double, double>> ends_;  // of a sum's parts, from below and from above
  std::vector<double> over_;  // coefficients over activations while a plane is made
};

}  // namespace bf_aot::decide
