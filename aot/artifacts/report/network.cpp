#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/rails.h"
#include "aot/artifacts/report/report.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

constexpr int kRowHeight = 30;
constexpr std::size_t kNameLength = 34;

// The maps of a layer's terms: "conv", "sparse + gather".
std::string maps_of(const Layer& layer) {
  std::string text;
  for (const Term& term : layer.terms) {
    const char* const name = std::holds_alternative<ConvMap>(term.map)     ? "conv"
                             : std::holds_alternative<SparseMap>(term.map) ? "sparse"
                                                                           : "gather";
    if (text.find(name) == std::string::npos)
      text += (text.empty() ? "" : " + ") + std::string(name);
  }
  return layer.kind == LayerKind::kSum ? text : std::string(to_string(layer.kind));
}

std::string activation_of(const Layer& layer) {
  if (layer.relu) return " · relu";
  return layer.function ? " · " + std::string(name_of(layer.function->kind)) : "";
}

std::string extents(const Layer& layer) {
  std::string in;
  if (layer.kind == LayerKind::kDense) {
    in = count_text(layer.in);
  } else if (layer.terms.size() > 2) {
    in = fmt::format("{} tensors", layer.terms.size());
  } else {
    for (const Term& term : layer.terms) in += (in.empty() ? "" : " + ") + count_text(term.in);
  }
  return fmt::format("{} → {}", in, count_text(layer.out));
}

const DomainChoice* choice_of(const Plan& plan, LayerId layer) {
  for (const DomainChoice& choice : plan.domains)
    if (choice.layer == layer) return &choice;
  return nullptr;
}

const LayerSample* sample_of(const Findings& findings, LayerId layer) {
  for (const LayerSample& sample : findings.samples)
    if (sample.layer == layer) return &sample;
  return nullptr;
}

// The least and the largest mean width, between which a logarithmic bar shows widths.
struct WidthScale {
  double low = HUGE_VAL, high = 0;
  explicit WidthScale(const Findings& findings) {
    for (const LayerSample& sample : findings.samples) {
      if (!std::isfinite(sample.mean_width) || sample.mean_width <= 0) continue;
      low = std::min(low, sample.mean_width);
      high = std::max(high, sample.mean_width);
    }
  }
  double share(double width) const {
    if (!std::isfinite(width)) return 1;
    if (width <= 0 || high <= 0) return 0;
    return high > low ? 0.06 + 0.94 * std::log(width / low) / std::log(high / low) : 1;
  }
};

std::string sample_cells(const LayerSample* sample, const WidthScale& scale) {
  if (sample == nullptr) return "<td></td><td></td><td></td><td></td>";
  std::string cells = "<td></td><td></td>";
  const std::int64_t all = sample->active + sample->inactive + sample->unstable;
  if (all > 0) {
    const auto part = [&](std::int64_t count, const char* name) {
      return fmt::format("<i class=\"{}\" style=\"width:{:.1f}%\"></i>", name,
                         100 * static_cast<double>(count) / static_cast<double>(all));
    };
    cells = fmt::format(
        "<td><span class=\"stack\" title=\"{} active, {} inactive, {} unstable\">{}{}{}</span></td>"
        "<td class=\"r\">{:.1f} %</td>",
        sample->active, sample->inactive, sample->unstable, part(sample->inactive, "inactive"),
        part(sample->active, "active"), part(sample->unstable, "unstable"),
        100 * static_cast<double>(sample->unstable) / static_cast<double>(all));
  }
  return cells + fmt::format("<td>{}</td><td class=\"r\">{}</td>",
                             bar(scale.share(sample->mean_width), "w",
                                 "widest " + number_text(sample->max_width)),
                             number_text(sample->mean_width));
}

std::string head_row(bool sampled) {
  return fmt::format(
      "<thead><tr><th></th><th>layer</th><th>computes</th><th class=\"r\">in → out</th>"
      "<th>bounds</th>{}<th class=\"why\">why</th></tr></thead>",
      sampled ? "<th>inactive · active · unstable</th><th class=\"r\">unstable</th>"
                "<th>mean width</th><th class=\"r\"></th>"
              : "");
}

std::string end_row(const std::string& rail, std::string_view name, std::string_view what,
                    std::int64_t count, bool sampled) {
  return fmt::format(
      "<tr><td class=\"g\">{}</td><td><span class=\"box end mono\">{}</span></td><td "
      "class=\"soft\">{}"
      "</td><td class=\"r\">{}</td><td></td><td></td>{}</tr>\n",
      rail, escape(shorten(name, kNameLength)), what, count_text(static_cast<double>(count)),
      sampled ? "<td></td><td></td><td></td><td></td>" : "");
}

