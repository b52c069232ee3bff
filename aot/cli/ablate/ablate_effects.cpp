#include <algorithm>
#include <cmath>

#include "aot/build/compile.h"
#include "aot/cli/ablate/ablate_summary.h"

namespace bf_aot::cli {
namespace {

// Medians of two runs of the same code differ by this much on a busy machine.
constexpr double kTimeNoise = 0.15;

// Two runs in double of the same plan agree; below this it is the last digits of float32 bounds.
constexpr double kSame = 1e-6;

void keep_larger(std::optional<Movement>& best, Movement candidate, double least) {
  if (candidate.change > least && (!best || candidate.change > best->change))
    best = std::move(candidate);
}

void add_effect(const NetworkRows& network, const AblationRow& with, const AblationRow& without,
                PassEffect& effect) {
  if (!without.ok()) {
    if (effect.needed_by.empty()) {
      effect.needed_by = network.model;
      effect.message = without.text(Column::kMessage);
    }
    return;
  }
  for (const Column metric : judged_columns()) {
    const auto change = change_of(with, without, metric);
    if (!change) continue;
    const Movement movement{metric,
                            network.model,
                            with.text(Column::kConfig),
                            with.number(metric).value_or(std::nan("")),
                            without.number(metric).value_or(std::nan("")),
                            *change};
    if (metric == Column::kTimeP50)
      keep_larger(effect.time, movement, kTimeNoise);
    else
      keep_larger(effect.largest, movement, kSame);
  }
}

}  // namespace

const AblationRow* NetworkRows::find(std::string_view config) const {
  for (const AblationRow* row : rows)
    if (row->ok() && row->text(Column::kConfig) == config) return row;
  return nullptr;
}

std::vector<const AblationRow*> NetworkRows::bases() const {
  std::vector<const AblationRow*> result;
  for (const AblationRow* row : rows)
    if (row->ok() && row->text(Column::kBase).empty()) result.push_back(row);
  return result;
}

std::vector<NetworkRows> by_network(const std::vector<AblationRow>& rows) {
  std::vector<NetworkRows> networks;
  for (const AblationRow& row : rows) {
    const std::string model = row.text(Column::kModel);
    auto found = std::ranges::find(networks, model, &NetworkRows::model);
    if (found == networks.end()) {
      std::string id = build::identifier_from(model.substr(0, model.find(".onnx")));
      while (std::ranges::find(networks, id, &NetworkRows::id) != networks.end()) id += '_';
      networks.push_back({model, id, {}});
      found = networks.end() - 1;
    }
    found->rows.push_back(&row);
  }
  return networks;
}

const std::vector<Column>& judged_columns() {
  static const std::vector<Column> columns = {
      Column::kMeanWidth, Column::kMargin,    Column::kCertified, Column::kUnstable,
      Column::kArena,     Column::kWeights,   Column::kCode,      Column::kLayers,
      Column::kSteps,     Column::kPredicted, Column::kTasks,     Column::kKernels,
      Column::kTimeP50};
  return columns;
}

std::optional<double> change_of(const AblationRow& with, const AblationRow& without,
                                Column metric) {
  // Equal code takes equal time, whatever was measured.
  const std::string library = with.text(Column::kLibrary);
  if (metric == Column::kTimeP50 && !library.empty() && library == without.text(Column::kLibrary))
    return 0;
  const auto a = with.number(metric), b = without.number(metric);
  // A pass may decide whether times are predicted at all.
  if (metric == Column::kPredicted && a.has_value() != b.has_value()) return 2;
  if (!a || !b) return std::nullopt;
  if (*a == *b) return 0;
  if (!std::isfinite(*a) || !std::isfinite(*b)) return 2;
  return std::fabs(*a - *b) / std::max(std::fabs(*a), std::fabs(*b));
}

bool same_plan(const AblationRow& a, const AblationRow& b) {
  return std::ranges::all_of(judged_columns(), [&](Column metric) {
    const auto change = change_of(a, b, metric);
    if (metric == Column::kTimeP50) return !change || *change <= kTimeNoise;
    return change ? *change <= kSame : a.number(metric) == b.number(metric);
  });
}

std::vector<PassEffect> pass_effects(const std::vector<NetworkRows>& networks) {
  std::vector<PassEffect> effects;
  for (const NetworkRows& network : networks)
    for (const AblationRow* row : network.rows) {
      const std::string pass = row->text(Column::kWithout);
      const AblationRow* const with = network.find(row->text(Column::kBase));
      if (pass.empty() || with == nullptr) continue;
      auto found = std::ranges::find(effects, pass, &PassEffect::pass);
      if (found == effects.end()) {
        effects.push_back({pass, {}, {}, {}, {}});
        found = effects.end() - 1;
      }
      add_effect(network, *with, *row, *found);
    }
  return effects;
}

bool dominates(const AblationRow& other, const AblationRow& row) {
  const auto time = row.number(Column::kTimeP50), width = row.number(Column::kMeanWidth);
  const auto other_time = other.number(Column::kTimeP50);
  const auto other_width = other.number(Column::kMeanWidth);
  if (!time || !width || !other_time || !other_width) return false;
  return *other_time * (1 + kTimeNoise) < *time && *other_width < *width * (1 - kSame);
}

}  // namespace bf_aot::cli
