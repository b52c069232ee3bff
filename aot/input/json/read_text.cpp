#include "aot/input/json/read_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::input {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;

}  // namespace

std::string read_text(const std::filesystem::path& path, std::string_view what) {
  const std::string where = printable(path.string());
  ReadBytes read = read_bytes(path, kMaxFileBytes, Sources::kFilesAndPipes);
  if (read.too_large) fail("BF3002", where, fmt::format("the {} {}", what, read.problem));
  if (!read.problem.empty())
    fail("BF3001", where, fmt::format("cannot read the {}: {}", what, read.problem),
         "check what it is and its permissions");
  return std::move(read.bytes);
}

}  // namespace bf_aot::input
