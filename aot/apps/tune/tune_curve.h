#pragma once

#include <string>
#include <vector>

namespace bf_aot::apps {

// The best time of a kernel after each trial.
struct TuningCurve {
  std::string key;
  std::vector<double> seconds;
};

// A table "key,trial,best_seconds,ratio" with a row per trial; the ratio is to the first trial's.
std::string curve_table(const std::vector<TuningCurve>& curves);

// The ratios as an SVG drawing: best so far over trials, a line per kernel.
std::string curve_drawing(const std::vector<TuningCurve>& curves);

}  // namespace bf_aot::apps
