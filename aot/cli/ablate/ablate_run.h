#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aot/cli/ablate/ablate_configs.h"
#include "aot/cli/ablate/ablate_subject.h"
#include "aot/cli/ablate/ablate_table.h"
#include "aot/cli/options/options.h"

namespace bf_aot::cli {

struct RunOptions {
  int repeat = 0;      // measurements per box; 0 chooses
  double timeout = 0;  // seconds of a run; 0: none
  std::string
      base_settings;  // the planner options given for all, as text; part of a run's identity
};

// Runs the configurations of one model, each in a process of its own, so that a configuration that
// fails makes a row, too.
class AblationRunner {
 public:
  AblationRunner(const Subject& subject, const RunOptions& options)
      : subject_(subject), options_(options) {}

  // The text that identifies a run: see Column::kRun.
  std::string run_id(const ModelArguments& base, const AblationConfig& config) const;

  // Makes a row with status "ok", or "failed" with a message and what was found until then.
  AblationRow run(const ModelArguments& base, const AblationConfig& config);

 private:
  std::string run_here(const ModelArguments& base, const AblationConfig& config) const;
  void measure_widths(const std::vector<engine::Bounds>& bounds, AblationRow& row) const;
  void find_baseline(const ModelArguments& base);

  const Subject& subject_;
  RunOptions options_;
  std::optional<std::vector<double>> ibp_widths_;  // mean per box; empty: ibp fails
  // Unstable neurons by unstable_key() of a plan, which many configurations share.
  std::map<std::string, std::int64_t> unstable_;
};

// A failed row for a configuration that cannot even be tried.
AblationRow failed_row(const std::filesystem::path& model, const AblationConfig& config,
                       const std::string& message);

}  // namespace bf_aot::cli
