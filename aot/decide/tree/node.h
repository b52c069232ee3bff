#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bf_aot::decide::tree {

// A part of what is searched. The state holds all that a worker must know of it besides its root,
// in bytes that mean the same on every machine and in every process.
struct Node {
  std::uint32_t root = 0;   // number of the root that it descends from
  std::uint32_t depth = 0;  // splits from there
  std::vector<std::byte> state;

  bool operator==(const Node&) const = default;
};

// A node this deep is not split, so that files that hold trees can be checked against a limit.
constexpr std::uint32_t kMostDepth = 1u << 16;

}  // namespace bf_aot::decide::tree
