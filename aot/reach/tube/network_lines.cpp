#include "aot/reach/tube/network_lines.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/engine/verifier/make_verifier.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/lowering/lowered.h"
#include "runtime/bf/contract/workspace.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::reach {
namespace {

std::size_t elements(const Graph& graph, const std::vector<ValueId>& ids) {
  std::int64_t count = 0;
  for (const ValueId id : ids) count += element_count(graph.value(id).shape);
  return static_cast<std::size_t>(count);
}

// x = c + G z + d r, with inputs z, r, c, G, d in this order.
Graph symbols_network(std::int64_t symbols, std::int64_t count) {
  Graph graph;
  const Origin origin("the forms of the inputs");
  const auto input = [&](const char* name, Shape shape) {
    graph.inputs.push_back(graph.add_value(name, std::move(shape)));
    return graph.inputs.back();
  };
  const auto node = [&](Op op, std::vector<ValueId> inputs, const char* name) {
    const ValueId made = graph.add_value(name, {count, 1});
    graph.nodes.push_back({std::move(op), std::move(inputs), made, origin});
    return made;
  };
  const ValueId z = input("z", {symbols, 1}), r = input("r", {count, 1});
  const ValueId c = input("c", {count, 1}), g = input("G", {count, symbols});
  const ValueId d = input("d", {count, 1});
  const ValueId lines = node(MatMul{}, {g, z}, "G z");
  const ValueId rest = node(Binary{Binary::Kind::kMul}, {d, r}, "d r");
  const ValueId sum = node(Binary{Binary::Kind::kAdd}, {lines, rest}, "G z + d r");
  graph.outputs = {node(Binary{Binary::Kind::kAdd}, {sum, c}, "x")};
  return graph;
}

LinearSpec each_output(std::size_t outputs) {
  LinearSpec spec;
  for (std::size_t i = 0; i < outputs; ++i) {
    spec.rows.emplace_back(outputs, 0.0);
    spec.rows.back()[i] = 1;
  }
  return spec;
}

// Where the parts of the one input begin.
struct Places {
  std::size_t z = 0, r, c, g, d, count;
  Places(std::size_t symbols, std::size_t inputs)
      : r(symbols), c(r + inputs), g(c + inputs), d(g + inputs * symbols), count(d + inputs) {}
};

// The point of the inputs that says what the forms are. What float32 does not hold of a form is in
// d: c + G z + d r has every number that the form has.
std::vector<float> point_of(const std::vector<Form>& x, std::size_t symbols, const Places& at) {
  std::vector<float> point(at.count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto centre = static_cast<float>(x[i].centre);
    double rest = x[i].radius + std::fabs(x[i].centre - static_cast<double>(centre));
    for (std::size_t k = 0; k < x[i].slope.size(); ++k) {
      const auto slope = static_cast<float>(x[i].slope[k]);
      rest += std::fabs(x[i].slope[k] - static_cast<double>(slope));
      point[at.g + i * symbols + k] = slope;
    }
    point[at.c + i] = centre;
    // The differences are exact, but where they underflow, which the last term pays for; sums of
    // numbers of at least 0 are off by 2^-53 of themselves each.
    if (rest != 0) rest = rest * (1 + static_cast<double>(symbols + 4) * 0x1p-52) + 0x1p-960;
    point[at.d + i] = bf::float_up(rest);
  }
  return point;
}

// A number that a line bounds from below: number >= constant + sum slope_k z_k + sum rest_i r_i.
// line: the factors a_k of all inputs, and the least value: number >= least + sum |a_k| d_k, where
// |a_k| d_k = |a_k| + a_k z_k on [-1, 1] (docs/proofs/branch-and-bound.md, "Clipping").
struct Line {
  double constant, error;  // the exact constant is within `error`
  const float* slope;
};
Line line_of(const float* line, std::size_t free, std::size_t inputs) {
  double sum = 0;
  for (std::size_t k = 0; k < free; ++k) sum += std::fabs(static_cast<double>(line[k]));
  const auto least = static_cast<double>(line[inputs]);
  // |least| + sum of magnitudes, times what its additions lose.
  const double size = std::fabs(least) + sum;
  return {least + sum, size * static_cast<double>(free + 2) * 0x1p-52, line};
}

// The number lies above `below`, and its negative above `above`.
Form between(const Line& below, const Line& above, std::size_t symbols, std::size_t inputs) {
  Form made;
  made.slope.resize(symbols);
  double gap = 0, sizes = 0;
  for (std::size_t k = 0; k < symbols; ++k) {
    const auto low = static_cast<double>(below.slope[k]);
    const auto high = -static_cast<double>(above.slope[k]);
    made.slope[k] = low / 2 + high / 2;  // rounds in the sum alone
    gap += std::fabs(high / 2 - low / 2);
    sizes += std::fabs(made.slope[k]);
  }
  for (std::size_t i = 0; i < inputs; ++i)
    gap += std::max(std::fabs(static_cast<double>(below.slope[symbols + i])),
                    std::fabs(static_cast<double>(above.slope[symbols + i])));
  const double high = -above.constant, low = below.constant;
  made.centre = low / 2 + high / 2;
  // The lines differ from the middle one by at most this, and each rounding is 2^-53 of a result.
  gap += std::max(0.0, high / 2 - low / 2) + below.error + above.error;
  gap += 4 * 0x1p-53 * (sizes + std::fabs(made.centre) + std::fabs(high) + std::fabs(low));
  made.radius = gap * (1 + static_cast<double>(symbols + inputs + 8) * 0x1p-52) + 0x1p-960;
  return made;
}

std::vector<Form> nothing(std::size_t count) {
  return std::vector<Form>(count, form_of(kEverything));
}

}  // namespace

