#pragma once

#include "aot/input/exact_box.h"
#include "aot/input/json/json_reader.h"

// Boxes that stand in JSON. They are apart from the readers of arrays, which need other libraries.

namespace bf_aot::input {

// Reads {"lower": [..], "upper": [..]} or {"ids": [..]} of an object with further keys. doubles:
// each number stands for the nearest double, which a program printed.
TypedBox box_at(const JsonAt& object, bool doubles);

// Reads {"lower": [..], "upper": [..]} that stands in a file of something else.
TypedBox typed_box_at(const JsonAt& object);

}  // namespace bf_aot::input
