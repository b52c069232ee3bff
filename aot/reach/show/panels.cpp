#include "aot/reach/show/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/plot.h"
#include "aot/reach/show/zones.h"

namespace bf_aot::reach {
namespace {

using artifacts::Plot;
using artifacts::PlotPoint;

constexpr std::size_t kMostStates = 24, kMostPairs = 4;
constexpr std::size_t kMostPieces = 4000, kMostPoints = 16000;  // of all panels together
constexpr std::size_t kMostSamples = 32;                        // trajectories
constexpr double kLeast = 2;                                    // pixels of what has no width

// Holds what all panels show.
struct Shown {
  const Question& question;
  const ReachOutcome& outcome;
  std::vector<Zone> zones;
  std::vector<TubePiece> tube, violation;
  std::size_t points = 0;  // of the samples, in each panel
  double end = 0;
};

double number(const mpq_class& exact) {
  return exact.get_d();
}

// Pieces next to each other, with the hulls of their ranges.
TubePiece hull(const TubePiece& first, const TubePiece& last) {
  TubePiece both = first;
  both.to = std::max(first.to, last.to);
  for (std::size_t i = 0; i < both.state.size(); ++i)
    both.state[i] = hull(first.state[i], last.state[i]);
  return both;
}

// At most `most` pieces that hold these.
std::vector<TubePiece> thinned(const std::vector<TubePiece>& pieces, std::size_t most) {
  const std::size_t together = (pieces.size() + most - 1) / most;
  std::vector<TubePiece> kept;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % together == 0)
      kept.push_back(pieces[i]);
    else
      kept.back() = hull(kept.back(), pieces[i]);
  }
  return kept;
}

// The time of an instant of a sample: a sample has an instant for each period, or more of them.
double sample_time(const Shown& shown, std::size_t instants, std::size_t k) {
  const std::size_t steps = std::max<std::size_t>(shown.question.loop.steps, instants - 1);
  return shown.end * static_cast<double>(k) / static_cast<double>(steps);
}

// Tells of some samples, and of each some instants, the last one among them.
template <class Tell>  // tell(trajectory, instant, instants, is_first)
void over_samples(const Shown& shown, const Tell& tell) {
  const auto& samples = shown.outcome.samples;
  const std::size_t count = std::min(samples.size(), kMostSamples);
  for (std::size_t s = 0; s < count; ++s) {
    const auto& trajectory = samples[s * samples.size() / count];
    const std::size_t most = std::max<std::size_t>(shown.points / count, 8);
    const std::size_t stride = trajectory.size() / most + 1;
    for (std::size_t k = 0; k < trajectory.size(); k += stride) tell(trajectory, k, k == 0);
    if (trajectory.size() > 1 && (trajectory.size() - 1) % stride != 0)
      tell(trajectory, trajectory.size() - 1, false);
  }
}

using Trajectory = std::vector<std::vector<double>>;

// ---- Axes.

// Holds the finite numbers that it was told, those beyond 1e300 as that.
struct Extent {
  double low = INFINITY, high = -INFINITY;

  void add(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, std::max(x, -1e300));
    high = std::max(high, std::min(x, 1e300));
  }
  void add(const Range& range) {
    add(range.low);
    add(range.high);
  }
  bool empty() const { return low > high; }
  double span() const { return empty() ? 0 : high - low; }
};

// The part of a state that is shown: the tube, unless the samples would then be a line, and edges
// of zones that lie near.
Range axis_of(const Shown& shown, std::size_t state) {
  Extent all, seen;
  for (const TubePiece& piece : shown.tube) all.add(piece.state[state]);
  for (const TubePiece& piece : shown.violation) {
    all.add(piece.state[state]);
    seen.add(piece.state[state]);
  }
  over_samples(shown, [&](const Trajectory& trajectory, std::size_t k, bool) {
    seen.add(trajectory[k][state]);
  });
  if (seen.span() > 0 && all.span() > 8 * seen.span()) {
    all.low = std::max(all.low, seen.low - seen.span());
    all.high = std::min(all.high, seen.high + seen.span());
  }
  all.add(seen.low);
  all.add(seen.high);
  if (all.empty()) all = {-1, 1};
  const double size = std::max(std::fabs(all.low), std::fabs(all.high));
  const double least = size == 0 ? 1e-3 : 1e-3 * size;  // half of what an axis shows
  const double near = 0.75 * std::max(all.span(), least);
  const Extent data = all;
  for (const Zone& zone : shown.zones) {
    const auto limit = zone.limits.find(state);
    if (limit == zone.limits.end()) continue;
    for (const double edge : {limit->second.low, limit->second.high})
      if (edge > data.low - near && edge < data.high + near) all.add(edge);
  }
  const double margin = std::max(0.06 * all.span(), least);
  return {all.low - margin, all.high + margin};
}

