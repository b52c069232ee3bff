#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bf {

// Storage of an entry point.

enum class Element : std::uint8_t { kFloat32, kFloat64, kInt32 };

constexpr std::size_t size_of(Element element) {
  return element == Element::kFloat64 ? 8 : 4;
}

enum class BufferId : std::int32_t { kNone = -1 };

// How long a buffer's contents are good for.
enum class CacheScope : std::uint8_t {
  kRun,         // one call: the workspace
  kEpoch,       // until a call on another box: the context
  kPersistent,  // until something better replaces them, saving and loading included: the context
};

// A range of the arena, live from the step that first writes it to the last that touches it; or,
// when its scope is not RUN, of the context, whose ranges never share bytes.
struct Buffer {
  std::string name;
  Element element = Element::kFloat32;
  std::int64_t count = 0;
  std::int64_t bytes = 0;   // count elements, rounded up to the alignment
  std::int64_t offset = 0;  // bytes from the start of the arena or of the context
  int first = 0;            // index of a step in its entry
  int last = 0;
  CacheScope scope = CacheScope::kRun;
  bool operator==(const Buffer&) const = default;
};

struct StorageTotals {
  std::int64_t naive_bytes = 0;        // one range per buffer
  std::int64_t planned_bytes = 0;      // what the arena needs
  std::int64_t lower_bound_bytes = 0;  // largest sum of buffers alive in one step
  bool operator==(const StorageTotals&) const = default;
};

std::string_view to_string(Element element);
std::string_view to_string(CacheScope scope);

}  // namespace bf
