#include "aot/apps/certify/page.h"

#include <fmt/format.h>
#include <nettle/base64.h>

#include <algorithm>
#include <cmath>

#include "aot/apps/certify/campaign.h"
#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"
#include "aot/artifacts/report/style.h"
#include "aot/input/picture.h"

namespace bf_aot::apps {
namespace {

using artifacts::escape;

constexpr std::size_t kWorst = 12;  // samples that are shown

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

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string name_of_radius(const CertifyRun& run, std::size_t radius) {
  const bool boxes = run.radii[radius].empty() && run.disturbance.empty();
  return boxes ? "the data's boxes" : radius_text(run, radius);
}

std::string card(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, what);
}

std::string bars(const Tally& tally) {
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

constexpr char kLegend[] =
    "<ul class=\"legend\"><li><i class=\"certified\"></i>certified</li><li><i "
    "class=\"unknown\"></i>unknown</li><li><i class=\"falsified\"></i>falsified</li><li><i "
    "class=\"wrong\"></i>wrong at the sample itself, or a tie</li></ul>\n";

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
        escape(name_of_radius(run, i)), bars(all[i]), all[i].certified, all[i].unknown,
        all[i].falsified, all[i].wrong, percent(all[i].certified_accuracy()));
    if (!run.thresholds.empty())
      text += fmt::format("<td class=\"r\">{}</td><td>{}</td>", escape(threshold_of(run, i).text),
                          passes(run, i, all[i]) ? "<span class=\"good\">passed</span>"
                                                 : "<span class=\"bad\">failed</span>");
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string share_lines(const artifacts::Plot& plot) {
  std::string text;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    text += plot.y_line(share, fmt::format("{:.0f} %", 100 * share));
  return text;
}

// Certified accuracy over the radii, and the share that is not falsified, which bounds the true
// robust accuracy from above.
std::string curve(const CertifyRun& run, const std::vector<Tally>& all) {
  constexpr double kWidth = 620, kHeight = 260, kLeft = 48, kRight = 150, kTop = 14, kBottom = 40;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(radius_value(run, i), i);
  std::sort(order.begin(), order.end());
  const double most = order.back().first, least = order.front().first;
  if (!(most > least)) return {};
  const artifacts::Plot plot{.left = kLeft,
                             .right = kWidth - kRight,
                             .top = kTop,
                             .bottom = kHeight - kBottom,
                             .x_least = least,
                             .x_most = most};
  std::string text = artifacts::svg_head(
      kWidth, kHeight, "class=\"curve\" role=\"img\" aria-label=\"certified accuracy over eps\"");
  text += share_lines(plot);
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
                        kWidth - kRight + 10, plot.y(share(all[order.back().second])) + 4 + shift,
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

std::string classes(const CertifyRun& run) {
  std::string text = kLegend;
  text +=
      "<div class=\"scroll narrow\"><table><thead><tr><th>label</th><th class=\"r\">samples</th>";
  for (std::size_t i = 0; i < run.radii.size(); ++i)
    text += fmt::format("<th>{}</th><th></th>", escape(name_of_radius(run, i)));
  text += "</tr></thead><tbody>\n";
  std::vector<std::vector<Tally>> all;
  for (std::size_t i = 0; i < run.radii.size(); ++i) all.push_back(class_tallies(run, i));
  for (std::size_t label = 0; label < run.outputs; ++label) {
    if (all[0][label].count() == 0) continue;
    text += fmt::format("<tr><td>{}</td><td class=\"r\">{}</td>", label, all[0][label].count());
    for (const std::vector<Tally>& radius : all)
      text += fmt::format("<td>{}</td><td class=\"r\">{}</td>", bars(radius[label]),
                          percent(radius[label].certified_accuracy()));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

// ---------------------------------------------------------------------------------------------

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

std::string stages_section(const CertifyRun& run, const std::string& id) {
  return artifacts::section(id, "Stages",
                            "All samples go through a stage before any that is left open goes "
                            "through the next one. Seconds are those of one thread.",
                            stages(run));
}

std::string base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

struct ImageForm {
  std::uint32_t height = 0, width = 0, channels = 0;
  bool channels_last = false;
};

// The form of an input that is an image: [1, c, h, w] or [1, h, w, c] with 1 or 3 channels.
std::optional<ImageForm> image_form(const std::vector<std::int64_t>& shape, bool channels_last) {
  if (shape.size() != 4 || shape[0] != 1) return std::nullopt;
  const std::int64_t channels = channels_last ? shape[3] : shape[1];
  const std::int64_t height = channels_last ? shape[1] : shape[2];
  const std::int64_t width = channels_last ? shape[2] : shape[3];
  if ((channels != 1 && channels != 3) || height < 2 || width < 2 || height > 512 || width > 512)
    return std::nullopt;
  return ImageForm{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width),
                   static_cast<std::uint32_t>(channels), channels_last};
}

// A picture of values in shades from black, the least of the range, to white, the largest.
std::string image(const ImageForm& form, const double* values, double least, double most,
                  const std::string& title) {
  input::Picture picture{form.width, form.height, form.channels, {}};
  const std::size_t pixels = std::size_t{form.width} * form.height;
  for (std::size_t p = 0; p < pixels; ++p)
    for (std::size_t c = 0; c < form.channels; ++c) {
      const double value = values[form.channels_last ? p * form.channels + c : c * pixels + p];
      const double share = most > least ? (value - least) / (most - least) : 0;
      picture.values.push_back(
          static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))));
    }
  const std::string bytes = input::png_bytes(picture);
  if (bytes.empty()) return {};
  return fmt::format(
      "<img class=\"seen\" alt=\"{}\" title=\"{}\" src=\"data:image/png;base64,{}\">",
      escape(title), escape(title), base64(bytes));
}

