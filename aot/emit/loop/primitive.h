#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace bf_aot::loop {

// What rearranges the loops of a nest and never what it computes, but for the order of summation.
// Nest::why_not says where one does not apply, Nest::apply applies it.

// `loop` becomes two: `outer` in steps of `step` loop steps around it. The last tile may be
// shorter.
struct Split {
  std::string loop;
  std::int64_t step = 1;
  std::string outer;
  bool operator==(const Split&) const = default;
};

// Two neighbouring loops split at once: outers[0], outers[1], loops[0], loops[1].
struct Tile {
  std::array<std::string, 2> loops;
  std::array<std::int64_t, 2> steps = {1, 1};
  std::array<std::string, 2> outers;
  bool operator==(const Tile&) const = default;
};

// Two neighbouring loops become one over the product of their trips. A new axis takes the place of
// theirs: indices that used them count with its quotient and remainder.
struct Fuse {
  std::string outer;
  std::string inner;
  std::string fused;
  bool operator==(const Fuse&) const = default;
};

// The loops' order, outermost first; names every loop once.
struct Reorder {
  std::vector<std::string> order;
  bool operator==(const Reorder&) const = default;
};

// All iterations side by side, in a register tile; with a factor, so many copies of the body of a
// loop that stays one.
struct Unroll {
  std::string loop;
  int factor = 0;
  bool operator==(const Unroll&) const = default;
};

// What follows the sums of a register tile, its epilogue and what sums leave for, stays a loop over
// these iterations: sums leave their accumulators for an array in memory first, and the code is
// that of one point.
struct Roll {
  std::string loop;
  bool operator==(const Roll&) const = default;
};

// The innermost loop becomes the lanes of vectors; its trip count is the number of lanes.
struct Vectorize {
  std::string loop;
  bool operator==(const Vectorize&) const = default;
};

// States that the iterations do not depend on each other: they may run in any order, or at once.
// Printed as a serial loop; who runs whole tiles may share them out.
struct Parallel {
  std::string loop;
  bool operator==(const Parallel&) const = default;
};

// Sums inside a reduced loop are gathered in accumulators of their own, written to the outer ones
// once per iteration: shorter chains of roundings.
struct CacheWrite {
  std::string loop;
  bool operator==(const CacheWrite&) const = default;
};

// A value of the body is loaded into a register once per point, where the compiler would read
// memory at every use.
struct Keep {
  std::string let;
  bool operator==(const Keep&) const = default;
};

// A part of an axis: a nest and its copy cover a range that no tile divides.
struct Restrict {
  std::string axis;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Restrict&) const = default;
};

// A value of the body or of the epilogue is computed where it is used, at every use.
struct Inline {
  std::string let;
  bool operator==(const Inline&) const = default;
};

// Where an element of the buffer is read, memory is asked for what lies so many bytes ahead.
struct Prefetch {
  std::string buffer;
  std::int64_t bytes = 0;
  bool operator==(const Prefetch&) const = default;
};

// The innermost loop becomes a call of a function that computes the same: see intrinsics.h.
struct Tensorize {
  std::string loop;
  std::string intrinsic;
  bool operator==(const Tensorize&) const = default;
};

using Primitive = std::variant<Split, Tile, Fuse, Reorder, Unroll, Roll, Vectorize, Parallel,
                               CacheWrite, Keep, Restrict, Inline, Prefetch, Tensorize>;

// "split(o, 16, v)"
std::string to_string(const Primitive& primitive);

}  // namespace bf_aot::loop
