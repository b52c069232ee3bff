#include "aot/reach/tube/validated_step.h"

#include "aot/reach/numbers/taylor.h"
#include "runtime/bf/loops/step.h"

namespace bf_aot::reach {
namespace {

// Room for a step, see bf::loops::StepRoom.
struct Room {
  Room(const ScalarProgram& plant, std::size_t series, std::size_t states, std::size_t held,
       std::size_t order)
      : ranges(2 * held + 3 * states + plant.steps.size() + series * (order + 2)),
        forms(series * (order + 1)) {
    Range* next = ranges.data();
    const auto take = [&](std::size_t count) {
      Range* const taken = next;
      next += count;
      return taken;
    };
    room.held = take(held);
    room.inputs = take(states + held);
    room.values = take(plant.steps.size());
    room.tried = take(states);
    room.found = take(states);
    room.range_series = take(series * (order + 2));
    room.form_series = forms.data();
  }

  std::vector<Range> ranges;
  std::vector<Form> forms;
  bf::loops::StepRoom<Form> room{};
};

}  // namespace

std::optional<ValidatedStep> validated_step(const ScalarProgram& plant,
                                            const std::vector<Form>& state,
                                            const std::vector<Form>& held, const Bounded& seconds,
                                            std::size_t order, std::size_t time_symbol) {
  const ProgramView program(plant);
  const std::vector<std::size_t> places = series_places(plant);
  Room room(plant, places.back() + state.size(), state.size(), held.size(), order);
  const bf::loops::StepPlan<ProgramView> plan = {program,     places.data(), state.size(),
                                                 held.size(), seconds.value, seconds.error,
                                                 order,       time_symbol};
  ValidatedStep made;
  made.end.resize(state.size());
  made.during.resize(state.size());
  if (!bf::loops::validated_step<Values>(plan, room.room, state.data(), held.data(),
                                         made.end.data(), made.during.data()))
    return std::nullopt;
  made.within.assign(room.room.found, room.room.found + state.size());
  return made;
}

}  // namespace bf_aot::reach