// The least margins that are not wrong, of all radii; each sample once.
std::vector<const SampleResult*> worst(const CertifyRun& run) {
  std::vector<const SampleResult*> all;
  for (const SampleResult& result : run.results)
    if (result.robustness != api::Robustness::kWrong) all.push_back(&result);
  std::stable_sort(all.begin(), all.end(), [&](const SampleResult* a, const SampleResult* b) {
    const bool a_falsified = a->robustness == api::Robustness::kFalsified;
    const bool b_falsified = b->robustness == api::Robustness::kFalsified;
    if (a_falsified != b_falsified) return a_falsified;
    if (a->radius != b->radius) return a->radius < b->radius;
    return a->margin < b->margin;
  });
  std::vector<const SampleResult*> chosen;
  for (const SampleResult* const each : all) {
    if (chosen.size() == kWorst) break;
    const bool seen = std::any_of(chosen.begin(), chosen.end(), [&](const SampleResult* other) {
      return other->sample == each->sample;
    });
    if (!seen) chosen.push_back(each);
  }
  return chosen;
}

std::string worst_table(const CertifyRun& run, const input::Dataset& data,
                        const std::vector<std::int64_t>& input_shape) {
  const std::vector<const SampleResult*> chosen = worst(run);
  if (chosen.empty()) return "<p class=\"soft\">Every sample is answered wrongly.</p>\n";
  const auto form = image_form(input_shape, data.channels_last);
  std::string text = "<div class=\"scroll\"><table><thead><tr>";
  if (form) text += "<th>input</th><th>counterexample</th>";
  text +=
      "<th>sample</th><th>label</th><th>eps</th><th>found</th><th class=\"r\">margin</th><th>"
      "rival</th></tr></thead><tbody>\n";
  for (const SampleResult* const each : chosen) {
    text += "<tr>";
    if (form) {
      const auto first =
          data.values.begin() + static_cast<std::ptrdiff_t>(each->sample * data.size());
      const auto last = first + static_cast<std::ptrdiff_t>(data.size());
      text += "<td class=\"pic\">" +
              image(*form, &*first, *std::min_element(first, last), *std::max_element(first, last),
                    "sample " + run.names[each->sample]) +
              "</td><td class=\"pic\">";
      const std::vector<double>& example = each->counterexample;
      if (!example.empty())
        text += image(*form, example.data(), *std::min_element(example.begin(), example.end()),
                      *std::max_element(example.begin(), example.end()), "counterexample");
      text += "</td>";
    }
    text += fmt::format(
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"r\">{:.4g}</td><td>{}</td></tr>\n",
        escape(run.names[each->sample]),
        run.labels.empty() ? "" : fmt::format("{}", run.labels[each->sample]),
        escape(name_of_radius(run, each->radius)), to_string(each->robustness), each->margin,
        run.task == CertifyTask::kWithin ? "" : fmt::format("{}", each->rival));
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace

namespace {

std::string head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} · certified</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      escape(title), artifacts::kStyle, kOwnStyle);
}

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
  constexpr double kWidth = 620, kHeight = 300, kLeft = 48, kRight = 30, kTop = 14, kBottom = 40;
  std::ranges::sort(points, {}, &FrontPoint::clean);
  const double least = std::max(points.front().clean - 0.02, 0.0);
  const double most = std::min(points.back().clean + 0.02, 1.02);
  const artifacts::Plot plot{.left = kLeft,
                             .right = kWidth - kRight,
                             .top = kTop,
                             .bottom = kHeight - kBottom,
                             .x_least = least,
                             .x_most = most};
  std::string text = artifacts::svg_head(
      kWidth, kHeight,
      "class=\"curve\" role=\"img\" aria-label=\"certified share over clean accuracy\"");
  text += share_lines(plot);
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
  std::string text = head(runs.size() == 1 ? runs[0].model : "networks") + "<main>\n";
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
    if (all.size() > 1) body = curve(runs[i], all) + body;
    text += artifacts::section(
        fmt::format("network-{}", i), escape(runs[i].model),
        fmt::format("{} samples of {}.", runs[i].names.size(), escape(runs[i].data)), body);
    text += stages_section(runs[i], fmt::format("stages-{}", i));
  }
  return text +
         fmt::format("<footer>bf-aot {}</footer>\n</main>\n</body>\n</html>\n", escape(version));
}