std::string layer_row(const Plan& plan, const Findings& findings, std::size_t i,
                      const std::string& rail, const WidthScale& scale) {
  const Layer& layer = plan.layers[i];
  const DomainChoice* const choice = choice_of(plan, static_cast<int>(i));
  std::string domain, reason;
  if (choice != nullptr) {
    const std::string_view name = to_string(choice->domain);
    domain = fmt::format("<span class=\"tag {}\">{}</span>", name, name);
    reason = escape(choice->reason);
  }
  return fmt::format(
      "<tr><td class=\"g\">{}</td><td title=\"{}\"><span class=\"box mono {}\">{}</span></td>"
      "<td>{}{}</td><td class=\"r\">{}</td><td>{}</td>{}<td class=\"clip\" "
      "title=\"{}\">{}</td></tr>\n",
      rail, escape(layer.name + ": " + layer.origin.text), to_string(layer.kind),
      escape(shorten(layer.name, kNameLength)), maps_of(layer), escape(activation_of(layer)),
      extents(layer), domain,
      findings.samples.empty() ? "" : sample_cells(sample_of(findings, static_cast<int>(i)), scale),
      reason, reason);
}

// The rows that each row reads. Rows are the input, the layers, the outputs.
std::vector<std::vector<int>> edges_of(const Plan& plan) {
  std::vector<std::vector<int>> inputs(1);
  for (const Layer& layer : plan.layers) {
    inputs.emplace_back();
    for (const LayerId input : inputs_of(layer)) inputs.back().push_back(input.number() + 1);
  }
  for (const auto* heads : {&plan.output_heads, &plan.spec_heads}) {
    if (heads->empty()) continue;
    inputs.emplace_back();
    for (const LayerId head : *heads) inputs.back().push_back(head.number() + 1);
  }
  return inputs;
}

std::string joined(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + value.name;
  return text;
}

}  // namespace

std::string network_part(const Plan& plan, const Findings& findings) {
  const auto inputs = edges_of(plan);
  std::vector<std::string> nodes(inputs.size(), "end");
  for (std::size_t i = 0; i < plan.layers.size(); ++i)
    if (const DomainChoice* const choice = choice_of(plan, static_cast<int>(i)))
      nodes[i + 1] = std::string(to_string(choice->domain));
  const Rails rails = draw_rails(inputs, nodes, kRowHeight);
  const bool sampled = !findings.samples.empty();
  const WidthScale scale(findings);
  std::string body =
      end_row(rails.rows[0], joined(plan.inputs), "input", plan.input_count, sampled);
  for (std::size_t i = 0; i < plan.layers.size(); ++i)
    body += layer_row(plan, findings, i, rails.rows[i + 1], scale);
  std::size_t row = plan.layers.size() + 1;
  if (!plan.output_heads.empty())
    body += end_row(rails.rows[row++], joined(plan.outputs), "output", plan.output_count, sampled);
  if (!plan.spec_heads.empty())
    body += end_row(rails.rows[row], "specification", "rows", plan.spec_rows, sampled);
  std::string legend =
      "<ul class=\"legend\"><li><i style=\"background:var(--idle)\"></i>interval bounds</li>"
      "<li><i style=\"background:var(--unstable)\"></i>backward bounds</li>";
  if (sampled)
    legend +=
        "<li>neurons: <i style=\"background:var(--idle);margin-left:6px\"></i>inactive</li>"
        "<li><i style=\"background:var(--active)\"></i>active</li>"
        "<li><i style=\"background:var(--unstable)\"></i>unstable</li><li>widths: logarithmic "
        "bars</li>";
  const std::string lead =
      sampled ? fmt::format(
                    "Each layer, what it reads (rails), and how it is bounded; neurons and "
                    "widths on {} sample box{}, executed in double.",
                    findings.boxes, findings.boxes == 1 ? "" : "es")
              : "Each layer, what it reads (rails), and how it is bounded. With a box there are "
                "counts of unstable neurons and widths as well.";
  return section("network", "Network", lead,
                 legend + "</ul><div class=\"scroll\"><table>" + head_row(sampled) + "<tbody>\n" +
                     body + "</tbody></table></div>");
}

}  // namespace bf_aot::artifacts
