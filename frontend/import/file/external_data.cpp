#include "frontend/import/file/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

struct Location {
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

[[noreturn]] void bad_data(const std::string& where, std::string message) {
  fail("BF1024", where, std::move(message),
       "keep the data file in the model's folder or below it, under the name in the model");
}

std::uint64_t parse_bytes(const std::string& text, std::string_view key, const std::string& where) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end)
    bad_data(where, fmt::format("external data {} '{}' is not a byte count", key, printable(text)));
  return number;
}

Location parse_location(const onnx::TensorProto& proto, std::uint64_t expected_bytes,
                        const std::string& where) {
  std::map<std::string, std::string> entries;
  for (const onnx::StringStringEntryProto& entry : proto.external_data())
    if (!entries.emplace(entry.key(), entry.value()).second)
      bad_data(where, fmt::format("external data lists '{}' twice", printable(entry.key())));
  Location location;
  location.path = entries["location"];
  if (location.path.empty()) bad_data(where, "external data has no location");
  if (entries.contains("offset")) location.offset = parse_bytes(entries["offset"], "offset", where);
  location.length =
      entries.contains("length") ? parse_bytes(entries["length"], "length", where) : expected_bytes;
  return location;
}

// The file that `relative` names within `folder`, links resolved.
fs::path resolve(const fs::path& folder, const std::string& relative, const std::string& where) {
  const fs::path path(relative);
  const std::string shown = printable(relative);
  if (relative.find('\0') != std::string::npos || path.is_absolute() || path.has_root_name() ||
      std::find(path.begin(), path.end(), "..") != path.end())
    bad_data(where, fmt::format("external data location '{}' leaves the model's folder", shown));
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) bad_data(where, "the model's folder cannot be read");
  fs::path file = fs::canonical(root / path, error);
  if (error) bad_data(where, fmt::format("external data file '{}' does not exist", shown));
  const auto [rest, unused] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (rest != root.end())
    bad_data(where, fmt::format("external data location '{}' leaves the model's folder", shown));
  if (!fs::is_regular_file(file, error))
    bad_data(where, fmt::format("external data '{}' is not a regular file", shown));
  return file;
}

}  // namespace

std::string read_external_data(const onnx::TensorProto& proto, const fs::path& folder,
                               std::uint64_t expected_bytes, const std::string& where) {
  const Location location = parse_location(proto, expected_bytes, where);
  if (location.length != expected_bytes)
    bad_data(where, fmt::format("external data has {} bytes but the tensor's shape needs {}",
                                location.length, expected_bytes));
  const fs::path file = resolve(folder, location.path, where);
  std::error_code error;
  const std::uint64_t size = fs::file_size(file, error);
  if (error || location.offset > size || location.length > size - location.offset)
    bad_data(where, fmt::format("bytes {} + {} lie beyond the end of external data file '{}'",
                                location.offset, location.length, printable(location.path)));
  std::string bytes(expected_bytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(location.offset));
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    bad_data(where,
             fmt::format("external data file '{}' cannot be read", printable(location.path)));
  return bytes;
}

}  // namespace bf_aot
