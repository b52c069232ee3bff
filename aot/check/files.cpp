#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>

#include "aot/check/exact.h"

namespace bf_check {
namespace {

constexpr u64 kMostExpanded = u64{1} << 32;
constexpr std::size_t kBlock = std::size_t{1} << 16;

bool is_gzip(const std::string& bytes, std::size_t at) {
  return bytes.compare(at, 2, "\x1f\x8b") == 0;
}

// Appends what the member that begins at `at` expands to. Returns its end.
std::size_t expand_member(const std::string& bytes, std::size_t at, std::string& expanded) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_streamp)> end(&stream, inflateEnd);
  int state = Z_OK;
  while (state == Z_OK) {
    unsigned char block[kBlock];
    const std::size_t given = std::min(bytes.size() - at, kBlock);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = block;
    stream.avail_out = static_cast<uInt>(kBlock);
    state = inflate(&stream, Z_NO_FLUSH);  // Z_BUF_ERROR: the member is cut off
    at += given - stream.avail_in;
    expanded.append(reinterpret_cast<char*>(block), kBlock - stream.avail_out);
    if (expanded.size() > kMostExpanded) refuse("a file expands to more than 2^32 bytes");
  }
  if (state != Z_STREAM_END) refuse("a file's compression is damaged, or cut off");
  return at;
}

std::string bytes_of(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) refuse("cannot open " + shown(path));
  std::string bytes;
  char block[kBlock];
  while (const std::size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) refuse("cannot read " + shown(path));
  return bytes;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::string bytes = bytes_of(path), expanded;
  if (!is_gzip(bytes, 0)) return bytes;
  for (std::size_t at = 0; at < bytes.size();) {
    if (!is_gzip(bytes, at)) refuse("a compressed file goes on behind its end");
    at = expand_member(bytes, at, expanded);
  }
  return expanded;
}

}  // namespace bf_check
