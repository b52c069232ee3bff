#include "aot/cli/ablate/ablate_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "aot/system/files.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// Colours that stay apart for the colour-blind and in print (Okabe and Ito).
constexpr char kStyle[] = R"(# What the figures share.
reset
set encoding utf8
ink = '#222222'
pale = '#8a8a8a'
array colour[8] = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x7a5195, 0x444444]
array point[8] = [7, 5, 9, 13, 11, 6, 4, 8]
set style line 100 lc rgb '#e2e2e2' lw 0.6
set border 3 lc rgb pale lw 0.8
set tics nomirror out scale 0.6 textcolor rgb ink
set grid back ls 100
set key noautotitle textcolor rgb ink
set title textcolor rgb ink
set xlabel textcolor rgb ink
set ylabel textcolor rgb ink
)";

std::string gnuplot_quoted(std::string text) {
  for (std::size_t i = 0; (i = text.find('\'', i)) != std::string::npos; i += 2)
    text.replace(i, 1, "''");
  return "'" + text + "'";
}

std::string field(std::string text) {
  for (char& c : text)
    if (c == '"' || c == '\\' || c == '\n') c = '_';
  return '"' + text + '"';
}

// The commands of a figure, once for each kind of file.
std::string figure(const std::string& name, int width, int height, const std::string& commands) {
  std::string text = fmt::format("\n# {}\n", name);
  text += fmt::format(
      "load 'style.gp'\n"
      "set terminal svg size {},{} dynamic font 'Helvetica,11' background rgb 'white'\n"
      "set output '{}.svg'\n{}unset output\n",
      width, height, name, commands);
  text += fmt::format(
      "load 'style.gp'\n"
      "set terminal pngcairo size {},{} font 'Helvetica,11' fontscale 2 linewidth 2 pointscale 2 "
      "background rgb 'white'\nset output '{}.png'\n{}unset output\n",
      2 * width, 2 * height, name, commands);
  return text;
}

// The range and the labels of a logarithmic axis: powers of ten, and 2 and 5 times these where
// there is room.
std::string log_axis(char axis, double low, double high) {
  const double decades = std::log10(high / low);
  std::string text = fmt::format("set logscale {0}\nset {0}range [{1:.6g}:{2:.6g}]\nset {0}tics (",
                                 axis, low, high);
  const char* separator = "";
  const int step = std::max(1, static_cast<int>(decades / 5));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high);
       ++power)
    for (const int digit : {1, 2, 5}) {
      const double at = digit * std::pow(10, power);
      if (at < low || at > high || (digit > 1 && decades > 1.8)) continue;
      if (digit == 1 && power % step != 0) continue;
      text += fmt::format("{}\"{:g}\" {:g}", separator, at, at);
      separator = ", ";
    }
  return text + ")\n";
}

bool can_plot(const std::optional<double>& x) {
  return x && std::isfinite(*x) && *x > 0;
}

// A step for about five labels of a linear axis from 0.
double nice_step(double high) {
  const double raw = high / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= raw) return digit * power;
  return 10 * power;
}

// ---- Time against width, of one network: the methods by name, everything else small.

struct NamedPoint {
  std::string name;
  double time, width;
};

// Points that would be drawn on each other share a label.
void add_point(std::vector<NamedPoint>& points, const NamedPoint& point) {
  constexpr double kNear = 0.06;
  for (NamedPoint& other : points)
    if (std::fabs(std::log(other.time / point.time)) < kNear &&
        std::fabs(std::log(other.width / point.width)) < kNear) {
      other.name += ", " + point.name;
      return;
    }
  points.push_back(point);
}

