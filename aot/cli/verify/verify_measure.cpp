#include "aot/cli/verify/verify_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"
#include "aot/artifacts/report/style.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/values.h"
#include "aot/decide/measure.h"
#include "aot/engine/verifier/report.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

using Cases = std::vector<decide::MeasuredCase>;

// Throws: BF3013.
mpq_class width_of(const std::string& text) {
  const mpq_class width = vnnlib::exact(exact_number(text, "--measure"));
  if (width < 0 || width > 1)
    fail("BF3013", "--measure", fmt::format("{} is not from 0 to 1", printable(text)),
         "write 1 % as 0.01");
  return width;
}

decide::Answer answer_of(const Cases& cases) {
  bool verified = true, falsified = false;
  for (const decide::MeasuredCase& each : cases) {
    verified = verified && each.is_verified();
    falsified = falsified || each.refuted > 0;
  }
  return verified    ? decide::Answer::kVerified
         : falsified ? decide::Answer::kFalsified
                     : decide::Answer::kUnknown;
}

// A file of boxes, as --box of 'bf-aot run' reads it: the cells of these fates.
void write_cells(const std::string& path, const Cases& cases,
                 std::initializer_list<decide::CellFate> fates) {
  if (path.empty()) return;
  // Exactly: a rounded decimal may leave a point out, or take one in that is not proven.
  const auto ends = [](const std::vector<float>& of) {
    std::vector<std::string> texts;
    for (const float end : of)
      texts.push_back(vnnlib::exact_text(mpq_class(static_cast<double>(end))));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  std::string text = "{\"boxes\": [";
  const char* between = "\n";
  for (const decide::MeasuredCase& one : cases)
    for (const decide::Cell& cell : one.cells) {
      if (std::ranges::find(fates, cell.fate) == fates.end()) continue;
      text += fmt::format("{} {{\"lower\": [{}], \"upper\": [{}]}}", between, ends(cell.box.lower),
                          ends(cell.box.upper));
      between = ",\n";
    }
  system::publish_file(path, text + "\n]}\n");
}

nlohmann::ordered_json to_json(const Cases& cases, const std::string& width, double seconds) {
  nlohmann::ordered_json json = {{"verdict", word(answer_of(cases), Wording::kPlain)},
                                 {"width", width},
                                 {"cases", nlohmann::ordered_json::array()}};
  for (const decide::MeasuredCase& each : cases)
    json["cases"].push_back({{"proven", each.proven.get_str()},
                             {"refuted", each.refuted.get_str()},
                             {"open", each.open.get_str()},
                             {"proven_share", each.proven.get_d()},
                             {"refuted_share", each.refuted.get_d()},
                             {"open_share", each.open.get_d()},
                             {"cells", each.cells.size()},
                             {"bounded", each.bounded},
                             {"reached", each.is_reached}});
  json["seconds"] = seconds;
  return json;
}

void print(const Cases& cases, double seconds) {
  fmt::print("{}\n\n{:<6} {:>12} {:>12} {:>12} {:>10} {:>10}\n",
             word(answer_of(cases), Wording::kPlain), "case", "proven", "refuted", "open", "cells",
             "bounded");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const decide::MeasuredCase& each = cases[i];
    fmt::print("{:<6} {:>10.6f} % {:>10.6f} % {:>10.6f} % {:>10} {:>10}{}\n", i,
               100 * each.proven.get_d(), 100 * each.refuted.get_d(), 100 * each.open.get_d(),
               each.cells.size(), each.bounded,
               each.is_reached ? "" : "  stopped before the width");
  }
  fmt::print("\ntime     {}\n", engine::duration(seconds));
}

