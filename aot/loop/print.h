#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aot/loop/nest.h"

namespace bf::loop {

// Vector types that printed code uses: (element type, lanes), lanes > 1.
using VectorTypes = std::set<std::pair<Type, std::int64_t>>;

// C++ statements of nests that run one after the other, indented by two spaces. With `shared`,
// each nest's outermost loop has this name and is written once around all of them.
// Adds the vector types that the text names to `types`.
std::string print(const std::vector<Nest>& nests, const std::string& shared, VectorTypes& types);

// "f32x16"; "float" for one lane.
std::string type_name(Type type, std::int64_t lanes);

}  // namespace bf::loop