std::string certify_page(const CertifyRun& run, const input::Dataset& data,
                         const std::vector<std::int64_t>& input_shape, const std::string& version) {
  const std::vector<Tally> all = tallies(run);
  std::string text = head(run.model);
  text += fmt::format(
      "<header><div><h1>{}</h1>\n<p class=\"sub\">{} samples of {}, {}{}{}</p>\n<div "
      "class=\"cards\">\n",
      escape(run.model), run.names.size(), escape(run.data), escape(run.method),
      run.norm.empty() ? "" : ", balls in " + escape(run.norm),
      run.decide && !run.complete ? ", then splitting and search" : "");
  text += card(percent(all[0].clean_accuracy()), "right at the samples");
  for (std::size_t i = 0; i < all.size() && i < 6; ++i)
    text += card(percent(all[i].certified_accuracy()),
                 "certified, " + (!run.disturbance.empty() ? escape(run.disturbance)
                                  : run.radii[i].empty()   ? std::string("in the boxes")
                                                           : "eps " + escape(run.radii[i])));
  text += card(artifacts::seconds_text(run.seconds), fmt::format("in all, {} jobs", run.jobs));
  if (!run.results.empty())
    text += card(artifacts::seconds_text(run.seconds / static_cast<double>(run.results.size())),
                 "for each sample and radius");
  text += "</div></div></header>\n<main>\n";
  const std::string lead = fmt::format(
      "A sample is certified when bounds prove {} of its {}, in real arithmetic or in the "
      "semantics "
      "that was asked for. Unknown is not wrong: the bounds of this method do not decide it.",
      run.task == CertifyTask::kSlopes ? "how outputs rise and fall with the named inputs, in all"
                                       : "the answer for every input",
      !run.disturbance.empty() ? "range"
      : run.norm.empty()       ? "box"
                               : "ball");
  std::string radii = radii_table(run, all);
  if (all.size() > 1) radii = curve(run, all) + radii;
  text += artifacts::section("radii", "Certified accuracy", lead, radii);
  if (run.task == CertifyTask::kClasses)
    text += artifacts::section("classes", "Classes", "The same for the samples of each label.",
                               classes(run));
  if (run.complete) text += stages_section(run, "stages");
  text += artifacts::section("worst", "Worst cases",
                             "Falsified samples first, then those with the least margins.",
                             worst_table(run, data, input_shape));
  return text +
         fmt::format("<footer>bf-aot {}</footer>\n</main>\n</body>\n</html>\n", escape(version));
}

}  // namespace bf_aot::apps
