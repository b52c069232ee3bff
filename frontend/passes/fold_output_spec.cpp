#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

bool all_finite(const std::vector<double>& numbers) {
  for (double x : numbers)
    if (!std::isfinite(x)) return false;
  return true;
}

void check_rows(const LinearSpec& spec, std::int64_t outputs) {
  if (spec.rows.empty()) fail("BF2009", "", "the specification has no rows");
  if (!spec.offset.empty() && spec.offset.size() != spec.rows.size())
    fail("BF2009", "",
         fmt::format("the specification has {} offsets for {} rows", spec.offset.size(),
                     spec.rows.size()));
  for (std::size_t i = 0; i < spec.rows.size(); ++i) {
    if (static_cast<std::int64_t>(spec.rows[i].size()) != outputs)
      fail("BF2007", fmt::format("specification row {}", i),
           fmt::format("it has {} coefficients but the network has {} outputs", spec.rows[i].size(),
                       outputs),
           "give one coefficient per element of the flattened output");
    if (!all_finite(spec.rows[i]))
      fail("BF2009", fmt::format("specification row {}", i), "a coefficient is not finite");
  }
  for (const std::vector<double>& error : spec.row_error)
    BF_CHECK(all_finite(error) && static_cast<std::int64_t>(error.size()) == outputs);
  BF_CHECK(spec.row_error.empty() || spec.row_error.size() == spec.rows.size());
  if (!all_finite(spec.offset)) fail("BF2009", "", "an offset of the specification is not finite");
}

Affine to_affine(const LinearSpec& spec, std::int64_t outputs) {
  const auto rows = static_cast<std::int64_t>(spec.rows.size());
  Affine affine{filled({rows, outputs}, 0), filled({rows}, 0)};
  affine.weight.data.clear();
  for (const std::vector<double>& row : spec.rows)
    affine.weight.data.insert(affine.weight.data.end(), row.begin(), row.end());
  for (const std::vector<double>& error : spec.row_error)
    affine.weight.error.insert(affine.weight.error.end(), error.begin(), error.end());
  for (std::size_t i = 0; i < spec.offset.size(); ++i) affine.bias.data[i] = 0 - spec.offset[i];
  return affine;
}

// One step towards the input: `spec`, an Affine, reads what its producer reads. Returns whether
// there may be a further step.
bool absorb_producer(const Graph& graph, const Node& producer, Node& spec) {
  const auto& affine = std::get<Affine>(spec.op);
  bool more = true;
  if (const auto* map = std::get_if<IndexMap>(&producer.op)) {
    const std::int64_t count = element_count(graph.value(producer.inputs[0]).shape);
    if (!fits_dense(affine.weight.shape[0], count)) return false;
    spec.op = compose(affine, *map, count, producer.origin);
  } else if (const auto* scale = std::get_if<Scale>(&producer.op)) {
    spec.op = compose(affine, *scale, producer.origin);
  } else if (const auto* last = std::get_if<Affine>(&producer.op)) {
    if (!fits_dense(affine.weight.shape[0], last->weight.shape[1])) return false;
    spec.op = compose(affine, *last, producer.origin);
    more = false;
  } else {
    return false;
  }
  spec.inputs = producer.inputs;
  spec.origin = join_origins(producer.origin, spec.origin);
  return more;
}

}  // namespace

void fold_output_spec(Graph& graph, const LinearSpec& spec) {
  if (graph.outputs.size() != 1)
    fail("BF2008", "",
         fmt::format("a specification needs a network with one output, but this one has {}",
                     graph.outputs.size()),
         "remove the other outputs from the model");
  const ValueId y = graph.outputs[0];
  const std::int64_t outputs = element_count(graph.value(y).shape);
  check_rows(spec, outputs);
  const auto rows = static_cast<std::int64_t>(spec.rows.size());
  if (!fits_dense(rows, outputs))
    fail("BF2004", "specification", fmt::format("its matrix would be {} x {}", rows, outputs),
         "give fewer rows");

  const ValueId s = graph.add_value(graph.value(y).name + "_spec", {1, rows});
  Node node{to_affine(spec, outputs), {y}, s, "specification"};
  const std::vector<int> makers = producers(graph);
  bool more = true;
  while (more) {
    const int maker = makers[index_of(node.inputs[0])];
    more = maker >= 0 && absorb_producer(graph, graph.nodes[static_cast<std::size_t>(maker)], node);
  }
  graph.nodes.push_back(std::move(node));
  graph.outputs.push_back(s);
  remove_dead_nodes(graph);
}

}  // namespace bf
