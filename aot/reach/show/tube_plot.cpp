#include "aot/reach/show/tube_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"
#include "aot/artifacts/report/style.h"
#include "aot/reach/show/panels.h"

namespace bf_aot::reach {
namespace {

using artifacts::escape;

constexpr std::size_t kColumns = 2;
constexpr double kHead = 36;  // pixels above the panels

constexpr char kPageStyle[] = R"(
.panels{display:flex;flex-wrap:wrap;gap:12px}
.panels svg{border:1px solid var(--line);border-radius:8px;max-width:100%;height:auto}
.key-tube{background:#4c9bd6}.key-zone{background:#e08a2c}.key-violation{background:#c2271a}
.key-sample{background:var(--ink)}.key-start{background:#0a8a63}
)";

const char* answer_text(ReachAnswer answer) {
  constexpr const char* kTexts[] = {"verified", "falsified", "unknown", "bounded"};
  return kTexts[static_cast<std::size_t>(answer)];
}

std::string head_text(const Question& question, const ReachOutcome& outcome) {
  return fmt::format("{}: {} states, {} periods, {:.6g} {}", answer_text(outcome.answer),
                     question.loop.states(), question.loop.steps, horizon(question).get_d(),
                     time_unit(question));
}

std::string root(double width, double height, const std::string& label) {
  return artifacts::svg_head(
      width, height,
      fmt::format(
          "xmlns=\"http://www.w3.org/2000/svg\" class=\"tubes\" role=\"img\" aria-label=\"{}\"",
          escape(label)));
}

// ---- The parts of the page.

std::string fact(const std::string& value, const char* what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, what);
}

std::string facts(const ReachOutcome& outcome) {
  std::string text = fact(answer_text(outcome.answer), "answer");
  text += fact(fmt::format("{:.4g} %", 100 * outcome.closed), "of the starts are proven");
  text += fact(artifacts::count_text(static_cast<double>(outcome.cells_bounded)),
               "tubes of cells were bounded");
  text += fact(artifacts::seconds_text(outcome.seconds), "in all");
  if (outcome.order != 0) text += fact(std::to_string(outcome.order), "order in time");
  if (outcome.substeps != 0) text += fact(std::to_string(outcome.substeps), "steps of a period");
  if (outcome.symbols != 0) text += fact(std::to_string(outcome.symbols), "symbols of a form");
  return "<div class=\"cards\">\n" + text + "</div>\n";
}

std::string window_text(const Question& question, const mpq_class& from, const mpq_class& to) {
  if (from == to) return fmt::format("{:.6g} {}", from.get_d(), time_unit(question));
  return fmt::format("{:.6g} to {:.6g} {}", from.get_d(), to.get_d(), time_unit(question));
}

const char* status_text(const ReachOutcome& outcome, std::size_t requirement) {
  if (outcome.answer == ReachAnswer::kVerified) return "proven";
  if (outcome.violation && outcome.violation->requirement == requirement) return "broken";
  if (outcome.obstacle && outcome.obstacle->requirement == requirement) return "not decided here";
  return "not decided";
}

std::string requirement_part(const Question& question, const ReachOutcome& outcome) {
  std::string text =
      "<div class=\"scroll\"><table><thead><tr><th>requirement</th><th>when</th><th>answer</th>"
      "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < question.requirements.size(); ++i) {
    const Requirement& each = question.requirements[i];
    text += fmt::format("<tr><td class=\"wrap mono\">{}</td><td>{}</td><td>{}</td></tr>\n",
                        escape(each.text), window_text(question, each.from, each.to),
                        status_text(outcome, i));
  }
  return text + "</tbody></table></div>\n";
}

std::string list_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double each : numbers) text += fmt::format("{}{}", text.empty() ? "" : ", ", each);
  return text;
}

std::string violation_part(const Question& question, const Violation& broken) {
  return fmt::format(
      "<p>The trajectory from <span class=\"mono\">[{}]</span> breaks <span "
      "class=\"mono\">{}</span> at {}.</p>\n",
      list_text(broken.start), escape(question.requirements[broken.requirement].text),
      window_text(question, broken.from, broken.to));
}

std::string obstacle_part(const Question& question, const Obstacle& end) {
  const std::string what = end.requirement
                               ? fmt::format("<span class=\"mono\">{}</span> is not decided",
                                             escape(question.requirements[*end.requirement].text))
                               : "The tube ended";
  return fmt::format(
      "<p>{} in period {}, at {}{}{}, for starts from <span class=\"mono\">[{}]</span> to <span "
      "class=\"mono\">[{}]</span>.</p>\n",
      what, end.period, window_text(question, end.from, end.to), end.reason.empty() ? "" : ": ",
      escape(end.reason), list_text(end.cell.lower), list_text(end.cell.upper));
}

std::string ending_part(const Question& question, const ReachOutcome& outcome) {
  std::string text;
  if (outcome.violation) text += violation_part(question, *outcome.violation);
  if (outcome.obstacle) text += obstacle_part(question, *outcome.obstacle);
  return text;
}

