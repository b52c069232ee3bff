#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aot/emit/loop/nest.h"
#include "aot/emit/loop/program.h"
#include "aot/emit/text/dialect.h"

namespace bf_aot::loop {

// The types and functions that printed code needs in its file, beyond those that every verifier
// has.
struct Needs {
  std::set<std::pair<Type, std::int64_t>> vectors;  // element and lanes, more than one
  std::set<std::string> intrinsics;                 // by name: "copy_floats"
  bool operator==(const Needs&) const = default;
};

// Statements of a program whose nests are complete, indented by two spaces. Adds to `needs`. C has
// one lane alone.
std::string print(const Program& program, Needs& needs,
                  const emit::Dialect& dialect = emit::Dialect());

// The name of a vector's type, "f32x16"; "float" for one lane.
std::string type_name(Type type, std::int64_t lanes);

}  // namespace bf_aot::loop
