#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frontend/evaluate/scalar_program.h"

namespace bf_aot::reach {

// A program as the runtime reads it, see runtime/bf/loops/series.h.
struct ProgramView {
  using Function = bf_aot::Function;
  using Place = std::size_t;
  explicit ProgramView(const ScalarProgram& program)
      : steps(program.steps), outputs(program.outputs) {}

  const std::vector<ScalarStep>& steps;
  const std::vector<std::size_t>& outputs;
};

// Returns the first function of the program whose Taylor coefficients are not known: one with a
// kink or a jump, or one without a recurrence here. None where all are.
std::optional<std::string> not_differentiable(const ScalarProgram& program);

// Where the series of each step begin, by the number of series before, and their number. Requires:
// all functions have series.
std::vector<std::size_t> series_places(const ScalarProgram& program);

}  // namespace bf_aot::reach
