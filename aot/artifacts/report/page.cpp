#include <fmt/format.h>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/report.h"
#include "aot/artifacts/report/style.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

std::string card(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, what);
}

std::string memory_card(const Plan& plan) {
  double planned = 0, naive = 0;
  for (const Entry& entry : plan.entries)
    if (static_cast<double>(entry.arena_bytes()) >= planned) {
      planned = static_cast<double>(entry.arena_bytes());
      naive = static_cast<double>(entry.storage.naive_bytes + entry.worker_storage.naive_bytes);
    }
  std::string what = "workspace";
  if (naive > 0)
    what += fmt::format(", {:.0f} % under one range each", 100 * (1 - planned / naive));
  if (plan.worker_bytes() > 0)
    what += fmt::format("; {} for each worker more",
                        bytes_text(static_cast<double>(plan.worker_bytes())));
  return card(bytes_text(static_cast<double>(plan.arena_bytes())), what);
}

std::string cards(const Plan& plan, const Findings& findings) {
  double neurons = 0, flops = 0, seconds = 0, predicted = 0, unstable = 0, judged = 0;
  for (const Layer& layer : plan.layers)
    if (layer.relu || layer.function) neurons += layer.out;
  const Entry* const bounds = plan.find_entry(EntryKind::kBounds);
  if (bounds != nullptr)
    for (const Task& task : bounds->tasks) {
      flops += static_cast<double>(task.flops);
      predicted += task.predicted_seconds;
    }
  for (const LayerSample& sample : findings.samples) {
    unstable += static_cast<double>(sample.unstable);
    judged += static_cast<double>(sample.active + sample.inactive + sample.unstable);
  }
  for (std::size_t i = 0; i < findings.task_seconds.size(); ++i)
    if (plan.entries.at(i).kind == EntryKind::kBounds)
      for (const double task : findings.task_seconds[i]) seconds += task;
  std::string text = "<div class=\"cards\">\n" + memory_card(plan);
  text += card(bytes_text(static_cast<double>(plan.weights_bytes())), "weight and bias tables");
  if (findings.library_bytes)
    text += card(bytes_text(static_cast<double>(*findings.library_bytes)),
                 "library, code and constants");
  if (findings.code_bytes)
    text += card(bytes_text(static_cast<double>(*findings.code_bytes)), "machine code");
  text += card(count_text(static_cast<double>(plan.layers.size())), "layers");
  text += card(count_text(neurons), "neurons with an activation");
  if (judged > 0)
    text += card(fmt::format("{:.1f} %", 100 * unstable / judged), "of them unstable on the boxes");
  if (bounds != nullptr)
    text += card(count_text(static_cast<double>(bounds->tasks.size())), "tasks of a bounds call");
  text += card(count_text(flops), "flops of its layers");
  if (predicted > 0) text += card(seconds_text(predicted), "of it, predicted");
  if (seconds > 0) text += card(seconds_text(seconds), "of it, measured");
  text += card(count_text(static_cast<double>(plan.kernels.size())), "kernels");
  return text + "</div>\n";
}

std::string header(const Plan& plan, const Findings& findings) {
  std::string options;
  for (const auto& [name, value] : findings.options)
    options += fmt::format("<li><b>{}</b> {}</li>", escape(name), escape(value));
  return fmt::format(
      "<header><div><h1>{}</h1>\n<p class=\"sub\">{} on {}, {} code · opset {}{}</p>\n<p "
      "class=\"sub mono\">"
      "sha256 {}</p>\n{}{}</div></header>\n",
      escape(plan.model.file_name), to_string(plan.config.method), escape(plan.config.target.name),
      to_string(plan.config.lowering), plan.model.opset,
      plan.model.producer.empty() ? "" : " · made by " + escape(plan.model.producer),
      escape(plan.model.sha256),
      options.empty() ? "" : "<ul class=\"options\">" + options + "</ul>\n", cards(plan, findings));
}

}  // namespace

std::string page(const Plan& plan, const Findings& findings) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"bf-aot-report-format\" content=\"{}\">\n"
      "<title>{} · bf-aot</title>\n<style>{}</style>\n</head>\n<body>\n",
      kReportFormat, escape(plan.model.file_name), kStyle);
  text += header(plan, findings);
  text +=
      "<nav><div><a href=\"#network\">Network</a><a href=\"#plan\">Tasks</a>"
      "<a href=\"#memory\">Workspace</a><a href=\"#kernels\">Kernels</a>";
  if (findings.device) text += "<a href=\"#device\">Device</a>";
  text += "<a href=\"#rejected\">Not taken</a></div></nav>\n<main>\n";
  text += network_part(plan, findings) + task_part(plan, findings) + memory_part(plan) +
          context_part(plan) + kernel_part(plan, findings) + device_part(plan, findings) +
          rejected_part(plan);
  return text + fmt::format("<footer>bf-aot {}</footer>\n</main>\n</body>\n</html>\n",
                            escape(findings.version));
}

}  // namespace bf_aot::artifacts
