#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/input/json/json_reader.h"
#include "frontend/property/property.h"
#include "planner/plan/config.h"

// Readers of the JSON files that a user writes. All throw CompileError BF30xx that names the file
// and the place in it.

namespace bf_aot::input {

// A box as a file gives it: {"lower": [..], "upper": [..]}, or {"ids": [..]} (see id_sets_at()), or
// box `index` of a golden file
// {"boxes": [..]}, or a NumPy file of shape (2, ...): lower and upper. The numbers of a file are
// decimals, exact as they are written: each end of the box is the double next to its number,
// outside of the box. A file with "dtype": "float64" holds doubles that a program printed: its
// numbers are the doubles nearest to what is written.
struct BoxFile {
  Box box;
  std::string where;   // "box.json", "golden.json: boxes[2]"; for messages
  bool exact = false;  // every end is the number that was given
  // A file {"ids": [..]} has no box, but the ids that may stand at each position.
  std::optional<std::vector<std::vector<std::int64_t>>> ids = std::nullopt;
};
// Returns whether an object says that its numbers are doubles. Throws: BF3004 for another type.
bool holds_doubles(const JsonAt& object);
// Reads all boxes of a file that holds one or several.
std::vector<BoxFile> read_boxes(const std::filesystem::path& path);
BoxFile read_box(const std::filesystem::path& path, std::optional<std::size_t> index);

// A box as a verifier takes it: the smallest float32 box around the given one.
struct FloatBox {
  std::vector<float> lower, upper;
};
FloatBox round_outward(const BoxFile& file, int input_count);
// Whether no end of that float32 box differs from the number that was given.
bool holds_exactly(const BoxFile& file, const FloatBox& box);

// Reads {"C": [[..], ..]} and optionally "d": [..]: rows C y - d. Where a decimal is no double, the
// distance is an error of the specification, which bounds account for; "dtype" as in a box file.
LinearSpec read_spec(const std::filesystem::path& path);

// Reference bounds of one method. Empty spec vectors: the file has none.
struct GoldenBounds {
  std::vector<double> lower, upper, spec_lower, spec_upper;
};

struct GoldenBox {
  std::string description;
  BoxFile file;
  bool rounding_dominated = false;  // too small for widths to be compared
  std::vector<std::vector<double>> rows;
  // The box is unsafe where for some clause all of its rows satisfy row.y <= limits[row]; may be
  // empty.
  std::vector<double> limits;
  std::vector<std::vector<std::size_t>> clauses;     // indices into rows
  std::vector<double> forward;                       // outputs at the centre; may be empty
  std::vector<std::optional<GoldenBounds>> methods;  // indexed by Method
};

struct Golden {
  std::string network;
  std::vector<GoldenBox> boxes;
};

// Reads a file in the format of models/golden. Checks all lengths against the plan's counts.
Golden read_golden(const std::filesystem::path& path, int input_count, int output_count);

// The method's key in a golden file: "ibp", "crown_ibp", "crown", "alpha_crown_fixed", in which
// hidden layers keep their crown bounds.
std::string golden_key(Method method);

}  // namespace bf_aot::input
