#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aot/decide/property/cases.h"
#include "aot/decide/search/search.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/input/json_io.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

class BoxNetwork;
class NodeSplitter;
struct SplitNode;

// A part of a case whose bounds are looked at.
struct OpenBox {
  std::size_t property_case = 0;
  std::uint32_t splits = 0;
  input::FloatBox box;
};

// Returns the box whose bounds lack most of excluding a clause; none where all are excluded. Bounds
// them one after the other until `seconds` are over, at least the first.
std::optional<HeldOut> most_lacking(const Plan& plan, const engine::HostVerifier& verifier,
                                    const Cases& cases, std::span<const OpenBox> boxes,
                                    DecisionPhase by, double seconds);

// The open neuron by which the bound of a node may lose most; none where none does.
std::optional<HeldNeuron> most_influential(const Plan& plan, const BoxNetwork& network,
                                           NodeSplitter& splitter, const SplitNode& node);

// The name of an open neuron's layer, and the neuron's element there.
NeuronName name_of(const Plan& plan, const BoxNetwork& network, std::size_t open);

}  // namespace bf_aot::decide
