#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace bf_aot::loop {

// The primitives of schedules. They rearrange the loops of a nest and never change what it
// computes, but for the order of summation. Nest::why_not says where one does not apply,
// Nest::apply applies it.

// Splits `loop` in two: `outer` goes around it in steps of `step` loop steps. The last tile may be
// shorter.
struct Split {
  std::string loop;
  std::int64_t step = 1;
  std::string outer;
  bool operator==(const Split&) const = default;
};

// Splits two neighbouring loops at once: outers[0], outers[1], loops[0], loops[1].
struct Tile {
  std::array<std::string, 2> loops;
  std::array<std::int64_t, 2> steps = {1, 1};
  std::array<std::string, 2> outers;
  bool operator==(const Tile&) const = default;
};

// Makes two neighbouring loops one over the product of their trips. A new axis takes the place of
// theirs: indices that used them count with its quotient and remainder.
struct Fuse {
  std::string outer;
  std::string inner;
  std::string fused;
  bool operator==(const Fuse&) const = default;
};

// Sets the loops' order, outermost first; names every loop once.
struct Reorder {
  std::vector<std::string> order;
  bool operator==(const Reorder&) const = default;
};

// Puts all iterations side by side, in a register tile. With a factor, a loop stays, whose body has
// `factor` copies.
struct Unroll {
  std::string loop;
  int factor = 0;
  bool operator==(const Unroll&) const = default;
};

// Keeps a loop over these iterations in what follows the sums of a register tile, which is its
// epilogue and the stores of sums: sums leave their accumulators for an array in memory first, and
// the code is that of one point.
struct Roll {
  std::string loop;
  bool operator==(const Roll&) const = default;
};

// Makes the innermost loop the lanes of vectors; its trip count is the number of lanes.
struct Vectorize {
  std::string loop;
  bool operator==(const Vectorize&) const = default;
};

// States that the iterations do not depend on each other: they may run in any order, or at once.
// Printed as a serial loop; a caller that runs whole tiles may deal them out.
struct Parallel {
  std::string loop;
  bool operator==(const Parallel&) const = default;
};

// Deals the iterations of an outermost loop out to the items of a device's group: `items` of them
// take them in turns, of which item i of the group is number i / stride % items. Bound loops take
// all items of the group apart, so that each iteration is one item's. Loops that nests share may go
// around them: in each iteration all items wait for each other after each of the nests.
struct Bind {
  std::string loop;
  int stride = 1;
  int items = 1;
  bool operator==(const Bind&) const = default;
};

// Gathers sums inside a reduced loop in accumulators of their own, which are added to the outer
// ones once per iteration: chains of roundings become shorter.
struct CacheWrite {
  std::string loop;
  bool operator==(const CacheWrite&) const = default;
};

// Loads a value of the body into a register once per point, where the compiler would read memory at
// every use.
struct Keep {
  std::string let;
  bool operator==(const Keep&) const = default;
};

// Restricts an axis to a part, so that a nest and its copy cover a range that no tile divides.
struct Restrict {
  std::string axis;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Restrict&) const = default;
};

// Computes a value of the body or of the epilogue where it is used, at every use.
struct Inline {
  std::string let;
  bool operator==(const Inline&) const = default;
};

// Prefetches, where an element of the buffer is read, the memory that lies `bytes` ahead.
struct Prefetch {
  std::string buffer;
  std::int64_t bytes = 0;
  bool operator==(const Prefetch&) const = default;
};

// Makes the innermost loop a call of a function that computes the same: see intrinsics.h.
struct Tensorize {
  std::string loop;
  std::string intrinsic;
  bool operator==(const Tensorize&) const = default;
};

using Primitive = std::variant<Split, Tile, Fuse, Reorder, Unroll, Roll, Vectorize, Parallel, Bind,
                               CacheWrite, Keep, Restrict, Inline, Prefetch, Tensorize>;

// The primitive as text: "split(o, 16, v)".
std::string to_string(const Primitive& primitive);

}  // namespace bf_aot::loop
