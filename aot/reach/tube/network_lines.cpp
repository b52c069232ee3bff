#include "aot/reach/tube/network_lines.h"

#include <optional>
#include <utility>

#include "aot/build/compile.h"
#include "aot/engine/verifier/make_verifier.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/lowering/lowered.h"
#include "runtime/bf/contract/workspace.h"
#include "runtime/bf/loops/lines.h"

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

std::vector<Form> nothing(std::size_t count) {
  return std::vector<Form>(count, form_of(kEverything));
}

}  // namespace

Graph over_symbols(Graph network, std::size_t symbols) {
  const std::size_t inputs = elements(network, network.inputs);
  const std::size_t outputs = network.outputs.size();
  const bf::loops::LinePlaces at = {symbols, inputs};
  std::vector<std::int64_t> source;
  for (std::size_t i = 0; i < at.count(); ++i) source.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < inputs; ++i)
    source.push_back(static_cast<std::int64_t>(at.count() + i));
  std::vector<NamedGraph> parts;
  parts.push_back({"start", symbols_network(static_cast<std::int64_t>(symbols),
                                            static_cast<std::int64_t>(inputs))});
  parts.push_back({"network", std::move(network)});
  Graph merged = merge_graphs(std::move(parts), source, static_cast<std::int64_t>(at.count()));
  merged.outputs.erase(merged.outputs.begin(),
                       merged.outputs.end() - static_cast<std::ptrdiff_t>(outputs));
  merged.networks = 1;
  return merged;
}

build::FrontendResult front_of_lines(Graph network, const ModelInfo& info, std::size_t symbols,
                                     build::CompileOptions& options) {
  options.planner.decide = true;
  options.planner.splits = Splits::kInputs;
  options.planner.workers = 1;
  options.spec = each_output(elements(network, network.outputs));
  return build::run_frontend({over_symbols(std::move(network), symbols), info}, options);
}

NetworkLines::NetworkLines(Graph network, const ModelInfo& info, std::size_t symbols,
                           const build::CompileOptions& compile,
                           const build::CompilerOptions& compiler)
    : symbols_(symbols),
      inputs_(elements(network, network.inputs)),
      outputs_(elements(network, network.outputs)) {
  build::CompileOptions options = compile;
  const build::FrontendResult front = front_of_lines(std::move(network), info, symbols, options);
  const std::string name = options.name.empty() ? "controller" : options.name;
  const std::shared_ptr<const Lowered> lowered = build::run_planner(front, name, options);
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
    if (each.slope.size() > symbols_) return nothing(outputs_);
  const bf::loops::LinePlaces at = {symbols_, inputs_};
  std::vector<float> lower(at.count()), upper(at.count());
  if (!bf::loops::write_box(x.data(), at, lower.data(), upper.data())) return nothing(outputs_);
  const std::size_t numbers = bf::lines_of_row(at.count());
  std::vector<float> low(outputs_), high(outputs_), lines(outputs_ * numbers);
  bf_status status = BF_OK;
  if (has_lines_)
    host_->spec_coefficients_batch(1, lower.data(), upper.data(), low.data(), high.data(),
                                   lines.data(), &status);
  else
    host_->spec_bounds_batch(1, lower.data(), upper.data(), low.data(), high.data(), &status);
  if (status != BF_OK) return nothing(outputs_);
  std::vector<Form> made;
  for (std::size_t j = 0; j < outputs_; ++j)
    made.push_back(bf::loops::output_form<Form>(
        low[j], high[j], has_lines_ ? lines.data() + j * numbers : nullptr, at));
  return made;
}

}  // namespace bf_aot::reach
