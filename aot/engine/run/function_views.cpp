#include "aot/engine/run/function_views.h"

namespace bf_aot::engine {
namespace {

bf::FunctionViewForm form_of(FunctionForm form) {
  switch (form) {
    case FunctionForm::kCells:
      return bf::FunctionViewForm::kCells;
    case FunctionForm::kExponential:
      return bf::FunctionViewForm::kExponential;
    case FunctionForm::kOctaves:
      return bf::FunctionViewForm::kOctaves;
    case FunctionForm::kMonomial:
      return bf::FunctionViewForm::kMonomial;
    case FunctionForm::kFloor:
      return bf::FunctionViewForm::kFloor;
    case FunctionForm::kCeil:
      return bf::FunctionViewForm::kCeil;
    case FunctionForm::kRound:
      break;
  }
  return bf::FunctionViewForm::kRound;
}

bf::FunctionRunKind kind_of(RunKind kind) {
  switch (kind) {
    case RunKind::kLine:
      return bf::FunctionRunKind::kLine;
    case RunKind::kConvex:
      return bf::FunctionRunKind::kConvex;
    case RunKind::kConcave:
      return bf::FunctionRunKind::kConcave;
    case RunKind::kMixed:
      return bf::FunctionRunKind::kMixed;
    case RunKind::kUnknown:
      break;
  }
  return bf::FunctionRunKind::kUnknown;
}

template <typename T>
const T* data_or_null(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

const bf::FunctionView* FunctionViews::of(const Function& function) {
  for (const auto& [made, memory] : known_)
    if (made == function) return &memory->view;
  auto memory = std::make_unique<Memory>();
  memory->table = make_function_table(function);
  const FunctionTable& table = memory->table;
  for (const TableRun& run : table.runs)
    memory->runs.push_back({kind_of(run.kind), run.open, run.cell, run.cells, run.start,
                            run.start_low, run.start_high, run.end_low, run.end_high, run.slack,
                            run.intercept, run.slope, run.turn_from, run.turn_to, run.turn});
  const bool cells = table.cells() > 0;
  memory->view = {form_of(table.form),
                  table.monotone,
                  table.exponent,
                  table.degree,
                  table.cells(),
                  static_cast<int>(table.runs.size()),
                  cells ? table.starts.data() : nullptr,
                  cells ? table.coefficients.data() : nullptr,
                  cells ? table.errors.data() : nullptr,
                  cells ? table.slope_errors.data() : nullptr,
                  data_or_null(memory->runs),
                  table.step,
                  table.first_octave,
                  table.octaves,
                  data_or_null(table.scales),
                  table.below_low,
                  table.below_high,
                  table.above_low,
                  table.above_high,
                  function.least,
                  function.most,
                  table.wave,
                  table.lowest,
                  table.highest,
                  table.slack};
  known_.emplace_back(function, std::move(memory));
  return &known_.back().second->view;
}

const bf::FloatFunction* FunctionViews::float_of(const Function& function) {
  for (const auto& [made, memory] : known_floats_)
    if (made == function) return &memory->view;
  auto memory = std::make_unique<FloatMemory>();
  memory->table = make_float_table(function);
  const FloatTable& table = memory->table;
  for (const FloatTableTurn& turn : table.turns)
    memory->turns.push_back({turn.from, turn.to, turn.low, turn.high});
  memory->view = {
      table.exponential ? bf::FloatFunctionForm::kExponential : bf::FloatFunctionForm::kPieces,
      table.monotone,
      table.degree,
      table.pieces(),
      static_cast<int>(table.turns.size()),
      table.starts.data(),
      table.origins.data(),
      table.coefficients.data(),
      table.errors.data(),
      data_or_null(memory->turns),
      table.least,
      table.most};
  known_floats_.emplace_back(function, std::move(memory));
  return &known_floats_.back().second->view;
}

}  // namespace bf_aot::engine
