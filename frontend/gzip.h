#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;  // of zlib

namespace bf_aot {

bool is_gzip(std::string_view bytes);

struct Unpacked {
  enum class State : std::uint8_t {
    kWhole,
    kDamaged,   // or cut off
    kTooLarge,  // more than the limit comes out
  };
  State state = State::kWhole;
  std::string bytes;  // if whole
};

// Expands what is_gzip() as zlib's gzread does: members that stand one after the other are one
// text, and what follows the last member and is none itself is left out. Throws std::bad_alloc.
Unpacked unpack_gzip(std::string_view bytes, std::uint64_t most_bytes);

// Compresses a text that comes in pieces, to one member. What is compressed so far is returned; the
// bytes depend on the text alone. Throws std::bad_alloc.
class GzipPacker {
 public:
  GzipPacker();
  std::string add(std::string_view bytes);
  std::string end();

 private:
  std::string pack(std::string_view bytes, int flush);

  std::unique_ptr<z_stream_s, void (*)(z_stream_s*)> stream_;
};

}  // namespace bf_aot
