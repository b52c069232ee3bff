#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/emit/loop/nest.h"

namespace bf_aot::loop {

// A sum constant + sum of coefficient * variable, in order of first use. Variables are C++ text
// that binds like a name.
struct Linear {
  std::vector<std::pair<std::string, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const Linear& other, std::int64_t factor);
  bool is_zero() const { return terms.empty() && constant == 0; }
};

// The sum in C++: "4 * i + 6 * panel - 2".
std::string to_text(const Linear& linear);

// Writes indices in terms of the variables of a nest's printed loops.
class LoopValues {
 public:
  // entry: the function that reads a list.
  explicit LoopValues(const Nest& nest, std::string entry = "entry")
      : nest_(nest), entry_(std::move(entry)) {}

  // The value of a loop; for the vector loop that of the first lane, for a loop that walks a list a
  // place in it.
  Linear value_of(const Loop& loop) const;
  Linear linear(const Index& index) const;

  // The amount by which an index grows from lane to lane; none where it does not grow evenly.
  std::optional<std::int64_t> lane_stride(const Index& index) const;

  // The loop whose value is the first of the term's tile; nullptr: the tile is found by division.
  const Loop* tiles_of(const IndexTerm& term) const;

 private:
  Linear axis_value(const IndexTerm& term) const;
  Linear floor_of(const IndexTerm& term) const;  // floor(axis / tile)
  const Loop* loop_of(const std::string& axis, std::int64_t step) const;

  const Nest& nest_;
  const std::string entry_;
};

}  // namespace bf_aot::loop