void add_time_width(const NetworkRows& network, std::vector<PlotFile>& files, std::string& script) {
  const std::vector<const AblationRow*> bases = network.bases();
  std::vector<NamedPoint> named, all;
  for (const AblationRow* row : network.rows) {
    const auto time = row->number(Column::kTimeP50), width = row->number(Column::kMeanWidth);
    if (!row->ok() || !can_plot(time) || !can_plot(width)) continue;
    all.push_back({row->text(Column::kConfig), *time * 1e6, *width});
    if (std::ranges::count(bases, row) > 0) add_point(named, all.back());
  }
  if (all.empty()) return;
  std::string data = "# configuration, median time (us), mean width\n";
  for (const NamedPoint& point : all)
    data += fmt::format("{} {:.6g} {:.9g}\n", field(point.name), point.time, point.width);
  data += "\n\n# the methods, colour\n";
  for (std::size_t i = 0; i < named.size(); ++i)
    data += fmt::format("{} {:.6g} {:.9g} {}\n", field(named[i].name), named[i].time,
                        named[i].width, i % 8 + 1);
  const std::string file = fmt::format("time_width_{}.dat", network.id);
  files.push_back({file, data});
  const auto [first, last] = std::ranges::minmax(all, {}, &NamedPoint::time);
  const auto [narrow, wide] = std::ranges::minmax(all, {}, &NamedPoint::width);
  // The axes leave room for labels to the right of points, and above them.
  const double span = std::max(last.time / first.time, 2.0);
  const double rise = std::max(wide.width / narrow.width, 1.5);
  const std::string commands = fmt::format(
      R"(set title {0} noenhanced
{2}{3}set xlabel 'median time of a call (µs)'
set ylabel 'mean width of the bounds'
plot '{1}' index 0 using 2:3 with points pt 6 ps 0.6 lc rgb pale, \
     '{1}' index 1 using 2:3:(colour[int($4)]) with points pt 7 ps 1 lc rgb variable, \
     '{1}' index 1 using 2:3:1 with labels noenhanced offset 0.6,0.7 left textcolor rgb ink
)",
      gnuplot_quoted(network.model), file,
      log_axis('x', first.time * std::pow(span, -0.12), last.time * std::pow(span, 0.4)),
      log_axis('y', narrow.width * std::pow(rise, -0.15), wide.width * std::pow(rise, 0.25)));
  script += figure("time_width_" + network.id, 460, 340, commands);
}

// ---- Memory of one network by configuration: those alone that differ from the ones before.

void add_memory(const NetworkRows& network, std::vector<PlotFile>& files, std::string& script) {
  std::string data = "# configuration, planned, one range per buffer, lower bound (KB)\n";
  std::vector<std::string> seen;
  std::vector<std::string> lines;
  double widest = 0;
  for (const AblationRow* row : network.rows) {
    const auto planned = row->number(Column::kArena), naive = row->number(Column::kNaive);
    const auto least = row->number(Column::kLowerBound);
    if (!planned || !naive || !least) continue;
    widest = std::max(widest, *naive / 1e3);
    const std::string numbers = fmt::format("{} {} {}", *planned / 1e3, *naive / 1e3, *least / 1e3);
    if (std::ranges::count(seen, numbers) > 0 && !row->text(Column::kBase).empty()) continue;
    seen.push_back(numbers);
    lines.push_back(field(row->text(Column::kConfig)) + " " + numbers);
  }
  if (lines.empty()) return;
  for (std::size_t i = 0; i < lines.size(); ++i)
    data += fmt::format("{} {}\n", lines.size() - 1 - i, lines[i]);
  const std::string file = fmt::format("memory_{}.dat", network.id);
  files.push_back({file, data});
  const std::string commands = fmt::format(
      R"(set title {0} noenhanced
set xlabel 'workspace (KB)' offset 0,0.3
set format x '%g'
set xrange [0:*]
set xtics {3:g}
set yrange [-0.7:{2}.7]
set key outside bottom center vertical maxrows 1 samplen 0.8 width -1
set ytics scale 0 noenhanced
unset grid
set grid x back ls 100
plot '{1}' using ($4 / 2):1:($4 / 2):(0.34):yticlabels(2) with boxxyerror fs solid 1 noborder lc rgb '#dcdcdc' title 'unshared', \
     '{1}' using ($3 / 2):1:($3 / 2):(0.34) with boxxyerror fs solid 1 noborder lc rgb colour[1] title 'planned', \
     '{1}' using 5:($1 - 0.42):(0):(0.84) with vectors nohead lc rgb '#111111' lw 2 title 'lower bound'
)",
      gnuplot_quoted(network.model), file, lines.size() - 1, nice_step(widest));
  script +=
      figure("memory_" + network.id, 520, 146 + 24 * static_cast<int>(lines.size()), commands);
}

