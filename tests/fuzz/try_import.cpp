#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/import/file/importer.h"
#include "tests/fuzz/fuzz_importer.h"

namespace bf_aot::test {

bool try_import(std::string_view bytes) {
  ImportLimits limits;
  limits.nodes = 1'000;
  limits.tensor_elements = 1 << 16;
  limits.total_elements = 1 << 20;
  try {
    const ImportedModel model = import_model_bytes(bytes, "fuzz.onnx", {}, limits);
    verify(model.graph);
    BF_CHECK(!to_string(model.graph).empty());
    return true;
  } catch (const CompileError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      BF_CHECK(diagnostic.code.starts_with("BF10") || diagnostic.code == "BF2005");  // overflow
      BF_CHECK(!diagnostic.message.empty());
    }
    return false;
  }
}

}  // namespace bf_aot::test
