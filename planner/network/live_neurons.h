#pragma once

#include "planner/plan/plan.h"

namespace bf_aot {

// Sets live_list of the ReLU layers whose lists of live neurons save dense products more than they
// cost. A neuron is live unless it is 0 on the whole box: docs/proofs/live-neurons.md.
void list_live_neurons(Plan& plan);

// Returns whether code that is planned so goes by lists of what is live.
bool has_lists(const PlannerConfig& config);

// pays_forward() is true if a list that is there serves products of a forward pass with so many
// outputs, pays_forward_alone() if it is worth making for these alone, pays_backward() if it is
// worth making for so many products of backward rows with each neuron.
bool pays_forward(int outputs);
bool pays_forward_alone(int outputs);
bool pays_backward(double products);

}  // namespace bf_aot
