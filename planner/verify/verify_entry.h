#pragma once

#include <string>

#include "planner/plan/plan.h"

namespace bf_aot {

// The part of verify() that looks at one entry: its steps, what their buffers hold, the arena, the
// tasks, as far as `stage` has made them. The rest of the plan has been checked.
void verify_entry(const Plan& plan, const Entry& entry, PlanStage stage);

// The exported functions, where the plan lists them: no two of a name, each entry behind one, and
// as much memory as the entries and what runs on top of them take.
void verify_functions(const Plan& plan);

// "step 12 (backward_rows), layer fc3 (Gemm 'fc3')": the layer whose result it makes, if that is
// one.
std::string describe_step(const Plan& plan, const Entry& entry, int index);

// Checks what workers share and what each has for itself; see verify_workers.cpp.
void verify_workers(const Plan& plan, const Entry& entry);

// The use of a buffer by a step, derived from the step's meaning (access_of is checked against it).
enum class Role : std::uint8_t {
  kCentre,  // of a box tensor: the inputs (layer -1) or a layer's activations
  kRadius,
  kMiddle,  // of a pre-activation: centre, interval radius, bounds around the centre, slack
  kSpread,
  kBelow,
  kAbove,
  kSlackTerms,
  kRowSlack,  // of an affine layer
  kReach,     // of an affine layer in a ball
  kTable,
  kSlopes,       // table of a ReLU for rows that choose its lower slopes
  kLive,         // list of a sum layer's live channels
  kChoice,       // of a max layer
  kLiveList,     // of a ReLU layer's neurons that are not 0 on the whole box
  kMiddleLines,  // forward lines of a pre-activation
  kLines,        // and of a layer's activations
  kValue,        // plain inference
  kLow,          // the anchor's bounds of a pre-activation; of the outputs (layer -1)
  kHigh,
  kScratch,  // means nothing outside the step
};

struct Use {
  BufferId id = BufferId::kNone;
  Role role = Role::kScratch;
  LayerId layer = -1;
  bool reads = false;
  bool writes = false;
  Element element = Element::kFloat32;
  std::int64_t count = 0;  // elements touched
  int op = -1;             // that alone uses it, or -1: all of the step's ops do
  // For a write, the buffer, read by this step, whose elements may be overwritten one by one.
  BufferId in_place_of = BufferId::kNone;
  bool repeats = false;  // what is there already
};

// Every buffer use of a step, in order: reads before the writes that depend on them. Aborts when
// the step itself is malformed: layers, kernels, links, error terms.
std::vector<Use> uses_of(const Plan& plan, const Entry& entry, const Step& step);

}  // namespace bf_aot
