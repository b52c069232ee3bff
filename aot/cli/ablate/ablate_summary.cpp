#include "aot/cli/ablate/ablate_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "aot/apps/measure/profile_machine.h"
#include "aot/engine/verifier/report.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

std::string bytes_text(double bytes) {
  if (bytes < 10'000) return fmt::format("{:.0f} B", bytes);
  if (bytes < 10e6) return fmt::format("{:.1f} KB", bytes / 1e3);
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

// A cell of a table: short, and "" for what there is not.
std::string cell(const AblationRow& row, Column column) {
  const auto number = row.number(column);
  if (!number) return row.text(column);
  const std::string_view name = info_of(column).name;
  if (name.ends_with("_s")) return engine::duration(*number);
  if (name.ends_with("_bytes")) return bytes_text(*number);
  if (info_of(column).type == ColumnType::kInteger) return fmt::format("{:.0f}", *number);
  return fmt::format("{:.4g}", *number);
}

std::string escaped(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2)
    text.replace(i, 1, "\\|");
  return text;
}

struct Shown {
  Column column;
  std::string_view head;
};
constexpr Shown kShown[] = {
    {Column::kTimeP50, "time p50"},
    {Column::kTimeP95, "p95"},
    {Column::kPredicted, "predicted"},
    {Column::kMeanWidth, "mean width"},
    {Column::kMaxWidth, "max width"},
    {Column::kRatioIbp, "/ ibp"},
    {Column::kRatioReference, "/ ref."},
    {Column::kMargin, "margin"},
    {Column::kCertified, "certified"},
    {Column::kUnstable, "unstable"},
    {Column::kArena, "arena"},
    {Column::kNaive, "naive"},
    {Column::kLowerBound, "at least"},
    {Column::kWeights, "weights"},
    {Column::kCode, "code"},
    {Column::kTasks, "tasks"},
    {Column::kKernels, "kernels"},
    {Column::kPlanning, "planning"},
    {Column::kCompile, "C++"},
};

std::string network_table(const NetworkRows& network) {
  std::vector<Shown> shown;  // without columns in which there is nothing
  for (const Shown& column : kShown)
    if (std::ranges::any_of(network.rows, [&](const AblationRow* row) {
          return row->ok() && row->number(column.column);
        }))
      shown.push_back(column);
  std::string text = "| configuration |", rule = "|---|";
  for (const Shown& column : shown) {
    text += fmt::format(" {} |", column.head);
    rule += "---:|";
  }
  text += "\n" + rule + "\n";
  std::string same;
  for (const AblationRow* row : network.rows) {
    if (!row->ok()) continue;
    const AblationRow* const base = network.find(row->text(Column::kBase));
    if (base != nullptr && same_plan(*base, *row)) {
      same += (same.empty() ? "" : ", ") + fmt::format("`{}`", row->text(Column::kConfig));
      continue;
    }
    text += fmt::format("| {} |", escaped(row->text(Column::kConfig)));
    for (const Shown& column : shown) {
      std::string content = cell(*row, column.column);
      if (column.column == Column::kCertified && !content.empty())
        content += " of " + cell(*row, Column::kCases);
      text += fmt::format(" {} |", content);
    }
    text += "\n";
  }
  if (!same.empty()) text += fmt::format("\nThe same as what they change: {}.\n", same);
  return text;
}

// A list of the configurations that none dominates, and of the others with one that does.
std::string pareto_text(const NetworkRows& network) {
  const std::vector<const AblationRow*> bases = network.bases();
  std::string best, rest;
  for (const AblationRow* row : bases) {
    if (!row->number(Column::kTimeP50) || !row->number(Column::kMeanWidth)) continue;
    const auto by = std::ranges::find_if(
        bases, [&](const AblationRow* other) { return dominates(*other, *row); });
    const std::string name = "`" + row->text(Column::kConfig) + "`";
    if (by == bases.end())
      best += (best.empty() ? "" : ", ") + name;
    else
      rest += fmt::format(" {} is dominated by `{}`.", name, (*by)->text(Column::kConfig));
  }
  return best.empty() ? "" : fmt::format("Not dominated in time and width: {}.{}\n", best, rest);
}

std::string movement_text(const Movement& movement) {
  AblationRow with, without;
  const bool integer = info_of(movement.metric).type == ColumnType::kInteger;
  const auto set = [&](AblationRow& row, double value) {
    if (integer)
      row.set(movement.metric, static_cast<std::int64_t>(value));
    else
      row.set(movement.metric, value);
  };
  set(with, movement.with);
  set(without, movement.without);
  std::string name(info_of(movement.metric).name);
  for (const std::string_view unit : {"_s", "_bytes"})
    if (name.ends_with(unit)) name.erase(name.rfind(unit));
  std::ranges::replace(name, '_', ' ');
  const std::string ratio = movement.with > 0 && movement.without > 0
                                ? fmt::format("{:.3g}x", movement.without / movement.with)
                                : std::string();
  return fmt::format("{} | {} | {} | {} | {}", name, escaped(movement.model),
                     cell(with, movement.metric), cell(without, movement.metric), ratio);
}

std::string pass_section(const std::vector<NetworkRows>& networks) {
  const std::vector<PassEffect> effects = pass_effects(networks);
  if (effects.empty()) return {};
  std::string text =
      "## What each pass moves\n\n"
      "For each pass that can be left out: the metric and the network on which leaving it out "
      "changes\nmost, times apart, and the largest change of the median time when it is beyond 15 "
      "%.\n\n"
      "| pass | metric | network | with | without | without / with | time |\n"
      "|---|---|---|---:|---:|---:|---|\n";
  std::string nothing;
  for (const PassEffect& effect : effects) {
    const std::string needed = effect.needed_by.empty() ? ""
                                                        : fmt::format("needed: {} fails without it",
                                                                      escaped(effect.needed_by));
    std::string time;
    if (effect.time)
      time = fmt::format("{:.3g}x on {}", effect.time->without / effect.time->with,
                         escaped(effect.time->model));
    if (effect.largest)
      text += fmt::format("| {} | {} | {}{}{} |\n", effect.pass, movement_text(*effect.largest),
                          time, time.empty() || needed.empty() ? "" : "; ", needed);
    else
      text += fmt::format("| {} | {} | | | | | {} |\n", effect.pass,
                          !needed.empty()  ? needed
                          : effect.moves() ? "time alone"
                                           : "**moves nothing**",
                          time);
    if (!effect.moves()) nothing += (nothing.empty() ? "" : ", ") + effect.pass;
  }
  text += nothing.empty() ? "\nEvery pass moves something.\n"
                          : fmt::format("\nMoves nothing on these networks: {}.\n", nothing);
  return text + "\n";
}

std::string failure_section(const std::vector<AblationRow>& rows) {
  std::string text;
  for (const AblationRow& row : rows)
    if (!row.ok())
      text += fmt::format("| {} | {} | {} |\n", escaped(row.text(Column::kModel)),
                          escaped(row.text(Column::kConfig)), escaped(row.text(Column::kMessage)));
  if (text.empty()) return text;
  return "## Failures\n\n| model | configuration | message |\n|---|---|---|\n" + text + "\n";
}

}  // namespace

