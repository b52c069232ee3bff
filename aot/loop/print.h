#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aot/loop/nest.h"
#include "aot/loop/program.h"

namespace bf::loop {

// Vector types that printed code uses: (element type, lanes), lanes > 1.
using VectorTypes = std::set<std::pair<Type, std::int64_t>>;

// C++ statements of a program whose nests are complete, indented by two spaces. Adds the vector
// types that the text names to `types`.
std::string print(const Program& program, VectorTypes& types);

// "f32x16"; "float" for one lane.
std::string type_name(Type type, std::int64_t lanes);

}  // namespace bf::loop
