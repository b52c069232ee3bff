// A program with an onnx.proto and a protobuf of its own, and libbf_aot.so: beside MODEL.
#include <bf_aot.h>
#include <bf_aot/bf_aot.h>  // the macros of both headers are the same

#include <cstdio>
#include <fstream>

#include "onnx.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  onnx::ModelProto own;
  const bool parsed = own.ParseFromIstream(&file);
  bf_aot_model* model = nullptr;
  if (bf_aot_error* const error = bf_aot_model_load(argv[1], &model)) {
    std::puts(bf_aot_error_text(error));
    bf_aot_error_free(error);
    return 1;
  }
  std::printf("own: %d, %s, %d nodes; bf_aot: %zu inputs\n", parsed, own.GetTypeName().c_str(),
              own.graph().node_size(), bf_aot_model_elements(model, BF_AOT_INPUTS));
  bf_aot_model_free(model);
  return 0;
}
