#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/import/file/model_cut.h"

namespace bf_aot {

struct ImportedModel {
  Graph graph;
  ModelInfo info;
  std::vector<OnnxNode> nodes;  // of the file, in its order
};

// Limits of what one model may cost, since a hostile file must not exhaust the machine. A model
// that exceeds one fails with BF1002, BF1005 or BF1028.
struct ImportLimits {
  std::uint64_t file_bytes = 0x7fff'ffff;    // what protobuf can parse
  std::size_t nodes = 65'536;                // also: initializers, inputs, outputs
  std::size_t rank = 16;                     // dimensions of one tensor
  std::int64_t tensor_elements = 1LL << 28;  // of one tensor
  std::int64_t total_elements = 1LL << 30;   // of all constants and index maps together
  // Elements of values, index maps and sums that are made: so many, and for each that is stored.
  std::int64_t made_elements = 1LL << 25;
  std::int64_t made_per_stored = 16;
};

// Model inputs that are to be constants: name -> bytes of a serialized TensorProto.
using InputBindings = std::map<std::string, std::string>;

// Names of the supported operators of domain ai.onnx, in order, and the operator sets.
std::vector<std::string_view> supported_operators();
// Names of the supported operators of other domains: "com.microsoft.QLinearAdd".
std::vector<std::string> contributed_operators();
struct OpsetRange {
  std::int64_t oldest = 0, newest = 0;
};
OpsetRange supported_opsets();

// Reads an ONNX model, plain or compressed by gzip. External weights are read from the model's
// folder only. Throws: CompileError BF10xx with all problems found (docs/reference/diagnostics.md).
ImportedModel import_model(const std::filesystem::path& path, const ImportLimits& limits = {},
                           const InputBindings& bindings = {}, const ModelCut& cut = {});

// Imports a model from memory. `folder` is where external data is looked for; empty forbids it.
ImportedModel import_model_bytes(std::string_view bytes, const std::string& file_name,
                                 const std::filesystem::path& folder,
                                 const ImportLimits& limits = {},
                                 const InputBindings& bindings = {}, const ModelCut& cut = {});

// A tensor as files beside test models hold it, in double; NaN and infinities are let through.
struct TensorFile {
  std::string name;
  Shape shape;
  std::vector<double> data;
  bool is_integer = false;  // or bool
  bool is_narrow = false;   // float16, bfloat16: its elements are rounded to few bits
};

// `bytes`: a serialized TensorProto; `where` names it in messages. Integers are rounded to double.
// Throws: BF1005, BF1021, BF1022.
TensorFile read_tensor(std::string_view bytes, const std::string& where);

// An initializer of a model's file. Throws: BF1008 there is none; as import_model() and
// read_tensor().
TensorFile read_initializer(const std::filesystem::path& path, const std::string& name);

// Returns the tensor as a serialized TensorProto of type FLOAT, or DOUBLE. in_float: its data are
// floats.
std::string tensor_bytes(const TensorFile& tensor, bool in_float);

}  // namespace bf_aot
