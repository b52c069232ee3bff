#pragma once

#include <cstdint>
#include <cstdlib>

namespace bf::testing {

// Of random tests: BF_SEED when set, which repeats a run, else `fallback`.
inline std::uint64_t seed_from_environment(std::uint64_t fallback) {
  const char* text = std::getenv("BF_SEED");
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

}  // namespace bf::testing
