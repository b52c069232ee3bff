#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bf_aot {

// Storage of an entry point.

enum class Element : std::uint8_t { kFloat32, kFloat64, kInt32, kUint8 };

constexpr std::size_t size_of(Element element) {
  if (element == Element::kUint8) return 1;
  return element == Element::kFloat64 ? 8 : 4;
}

enum class BufferId : std::int32_t { kNone = -1 };

// The time for which a buffer's contents stay valid.
enum class CacheScope : std::uint8_t {
  kRun,         // one call: the workspace
  kEpoch,       // until a call on another box: the context
  kPersistent,  // until something better replaces them, saving and loading included: the context
};

// A range of the arena, live from the op that first writes it to the last that touches it (steps
// are made of ops, see spans_of()); or, when its scope is not kRun, of the context, whose ranges
// never share bytes.
struct Buffer {
  std::string name;
  Element element = Element::kFloat32;
  std::int64_t count = 0;
  std::int64_t bytes = 0;   // count elements, rounded up to the alignment
  std::int64_t offset = 0;  // bytes from the start of the arena or of the context
  int first = 0;            // index of a step in its entry
  int last = 0;
  CacheScope scope = CacheScope::kRun;
  int first_op = 0;  // of step `first`
  int last_op = 0;   // of step `last`
  int values = 1;    // that it holds one after the other, each written over the one before
  // Each worker has its own, in its part of the arena: offset counts from the start of the part.
  bool per_worker = false;
  bool operator==(const Buffer&) const = default;
};

// The knowledge about the smallest possible arena for an entry's buffers.
enum class StorageProof : std::uint8_t {
  kNotShared,   // a range for each buffer
  kLowerBound,  // the arena is as large as the buffers alive in one op
  kSearched,    // an exact search has found that there is none smaller
  kBestFound,   // nothing: the smallest that was found
};

struct StorageTotals {
  std::int64_t naive_bytes = 0;        // one range per value
  std::int64_t planned_bytes = 0;      // what the arena needs
  std::int64_t lower_bound_bytes = 0;  // largest sum of buffers alive in one op
  StorageProof proof = StorageProof::kNotShared;
  bool operator==(const StorageTotals&) const = default;
};

// Returns true if some op lies in both lifetimes.
bool live_together(const Buffer& a, const Buffer& b);

std::string_view to_string(Element element);
std::string_view to_string(CacheScope scope);
std::string_view to_string(StorageProof proof);

}  // namespace bf_aot
