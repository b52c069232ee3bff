#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan.h"

namespace bf::report {

// A layer's bounds on sample boxes, all added up but for the widths.
struct LayerSample {
  int layer = 0;
  std::int64_t active = 0;    // ReLU inputs that are never negative, or functions that are a line
  std::int64_t inactive = 0;  // ReLU inputs that are never positive
  std::int64_t unstable = 0;  // the others; all three are 0 without an activation
  double mean_width = 0;
  double max_width = 0;
};

// What is measured or counted apart from the plan.
struct Findings {
  std::string version;                                       // of bf-aot
  std::vector<std::pair<std::string, std::string>> options;  // name, value
  int boxes = 0;
  std::vector<LayerSample> samples;  // in layer order; empty without boxes
  std::optional<std::int64_t> library_bytes;
  std::vector<std::vector<double>> task_seconds;  // measured, per entry and task; may be empty
};

// One self-contained page about a plan: no script, nothing loaded from anywhere. The same plan and
// findings give the same bytes.
std::string page(const Plan& plan, const Findings& findings);

// Its parts.
std::string network_part(const Plan& plan, const Findings& findings);
std::string task_part(const Plan& plan, const Findings& findings);
std::string memory_part(const Plan& plan);
std::string context_part(const Plan& plan);  // empty when nothing is kept between calls
std::string kernel_part(const Plan& plan);
std::string rejected_part(const Plan& plan);

}  // namespace bf::report
