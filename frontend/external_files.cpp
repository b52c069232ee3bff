#include "frontend/external_files.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/gzip.h"
#include "frontend/read_bytes.h"

namespace bf_aot {

// An entry {key: "location", value: ...} of TensorProto.external_data, wherever the tensor is.
std::vector<std::filesystem::path> external_files(const std::filesystem::path& model) {
  constexpr std::uint64_t kMostBytes = 0x7fff'ffff;
  constexpr std::string_view kEntry = "\x0a\x08location\x12";
  constexpr unsigned kMostShift = 28;  // of a length, which comes in groups of 7 bits
  std::string bytes = read_bytes(model, kMostBytes, Sources::kFiles).bytes;
  if (is_gzip(bytes)) bytes = unpack_gzip(bytes, kMostBytes).bytes;
  const std::filesystem::path folder = model.has_parent_path() ? model.parent_path() : ".";
  std::set<std::filesystem::path> files;
  for (std::size_t at = bytes.find(kEntry); at != std::string::npos; at = bytes.find(kEntry, at)) {
    at += kEntry.size();
    std::size_t length = 0;
    for (unsigned shift = 0; at < bytes.size() && shift < kMostShift; shift += 7) {
      const auto part = static_cast<unsigned char>(bytes[at++]);
      length |= static_cast<std::size_t>(part & 127) << shift;
      if (part < 128) break;
    }
    files.insert(folder / bytes.substr(std::min(at, bytes.size()), length));
  }
  return {files.begin(), files.end()};
}

}  // namespace bf_aot
