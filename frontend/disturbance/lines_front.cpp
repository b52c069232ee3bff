#include "frontend/disturbance/lines_front.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "frontend/derivative/node_maker.h"

namespace bf_aot {
namespace {

constexpr char kOrigin[] = "lines in front of the network";

// Element j of the parameters for each of their slopes.
IndexMap repeated(std::int64_t parameters, std::int64_t inputs) {
  IndexMap map;
  for (std::int64_t j = 0; j < parameters; ++j)
    map.source.insert(map.source.end(), static_cast<std::size_t>(inputs), j);
  return map;
}

// The sum over the parameters of terms [parameters, inputs].
SparseAffine sum_of_terms(std::int64_t parameters, std::int64_t inputs) {
  SparseAffine sum;
  sum.row_start = {0};
  for (std::int64_t i = 0; i < inputs; ++i) {
    for (std::int64_t j = 0; j < parameters; ++j) sum.column.push_back(j * inputs + i);
    sum.row_start.push_back(static_cast<std::int64_t>(sum.column.size()));
  }
  sum.value = {{parameters * inputs}, std::vector<double>(sum.column.size(), 1.0), {}};
  sum.bias = {{inputs}, std::vector<double>(static_cast<std::size_t>(inputs), 0.0), {}};
  return sum;
}

}  // namespace

Graph behind_lines(const Graph& graph, std::int64_t parameters) {
  Graph made = graph;
  std::int64_t inputs = 0;
  for (const ValueId input : graph.inputs) inputs += element_count(graph.value(input).shape);

  made.inputs = {made.add_value("parameters", {parameters}),
                 made.add_value("slopes", {parameters, inputs}),
                 made.add_value("offsets", {inputs})};
  made.nodes.clear();
  NodeMaker make(made, "lines", kOrigin);
  const Shape terms = {parameters, inputs};
  const ValueId each = make.add(repeated(parameters, inputs), {made.inputs[0]}, terms);
  const ValueId products = make.times(made.inputs[1], each);
  const ValueId sum = parameters == 1
                          ? make.reshaped(products, {inputs})
                          : make.add(sum_of_terms(parameters, inputs), {products}, {inputs});
  const ValueId x = make.plus(sum, made.inputs[2]);
  std::int64_t first = 0;
  for (const ValueId input : graph.inputs) {
    IndexMap part;
    part.source.resize(static_cast<std::size_t>(element_count(graph.value(input).shape)));
    std::iota(part.source.begin(), part.source.end(), first);
    first += static_cast<std::int64_t>(part.source.size());
    made.nodes.push_back({std::move(part), {x}, input, kOrigin});
  }
  made.nodes.insert(made.nodes.end(), graph.nodes.begin(), graph.nodes.end());
  verify(made);
  return made;
}

}  // namespace bf_aot
