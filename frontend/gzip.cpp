#include "frontend/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

namespace bf_aot {
namespace {

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

// Expands the member that `bytes` begins with, appends it to `to` and removes it from `bytes`.
Unpacked::State unpack_member(std::string_view& bytes, std::uint64_t most_bytes, std::string& to) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;  // zlib counts in 32 bits
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, EndInflate> end(&stream);
  std::string block(kBlock, '\0');
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t given = std::min(bytes.size(), kBlock);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(kBlock);
    state = inflate(&stream, Z_NO_FLUSH);  // Z_BUF_ERROR: the member is cut off
    bytes.remove_prefix(given - stream.avail_in);
    to.append(block, 0, kBlock - stream.avail_out);
    if (to.size() > most_bytes) return Unpacked::State::kTooLarge;
  }
  return state == Z_STREAM_END ? Unpacked::State::kWhole : Unpacked::State::kDamaged;
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

Unpacked unpack_gzip(std::string_view bytes, std::uint64_t most_bytes) {
  Unpacked result;
  do {
    result.state = unpack_member(bytes, most_bytes, result.bytes);
  } while (result.state == Unpacked::State::kWhole && is_gzip(bytes));
  return result;
}

}  // namespace bf_aot
