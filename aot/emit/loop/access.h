#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// Questions about the memory that a nest reads and writes. Answers err on the safe side: accesses
// that are said to be apart are apart.

struct Access {
  std::string buffer;
  Index index;
  bool write = false;
  Type type = Type::kFloat32;
  std::vector<Range> within;  // its padding predicate
  bool kept = false;          // at the points of kept axes alone, as a sum's and the epilogue's are
};

// The loads, stores, and places where sums go. Those of padding predicates and tables are left out.
std::vector<Access> accesses(const Expression& expression);

// Least and greatest value.
struct Span {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Span&) const = default;
};

// The span of an index over all points of the axes. A lookup in a table may have any value.
Span span(const std::vector<Axis>& axes, const Index& index);

// Returns whether some point fails the predicate.
bool can_fail(const std::vector<Axis>& axes, const Range& range);

// Returns whether no iteration of `loop` touches an element that another iteration of `other_loop`,
// at another value, touches: loops over axes of equal names in two nests, or one loop of one nest.
bool apart_by_iteration(const Nest& nest, const Loop& loop, const Access& access,
                        const Nest& other_nest, const Access& other);

// The reason why iterations of the loop depend on each other through memory; none if they do not.
Reason why_dependent(const Nest& nest, const Loop& loop);

// The reason why the order of the nest's points matters beyond rounding: some element is touched at
// two of them and stored at one. Where a sum goes, its points are those of the kept axes.
Reason why_order_matters(const Nest& nest);

// The reason why lanes would read or overwrite what another lane stores. Lanes are neighbours in
// every store, so that those of one index are apart.
Reason why_lanes_depend(const Nest& nest);

}  // namespace bf_aot::loop
