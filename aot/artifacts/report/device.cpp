#include <fmt/format.h>

#include <algorithm>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/report.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

std::string right(const std::string& text) {
  return fmt::format("<td class=\"r\">{}</td>", text);
}

std::string rate_text(const DeviceRate& rate, const char* unit) {
  return fmt::format("{:.4g} {} (one group {:.4g})", rate.all * 1e-9, unit, rate.group * 1e-9);
}

std::string peaks_text(const DevicePeaks& peaks) {
  std::string text =
      fmt::format("Peaks of {} ({}): {} in float32, {} in float64; reads ", escape(peaks.name),
                  escape(peaks.source), rate_text(peaks.float32, "GFLOP/s"),
                  rate_text(peaks.float64, "GFLOP/s"));
  for (std::size_t i = 0; i < peaks.memories.size(); ++i)
    text += (i > 0 ? ", " : "") + rate_text(peaks.memories[i].bytes_per_second, "GB/s");
  return text + ", the nearest memory first.";
}

bool is_timed(const DeviceFigures& figures) {
  return std::ranges::any_of(figures.batches,
                             [](const DeviceBatch& batch) { return batch.seconds > 0; });
}

std::string batch_row(const DeviceBatch& batch, const DeviceFigures& figures) {
  const auto boxes = static_cast<double>(batch.boxes);
  std::string row =
      right(count_text(boxes)) + right(bytes_text(boxes * static_cast<double>(figures.box_bytes)));
  if (batch.limit)
    row += right(count_text(boxes / batch.limit->total.seconds)) +
           right(seconds_text(batch.limit->total.seconds)) +
           fmt::format("<td>{}</td>", to_string(batch.limit->bound));
  if (is_timed(figures)) {
    const bool timed = batch.seconds > 0;
    row += right(timed ? count_text(boxes / batch.seconds) : "");
    if (batch.limit)
      row += right(timed ? fmt::format("{:.1f} %", 100 * batch.limit->total.seconds / batch.seconds)
                         : "");
  }
  return "<tr>" + row + "</tr>\n";
}

std::string task_rows(const Entry& entry, const DeviceLimit& limit) {
  double largest = 0;
  for (const Cost& cost : limit.tasks) largest = std::max(largest, cost.seconds);
  std::string rows;
  for (std::size_t i = 0; i < limit.tasks.size(); ++i) {
    const Cost& cost = limit.tasks[i];
    rows +=
        fmt::format("<tr><td class=\"mono\">{}</td>", escape(entry.tasks[i].name)) +
        right(count_text(cost.flops - cost.wide)) + right(count_text(cost.wide)) +
        right(bytes_text(cost.bytes)) + right(seconds_text(cost.seconds)) +
        fmt::format("<td>{}</td><td>{}</td></tr>\n", to_string(limit.bounds[i]),
                    bar(cost.seconds / std::max(largest, 1e-300), "t",
                        fmt::format("{:.1f} % of all",
                                    100 * cost.seconds / std::max(limit.total.seconds, 1e-300))));
  }
  return rows;
}

}  // namespace

std::string device_part(const Plan& plan, const Findings& findings) {
  if (!findings.device) return {};
  const DeviceFigures& figures = *findings.device;
  const Entry& entry = plan.entries.at(figures.entry);
  std::string lead =
      fmt::format("What {} takes of {}, in groups of {} items: weights of {} once, and {} a box. ",
                  name_of(entry), escape(figures.device), plan.config.items,
                  bytes_text(static_cast<double>(figures.weights_bytes)),
                  bytes_text(static_cast<double>(figures.box_bytes)));
  std::string rows;
  for (const DeviceBatch& batch : figures.batches) rows += batch_row(batch, figures);
  if (!figures.peaks)
    return section("device", "Device",
                   lead + "Its peaks are not known: " + escape(figures.no_peaks),
                   table("<th class=\"r\">boxes</th><th class=\"r\">bytes</th>", rows));
  lead +=
      peaks_text(*figures.peaks) +
      " No batch takes less time than its products and what they read at these peaks, which are "
      "counted for " +
      escape(figures.activity) + ".";
  const DeviceBatch& shown = figures.batches.at(kDeviceBatchShown);
  std::string body = table(
      "<th class=\"r\">boxes</th><th class=\"r\">bytes</th><th class=\"r\">boxes a second, at "
      "most</th><th class=\"r\">time, at least</th><th>bound by</th>" +
          std::string(is_timed(figures) ? "<th class=\"r\">measured</th><th class=\"r\">of the "
                                          "peaks</th>"
                                        : ""),
      rows);
  body += fmt::format("<p class=\"soft\">Tasks of a box; times of {} boxes:</p>\n", shown.boxes) +
          table(
              "<th>task</th><th class=\"r\">flops in float32</th><th class=\"r\">in float64</th>"
              "<th class=\"r\">bytes</th><th class=\"r\">time, at least</th><th>bound by</th>"
              "<th></th>",
              task_rows(entry, *shown.limit));
  return section("device", "Device", lead, body);
}

}  // namespace bf_aot::artifacts