Graph over_symbols(Graph network, std::size_t symbols) {
  const std::size_t inputs = elements(network, network.inputs);
  const std::size_t outputs = network.outputs.size();
  const Places at(symbols, inputs);
  std::vector<std::int64_t> source;
  for (std::size_t i = 0; i < at.count; ++i) source.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < inputs; ++i)
    source.push_back(static_cast<std::int64_t>(at.count + i));
  std::vector<NamedGraph> parts;
  parts.push_back({"start", symbols_network(static_cast<std::int64_t>(symbols),
                                            static_cast<std::int64_t>(inputs))});
  parts.push_back({"network", std::move(network)});
  Graph merged = merge_graphs(std::move(parts), source, static_cast<std::int64_t>(at.count));
  merged.outputs.erase(merged.outputs.begin(),
                       merged.outputs.end() - static_cast<std::ptrdiff_t>(outputs));
  merged.networks = 1;
  return merged;
}

NetworkLines::NetworkLines(Graph network, const ModelInfo& info, std::size_t symbols,
                           const build::CompileOptions& compile,
                           const build::CompilerOptions& compiler)
    : symbols_(symbols),
      inputs_(elements(network, network.inputs)),
      outputs_(elements(network, network.outputs)) {
  build::CompileOptions options = compile;
  options.planner.decide = true;
  options.planner.splits = Splits::kInputs;
  options.planner.workers = 1;
  options.spec = each_output(outputs_);
  const std::string name = options.name.empty() ? "controller" : options.name;
  const std::shared_ptr<const Lowered> lowered = build::run_planner(
      build::run_frontend({over_symbols(std::move(network), symbols), info}, options), name,
      options);
  has_lines_ = keeps_coefficients(lowered->plan());
  host_ = std::move(engine::make_verifier(lowered, options, compiler).host);
}

NetworkLines::NetworkLines(const NetworkLines& other,
                           std::unique_ptr<const engine::HostVerifier> host)
    : symbols_(other.symbols_),
      inputs_(other.inputs_),
      outputs_(other.outputs_),
      has_lines_(other.has_lines_),
      host_(std::move(host)) {}

NetworkLines::~NetworkLines() = default;

NetworkLines NetworkLines::twin() const {
  return {*this, host_->twin()};
}

std::vector<Form> NetworkLines::bound(const std::vector<Form>& x) const {
  BF_CHECK(x.size() == inputs_);
  for (const Form& each : x)
    if (!is_finite(each) || each.slope.size() > symbols_) return nothing(outputs_);
  const Places at(symbols_, inputs_);
  std::vector<float> lower = point_of(x, symbols_, at), upper = lower;
  for (std::size_t i = at.z; i < at.c; ++i) {
    lower[i] = -1;
    upper[i] = 1;
  }
  for (const float each : lower)
    if (!std::isfinite(each)) return nothing(outputs_);
  const std::size_t numbers = bf::lines_of_row(at.count);
  std::vector<float> low(outputs_), high(outputs_), lines(outputs_ * numbers);
  bf_status status = BF_OK;
  if (has_lines_)
    host_->spec_coefficients_batch(1, lower.data(), upper.data(), low.data(), high.data(),
                                   lines.data(), &status);
  else
    host_->spec_bounds_batch(1, lower.data(), upper.data(), low.data(), high.data(), &status);
  if (status != BF_OK) return nothing(outputs_);
  std::vector<Form> made;
  for (std::size_t j = 0; j < outputs_; ++j) {
    const float* const line = lines.data() + j * numbers;
    Form whole = form_of(Range{static_cast<double>(low[j]), static_cast<double>(high[j])});
    if (!has_lines_) {
      made.push_back(std::move(whole));
      continue;
    }
    Form by_lines = between(line_of(line, at.c, at.count),
                            line_of(line + at.count + 1, at.c, at.count), symbols_, inputs_);
    const bool better = is_finite(by_lines) && !(whole.radius < by_lines.radius);
    made.push_back(better ? std::move(by_lines) : std::move(whole));
  }
  return made;
}

}  // namespace bf_aot::reach
