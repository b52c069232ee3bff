#include "aot/json/read_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <system_error>

#include "frontend/diagnostic.h"
#include "frontend/model.h"

namespace bf_aot::cli {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;

}  // namespace

// The size of a pipe is known at its end alone.
std::string read_text(const std::filesystem::path& path, std::string_view what) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const std::string where = printable(path.string());
  const std::filesystem::path source = path == "-" ? "/dev/stdin" : path;
  std::error_code error;
  if (!std::filesystem::exists(source, error) || std::filesystem::is_directory(source, error))
    fail("BF3001", where, fmt::format("cannot read the {}: no such file", what));
  const bool regular = std::filesystem::is_regular_file(source, error);
  const std::uintmax_t size = regular ? std::filesystem::file_size(source, error) : 0;
  if (size > kMaxFileBytes)
    fail("BF3002", where,
         fmt::format("the {} has {} bytes, the limit is {}", what, size, kMaxFileBytes));
  std::ifstream stream(source, std::ios::binary);
  std::string text, block(kBlock, '\0');
  while (stream && text.size() <= kMaxFileBytes) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > kMaxFileBytes)
    fail("BF3002", where, fmt::format("the {} is larger than {} bytes", what, kMaxFileBytes));
  if (!stream.eof())
    fail("BF3001", where, fmt::format("cannot read the {}", what), "check its permissions");
  return text;
}

}  // namespace bf_aot::cli
