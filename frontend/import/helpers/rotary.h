#pragma once

#include <cstdint>
#include <functional>

#include "frontend/import/file/node_import.h"

namespace bf_aot {

// Features that turn in pairs, by angles that depend on their position: (x_a, x_b) becomes
// (x_a cos - x_b sin, x_a sin + x_b cos).
struct Rotation {
  std::int64_t batch, heads, length;
  // The element of x by batch entry, head, position and feature.
  std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t)> at;
  std::int64_t turning;      // features that turn, the first ones; an even number
  bool interleaved = false;  // pairs are neighbours, else of the first half and of the second
  // The element of the tables by batch entry, position and pair.
  std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t)> angle;
};

// x, whose other elements stay, with tables of cosines and of sines.
ValueId add_rotated(NodeImport& node, ValueId x, const Rotation& rotation, ValueId cosines,
                    ValueId sines);

}  // namespace bf_aot
