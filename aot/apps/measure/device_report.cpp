#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "aot/apps/measure/device_measure.h"
#include "frontend/graph/model.h"

namespace bf_aot::apps {
namespace {

using Json = nlohmann::ordered_json;

std::string peaks_text(const DevicePeaks& peaks) {
  const auto rate = [](const DeviceRate& of) {
    return fmt::format("{:.4g} ({:.4g})", of.all * 1e-9, of.group * 1e-9);
  };
  std::string text =
      fmt::format("peaks of all groups (one): {} GFLOP/s in float32, {} in float64; reads",
                  rate(peaks.float32), rate(peaks.float64));
  for (const DeviceMemory& memory : peaks.memories) text += " " + rate(memory.bytes_per_second);
  return text + " GB/s, nearest memory first\n  " + printable(peaks.source) + "\n";
}

std::string measured_text(const DeviceBatch& batch) {
  if (batch.too_long > 0)
    return fmt::format(" not timed: a call takes some {:.3g} s", batch.too_long);
  if (batch.seconds <= 0) return {};
  const double rate = static_cast<double>(batch.boxes) / batch.seconds;
  std::string text = fmt::format(" {:>12.4g} {:>10.4g}", rate, 1e3 * batch.seconds);
  if (batch.limit)
    text += fmt::format(" {:>8.1f} %", 100 * batch.limit->total.seconds / batch.seconds);
  return text;
}

std::string tasks_text(const Entry& entry, const DeviceBatch& batch) {
  std::string text = fmt::format("  {:<36} {:>11} {:>11} {:>11} {:>8}  {}\n", "task", "float32",
                                 "float64", "bytes", "time", "bound by");
  const DeviceLimit& limit = *batch.limit;
  for (std::size_t i = 0; i < limit.tasks.size(); ++i) {
    const Cost& cost = limit.tasks[i];
    text += fmt::format("  {:<36} {:>11.4g} {:>11.4g} {:>11.4g} {:>6.1f} %  {}\n",
                        entry.tasks[i].name, cost.flops - cost.wide, cost.wide, cost.bytes,
                        100 * cost.seconds / limit.total.seconds, to_string(limit.bounds[i]));
  }
  return text;
}

Json batch_json(const DeviceBatch& batch, std::int64_t box_bytes) {
  const auto boxes = static_cast<double>(batch.boxes);
  Json made = {{"boxes", batch.boxes}, {"bytes", batch.boxes * box_bytes}};
  if (batch.limit) {
    made["limit_seconds"] = batch.limit->total.seconds;
    made["limit_boxes_per_second"] = boxes / batch.limit->total.seconds;
    made["bound"] = to_string(batch.limit->bound);
  }
  if (batch.too_long > 0) made["too_long_seconds"] = batch.too_long;
  if (batch.seconds > 0) {
    made["seconds"] = batch.seconds;
    made["boxes_per_second"] = boxes / batch.seconds;
    if (batch.limit) made["roofline"] = batch.limit->total.seconds / batch.seconds;
  }
  return made;
}

Json task_json(const Task& task, const Cost& cost, DeviceBound bound) {
  return {{"name", task.name},          {"float32_flops", cost.flops - cost.wide},
          {"float64_flops", cost.wide}, {"bytes", cost.bytes},
          {"seconds", cost.seconds},    {"bound", to_string(bound)}};
}

}  // namespace

std::string device_text(const Plan& plan, const DeviceFigures& figures) {
  std::string text =
      fmt::format("device {}: groups of {} items\n  {:<16} {:>14} bytes\n  {:<16} {:>14} bytes\n",
                  figures.device, plan.config.items, "weights", figures.weights_bytes, "a box",
                  figures.box_bytes);
  text += figures.peaks ? peaks_text(*figures.peaks)
                        : fmt::format(
                              "peaks are not known: {}; --peaks takes those of a device "
                              "that is not here\n",
                              figures.no_peaks);
  bool measured = false;
  for (const DeviceBatch& batch : figures.batches) measured = measured || batch.seconds > 0;
  text += fmt::format("  {:>8} {:>14}", "boxes", "bytes");
  if (figures.peaks) text += fmt::format(" {:>12} {:>10}  {:<18}", "boxes/s", "ms", "bound by");
  if (measured) text += fmt::format(" {:>12} {:>10} {:>10}", "measured/s", "ms", "of peaks");
  for (const DeviceBatch& batch : figures.batches) {
    text += fmt::format("\n  {:>8} {:>14}", batch.boxes, batch.boxes * figures.box_bytes);
    if (batch.limit)
      text += fmt::format(" {:>12.4g} {:>10.4g}  {:<18}",
                          static_cast<double>(batch.boxes) / batch.limit->total.seconds,
                          1e3 * batch.limit->total.seconds, to_string(batch.limit->bound));
    text += measured_text(batch);
  }
  const Entry& entry = plan.entries.at(figures.entry);
  if (!figures.peaks) return text + "\n";
  return text +
         fmt::format("\nwork of a box of {}, {}; shares of the time of {} boxes at the peaks\n{}",
                     name_of(entry), figures.activity, figures.batches[kDeviceBatchShown].boxes,
                     tasks_text(entry, figures.batches[kDeviceBatchShown]));
}

std::string device_json(const Plan& plan, const DeviceFigures& figures) {
  const Entry& entry = plan.entries.at(figures.entry);
  Json made = {{"device", figures.device},
               {"items", plan.config.items},
               {"weights_bytes", figures.weights_bytes},
               {"box_bytes", figures.box_bytes},
               {"entry", name_of(entry)},
               {"activity", figures.activity}};
  if (figures.peaks)
    made["peaks"] = Json::parse(to_json_text(*figures.peaks));
  else
    made["no_peaks"] = figures.no_peaks;
  made["batches"] = Json::array();
  for (const DeviceBatch& batch : figures.batches)
    made["batches"].push_back(batch_json(batch, figures.box_bytes));
  made["tasks"] = Json::array();
  if (const auto& limit = figures.batches[kDeviceBatchShown].limit)
    for (std::size_t i = 0; i < limit->tasks.size(); ++i)
      made["tasks"].push_back(task_json(entry.tasks[i], limit->tasks[i], limit->bounds[i]));
  return made.dump();
}

}  // namespace bf_aot::apps
