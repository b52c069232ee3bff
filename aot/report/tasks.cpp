#include <fmt/format.h>

#include <algorithm>

#include "aot/report/html.h"
#include "aot/report/rails.h"
#include "aot/report/report.h"

namespace bf::report {
namespace {

constexpr int kRowHeight = 30;

std::string names_of(const Entry& entry, const std::vector<BufferId>& buffers) {
  std::string text;
  for (const BufferId id : buffers) text += (text.empty() ? "" : ", ") + entry.buffer(id).name;
  return text.empty() ? "nothing" : text;
}

// Measured seconds of an entry's tasks; empty when there are none.
std::vector<double> measured_of(const Findings& findings, std::size_t entry, std::size_t tasks) {
  if (entry >= findings.task_seconds.size() || findings.task_seconds[entry].size() != tasks)
    return {};
  return findings.task_seconds[entry];
}

std::string task_row(const Entry& entry, std::size_t i, const std::string& rail,
                     const std::vector<double>& measured, double total, double largest) {
  const Task& task = entry.tasks[i];
  std::string after;
  for (const int other : task.after) after += fmt::format("{}{}", after.empty() ? "" : " ", other);
  const double value = measured.empty() ? static_cast<double>(task.flops) : measured[i];
  const std::string_view domain = to_string(task.domain);
  return fmt::format(
      "<tr><td class=\"g\">{}</td><td class=\"r soft\">{}</td><td class=\"mono\" "
      "title=\"{}\">{}</td>"
      "<td><span class=\"tag {}\">{}</span></td><td class=\"r\">{}</td><td class=\"r\">{}</td>"
      "<td class=\"r\">{}</td>{}<td>{}</td><td class=\"clip soft mono\" "
      "title=\"{}\">{}</td></tr>\n",
      rail, i,
      escape(fmt::format("{}: reads {}; makes {}", task.name, names_of(entry, task.inputs),
                         names_of(entry, task.outputs))),
      escape(shorten(task.name, 42)), domain, domain, task.steps.size(),
      count_text(static_cast<double>(task.flops)), bytes_text(static_cast<double>(task.bytes)),
      measured.empty() ? "" : fmt::format("<td class=\"r\">{}</td>", seconds_text(measured[i])),
      bar(value / std::max(largest, 1e-300), "t",
          fmt::format("{:.1f} % of all", 100 * value / std::max(total, 1e-300))),
      after, after);
}

std::string entry_table(const Entry& entry, const std::vector<double>& measured) {
  std::vector<std::vector<int>> inputs;
  std::vector<std::string> nodes;
  double total = 0, largest = 0;
  for (std::size_t i = 0; i < entry.tasks.size(); ++i) {
    inputs.push_back(entry.tasks[i].after);
    nodes.emplace_back(to_string(entry.tasks[i].domain));
    const double value = measured.empty() ? static_cast<double>(entry.tasks[i].flops) : measured[i];
    total += value;
    largest = std::max(largest, value);
  }
  const Rails rails = draw_rails(reduce_edges(inputs), nodes, kRowHeight);
  std::string text = fmt::format(
      "<div class=\"scroll\"><table><thead><tr><th></th><th "
      "class=\"r\">#</th><th>task</th><th>bounds"
      "</th><th class=\"r\">steps</th><th class=\"r\">flops</th><th class=\"r\">weights</th>{}"
      "<th>{}</th><th class=\"why\">after</th></tr></thead><tbody>\n",
      measured.empty() ? "" : "<th class=\"r\">measured</th>",
      measured.empty() ? "flops, relative" : "time, relative");
  for (std::size_t i = 0; i < entry.tasks.size(); ++i)
    text += task_row(entry, i, rails.rows[i], measured, total, largest);
  return text + "</tbody></table></div>";
}

}  // namespace

std::string task_part(const Plan& plan, const Findings& findings) {
  std::string body;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& entry = plan.entries[i];
    const std::vector<double> measured = measured_of(findings, i, entry.tasks.size());
    body += fmt::format(
        "<details{}><summary>{} <span>· {} tasks, {} steps</span></summary>{}</details>\n",
        i == 0 ? " open" : "", to_string(entry.kind), entry.tasks.size(), entry.steps.size(),
        entry_table(entry, measured));
  }
  return section("plan", "Tasks",
                 "What each entry point does, in order. Rails are dependencies, without those that "
                 "follow from others; <i>after</i> lists them all. Flops count every neuron as "
                 "unstable.",
                 body);
}

}  // namespace bf::report
