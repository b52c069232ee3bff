#include "frontend/graph/model.h"

#include <fmt/format.h>

#include <utility>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr std::size_t kPrintedBytes = 200;

// Length of the UTF-8 sequence that `text` begins with; 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and what lies above U+10FFFF.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

// `-` and pipes that the user names are read; in a folder of the program's own there are none.
std::string read_once(const std::filesystem::path& path, std::uint64_t max_bytes,
                      std::string_view what, Sources sources) {
  const std::string where = printable(path.filename().string());
  ReadBytes read = read_bytes(path, max_bytes, sources);
  if (read.too_large)
    fail("BF1002", where, fmt::format("the {} {}", what, read.problem),
         "store the weights as external data beside a smaller model file");
  if (!read.problem.empty())
    fail("BF1001", where, fmt::format("cannot read the {}: {}", what, read.problem),
         read.problem.starts_with("no such file") ? "give the path of an existing file"
                                                  : "check what it is and its permissions");
  return std::move(read.bytes);
}

}  // namespace

// Some commands read a model twice; standard input ends after once.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes,
                      std::string_view what, Sources sources) {
  if (path != "-" && path != "/dev/stdin") return read_once(path, max_bytes, what, sources);
  static const std::string standard_input = read_once(path, max_bytes, what, sources);
  return standard_input;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (result.size() + length > kPrintedBytes) return result + "...";
    if (length == 0 || first < 0x20 || first == 0x7f || first == '\\') {
      result += '_';
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace bf_aot
