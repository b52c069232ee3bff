#include "frontend/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>

namespace bf_aot {
namespace {

using State = Unpacked::State;

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

// Takes a block of the text. Returns whether that is not too much.
using Take = std::function<bool(std::string_view)>;

// Expands the member that `bytes` begins with, and removes it from `bytes`.
State expand_member(std::string_view& bytes, const Take& take) {
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
    if (!take({block.data(), kBlock - stream.avail_out})) return State::kTooLarge;
  }
  return state == Z_STREAM_END ? State::kWhole : State::kDamaged;
}

State expand(std::string_view bytes, const Take& take) {
  State state = State::kWhole;
  do {
    state = expand_member(bytes, take);
  } while (state == State::kWhole && is_gzip(bytes));
  return state;
}

// The size of the text, as far as that is no more than most_bytes. Keeps nothing of it.
std::uint64_t counted(std::string_view bytes, std::uint64_t most_bytes) {
  std::uint64_t size = 0;
  expand(bytes, [&](std::string_view block) {
    size += block.size();
    return size <= most_bytes;
  });
  return size;
}

// Returns the size of the text as a file of one member states it in its last four bytes, modulo
// 2^32; a hostile file may state any.
std::uint64_t size_said(std::string_view bytes) {
  constexpr std::uint64_t kMostRatio = 1032;  // of deflate
  std::uint64_t size = 0;
  for (std::size_t i = bytes.size() < 4 ? 0 : 4; i > 0; --i)
    size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - 5 + i]);
  return std::min(size, kMostRatio * bytes.size());
}

constexpr std::size_t kPacked = std::size_t{1} << 16;  // bytes that are made at a time

void end_deflate(z_stream* stream) {
  deflateEnd(stream);
  delete stream;
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

// A text that is too large is only counted, and so is what is larger than its file says: what is
// held is never more than the text.
Unpacked unpack_gzip(std::string_view bytes, std::uint64_t most_bytes) {
  Unpacked result;
  std::uint64_t room = size_said(bytes);
  if (room > most_bytes) room = counted(bytes, most_bytes);
  if (room > most_bytes) return {State::kTooLarge, {}};
  result.bytes.reserve(room);
  result.state = expand(bytes, [&](std::string_view block) {
    if (result.bytes.size() + block.size() > room) {
      room = counted(bytes, most_bytes);
      if (room > most_bytes) return false;
      result.bytes.reserve(room);
    }
    result.bytes.append(block);
    return true;
  });
  return result;
}

GzipPacker::GzipPacker() : stream_(nullptr, end_deflate) {
  constexpr int kGzip = 16 + MAX_WBITS, kMemory = 8;
  auto stream = std::make_unique<z_stream>();
  if (deflateInit2(stream.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  stream_.reset(stream.release());
}

std::string GzipPacker::add(std::string_view bytes) {
  std::string packed;
  while (!bytes.empty()) {
    packed += pack(bytes.substr(0, kPacked), Z_NO_FLUSH);
    bytes.remove_prefix(std::min(bytes.size(), kPacked));
  }
  return packed;
}

std::string GzipPacker::end() {
  return pack({}, Z_FINISH);
}

std::string GzipPacker::pack(std::string_view bytes, int flush) {
  std::string packed;
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  do {
    const std::size_t before = packed.size();
    packed.resize(before + kPacked);
    stream_->next_out = reinterpret_cast<Bytef*>(packed.data() + before);
    stream_->avail_out = static_cast<uInt>(kPacked);
    deflate(stream_.get(), flush);
    packed.resize(packed.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  return packed;
}

}  // namespace bf_aot
