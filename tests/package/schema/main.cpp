// A program that reads ONNX files with messages of its own, and bounds them with bf_aot: main
// MODEL.
#include <bf_aot/bf_aot.h>

#include <cstdio>
#include <fstream>

#include "onnx.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  onnx::ModelProto own;
  const bool parsed = own.ParseFromIstream(&file);
  std::printf("own: %d, %s, ir %d, %d nodes, %d bytes\n", parsed, own.GetTypeName().c_str(),
              static_cast<int>(own.ir_version()), own.graph().node_size(),
              static_cast<int>(own.DebugString().size()));
  const auto model = bf_aot::api::Model::load(argv[1]);
  if (!model) {
    std::printf("bf_aot: %s\n", model.error().text().c_str());
    return 1;
  }
  std::printf("bf_aot: %zu inputs, %zu outputs, %zu numbers\n", model->input_count(),
              model->output_count(), model->parameter_count());
  return 0;
}
