#pragma once

#include <cstdint>
#include <cstdlib>

namespace bf_aot::testing {

// Of random tests: BF_SEED when set, which repeats a run, else `fallback`.
inline std::uint64_t seed_from_environment(std::uint64_t fallback) {
  const char* text = std::getenv("BF_SEED");
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// How many times as much random tests do as in every build: BF_ROUNDS, or once.
inline int rounds_from_environment() {
  const char* text = std::getenv("BF_ROUNDS");
  const long rounds = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
  return rounds < 1 ? 1 : static_cast<int>(rounds);
}

// BF_SAMPLE=n: tests compile one verifier in n. By default all.
inline int sample_from_environment() {
  const char* text = std::getenv("BF_SAMPLE");
  const long sample = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
  return sample < 1 ? 1 : static_cast<int>(sample);
}

}  // namespace bf_aot::testing