std::string ablation_summary(const std::vector<AblationRow>& rows, bool drawn) {
  const std::vector<NetworkRows> networks = by_network(rows);
  const auto failed = std::ranges::count_if(rows, [](const auto& row) { return !row.ok(); });
  std::string text = fmt::format(
      "# Ablation\n\nbf-aot {}: {} runs on {} networks, {} failed. All columns and what they hold: "
      "`results.csv`.\n",
      BF_VERSION_STRING, rows.size(), networks.size(), failed);
  const std::string processor = apps::processor_name();
  if (!processor.empty()) text += fmt::format("Measured on one core of {}.\n", processor);
  text += "\n";
  const std::string passes = pass_section(networks);
  if (drawn)
    text +=
        "![methods](plots/methods.svg)\n\n"
        "*Width and time of each method, relative to intervals.*\n\n";
  if (drawn && !passes.empty())
    text +=
        "![passes](plots/passes.svg)\n\n"
        "*Largest change over all networks when a pass is left out.*\n\n";
  text += passes;
  text += failure_section(rows);
  for (const NetworkRows& network : networks) {
    if (std::ranges::none_of(network.rows, [](const AblationRow* row) { return row->ok(); }))
      continue;
    text += fmt::format("## {}\n\n{}\n{}\n", network.model, network_table(network),
                        pareto_text(network));
    if (drawn)
      text += fmt::format(
          "![time against width](plots/time_width_{0}.svg) ![memory](plots/memory_{0}.svg)\n\n",
          network.id);
  }
  return text;
}

}  // namespace bf_aot::cli
