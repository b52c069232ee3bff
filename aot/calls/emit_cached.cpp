#include <fmt/format.h>

#include "aot/calls/step_emitter.h"

// Steps of cached entries, and the blocks that a call may leave out.

namespace bf_aot {

// Steps up to shared_steps, then those up to kept_steps.
void StepEmitter::open_part(int first_step) {
  const auto open = [&](const char* condition) {
    line(fmt::format("if (!{}) {{", condition));
    ++depth_;
  };
  if (first_step == 0 && entry_.shared_steps > 0) open("call.shared");
  if (first_step == entry_.shared_steps && entry_.kept_steps > entry_.shared_steps)
    open("call.kept");
}

void StepEmitter::close_part(int next_step) {
  if (depth_ == 1 || (next_step != entry_.shared_steps && next_step != entry_.kept_steps)) return;
  --depth_;
  line("}");
}

void StepEmitter::emit(const MeetAnchor& step) {
  line("if (call.inside)");
  ++depth_;
  call("bf::meet_anchor", {std::to_string(layer(step.layer).out), name(step.low), name(step.high),
                           name(step.centre), name(step.below), name(step.above), "state"});
  --depth_;
}

void StepEmitter::emit(const KeepAnchor& step) {
  line("if (!call.inside)");
  ++depth_;
  call("bf::keep_anchor", {std::to_string(layer(step.layer).out), name(step.centre),
                           name(step.below), name(step.above), name(step.low), name(step.high)});
  --depth_;
}

void StepEmitter::emit(const MeetOutputs& step) {
  const int count = is_spec(entry_.kind) ? plan_.spec_rows : plan_.output_count;
  call("bf::meet_outputs", {"state", "call", std::to_string(count), name(step.low), name(step.high),
                            "out_lower", "out_upper"});
}

}  // namespace bf_aot
