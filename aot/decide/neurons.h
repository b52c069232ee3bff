#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "aot/decide/branch.h"
#include "aot/decide/cases.h"
#include "aot/decide/stop.h"
#include "aot/decide/witness.h"
#include "aot/verifier/verifier.h"
#include "frontend/property.h"
#include "planner/plan/plan.h"

namespace bf_aot::cli {

struct NeuronTotals {
  std::uint64_t nodes = 0, leaves = 0;  // that were bounded; without a neuron left to split
  std::size_t deepest = 0;              // splits of a node
  double seconds = 0;
};

// Nodes, and the part of the clause that is proven.
using NeuronProgress = std::function<void(std::uint64_t nodes, double proven)>;

// Whether the plan's network is one whose neurons can be split: affine layers and ReLUs.
bool has_neuron_splits(const Plan& plan);

// Splits neurons of the open cases on one side of 0 until each clause is excluded, for at most
// `seconds` in all or until a stop is asked for; see docs/proofs/neuron-splits.md. Ranges of
// neurons are those of the verifier's spec_bounds. Adds to `totals`.
std::optional<Witness> split_neurons(const HostVerifier& verifier, const Plan& plan,
                                     const WitnessCheck& check, Cases& cases, double seconds,
                                     const StopAsked& stop, const NeuronProgress& progress,
                                     NeuronTotals& totals);

}  // namespace bf_aot::cli
