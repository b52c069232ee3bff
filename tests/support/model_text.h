#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/paths.h"

namespace bf_aot::test {

// A fresh folder that goes away with the object.
class TempFolder {
 public:
  TempFolder() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("bf_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The bytes of an .onnx file, from protobuf text format.
inline std::string encode_model(std::string_view text) {
  const TempFolder folder;
  const std::filesystem::path input = folder.path() / "model.textproto";
  const std::filesystem::path output = folder.path() / "model.onnx";
  write_bytes(input, text);
  const std::string command =
      std::string("'" BF_PROTOC "' --proto_path='" BF_SOURCE_DIR
                  "/onnx_schema' --encode=bf_aot.onnx.ModelProto bf_aot_onnx.proto < '") +
      input.string() + "' > '" + output.string() + "'";
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("protoc cannot encode:\n" + std::string(text));
  return read_bytes(output);
}

inline std::string encode_model_file(const std::filesystem::path& textproto) {
  return encode_model(read_bytes(textproto));
}

}  // namespace bf_aot::test
