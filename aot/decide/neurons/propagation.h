#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "aot/decide/neurons/box_network.h"
#include "aot/decide/neurons/split_node.h"

namespace bf_aot::decide {

// Finds what the conditions of a node and of its clause leave of the ranges of inputs and neurons,
// by intervals along the network and back, and by planes below the terms over the inputs: as unit
// propagation does where ReLUs encode clauses. What is found holds at every violation in the node.
// Proof: docs/proofs/neuron-splits.md. Not for several threads.
class Propagation {
 public:
  // Whether a network is one of ReLUs alone, which is what is covered, and not too large.
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
  // Whether no violation is left.
  bool is_empty() const { return empty_; }

  // The share of the activations of all open neurons, from 0 to 1, that is left of what they may be
  // on the box, as far as is found in a node by what follows from the terms. Begins anew.
  double share_of(const SplitNode& node);

 private:
  // Variables are the inputs, then what each neuron's function is applied to. least and largest are
  // the ends of their activations.
  struct Ranges {
    std::vector<double> low, high;
    std::vector<double> least, largest;
  };

  // One source of a neuron: weight times the activation of a variable.
  struct Source {
    std::size_t variable = 0;
    double weight = 0;
  };

  std::size_t row_of(const ClauseTerm& term) const;
  std::size_t variable_of(int layer, std::size_t place) const;
  void add_layer(const BoxNetwork::BoxLayer& layer);
  void list_readers();
  void load_box();
  void load(const SplitNode& node);
  void find_units();
  double share() const;
  bool is_known(std::size_t open) const;
  double left_of(std::size_t open) const;
  std::vector<std::size_t> candidates() const;
  void assign(std::size_t variable, double low, double high);
  void set(std::size_t variable, double low, double high);
  void set_activation(std::size_t variable, double low, double high);
  void ask(std::size_t variable);
  void propagate();
  void forget_waiting();
  std::pair<double, double> sum_of(std::size_t variable);
  void visit(std::size_t variable);
  void cut_inputs(const ClauseTerm& term);
  void find_conditions();
  std::optional<double> weight_of(std::size_t open, bool positive);

  const BoxNetwork& network_;
  const std::vector<ClauseTerm>& terms_;
  std::vector<std::size_t> first_;         // the first variable of each layer
  std::vector<bool> is_relu_;              // by variable: open, so that its activation is relu(z)
  std::vector<std::size_t> open_;          // the variables of open neurons
  std::vector<std::size_t> source_start_;  // of each neuron, [neurons + 1]
  std::vector<Source> sources_;
  // Each neuron has its bias, what its exact sum misses that of its weights by (room), and what a
  // coefficient over it is off by (price).
  std::vector<double> bias_, room_, price_;
  std::vector<double> unit_;    // the widest part of each neuron's sum on the box
  std::vector<bool> is_exact_;  // of each neuron: products with its weights are exact
  std::vector<double> on_box_;  // the largest activations of open neurons on the box
  std::vector<std::size_t> reader_start_, readers_;  // the variables that read each variable
  double sum_error_ = 0;  // of the numbers that a plane's offset is the sum of

  Ranges ranges_, before_;
  bool empty_ = false;
  std::vector<std::size_t> waiting_;  // variables whose sums are to be looked at
  std::vector<bool> waits_;
  std::vector<bool> is_condition_;            // of each neuron, see find_conditions()
  std::vector<double> width_before_, width_;  // of its sum: then, and when it was seen last
  bool planes_due_ = false;
  std::vector<std::pair<double, double>> parts_;  // of a sum, from below and from above
  std::vector<double> over_;  // coefficients over activations while a plane is made
};

}  // namespace bf_aot::decide
