#include "planner/lowering/lower.h"

// Steps of cached entries.

namespace bf_aot::calls {

void lower(Lowering& l, const MeetAnchor& step) {
  l.add({WhenInside{true,
                    {Routine::kMeetAnchor,
                     {},
                     {number(l.layer(step.layer).out), at(step.low), at(step.high), at(step.centre),
                      at(step.below), at(step.above), Local::kState}}}});
}

void lower(Lowering& l, const KeepAnchor& step) {
  l.add({WhenInside{false,
                    {Routine::kKeepAnchor,
                     {},
                     {number(l.layer(step.layer).out), at(step.centre), at(step.below),
                      at(step.above), at(step.low), at(step.high)}}}});
}

void lower(Lowering& l, const MeetOutputs& step) {
  const int count = is_spec(l.entry().kind) ? l.plan().spec_rows : l.plan().output_count;
  l.call(Routine::kMeetOutputs, {Local::kState, Local::kCall, number(count), at(step.low),
                                 at(step.high), given(Array::kOutLower), given(Array::kOutUpper)});
}

}  // namespace bf_aot::calls
