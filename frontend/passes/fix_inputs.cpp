#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"

namespace bf_aot {

void fix_inputs(Graph& graph, const FixedInputs& fixed) {
  BF_CHECK(graph.inputs.size() == 1 && graph.one_hot.size == 0);
  const ValueId whole = graph.inputs[0];
  const auto count = static_cast<std::int64_t>(fixed.value.size());
  BF_CHECK(element_count(graph.value(whole).shape) == count);
  const auto free_count = static_cast<std::int64_t>(fixed.free.size());
  const ValueId free = graph.add_value("free", {free_count});
  SparseAffine map;
  map.column.resize(fixed.free.size());
  map.value = {{free_count}, std::vector<double>(fixed.free.size(), 1.0), {}};
  map.bias = {{count}, fixed.value, fixed.error};
  map.row_start = {0};
  for (std::int64_t i = 0, k = 0; i < count; ++i) {
    if (!fixed.is_fixed(i)) {
      const auto at = static_cast<std::size_t>(i);
      map.column[static_cast<std::size_t>(k)] = k;
      map.bias.data[at] = map.bias.error[at] = 0;
      ++k;
    }
    map.row_start.push_back(k);
  }
  graph.nodes.insert(graph.nodes.begin(), {std::move(map), {free}, whole, "fixed inputs"});
  graph.inputs = {free};
  graph.input_parts = {graph.value(free)};
}

}  // namespace bf_aot
