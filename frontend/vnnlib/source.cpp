#include "frontend/vnnlib/source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

#include "frontend/diagnostic.h"
#include "frontend/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::vnnlib {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

[[noreturn]] void fail_too_large(std::uint64_t max_bytes, std::string_view name) {
  fail("BF3402", std::string(name), fmt::format("the property is larger than {} bytes", max_bytes),
       "split it: the verdicts of its parts decide it");
}

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

std::string expand(std::string bytes, std::uint64_t max_bytes, std::string_view name) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  z_stream stream = {};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, EndInflate> end(&stream);
  std::string text, block(kBlock, '\0');
  std::size_t read = 0;  // bytes given to zlib
  int state = Z_OK;
  while (true) {
    if (stream.avail_in == 0 && read < bytes.size()) {
      const std::size_t count = std::min(bytes.size() - read, kBlock);
      stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + read);
      stream.avail_in = static_cast<uInt>(count);
      read += count;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(block.data(), block.size() - stream.avail_out);
    if (text.size() > max_bytes) fail_too_large(max_bytes, name);
    // A gzip file may consist of several members.
    const bool more = stream.avail_in > 0 || read < bytes.size();
    if (state == Z_STREAM_END && more && inflateReset(&stream) == Z_OK) continue;
    if (state != Z_OK || (!more && stream.avail_out > 0)) break;
  }
  if (state != Z_STREAM_END)
    fail("BF3401", std::string(name), "the compressed file is damaged or incomplete",
         "compress it again with gzip");
  return text;
}

std::string read_source(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string name = printable(path.string());
  ReadBytes read = read_bytes(path, max_bytes, Sources::kFilesAndPipes);
  if (read.too_large) fail_too_large(max_bytes, name);
  if (!read.problem.empty())
    fail("BF3401", name, fmt::format("cannot read the property: {}", read.problem),
         "check the path and its permissions");
  return expand(std::move(read.bytes), max_bytes, name);
}

}  // namespace bf_aot::vnnlib
