#include "aot/reach/numbers/taylor.h"

#include "frontend/diagnostic.h"
#include "runtime/bf/loops/series.h"

namespace bf_aot::reach {

std::optional<std::string> not_differentiable(const ScalarProgram& program) {
  for (const ScalarStep& step : program.steps) {
    if (bf::loops::series_of_step(step) >= 0) continue;
    if (step.kind == ScalarStep::Kind::kRelu) return "relu";
    if (step.kind == ScalarStep::Kind::kLarger) return "max";
    return to_string(step.function);
  }
  return std::nullopt;
}

std::vector<std::size_t> series_places(const ScalarProgram& program) {
  std::vector<std::size_t> places = {0};
  for (const ScalarStep& step : program.steps) {
    const int series = bf::loops::series_of_step(step);
    BF_CHECK(series > 0);
    places.push_back(places.back() + static_cast<std::size_t>(series));
  }
  return places;
}

}  // namespace bf_aot::reach
