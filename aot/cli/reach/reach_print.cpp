#include "aot/cli/reach/reach_print.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "aot/engine/verifier/report.h"
#include "aot/reach/show/panels.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::cli {
namespace {

using reach::Question;
using reach::Range;
using reach::ReachAnswer;
using reach::ReachOutcome;

constexpr std::size_t kMostRows = 24;  // of a table that people read

double number_of(const mpq_class& time) {
  return vnnlib::nearest_double(time);
}

const char* headline(ReachAnswer answer) {
  switch (answer) {
    case ReachAnswer::kVerified:
      return "verified: every start in the box meets every requirement";
    case ReachAnswer::kFalsified:
      return "falsified: a trajectory breaks a requirement";
    case ReachAnswer::kUnknown:
      return "unknown: neither proven nor refuted";
    case ReachAnswer::kBounded:
      return "bounded: the tube holds every trajectory";
  }
  return "";
}

std::string times(const Question& question, const mpq_class& from, const mpq_class& to) {
  const char* const unit = reach::time_unit(question);
  if (from == to) return fmt::format("{:.6g} {}", number_of(from), unit);
  return fmt::format("{:.6g} to {:.6g} {}", number_of(from), number_of(to), unit);
}

std::string row(const char* name, const std::string& value) {
  return fmt::format("{:<12} {}\n", name, value);
}

std::string more_rows(std::size_t count) {
  return count > kMostRows ? fmt::format("... {} more: --json\n", count - kMostRows) : "";
}

std::string ranges_text(const Question& question, const std::vector<Range>& ranges,
                        const std::string& title) {
  std::string made = fmt::format("\n{:<20} {:>16} {:>16}\n", title, "lower", "upper");
  for (std::size_t i = 0; i < ranges.size() && i < kMostRows; ++i)
    made += fmt::format("{:<20} {:>16.9g} {:>16.9g}\n", reach::state_label(question, i),
                        ranges[i].low, ranges[i].high);
  return made + more_rows(ranges.size());
}

std::string violation_text(const Question& question, const reach::Violation& found) {
  std::string made = "\n" + row("requirement", question.requirements[found.requirement].text) +
                     row("broken at", times(question, found.from, found.to)) + "\nstart\n";
  for (std::size_t i = 0; i < found.start.size() && i < kMostRows; ++i)
    made += fmt::format("{:<20} {}\n", reach::state_label(question, i), found.start[i]);
  made += more_rows(found.start.size());
  if (!question.loop.disturbances.empty()) made += "disturbances of each period: --json\n";
  return made;
}

std::string obstacle_text(const Question& question, const reach::Obstacle& found) {
  std::string made =
      "\n" + row("stopped at",
                 fmt::format("{}, period {}", times(question, found.from, found.to), found.period));
  if (found.requirement) made += row("requirement", question.requirements[*found.requirement].text);
  if (!found.reason.empty()) made += row("reason", found.reason);
  std::vector<Range> cell;
  for (std::size_t i = 0; i < found.cell.lower.size(); ++i)
    cell.push_back({found.cell.lower[i], found.cell.upper[i]});
  if (!cell.empty()) made += ranges_text(question, cell, "start of the cell");
  if (!found.state.empty()) made += ranges_text(question, found.state, "state there");
  return made;
}

std::string proof_text(const ReachOutcome& outcome) {
  switch (outcome.answer) {
    case ReachAnswer::kVerified:
    case ReachAnswer::kBounded:
      return fmt::format("tubes of {} cell{}, which hold all trajectories", outcome.cells.size(),
                         outcome.cells.size() == 1 ? "" : "s");
    case ReachAnswer::kFalsified:
      return "a tube from the start alone";
    case ReachAnswer::kUnknown:
      return fmt::format("of {:.4g} % of the box", 100 * outcome.closed);
  }
  return "";
}

}  // namespace

std::string text_of(const Question& question, const ReachOutcome& outcome) {
  std::string made = std::string(headline(outcome.answer)) + "\n";
  if (outcome.violation) made += violation_text(question, *outcome.violation);
  if (outcome.obstacle) made += obstacle_text(question, *outcome.obstacle);
  if (!outcome.tube.empty()) {
    const reach::TubePiece& last = outcome.tube.back();
    made += ranges_text(question, last.state, "at " + times(question, last.from, last.to));
  }
  made += "\n" + row("proof", proof_text(outcome));
  return made + row("time", fmt::format("{}; tubes: {}; order {}, {} steps a period, {} symbols",
                                        engine::duration(outcome.seconds), outcome.cells_bounded,
                                        outcome.order, outcome.substeps, outcome.symbols));
}

}  // namespace bf_aot::cli
