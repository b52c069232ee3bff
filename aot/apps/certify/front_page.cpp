#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aot/apps/certify/campaign.h"
#include "aot/apps/certify/page.h"
#include "aot/apps/certify/page_parts.h"
#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"

namespace bf_aot::apps {
namespace {

using artifacts::escape;

// The shares of the networks at a radius.
struct FrontPoint {
  std::string name;
  double clean = 0, certified = 0, possible = 0;
  bool on_front = false;
};

std::vector<FrontPoint> front_points(const std::vector<CertifyRun>& runs,
                                     const std::string& radius) {
  std::vector<FrontPoint> points;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = std::find(runs[i].radii.begin(), runs[i].radii.end(), radius);
    if (found == runs[i].radii.end()) continue;
    const Tally tally = tallies(runs[i])[static_cast<std::size_t>(found - runs[i].radii.begin())];
    points.push_back({runs[i].model, tally.clean_accuracy(), tally.certified_accuracy(),
                      tally.possible_accuracy(), is_on_front(runs, i, radius)});
  }
  return points;
}

// Clean accuracy to the right, certified share upward. A bar reaches up to what is not falsified;
// the line joins the networks on the front.
std::string front_plot(std::vector<FrontPoint> points) {
  std::ranges::sort(points, {}, &FrontPoint::clean);
  const double least = std::max(points.front().clean - 0.02, 0.0);
  const double most = std::min(points.back().clean + 0.02, 1.02);
  const artifacts::Plot plot = share_plot(300, 30, least, most);
  std::string text = begin_plot(plot, "certified share over clean accuracy");
  std::vector<std::pair<double, std::string>> labels;
  std::vector<artifacts::PlotPoint> front;
  for (const FrontPoint& each : points) {
    labels.emplace_back(each.clean, percent(each.clean));
    if (each.on_front) front.emplace_back(each.clean, each.certified);
  }
  text += plot.x_labels(labels, 44) + plot.x_title("right at the samples");
  text += plot.line(front, "class=\"line\" style=\"stroke:var(--c2)\"");
  for (const FrontPoint& each : points) {
    text += plot.line({{each.clean, each.certified}, {each.clean, each.possible}},
                      "class=\"line\" style=\"stroke:var(--idle)\"");
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" style=\"fill:var({})\"><title>{}: {} clean, "
        "{} certified</title></circle>\n",
        plot.x(each.clean), plot.y(each.certified), each.on_front ? "--c2" : "--c1",
        escape(each.name), percent(each.clean), percent(each.certified));
  }
  return text + "</svg>\n";
}

std::string front_table(const std::vector<FrontPoint>& points) {
  std::string text =
      "<div class=\"scroll\"><table><thead><tr><th>network</th><th class=\"r\">clean</th><th "
      "class=\"r\">certified</th><th class=\"r\">not falsified</th><th></th></tr></thead><tbody>\n";
  for (const FrontPoint& each : points)
    text += fmt::format(
        "<tr><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td "
        "class=\"r\">{}</td><td>{}</td></tr>\n",
        escape(each.name), percent(each.clean), percent(each.certified), percent(each.possible),
        each.on_front ? "<span class=\"good\">on the front</span>" : "");
  return text + "</tbody></table></div>\n";
}

// The radii of all runs, in the order in which they are first named.
std::vector<std::string> all_radii(const std::vector<CertifyRun>& runs) {
  std::vector<std::string> radii;
  for (const CertifyRun& run : runs)
    for (const std::string& radius : run.radii)
      if (std::find(radii.begin(), radii.end(), radius) == radii.end()) radii.push_back(radius);
  return radii;
}

}  // namespace
std::string front_page(const std::vector<CertifyRun>& runs, const std::string& version) {
  std::string text = page_head(runs.size() == 1 ? runs[0].model : "networks") + "<main>\n";
  std::size_t number = 0;
  for (const std::string& radius : all_radii(runs)) {
    if (runs.size() == 1) break;
    const std::vector<FrontPoint> points = front_points(runs, radius);
    text += artifacts::section(
        fmt::format("front-{}", number++),
        radius.empty() ? "Networks, the data's boxes" : "Networks, eps " + escape(radius),
        "A network is on the front where no other one has as much clean accuracy and certified "
        "share, and more of one of them.",
        front_plot(points) + front_table(points));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Tally> all = tallies(runs[i]);
    std::string body = radii_table(runs[i], all);
    if (all.size() > 1) body = accuracy_curve(runs[i], all) + body;
    text += artifacts::section(
        fmt::format("network-{}", i), escape(runs[i].model),
        fmt::format("{} samples of {}.", runs[i].names.size(), escape(runs[i].data)), body);
    text += stages_section(runs[i], fmt::format("stages-{}", i));
  }
  return text + page_foot(version);
}

}  // namespace bf_aot::apps
