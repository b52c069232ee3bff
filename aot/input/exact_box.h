#pragma once

#include <filesystem>
#include <optional>

#include "aot/input/json_io.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/property.h"

namespace bf_aot::input {

// A box whose ends may be no doubles. `box` encloses it, `inner` holds the doubles in it, and
// `between` has a point of each input that has none, as in a PropertyCase.
struct ExactBox {
  Box box, inner;
  LinearForm between;
};

// A box of which every end is in it, and a double.
inline ExactBox exact_box(const Box& box) {
  return {box, box, {}};
}

// Adds an interval for one more input. middle(): a number in it, where it holds no double.
template <class Middle>
void add_interval(ExactBox& to, const vnnlib::Number& lower, const vnnlib::Number& upper,
                  const Middle& middle) {
  to.box.lower.push_back(lower.below);
  to.box.upper.push_back(upper.above);
  to.inner.lower.push_back(lower.above);
  to.inner.upper.push_back(upper.below);
  if (lower.above > upper.below)
    to.between.emplace_back(static_cast<std::int64_t>(to.box.lower.size()) - 1, middle());
}

// A box as it was typed: file.box encloses it.
struct TypedBox {
  BoxFile file;
  Box inner;
  LinearForm between;

  ExactBox exact() const { return {file.box, inner, between}; }
};

// Reads a box as read_box() does.
TypedBox read_typed_box(const std::filesystem::path& path, std::optional<std::size_t> index);

}  // namespace bf_aot::input
