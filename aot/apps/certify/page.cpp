#include "aot/apps/certify/page.h"

#include <fmt/format.h>
#include <nettle/base64.h>

#include <algorithm>
#include <cmath>

#include "aot/apps/certify/page_parts.h"
#include "aot/artifacts/report/html.h"
#include "aot/input/picture.h"

namespace bf_aot::apps {
namespace {

using artifacts::escape;

constexpr std::size_t kWorst = 12;  // samples that are shown

std::string card(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, what);
}

std::string classes(const CertifyRun& run) {
  std::string text = verdict_legend();
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
      text += fmt::format("<td>{}</td><td class=\"r\">{}</td>", verdict_bars(radius[label]),
                          percent(radius[label].certified_accuracy()));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
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
std::string certify_page(const CertifyRun& run, const input::Dataset& data,
                         const std::vector<std::int64_t>& input_shape, const std::string& version) {
  const std::vector<Tally> all = tallies(run);
  std::string text = page_head(run.model);
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
  if (all.size() > 1) radii = accuracy_curve(run, all) + radii;
  text += artifacts::section("radii", "Certified accuracy", lead, radii);
  if (run.task == CertifyTask::kClasses)
    text += artifacts::section("classes", "Classes", "The same for the samples of each label.",
                               classes(run));
  if (run.complete) text += stages_section(run, "stages");
  text += artifacts::section("worst", "Worst cases",
                             "Falsified samples first, then those with the least margins.",
                             worst_table(run, data, input_shape));
  return text + page_foot(version);
}

}  // namespace bf_aot::apps