// Round numbers of an axis.
std::vector<std::pair<double, std::string>> ticks(const Range& axis, int most) {
  const double rough = (axis.high - axis.low) / most;
  double step = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {2.0, 2.5, 2.0})
    if (step < rough) step *= factor;
  std::vector<std::pair<double, std::string>> labels;
  for (double k = std::ceil(axis.low / step); k * step <= axis.high; ++k) {
    labels.emplace_back(k * step, fmt::format("{:.4g}", k == 0 ? 0 : k * step));
    if (labels.size() > 20) break;
  }
  return labels;
}

Plot field_of(const Range& across, const Range& up) {
  return {.left = 62,
          .right = kPanelWidth - 14,
          .top = 30,
          .bottom = kPanelHeight - 44,
          .x_least = across.low,
          .x_most = across.high,
          .y_least = up.low,
          .y_most = up.high};
}

std::string axes(const Plot& plot, const std::string& title, const std::string& below) {
  std::string text = fmt::format(
      "<text class=\"title\" x=\"{:.0f}\" y=\"18\">{}</text>\n"
      "<rect class=\"field\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      plot.left, artifacts::escape(title), plot.left, plot.top, plot.width(), plot.height());
  for (const auto& [value, label] : ticks({plot.y_least, plot.y_most}, 5))
    text += plot.y_line(value, label);
  return text + plot.x_labels(ticks({plot.x_least, plot.x_most}, 6), 40) +
         plot.x_title(artifacts::escape(below));
}

// ---- Elements.

double across(const Plot& plot, double value) {
  return plot.x(std::clamp(value, plot.x_least, plot.x_most));
}
double up(const Plot& plot, double value) {
  return plot.y(std::clamp(value, plot.y_least, plot.y_most));
}

// A rectangle as a part of a path, what lies in the field, at least kLeast wide and high. Empty
// where it lies outside.
std::string rectangle(const Plot& plot, const Range& x, const Range& y) {
  if (x.high < plot.x_least || x.low > plot.x_most || y.high < plot.y_least || y.low > plot.y_most)
    return {};
  const double left = across(plot, x.low), top = up(plot, y.high);
  const double right = std::max(across(plot, x.high), left + kLeast);
  const double bottom = std::max(up(plot, y.low), top + kLeast);
  return fmt::format("M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}Z", left, top, right, bottom, left);
}

std::string path(const char* name, const std::string& parts, const std::string& title = {}) {
  if (parts.empty()) return {};
  if (title.empty()) return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", name, parts);
  return fmt::format("<path class=\"{}\" d=\"{}\"><title>{}</title></path>\n", name, parts,
                     artifacts::escape(title));
}

template <class Place>  // place(trajectory, instant) -> PlotPoint
std::string sample_lines(const Shown& shown, const Plot& plot, const Place& place) {
  std::string text;
  std::vector<PlotPoint> points;
  const auto end_line = [&] {
    if (points.size() > 1) text += plot.line(points, "class=\"sample\"");
    points.clear();
  };
  over_samples(shown, [&](const Trajectory& trajectory, std::size_t k, bool is_first) {
    if (is_first) end_line();
    const auto [x, y] = place(trajectory, k);
    if (std::isfinite(x) && std::isfinite(y))
      points.emplace_back(std::clamp(x, plot.x_least, plot.x_most),
                          std::clamp(y, plot.y_least, plot.y_most));
  });
  end_line();
  return text;
}

Range times_of(const TubePiece& piece) {
  return {number(piece.from), number(piece.to)};
}

std::string zone_title(const Shown& shown, const Zone& zone) {
  return "forbidden: " + shown.question.requirements[zone.requirement].text;
}

// ---- Panels.

Panel state_panel(const Shown& shown, std::size_t state) {
  const Plot plot = field_of({0, shown.end}, axis_of(shown, state));
  const std::string title = state_label(shown.question, state);
  std::string text = axes(plot, title, fmt::format("time, {}", time_unit(shown.question)));
  for (const Zone& zone : shown.zones) {
    const auto limit = zone.limits.find(state);
    if (limit == zone.limits.end()) continue;
    text += path(zone.limits.size() == 1 ? "zone" : "together",
                 rectangle(plot, {number(zone.from), number(zone.to)}, limit->second),
                 zone_title(shown, zone));
  }
  const auto steps = [&](const std::vector<TubePiece>& pieces) {
    std::string parts;
    for (const TubePiece& piece : pieces)
      parts += rectangle(plot, times_of(piece), piece.state[state]);
    return parts;
  };
  text += path("tube", steps(shown.tube));
  text += sample_lines(shown, plot, [&](const Trajectory& trajectory, std::size_t k) {
    return PlotPoint(sample_time(shown, trajectory.size(), k), trajectory[k][state]);
  });
  return {title, text + path("violation", steps(shown.violation))};
}

// Whether a zone is forbidden whatever the other states are, at all times.
bool is_whole(const Shown& shown, const Zone& zone, std::size_t a, std::size_t b) {
  for (const auto& [state, limit] : zone.limits)
    if (state != a && state != b) return false;
  return zone.from == 0 && zone.to >= horizon(shown.question);
}

std::string phase_zones(const Shown& shown, const Plot& plot, std::size_t a, std::size_t b) {
  std::string text;
  for (const Zone& zone : shown.zones) {
    const auto in_a = zone.limits.find(a), in_b = zone.limits.find(b);
    if (in_a == zone.limits.end() && in_b == zone.limits.end()) continue;
    text += path(is_whole(shown, zone, a, b) ? "zone" : "together",
                 rectangle(plot, in_a == zone.limits.end() ? kEverything : in_a->second,
                           in_b == zone.limits.end() ? kEverything : in_b->second),
                 zone_title(shown, zone));
  }
  return text;
}

Panel phase_panel(const Shown& shown, std::size_t a, std::size_t b) {
  const Plot plot = field_of(axis_of(shown, a), axis_of(shown, b));
  const std::string below = state_label(shown.question, a);
  const std::string title = state_label(shown.question, b) + " over " + below;
  std::string text = axes(plot, title, below) + phase_zones(shown, plot, a, b);
  const auto boxes = [&](const std::vector<TubePiece>& pieces) {
    std::string parts;
    for (const TubePiece& piece : pieces) parts += rectangle(plot, piece.state[a], piece.state[b]);
    return parts;
  };
  text += path("tube", boxes(shown.tube));
  text += sample_lines(shown, plot, [&](const Trajectory& trajectory, std::size_t k) {
    return PlotPoint(trajectory[k][a], trajectory[k][b]);
  });
  text += path("violation", boxes(shown.violation));
  const Box& initial = shown.question.loop.initial;
  text += path(
      "start",
      rectangle(plot, {initial.lower[a], initial.upper[a]}, {initial.lower[b], initial.upper[b]}),
      "where the state starts");
  return {title, text};
}

// States that zones are of first, then the others, in their order.
std::vector<std::size_t> states_to_show(const Shown& shown) {
  const auto has_zone = [&](std::size_t state) {
    return std::any_of(shown.zones.begin(), shown.zones.end(),
                       [&](const Zone& zone) { return zone.limits.contains(state); });
  };
  std::vector<std::size_t> states(shown.question.loop.states());
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = i;
  if (states.size() <= kMostStates) return states;
  std::stable_partition(states.begin(), states.end(), has_zone);
  states.resize(kMostStates);
  return states;
}

}  // namespace