// ---- All networks: width and time of each method relative to the first one.

struct Range {
  double low = 1, high = 1;
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

// The points of each configuration beside each other; the upper panel has the legend.
std::string methods_panel(const std::vector<std::string>& names, int column) {
  std::string text = "plot ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double shift =
        0.12 * (static_cast<double>(i) - 0.5 * static_cast<double>(names.size() - 1));
    text += fmt::format(
        "{}'methods.dat' using ($1 + {:.3g}):($2 == {} ? ${} : 1/0) with points pt point[{}] "
        "ps 0.8 lc rgb colour[{}]{}",
        i == 0 ? "" : ", \\\n     ", shift, i, column, i % 8 + 1, i % 8 + 1,
        column == 3 ? " title " + gnuplot_quoted(names[i]) : "");
  }
  return text + "\n";
}

void add_methods(const std::vector<NetworkRows>& networks, std::vector<PlotFile>& files,
                 std::string& script) {
  std::vector<std::string> names;
  for (const NetworkRows& network : networks)
    for (const AblationRow* row : network.bases())
      if (std::ranges::count(names, row->text(Column::kConfig)) == 0)
        names.push_back(row->text(Column::kConfig));
  std::string data = "# place, configuration, width / ibp, time / first configuration\n";
  std::string tics, blank;
  int place = 0;
  Range widths, times;
  for (const NetworkRows& network : networks) {
    const std::vector<const AblationRow*> bases = network.bases();
    if (bases.empty() || !can_plot(bases[0]->number(Column::kTimeP50))) continue;
    for (const AblationRow* row : bases) {
      const auto ratio = row->number(Column::kRatioIbp), time = row->number(Column::kTimeP50);
      const auto index = std::ranges::find(names, row->text(Column::kConfig)) - names.begin();
      if (!can_plot(time)) continue;
      const double relative = *time / *bases[0]->number(Column::kTimeP50);
      times.add(relative);
      if (can_plot(ratio)) widths.add(*ratio);
      data += fmt::format("{} {} {} {:.6g}\n", place, index,
                          can_plot(ratio) ? fmt::format("{:.6g}", *ratio) : "NaN", relative);
    }
    tics +=
        fmt::format("{}{} {}", place == 0 ? "" : ", ",
                    gnuplot_quoted(network.model.substr(0, network.model.find(".onnx"))), place);
    blank += fmt::format("{}'' {}", place == 0 ? "" : ", ", place);
    ++place;
  }
  if (place == 0) return;
  files.push_back({"methods.dat", data});
  const std::string commands = fmt::format(
      R"(set multiplot
set xrange [-0.6:{0}.6]
set lmargin 15
set rmargin 3
unset grid
set grid y back ls 100
set tmargin at screen 0.91
set bmargin at screen 0.64
set ylabel 'width / ibp'
{1}set key at screen 0.55, 0.985 center top vertical maxrows 1 samplen 0.5 noenhanced
set xtics scale 0 ({7})
{3}unset key
set tmargin at screen 0.6
set bmargin at screen 0.33
set ylabel 'time / {4}' noenhanced
{5}set xtics scale 0 rotate by 40 right noenhanced ({2})
{6}unset multiplot
)",
      place - 1, log_axis('y', widths.low / 1.3, widths.high * 1.3), tics, methods_panel(names, 3),
      names[0], log_axis('y', times.low / 1.5, times.high * 1.5), methods_panel(names, 4), blank);
  script += figure("methods", std::max(520, 170 + 44 * place), 540, commands);
}

// ---- What leaving out each pass changes: factors, the largest over all networks.

constexpr std::pair<Column, const char*> kHeat[] = {
    {Column::kTimeP50, "time"},    {Column::kMeanWidth, "width"}, {Column::kUnstable, "unstable"},
    {Column::kArena, "memory"},    {Column::kWeights, "weights"}, {Column::kCode, "code"},
    {Column::kKernels, "kernels"}, {Column::kTasks, "tasks"},
};

