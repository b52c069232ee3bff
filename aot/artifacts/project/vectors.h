#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bf_aot::artifacts {

// Where the inputs of vectors lie: input i between first unit and (first + steps) unit, all of them
// floats. One element of each array, or one for each input.
struct InputGrid {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> steps;  // 0 to 256
  std::vector<float> unit;          // powers of two
};

// Numbers between which an end of a bound must lie; the same number twice where bits are defined.
struct Window {
  float least = 0, most = 0;
};

// A box, and where the bounds of each output lie.
struct Vector {
  std::int32_t width = 0;  // of each input, of 256 steps
  std::vector<float> lower, upper;
  std::vector<Window> out_lower, out_upper;
};

// These boxes and windows say what a build of a verifier must compute: docs/guide/on-the-target.md.
struct Vectors {
  InputGrid grid;
  bool exact = false;  // windows have one number
  std::vector<Vector> list;
};

// Sets the box of vector `index` from its width. NAME_selftest.c does the same on the device: all
// operations are exact.
void make_box(const InputGrid& grid, std::size_t index, std::size_t inputs, Vector& vector);

}  // namespace bf_aot::artifacts