std::string panel_style() {
  return R"(.tubes text{font:11px system-ui,"DejaVu Sans",sans-serif;fill:#5c6670}
.tubes .title{font-size:13px;font-weight:600;fill:#1d2126}
.tubes .ground{fill:#fbfbfa}.tubes .field{fill:#fff;stroke:#c9d1d8}.tubes .grid{stroke:#e3e6e8}
.tubes .tube{fill:#4c9bd6;fill-opacity:.5}.tubes .violation{fill:#c2271a}
.tubes .sample{fill:none;stroke:#1d2126;stroke-width:.7;stroke-opacity:.55}
.tubes .zone{fill:#e08a2c;fill-opacity:.35}
.tubes .together{fill:#e08a2c;fill-opacity:.12;stroke:#e08a2c;stroke-dasharray:3 3}
.tubes .start{fill:none;stroke:#0a8a63;stroke-width:1.5}
@media(prefers-color-scheme:dark){.tubes text{fill:#9aa5af}.tubes .title{fill:#e5e8eb}
.tubes .ground{fill:#14171a}.tubes .field{fill:#1b1f24;stroke:#48525c}.tubes .grid{stroke:#2d343b}
.tubes .violation{fill:#ff6a5a}.tubes .sample{stroke:#e5e8eb}.tubes .start{stroke:#4cc79c}}
)";
}

std::string state_label(const Question& question, std::size_t state) {
  const std::vector<std::string>& names = question.loop.state_names;
  return names.empty() ? fmt::format("x[{}]", state) : names[state];
}

const char* time_unit(const Question& question) {
  return question.loop.kind == PlantKind::kDiscrete ? "steps" : "s";
}

mpq_class horizon(const Question& question) {
  return question.loop.period * static_cast<unsigned long>(question.loop.steps);
}

std::vector<Panel> tube_panels(const Question& question, const ReachOutcome& outcome) {
  Shown shown{.question = question,
              .outcome = outcome,
              .zones = forbidden_zones(question),
              .tube = {},
              .violation = {},
              .end = number(horizon(question))};
  const std::vector<std::size_t> states = states_to_show(shown);
  const auto pairs = pairs_to_show(question, kMostPairs);
  const std::size_t count = std::max<std::size_t>(states.size() + pairs.size(), 1);
  shown.tube = thinned(outcome.tube, kMostPieces / count);
  if (outcome.violation)
    shown.violation = thinned(outcome.violation->trajectory, kMostPieces / count);
  shown.points = kMostPoints / count;
  std::vector<Panel> panels;
  for (const std::size_t state : states) panels.push_back(state_panel(shown, state));
  for (const auto& [a, b] : pairs) panels.push_back(phase_panel(shown, a, b));
  return panels;
}

}  // namespace bf_aot::reach
