#include <cstdint>
#include <vector>

#include "aot/input/array.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/fuzz/fuzz_files.h"

namespace bf_aot::test {
namespace {

void read_array(std::string_view bytes) {
  const input::Array array = input::parse_npy(bytes, "a.npy");
  std::size_t count = 1;
  for (const std::int64_t extent : array.shape) count *= static_cast<std::size_t>(extent);
  BF_CHECK(array.values.size() == count);
}

void read_network(std::string_view text) {
  const Graph graph = import_model_bytes(text, "a.nnet", {}).graph;
  BF_CHECK(graph.inputs.size() == 1 && graph.outputs.size() == 1);
  const std::int64_t inputs = element_count(graph.value(graph.inputs[0]).shape);
  const std::int64_t outputs = element_count(graph.value(graph.outputs[0]).shape);
  const auto values = evaluate(graph, {std::vector<double>(static_cast<std::size_t>(inputs), 0)});
  BF_CHECK(values[0].size() == static_cast<std::size_t>(outputs));
}

}  // namespace

bool try_file(std::string_view bytes) {
  try {
    if (input::is_npy(bytes))
      read_array(bytes);
    else
      read_network(bytes);
    return true;
  } catch (const CompileError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      BF_CHECK(diagnostic.code.starts_with("BF10") || diagnostic.code.starts_with("BF30"));
      BF_CHECK(!diagnostic.message.empty());
    }
    return false;
  }
}

}  // namespace bf_aot::test
