#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"
#include "aot/artifacts/report/report.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

// The drawing: a margin for labels, a band above for what does not fit, the map, step numbers.
constexpr double kLeft = 84, kRight = 14, kTop = 64, kHeight = 340, kBottom = 34;
constexpr double kCharacter = 6.1;  // width of one, at 10 px in a monospaced font

struct Group {
  const char* css_class;
  const char* what;
};
constexpr std::array<Group, 5> kGroups = {{{"value", "centres and radii"},
                                           {"bound", "bounds of pre-activations"},
                                           {"relax", "relaxations"},
                                           {"rows", "backward rows"},
                                           {"other", "other"}}};

// The colour group of a buffer, found by words in the name that the planner gives it.
std::size_t group_of(const std::string& name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("_over_") || has("coefficients") || has("sums") || has("rows")) return 3;
  if (has("relaxation") || has("planes") || has("choice") || has("slack")) return 2;
  if (has("below") || has("above")) return 1;
  if (has("centre") || has("radius") || has("activation") || has("value")) return 0;
  return 4;
}

class Map {
 public:
  explicit Map(const Entry& entry) : entry_(entry) {
    for (const Step& step : entry.steps) starts_.push_back(starts_.back() + op_count(step));
    const double ops = std::max(starts_.back(), 1);
    const double op = std::clamp(1100 / ops, 3.0, 64.0);  // pixels
    const StorageTotals& storage = entry.storage;
    top_ = static_cast<double>(std::max<std::int64_t>(storage.planned_bytes, 1));
    cut_ = static_cast<double>(storage.naive_bytes) > 1.12 * top_;
    if (!cut_) top_ = std::max(top_, static_cast<double>(storage.naive_bytes));
    plot_ = {.left = kLeft,
             .right = kLeft + op * ops,
             .top = kTop,
             .bottom = kTop + kHeight,
             .x_most = ops,
             .y_most = top_};
  }

  std::string draw() const {
    std::string text =
        svg_head(plot_.right + kRight, plot_.bottom + kBottom, "class=\"map\" role=\"img\"");
    text += bands();
    for (const Buffer& buffer : entry_.buffers)
      if (buffer.scope == CacheScope::kRun) text += rectangle(buffer);
    return text + live() + lines() + ticks() + "</svg>";
  }

 private:
  // The horizontal place where an op begins; steps are made of ops.
  double x(int op) const { return plot_.x(op); }
  double x_of_step(int step) const { return x(starts_[static_cast<std::size_t>(step)]); }
  int op_of(int step, int op) const { return starts_[static_cast<std::size_t>(step)] + op; }
  double y(double bytes) const { return plot_.y(bytes); }
  double right() const { return plot_.right; }

  // Shades every other task.
  std::string bands() const {
    std::string text;
    for (std::size_t i = 0; i < entry_.tasks.size(); ++i) {
      const Task& task = entry_.tasks[i];
      if (task.steps.empty() || i % 2 == 1) continue;
      text += fmt::format(
          "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"{:.1f}\"><title>{}"
          "</title></rect>",
          x_of_step(task.steps.front()), kTop,
          x_of_step(task.steps.back() + 1) - x_of_step(task.steps.front()), kHeight,
          escape(task.name));
    }
    return text;
  }

  std::string rectangle(const Buffer& buffer) const {
    const double left = x(op_of(buffer.first, buffer.first_op));
    const double width = x(op_of(buffer.last, buffer.last_op) + 1) - left;
    const double top = y(static_cast<double>(buffer.offset + buffer.bytes));
    const double height = std::max(y(static_cast<double>(buffer.offset)) - top, 0.7);
    std::string text = fmt::format(
        "<rect class=\"b {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}: {} "
        "{} from byte {}, steps {} to {}</title></rect>",
        kGroups[group_of(buffer.name)].css_class, left, top, width, height, escape(buffer.name),
        bytes_text(static_cast<double>(buffer.bytes)), to_string(buffer.element), buffer.offset,
        buffer.first, buffer.last);
    return text + name_in(buffer.name, left, top, width, height);
  }

