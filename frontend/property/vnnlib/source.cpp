#include "frontend/property/vnnlib/source.h"

#include <fmt/format.h>

#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/gzip.h"
#include "frontend/read_bytes.h"

namespace bf_aot::vnnlib {
namespace {

[[noreturn]] void fail_too_large(std::uint64_t max_bytes, std::string_view name) {
  fail("BF3402", std::string(name), fmt::format("the property is larger than {} bytes", max_bytes),
       "split it: the verdicts of its parts decide it");
}

}  // namespace

std::string expand(std::string bytes, std::uint64_t max_bytes, std::string_view name) {
  if (!is_gzip(bytes)) return bytes;
  Unpacked unpacked = unpack_gzip(bytes, max_bytes);
  if (unpacked.state == Unpacked::State::kTooLarge) fail_too_large(max_bytes, name);
  if (unpacked.state == Unpacked::State::kDamaged)
    fail("BF3401", std::string(name), "the compressed file is damaged or incomplete",
         "compress it again with gzip");
  return std::move(unpacked.bytes);
}

std::string read_source(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string name = printable(path.string());
  ReadBytes read = read_bytes(path, max_bytes, Sources::kFilesAndPipes);
  if (read.too_large) fail_too_large(max_bytes, name);
  if (!read.problem.empty())
    fail("BF3401", name, fmt::format("cannot read the property: {}", read.problem),
         "check the path and its permissions");
  std::string text = expand(std::move(read.bytes), max_bytes, name);
  if (text.find('\0') != std::string::npos)
    fail("BF3403", name, "the file holds bytes that are no text of VNN-LIB",
         "give the model first, then the property");
  return text;
}

}  // namespace bf_aot::vnnlib
