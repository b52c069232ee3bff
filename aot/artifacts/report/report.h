#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/cost/device_figures.h"
#include "planner/plan/layer_id.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::artifacts {

// A layer's bounds on sample boxes: counts are summed over all boxes, widths are not.
struct LayerSample {
  LayerId layer = 0;
  std::int64_t active = 0;    // ReLU inputs that are never negative, or functions that are a line
  std::int64_t inactive = 0;  // ReLU inputs that are never positive
  std::int64_t unstable = 0;  // the others; all three are 0 without an activation
  double mean_width = 0;
  double max_width = 0;
};

// A part of a task (see TaskPart) as measured.
struct MeasuredPart {
  int task = 0;
  std::string name;
  double seconds = 0;
};

// Facts for a page that are measured or counted apart from the plan.
struct Findings {
  std::string version;                                       // of bf-aot
  std::vector<std::pair<std::string, std::string>> options;  // name, value
  int boxes = 0;
  std::vector<LayerSample> samples;  // in layer order; empty without boxes
  std::optional<std::int64_t> library_bytes;
  std::optional<std::int64_t> code_bytes;         // machine code in the library
  std::vector<std::vector<double>> task_seconds;  // measured, per entry and task; may be empty
  // The parts of tasks, as measured in a call of plan.entries[measured_entry]; may be empty.
  std::vector<MeasuredPart> parts;
  std::size_t measured_entry = 0;
  std::optional<DeviceFigures> device;  // that the plan is for
};

/// The version of the page's form, in its <meta name="bf-aot-report-format">: it changes when a
/// section or an id is renamed or removed (docs/reference/versions.md).
inline constexpr int kReportFormat = 1;

// One self-contained page about a plan: no script, nothing loaded from anywhere. The same plan and
// findings give the same bytes.
std::string page(const Plan& plan, const Findings& findings);

// The sections of the page.
std::string network_part(const Plan& plan, const Findings& findings);
std::string task_part(const Plan& plan, const Findings& findings);
std::string memory_part(const Plan& plan);
std::string context_part(const Plan& plan);  // empty when nothing is kept between calls
std::string kernel_part(const Plan& plan, const Findings& findings);
std::string device_part(const Plan& plan, const Findings& findings);  // empty without a device
std::string rejected_part(const Plan& plan);

}  // namespace bf_aot::artifacts