std::string drawings(const std::vector<Panel>& panels) {
  std::string text = "<style>" + panel_style() + "</style>\n<div class=\"panels\">\n";
  for (const Panel& panel : panels)
    text += root(kPanelWidth, kPanelHeight, panel.title) +
            "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n" + panel.body + "</svg>\n";
  return text + "</div>\n";
}

// Of the last instants of all samples that reach the end.
Range sampled_at_end(const Question& question, const ReachOutcome& outcome, std::size_t state) {
  Range seen = {kEverything.high, kEverything.low};
  for (const auto& trajectory : outcome.samples)
    if (trajectory.size() > question.loop.steps)
      seen = hull(seen, {trajectory.back()[state], trajectory.back()[state]});
  return seen;
}

std::string range_row(const std::string& name, const Range& range, const Range& seen) {
  std::string text =
      fmt::format("<tr><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td class=\"r\">{}",
                  escape(name), range.low, range.high, artifacts::number_text(width(range)));
  text += "</td><td class=\"r\">";
  if (seen.low <= seen.high) text += fmt::format("{:.6g} to {:.6g}", seen.low, seen.high);
  text += "</td><td class=\"r\">";
  if (seen.low < seen.high) text += artifacts::number_text(width(range) / (seen.high - seen.low));
  return text + "</td></tr>\n";
}

std::string range_part(const Question& question, const ReachOutcome& outcome) {
  const TubePiece& last = outcome.tube.back();
  std::string text =
      "<div class=\"scroll\"><table><thead><tr><th></th><th class=\"r\">least</th><th "
      "class=\"r\">most</th><th class=\"r\">width</th><th class=\"r\">samples</th><th "
      "class=\"r\">width / samples</th></tr></thead><tbody>\n";
  const bool at_end = last.to == horizon(question);
  for (std::size_t i = 0; i < last.state.size(); ++i)
    text += range_row(
        state_label(question, i), last.state[i],
        at_end ? sampled_at_end(question, outcome, i) : Range{kEverything.high, kEverything.low});
  for (std::size_t i = 0; i < last.control.size(); ++i)
    text +=
        range_row(fmt::format("u[{}]", i), last.control[i], {kEverything.high, kEverything.low});
  return text + "</tbody></table></div>\n";
}

constexpr char kKey[] =
    "<ul class=\"legend\"><li><i class=\"key-tube\"></i>the tube: no trajectory leaves it</li><li>"
    "<i class=\"key-sample\"></i>samples</li><li><i class=\"key-zone\"></i>forbidden; dashed: only "
    "together with other states, or at other times</li><li><i class=\"key-violation\"></i>a "
    "trajectory that breaks a requirement</li><li><i class=\"key-start\"></i>starts</li></ul>\n";

}  // namespace

std::string tube_svg(const Question& question, const ReachOutcome& outcome) {
  const std::vector<Panel> panels = tube_panels(question, outcome);
  const std::size_t rows = (panels.size() + kColumns - 1) / kColumns;
  const double width = kPanelWidth * static_cast<double>(kColumns);
  const double height = kHead + kPanelHeight * static_cast<double>(rows);
  const std::string head = head_text(question, outcome);
  std::string text = root(width, height, head) + "<style>" + panel_style() + "</style>\n" +
                     "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n" +
                     fmt::format("<text class=\"title\" x=\"16\" y=\"24\">{}</text>\n", head);
  for (std::size_t i = 0; i < panels.size(); ++i)
    text += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n{}</g>\n",
                        kPanelWidth * static_cast<double>(i % kColumns),
                        kHead + kPanelHeight * static_cast<double>(i / kColumns), panels[i].body);
  return text + "</svg>\n";
}

std::string tube_html(const Question& question, const ReachOutcome& outcome) {
  const Loop& loop = question.loop;
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} · {}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      escape(loop.plant.path), answer_text(outcome.answer), artifacts::kStyle, kPageStyle);
  text +=
      fmt::format("<header><div><h1>{}</h1>\n<p class=\"sub\">{}{}</p>\n{}</div></header>\n",
                  escape(loop.plant.path),
                  loop.controller ? "controlled by " + escape(loop.controller->path) + ", " : "",
                  escape(head_text(question, outcome)), facts(outcome));
  text += "<main>\n";
  if (!question.requirements.empty())
    text += artifacts::section(
        "requirements", "Requirements", "All of them are demanded, of every start and disturbance.",
        requirement_part(question, outcome) + ending_part(question, outcome));
  else if (outcome.obstacle)
    text += artifacts::section("end", "Where the tube ended", "", ending_part(question, outcome));
  text += artifacts::section("tube", "Tube", "States over time, and pairs of states.",
                             kKey + drawings(tube_panels(question, outcome)));
  if (!outcome.tube.empty())
    text += artifacts::section("end-ranges", "Last ranges",
                               fmt::format("At {}.", window_text(question, outcome.tube.back().from,
                                                                 outcome.tube.back().to)),
                               range_part(question, outcome));
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace bf_aot::reach
