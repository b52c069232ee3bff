#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "aot/engine/verifier/verifier.h"
#include "aot/input/json_io.h"

namespace bf_aot::apps {

struct Tolerances {
  double max_ratio = 1.01;    // of our width to the golden width
  double mean_ratio = 1.002;  // over the entries of a box
  double point = 0.01;        // see Widths::point_width, relative to the largest golden bound
};

// Compares the widths of one box's bounds with golden ones. An entry counts as a ratio when the
// golden width is well above float32 rounding: more than 2^-13 of the largest golden bound, in a
// box that is not marked rounding_dominated. Smaller widths are judged by how much wider ours is.
struct Widths {
  int entries = 0;  // that have a ratio
  double min = 1, mean = 1, max = 1;
  int points = 0;          // entries that have no ratio
  double point_width = 0;  // largest excess of ours over the golden width
  double point_limit = 0;
  bool ok = true;
};

Widths compare_widths(const engine::Bounds& ours, const std::vector<double>& golden_lower,
                      const std::vector<double>& golden_upper, bool rounding_dominated,
                      const Tolerances& tolerances);

// An output or row whose value is not in our interval: a bug in the compiler, or a golden file of
// another network.
struct Violation {
  std::string what;    // "output 3", "row 0"
  std::string source;  // "golden forward", "sample 12"
  double value = 0, lower = 0, upper = 0;
};

struct BoxCheck {
  std::size_t index = 0;
  std::string description;
  Method method = Method::kCrown;
  bool has_golden = true;  // the file has bounds of this method
  Widths outputs, rows;
  int samples = 0;
  std::vector<Violation> violations;

  bool ok() const { return violations.empty() && outputs.ok && rows.ok; }
};

nlohmann::ordered_json to_json(const BoxCheck& check);
std::string table_header();
std::string table_row(const BoxCheck& check);

}  // namespace bf_aot::apps
