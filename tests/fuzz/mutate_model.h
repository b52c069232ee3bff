#pragma once

#include <string>
#include <string_view>

namespace bf_aot::test {

// The bytes of a model that differs from the given one in a few places of its message: nodes,
// their inputs and attributes, tensors, shapes, element types. Not a model: as they are.
std::string mutate_model(std::string_view bytes, unsigned seed);

}  // namespace bf_aot::test
