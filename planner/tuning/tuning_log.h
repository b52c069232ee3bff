#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/schedule.h"

namespace bf_aot {

// A tuning log: JSON lines, one record each; see docs/guide/tuning.md. Two logs one after the other
// are a log.

enum class RecordKind : std::uint8_t {
  kTrial,   // a schedule was measured, or failed
  kResult,  // the best of a kernel's trials, measured again in turns with the default
};

struct Times {
  double min = 0, median = 0;  // seconds of one call
  bool operator==(const Times&) const = default;
};

struct TuningRecord {
  RecordKind kind = RecordKind::kTrial;
  std::string key;       // Kernel::key
  std::string target;    // Target::name, which is in the key too
  std::string machine;   // name of its profile
  std::string compiler;  // first line of its --version
  Schedule schedule;
  Times seconds, default_seconds;  // measured in turns; zeros after an error
  int samples = 0;                 // measurements of each
  std::string error;               // why the schedule must not be used; empty: nothing
  // Results: median over pairs of (schedule / default), what pairs of the default with itself
  // differ by, and the schedules that were measured. Not default unless ratio < 1 - noise.
  double ratio = 0, noise = 0;
  int candidates = 0;
  bool is_default = false;
  std::uint64_t seed = 0;
  std::string version;  // of bf-aot
  bool operator==(const TuningRecord&) const = default;
};

constexpr int kTuningSchema = 1;

// Writes a record as one line, with its end; the fields have a fixed order.
std::string to_line(const TuningRecord& record);

// `name`: of the file, for messages.
// Throws: CompileError BF3010 that names the line.
std::vector<TuningRecord> parse_tuning_log(std::string_view text, const std::string& name);

// The best result of each key, by rising key: the smallest ratio, the first of equal ones.
std::vector<TunedSchedule> best_results(const std::vector<TuningRecord>& records);

}  // namespace bf_aot
