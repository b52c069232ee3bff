#pragma once

#include <string>

#include "aot/check/exact.h"

namespace bf_check {

// Bytes of a certificate that are being read. All functions throw NotProven, with the place.
class Input {
 public:
  explicit Input(const std::string& bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw NotProven("byte " + std::to_string(at_) + ": " + why);
  }

  unsigned byte() {
    if (at_ >= bytes_.size()) fail("the certificate ends too early");
    return static_cast<unsigned char>(bytes_[at_++]);
  }

  u64 number() {
    u64 value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const u64 part = byte();
      if (shift == 63 && part > 1) fail("a number has more than 64 bits");
      value |= (part & 127) << shift;
      if (part < 128) return value;
    }
  }

  std::string text(u64 size) {
    if (size > bytes_.size() - at_) fail("the certificate ends too early");
    const std::string part = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }

  bool done() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }

 private:
  const std::string& bytes_;
  std::size_t at_;
};

}  // namespace bf_check
