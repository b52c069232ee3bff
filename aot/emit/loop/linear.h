#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// constant + sum of coefficient * variable, in order of first use. Variables are C++ text that
// binds like a name.
struct Linear {
  std::vector<std::pair<std::string, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const Linear& other, std::int64_t factor);
  bool is_zero() const { return terms.empty() && constant == 0; }
};

// C++: "4 * i + 6 * panel - 2".
std::string to_text(const Linear& linear);

// What indices are in terms of the variables of a nest's printed loops.
class LoopValues {
 public:
  explicit LoopValues(const Nest& nest) : nest_(nest) {}

  // Of the first lane, where it is the vector loop; a place, where it walks those of a list.
  Linear value_of(const Loop& loop) const;
  Linear linear(const Index& index) const;

  // By how much an index grows from lane to lane; nothing where it does not do so evenly.
  std::optional<std::int64_t> lane_stride(const Index& index) const;

  // The loop whose value is the first of the term's tile; nullptr: the tile is found by division.
  const Loop* tiles_of(const IndexTerm& term) const;

 private:
  Linear axis_value(const std::string& axis) const;
  Linear floor_of(const IndexTerm& term) const;  // floor(axis / tile)
  const Loop* loop_of(const std::string& axis, std::int64_t step) const;

  const Nest& nest_;
};

}  // namespace bf_aot::loop