// The ratio without / with the pass, in the network in which it is farthest from 1.
double factor_of(const std::vector<NetworkRows>& networks, const std::string& pass, Column metric) {
  double best = 1;
  for (const NetworkRows& network : networks)
    for (const AblationRow* row : network.rows) {
      if (row->text(Column::kWithout) != pass || !row->ok()) continue;
      const AblationRow* const with = network.find(row->text(Column::kBase));
      if (with == nullptr) continue;
      const auto a = with->number(metric), b = row->number(metric);
      if (!can_plot(a) || !can_plot(b) || change_of(*with, *row, metric) == 0.0) continue;
      if (std::fabs(std::log(*b / *a)) > std::fabs(std::log(best))) best = *b / *a;
    }
  return best;
}

void add_passes(const std::vector<NetworkRows>& networks, std::vector<PlotFile>& files,
                std::string& script) {
  const std::vector<PassEffect> effects = pass_effects(networks);
  if (effects.empty()) return;
  std::string data = "# column, row, log2 of the factor, text, pass, metric\n";
  const std::size_t count = effects.size();
  for (std::size_t i = 0; i < count; ++i) {
    int column = 0;
    const std::string label = effects[i].pass + (effects[i].needed_by.empty() ? "" : " (needed)");
    for (const auto& [metric, name] : kHeat) {
      const double factor = factor_of(networks, effects[i].pass, metric);
      const bool same = std::fabs(factor - 1) < (metric == Column::kTimeP50 ? 0.15 : 0.0005);
      const std::string text = same           ? "·"
                               : factor >= 10 ? fmt::format("{:.0f}", factor)
                                              : fmt::format("{:.2f}", factor);
      data += fmt::format("{} {} {} {} {} {}\n", column++, count - 1 - i,
                          same ? 0 : std::clamp(std::log2(factor), -2.0, 2.0), field(text),
                          field(label), field(name));
    }
  }
  files.push_back({"passes.dat", data});
  const std::string commands = fmt::format(
      R"(set title 'leaving a pass out: without / with, on the network that changes most'
unset grid
unset colorbox
set border 0
set palette defined (-2 '#2166ac', -0.7 '#92c5de', 0 '#f5f5f5', 0.7 '#f4a582', 2 '#b2182b')
set cbrange [-2:2]
set xrange [-0.5:{0}.5]
set yrange [-0.5:{1}.5]
set xtics scale 0
set ytics scale 0 noenhanced
plot 'passes.dat' using 1:2:(0.48):(0.46):3:xticlabels(6):yticlabels(5) with boxxyerror fs solid 1 noborder lc palette, \
     'passes.dat' using 1:2:4 with labels noenhanced textcolor rgb ink
)",
      std::size(kHeat) - 1, count - 1);
  script += figure("passes", 800, 90 + 26 * static_cast<int>(count), commands);
}

}  // namespace

std::vector<PlotFile> plot_files(const std::vector<NetworkRows>& networks) {
  std::vector<PlotFile> files;
  std::string script = "# Figures of bf-aot ablate; gnuplot plots.gp\n";
  add_methods(networks, files, script);
  add_passes(networks, files, script);
  for (const NetworkRows& network : networks) {
    add_time_width(network, files, script);
    add_memory(network, files, script);
  }
  files.push_back({"style.gp", kStyle});
  files.push_back({"plots.gp", script});
  return files;
}

bool write_plots(const std::filesystem::path& folder, const std::vector<AblationRow>& rows) {
  const std::filesystem::path plots = folder / "plots";
  system::make_folder(plots);
  system::Staging staging(plots);
  std::vector<std::string> names;
  for (const PlotFile& file : plot_files(by_network(rows))) {
    staging.write(file.name, file.text);
    names.push_back(file.name);
  }
  staging.publish(names);
  const auto gnuplot = system::find_program("gnuplot");
  if (!gnuplot) return false;
  const system::ProcessResult result = system::run_process({*gnuplot, "plots.gp"}, plots);
  if (result.exit_code != 0)
    fail("BF3322", (plots / "plots.gp").string(),
         fmt::format("gnuplot failed: {}", result.errors.substr(0, 1000)),
         "results.csv is complete; another version of gnuplot may draw it");
  return true;
}

}  // namespace bf_aot::cli
