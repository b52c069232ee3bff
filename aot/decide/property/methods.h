#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/engine/verifier/verifier.h"
#include "frontend/graph/graph.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/plan/config.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

struct DecisionSettings {
  // None: crown, after ibp for many cases or large networks, and then alpha-crown where boxes are
  // not split: first with slopes of the outputs' rows, then of all rows where the time allows it.
  std::optional<Method> method;
  AlphaRows alpha = AlphaRows::kOutputs;  // for a method that is given
  // The property is asked about these balls in its boxes, which are split at neurons alone.
  Norm norm = Norm::kLargest;
  double search_seconds = 5;   // most, to search for a counterexample
  double branch_seconds = 20;  // most, to split boxes where few inputs vary, else neurons
  double bound_seconds = 60;   // from the start, within which alpha-crown of all rows should end
  std::size_t jobs = 1;        // threads that split
  // Decides in real arithmetic, so that verifiers may be made of other networks, see NetworkForm.
  bool real = false;
  // Splits boxes or neurons at once, by the bounds of one method that does not depend on time: all
  // parts of a tree must do the same.
  bool tree_only = false;
  // Says of what stays open why: Outcome::why.
  bool says_why = false;
};

// The ranges of neurons on the box of a case.
struct CaseRanges {
  std::size_t index = 0;
  std::vector<engine::Ranges> ranges;
};

// A verifier whose specification is the property's rows (see to_spec), and its plan.
struct DecisionVerifier {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const engine::HostVerifier> host;
  std::optional<CaseRanges> left = {};  // of the last case that it has bounded and left open
};

// The method and the options by which a verifier bounds.
struct DecisionMethod {
  Method method = Method::kCrown;
  AlphaRows alpha = AlphaRows::kOutputs;
  bool branches = false;  // branch_and_bound calls it, too
  // Plans with CompileOptions::max_as_relu, which is asked for under real semantics alone.
  bool max_as_relu = false;
  bool of_boxes = false;   // bounds boxes, where the question is about balls in them
  bool on_device = false;  // of the device that the options name
  bool unused = false;     // the device was not ready before the end, or had nothing to bound

  // "alpha-crown", "alpha-crown all", "crown without maxima", "crown of boxes on the device"
  std::string name() const;
};

// Returns whether devices bound by this method.
bool is_of_devices(Method method);

// A network that a verifier may be made of in place of the one that was asked about.
struct NetworkForm {
  const FixedInputs* fixed = nullptr;  // not null: CompileOptions::fixed
  bool ordered = false;                // CompileOptions::ordered
};

// Returns whether at most kMostBranchedInputs inputs vary in the boxes of the property, so that
// splitting boxes is worth a try.
bool is_branchable(const Property& property);
// Returns whether a decision about boxes may split them: as is_branchable(). Parts of balls are
// split by a verifier of their own.
bool may_split_boxes(const Property& property, const DecisionSettings& settings);

// The inputs that verifiers of run_decision() are made without, since inputs that do not vary only
// cost time. None where boxes are not split, nor outside of real arithmetic.
std::optional<FixedInputs> inputs_to_fix(const Property& property,
                                         const DecisionSettings& settings);

// The methods that run_decision() bounds by, from fast to tight. branches: boxes are split, which
// is worth more than optimised slopes.
std::vector<DecisionMethod> methods_of(const DecisionSettings& settings, const Graph& graph,
                                       std::size_t cases, bool branches);

}  // namespace bf_aot::decide