  // A buffer's name along the longer side of its rectangle. Where there is too little room its end
  // is kept, which tells most.
  static std::string name_in(const std::string& name, double left, double top, double width,
                             double height) {
    constexpr std::size_t kLeast = 8;
    constexpr double kLine = 13;
    const bool upright = height > width;
    const auto room =
        static_cast<std::size_t>(std::max(0.0, ((upright ? height : width) - 8) / kCharacter));
    if (std::min(width, height) < kLine || room < std::min(kLeast, name.size())) return {};
    const double x = left + (upright ? width / 2 + 3.5 : 4);
    const double y = top + (upright ? height - 4 : height / 2 + 3.5);
    const std::string turn =
        upright ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y) : "";
    const std::string shown =
        name.size() <= room ? name : "…" + name.substr(name.size() - (room - 1));
    return fmt::format(
        "<text class=\"in\" x=\"{:.1f}\" y=\"{:.1f}\"{} pointer-events=\"none\">{}</text>", x, y,
        turn, escape(shown));
  }

  // Bytes of the buffers that are alive, op by op: its peak is the lower bound.
  std::string live() const {
    std::string path;
    for (int op = 0; op < starts_.back(); ++op) {
      std::int64_t bytes = 0;
      for (const Buffer& buffer : entry_.buffers)
        if (buffer.scope == CacheScope::kRun && op_of(buffer.first, buffer.first_op) <= op &&
            op <= op_of(buffer.last, buffer.last_op))
          bytes += buffer.bytes;
      path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", op == 0 ? "M" : "L", x(op),
                          y(static_cast<double>(bytes)), x(op + 1));
    }
    return fmt::format("<path class=\"live\" d=\"{}\"/>", path);
  }

  // Three lines with a label each, stacked above the map.
  std::string lines() const {
    const StorageTotals& storage = entry_.storage;
    const auto planned = static_cast<double>(storage.planned_bytes);
    const auto naive = static_cast<double>(storage.naive_bytes);
    const auto least = static_cast<double>(storage.lower_bound_bytes);
    const double naive_y = cut_ ? 22 : y(naive);
    std::string text =
        fmt::format("<path class=\"naive\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, naive_y, right());
    if (cut_)  // where the axis is cut
      text += fmt::format("<path class=\"break\" d=\"M{:.1f} 43H{:.1f}\"/>", kLeft, right());
    text += fmt::format("<path class=\"planned\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y(planned),
                        right());
    text += fmt::format("<path class=\"least\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y(least),
                        right());
    text += label(naive, naive_y);
    text += label(planned, y(planned));
    if (y(least) - y(planned) > 14) text += label(least, y(least));
    return text;
  }

  std::string label(double bytes, double at) const { return plot_.y_label(at, bytes_text(bytes)); }

  std::string ticks() const {
    // The number of a step where there is room for it.
    std::vector<std::pair<double, std::string>> numbers;
    for (std::size_t step = 0; step + 1 < starts_.size(); ++step)
      numbers.emplace_back(0.5 * (starts_[step] + starts_[step + 1]), std::to_string(step));
    return plot_.y_label(y(0), "0") +
           fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y(0), right()) +
           plot_.x_labels(numbers, 28);
  }

  const Entry& entry_;
  std::vector<int> starts_ = {0};  // the first op of each step, and their number
  double top_ = 1;
  Plot plot_;
  bool cut_ = false;  // one range per buffer would not fit on the axis
};

std::string totals_text(const StorageTotals& storage) {
  std::string text =
      fmt::format("{} planned", bytes_text(static_cast<double>(storage.planned_bytes)));
  if (storage.naive_bytes > 0)
    text += fmt::format(", {:.0f} % under one range for each buffer ({})",
                        100 * (1 - static_cast<double>(storage.planned_bytes) /
                                       static_cast<double>(storage.naive_bytes)),
                        bytes_text(static_cast<double>(storage.naive_bytes)));
  switch (storage.proof) {
    case StorageProof::kNotShared:
      return text + "; not shared";
    case StorageProof::kLowerBound:
      return text + "; as much as is alive at once";
    case StorageProof::kSearched:
      return text + "; there is none smaller, as a search has found";
    case StorageProof::kBestFound:
      return text + fmt::format("; the smallest that was found, at least {} are needed",
                                bytes_text(static_cast<double>(storage.lower_bound_bytes)));
  }
  return text;
}

}  // namespace

std::string memory_part(const Plan& plan) {
  std::string body = "<ul class=\"legend\">";
  for (const Group& group : kGroups)
    body += fmt::format("<li><i class=\"{}\"></i>{}</li>", group.css_class, group.what);
  body +=
      "<li><i style=\"background:var(--ink);height:2px;vertical-align:3px\"></i>planned</li>"
      "<li><i style=\"background:var(--c1);height:2px;vertical-align:3px\"></i>one range each</li>"
      "<li><i style=\"background:var(--c2);height:2px;vertical-align:3px\"></i>lower "
      "bound</li></ul>";
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& entry = plan.entries[i];
    body += fmt::format(
        "<details{}><summary>{} <span>· {} buffers, {}</span></summary><div class=\"scroll\">{}"
        "</div></details>\n",
        i == 0 ? " open" : "", name_of(entry),
        std::ranges::count(entry.buffers, CacheScope::kRun, &Buffer::scope),
        totals_text(entry.storage), Map(entry).draw());
  }
  return section(
      "memory", "Workspace over time",
      "Every buffer is a rectangle: the steps between which it lives, and the bytes where "
      "it lies. The thin line is what is alive at each moment; tasks are shaded in turn.",
      body);
}

std::string context_part(const Plan& plan) {
  if (plan.context.bytes == 0) return {};
  std::string rows;
  for (const CacheEntry& entry : plan.cache) {
    const Buffer* const buffer = plan.context.find(entry.name);
    rows += fmt::format(
        "<tr><td class=\"mono\" title=\"{0}\">{1}</td><td>{2}</td><td class=\"r\">{3}</td><td "
        "class=\"r\">"
        "{4}</td><td>{5}</td><td><span class=\"tag {6}\">{6}</span></td><td class=\"clip soft\" "
        "title=\"{7}\">{7}</td></tr>\n",
        escape(entry.name), escape(shorten(entry.name, 34)), to_string(entry.scope),
        buffer != nullptr ? bytes_text(static_cast<double>(buffer->bytes)) : "",
        buffer != nullptr ? std::to_string(buffer->offset) : "", to_string(entry.box),
        to_string(entry.domain), escape(entry.task));
  }
  return section(
      "context", "Kept between calls",
      fmt::format("A context of {}, {} of it persistent: what a call leaves for the next one, for "
                  "as long as its scope says and for a box that matches.",
                  bytes_text(static_cast<double>(plan.context.bytes)),
                  bytes_text(static_cast<double>(plan.context.persistent_bytes))),
      "<div class=\"scroll\"><table><thead><tr><th>buffer</th><th>scope</th><th "
      "class=\"r\">bytes</th>"
      "<th class=\"r\">offset</th><th>box</th><th>bounds</th><th class=\"why\">made "
      "by</th></tr></thead>"
      "<tbody>\n" +
          rows + "</tbody></table></div>");
}

}  // namespace bf_aot::artifacts