// The proven share from below, the refuted one from above, over time: what is between is open.
std::string plot_of(const decide::MeasuredCase& one) {
  constexpr double kWidth = 620, kHeight = 260, kLeft = 48, kRight = 30, kTop = 14, kBottom = 40;
  const double most = std::max(one.moments.back().seconds, 1e-6);
  const artifacts::Plot plot{.left = kLeft,
                             .right = kWidth - kRight,
                             .top = kTop,
                             .bottom = kHeight - kBottom,
                             .x_least = 0,
                             .x_most = most};
  std::string text = artifacts::svg_head(
      kWidth, kHeight, "class=\"curve\" role=\"img\" aria-label=\"shares of the box over time\"");
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    text += plot.y_line(share, fmt::format("{:.0f} %", 100 * share));
  text += plot.x_labels({{0, "0"}, {most, artifacts::seconds_text(most)}}, 44);
  text += plot.x_title("time");
  std::vector<artifacts::PlotPoint> proven, possible;
  for (const decide::MeasuredMoment& moment : one.moments) {
    proven.emplace_back(moment.seconds, moment.proven);
    possible.emplace_back(moment.seconds, 1 - moment.refuted);
  }
  return text + plot.line(proven, "class=\"line\" style=\"stroke:var(--c2)\"") +
         plot.line(possible, "class=\"line\" style=\"stroke:var(--c1)\"") + "</svg>\n";
}

std::string page_of(const std::string& model, const std::string& property, const Cases& cases) {
  constexpr char kOwnStyle[] =
      ".curve text{font:11px system-ui,\"DejaVu Sans\",sans-serif;fill:var(--soft)}"
      ".curve .grid{stroke:var(--line)}.curve .line{fill:none;stroke-width:2}";
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{} · measured</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n",
      artifacts::escape(model), artifacts::kStyle, kOwnStyle);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const decide::MeasuredCase& each = cases[i];
    text += artifacts::section(
        fmt::format("case-{}", i),
        fmt::format("{}, {}, case {}", artifacts::escape(model), artifacts::escape(property), i),
        fmt::format("Proven: {:.6f} % of the box, below the lower line. Refuted: {:.6f} %, above "
                    "the upper line. Open: {:.6f} %. {} cells.",
                    100 * each.proven.get_d(), 100 * each.refuted.get_d(), 100 * each.open.get_d(),
                    each.cells.size()),
        plot_of(each));
  }
  return text +
         fmt::format("<footer>bf-aot {}</footer>\n</main>\n</body>\n</html>\n", BF_VERSION_STRING);
}

}  // namespace

void add_measure_options(CommandLine& app, MeasureArguments& arguments) {
  constexpr char kGroup[] = "Measure";
  Option* const measure =
      app.add_option("--measure", arguments.width,
                     "bound the proven and the refuted share of the property's boxes, until at "
                     "most this share is open")
          ->type_name("WIDTH")
          ->group(kGroup);
  for (const char* const other :
       {"--instances", "--checkpoint", "--part", "--proof", "--counterexample",
        "--serialise-assignments", "--vnncomp", "--norm"})
    measure->excludes(other);
  app.add_option("--html", arguments.html, "a page with the shares over time")
      ->writes("FILE")
      ->needs(measure)
      ->group(kGroup);
  app.add_option("--inner", arguments.inner,
                 "boxes in which every input violates the property, as --box of run reads them")
      ->writes("FILE")
      ->needs(measure)
      ->group(kGroup);
  app.add_option("--outer", arguments.outer, "boxes that hold every input that violates it")
      ->writes("FILE")
      ->needs(measure)
      ->group(kGroup);
}

int verify_measure(const VerifyArguments& arguments) {
  const system::Stopwatch stopwatch;
  const mpq_class width = width_of(arguments.measure.width);
  const Property property = read_property(arguments.property);
  const Network network =
      read_network(arguments.model, network_files(arguments, property), property);
  decide::RequestCalls calls;
  if (arguments.decision().timeout_seconds > 0)
    calls.stop = calls.stop.within(arguments.decision().timeout_seconds);
  const Cases cases = decide::measure(network.sampler, network.info, property,
                                      request_of(arguments), {width}, calls);
  using decide::CellFate;
  write_cells(arguments.measure.inner, cases, {CellFate::kRefuted});
  write_cells(arguments.measure.outer, cases, {CellFate::kRefuted, CellFate::kOpen});
  const auto name_of = [](const std::string& path) {
    return printable(std::filesystem::path(path).filename().string());
  };
  if (!arguments.measure.html.empty())
    system::publish_file(arguments.measure.html, page_of(name_of(arguments.model.model),
                                                         name_of(arguments.property), cases));
  if (arguments.json)
    fmt::print("{}\n", to_json(cases, arguments.measure.width, stopwatch.seconds()).dump());
  else
    print(cases, stopwatch.seconds());
  return exit_code(answer_of(cases), Wording::kPlain);
}

}  // namespace bf_aot::cli
