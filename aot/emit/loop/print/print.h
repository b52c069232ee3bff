#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aot/emit/loop/nest.h"
#include "aot/emit/loop/program.h"

namespace bf_aot::loop {

// What printed code needs of its file, beyond what every verifier has.
struct Needs {
  std::set<std::pair<Type, std::int64_t>> vectors;  // types: element and lanes, more than one
  std::set<std::string> intrinsics;                 // by name: "copy_floats"
  bool operator==(const Needs&) const = default;
};

// C++ statements of a program whose nests are complete, indented by two spaces. Adds to `needs`.
std::string print(const Program& program, Needs& needs);

// "f32x16"; "float" for one lane.
std::string type_name(Type type, std::int64_t lanes);

}  // namespace bf_aot::loop
