#include "aot/reach/tube/validated_step.h"

#include "aot/reach/numbers/taylor.h"
#include "aot/reach/tube/deviation.h"
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

// Widens the step by how far solutions come apart from those of numbers that are held.
bool widen(ValidatedStep& step, const ScalarProgram& plant, const std::vector<Range>& changing,
           const std::vector<Form>& held, const Bounded& seconds) {
  std::vector<double> radius;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Range number = range_of(held[i]);
    // What is held is in its own range for both.
    radius.push_back(changing[i] == number ? 0 : magnitude(changing[i] - number));
  }
  const std::optional<std::vector<double>> apart =
      deviation(plant, step.within, changing, radius, range_of(seconds).high);
  if (!apart) return false;
  for (std::size_t i = 0; i < apart->size(); ++i)
    for (Form* const each : {&step.end[i], &step.during[i]})
      each->radius = bf::next_up(each->radius + (*apart)[i]);
  return true;
}

}  // namespace

std::optional<ValidatedStep> validated_step(const ScalarProgram& plant,
                                            const std::vector<Form>& state,
                                            const std::vector<Form>& held, const Bounded& seconds,
                                            std::size_t order, std::size_t time_symbol,
                                            const std::vector<Range>& changing) {
  const ProgramView program(plant);
  const std::vector<std::size_t> places = series_places(plant);
  Room room(plant, places.back() + state.size(), state.size(), held.size(), order);
  const bf::loops::StepPlan<ProgramView> plan = {
      program,     places.data(), state.size(),
      held.size(), seconds.value, seconds.error,
      order,       time_symbol,   changing.empty() ? nullptr : changing.data()};
  ValidatedStep made;
  made.end.resize(state.size());
  made.during.resize(state.size());
  if (!bf::loops::validated_step<Values>(plan, room.room, state.data(), held.data(),
                                         made.end.data(), made.during.data()))
    return std::nullopt;
  made.within.assign(room.room.found, room.room.found + state.size());
  if (!changing.empty() && !widen(made, plant, changing, held, seconds)) return std::nullopt;
  return made;
}

}  // namespace bf_aot::reach
