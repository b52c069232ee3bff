#include "aot/apps/certify/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/style.h"

namespace bf_aot::apps {
namespace {

using artifacts::escape;

constexpr double kPlotWidth = 620, kPlotBottom = 40;  // below the field: labels

constexpr char kOwnStyle[] = R"(
.curve text{font:11px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft)}
.curve .grid{stroke:var(--line)}
.curve .line{fill:none;stroke-width:2}
.seen{image-rendering:pixelated;width:72px;height:72px;border:1px solid var(--line);border-radius:4px;vertical-align:middle}
td.pic{padding:6px 10px;height:auto}
.good{color:var(--c2)}.bad{color:var(--c1)}
.bars{display:inline-flex;width:220px;height:12px;border-radius:3px;overflow:hidden;background:var(--tag);vertical-align:middle}
.bars i{display:block;height:100%}
.narrow .bars{width:96px}
.certified{background:var(--c2)}.falsified{background:var(--c1)}.unknown{background:var(--idle)}.wrong{background:var(--c3)}
)";

constexpr char kLegend[] =
    "<ul class=\"legend\"><li><i class=\"certified\"></i>certified</li><li><i "
    "class=\"unknown\"></i>unknown</li><li><i class=\"falsified\"></i>falsified</li><li><i "
    "class=\"wrong\"></i>wrong at the sample itself, or a tie</li></ul>\n";

std::string stages(const CertifyRun& run) {
  std::string text =
      "<div class=\"scroll\"><table><thead><tr><th>stage</th><th class=\"r\">samples</th><th "
      "class=\"r\">certified</th><th class=\"r\">falsified</th><th class=\"r\">wrong</th><th "
      "class=\"r\">thread time</th><th class=\"r\">a sample</th></tr></thead><tbody>\n";
  for (const StageTally& each : stage_tallies(run))
    text += fmt::format(
        "<tr><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td "
        "class=\"r\">{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td></tr>\n",
        api::to_string(each.stage), each.samples, each.decided.certified, each.decided.falsified,
        each.decided.wrong, artifacts::seconds_text(each.seconds),
        artifacts::seconds_text(each.seconds / static_cast<double>(each.samples)));
  return text + "</tbody></table></div>\n";
}

}  // namespace

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string name_of_radius(const CertifyRun& run, std::size_t radius) {
  const bool boxes = run.radii[radius].empty() && run.disturbance.empty();
  return boxes ? "the data's boxes" : radius_text(run, radius);
}

std::string page_head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} · certified</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      escape(title), artifacts::kStyle, kOwnStyle);
}

std::string page_foot(const std::string& version) {
  return fmt::format("<footer>bf-aot {}</footer>\n</main>\n</body>\n</html>\n", escape(version));
}

std::string verdict_legend() {
  return kLegend;
}

std::string verdict_bars(const Tally& tally) {
  const auto part = [&](std::size_t count, const char* name) {
    if (count == 0) return std::string();
    return fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{} {}\"></i>", name,
                       100.0 * static_cast<double>(count) / static_cast<double>(tally.count()),
                       count, name);
  };
  return "<span class=\"bars\">" + part(tally.certified, "certified") +
         part(tally.unknown, "unknown") + part(tally.falsified, "falsified") +
         part(tally.wrong, "wrong") + "</span>";
}

std::string radii_table(const CertifyRun& run, const std::vector<Tally>& all) {
  std::string text = kLegend;
  text +=
      "<div class=\"scroll\"><table><thead><tr><th>eps</th><th></th><th class=\"r\">certified</th>"
      "<th class=\"r\">unknown</th><th class=\"r\">falsified</th><th class=\"r\">wrong</th><th "
      "class=\"r\">certified accuracy</th>";
  if (!run.thresholds.empty()) text += "<th class=\"r\">at least</th><th></th>";
  text += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td "
        "class=\"r\">{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td>",
        escape(name_of_radius(run, i)), verdict_bars(all[i]), all[i].certified, all[i].unknown,
        all[i].falsified, all[i].wrong, percent(all[i].certified_accuracy()));
    if (!run.thresholds.empty())
      text += fmt::format("<td class=\"r\">{}</td><td>{}</td>", escape(threshold_of(run, i).text),
                          passes(run, i, all[i]) ? "<span class=\"good\">passed</span>"
                                                 : "<span class=\"bad\">failed</span>");
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

artifacts::Plot share_plot(double height, double room, double x_least, double x_most) {
  return {.left = 48,
          .right = kPlotWidth - room,
          .top = 14,
          .bottom = height - kPlotBottom,
          .x_least = x_least,
          .x_most = x_most};
}

std::string begin_plot(const artifacts::Plot& plot, const char* label) {
  std::string text =
      artifacts::svg_head(kPlotWidth, plot.bottom + kPlotBottom,
                          fmt::format("class=\"curve\" role=\"img\" aria-label=\"{}\"", label));
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    text += plot.y_line(share, fmt::format("{:.0f} %", 100 * share));
  return text;
}

std::string accuracy_curve(const CertifyRun& run, const std::vector<Tally>& all) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(radius_value(run, i), i);
  std::sort(order.begin(), order.end());
  const double most = order.back().first, least = order.front().first;
  if (!(most > least)) return {};
  const artifacts::Plot plot = share_plot(260, 150, least, most);
  std::string text = begin_plot(plot, "certified accuracy over eps");
  std::vector<std::pair<double, std::string>> labels;
  for (const auto& [eps, i] : order) labels.emplace_back(eps, escape(run.radii[i]));
  text += plot.x_labels(labels, 44) + plot.x_title("eps");
  const auto line = [&](const char* colour, const char* name, const auto& share, double shift) {
    std::vector<artifacts::PlotPoint> points;
    for (const auto& [eps, i] : order) points.emplace_back(eps, share(all[i]));
    text += plot.line(points, fmt::format("class=\"line\" style=\"stroke:var({})\"", colour));
    for (const auto& [eps, i] : order)
      text += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" style=\"fill:var({})\"><title>eps {}: "
          "{}</title></circle>\n",
          plot.x(eps), plot.y(share(all[i])), colour, escape(run.radii[i]), percent(share(all[i])));
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" style=\"fill:var({})\">{}</text>\n",
                        plot.right + 10, plot.y(share(all[order.back().second])) + 4 + shift,
                        colour, name);
  };
  const auto certified = [](const Tally& tally) { return tally.certified_accuracy(); };
  const auto possible = [](const Tally& tally) { return tally.possible_accuracy(); };
  // Names are moved apart where lines end close to each other.
  const Tally& last = all[order.back().second];
  const bool close = plot.y(certified(last)) - plot.y(possible(last)) < 16;
  line("--c0", run.decide ? "not falsified" : "right at the sample", possible, close ? -8 : 0);
  line("--c2", "certified", certified, close ? 8 : 0);
  return text + "</svg>\n";
}

std::string stages_section(const CertifyRun& run, const std::string& id) {
  return artifacts::section(id, "Stages",
                            "All samples go through a stage before any that is left open goes "
                            "through the next one. Seconds are those of one thread.",
                            stages(run));
}

}  // namespace bf_aot::apps
