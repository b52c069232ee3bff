#include "aot/cli/options/library_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aot/cli/options/options.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/plan/config.h"

namespace bf_aot::cli {
namespace {

// Returns the library's value of the same name.
template <class Value>
Value named(std::optional<Value> value) {
  BF_CHECK(value.has_value());
  return *value;
}

}  // namespace

api::Options library_options(const build::OptionValues& values) {
  expect_float32(values);
  const PlannerConfig& planner = values.compile.planner;
  api::Options options;
  options.method = named(api::method_named(to_string(planner.method)));
  options.norm = named(api::norm_named(to_string(planner.norm)));
  options.semantics = planner.flush_to_zero
                          ? api::Semantics::kFloat32Flushed
                          : named(api::semantics_named(to_string(planner.semantics)));
  options.iterations = planner.iterations;
  if (!values.compile.device.empty()) options.more["device"] = values.compile.device;
  return options;
}

void expect_float32(const build::OptionValues& values) {
  const PlannerConfig& planner = values.compile.planner;
  if (planner.flush_to_zero && planner.semantics != Semantics::kFloat32)
    fail("BF3315", "--flush-to-zero",
         fmt::format("it is about --semantics float32, not {}", to_string(planner.semantics)),
         "use --semantics float32");
}

std::map<std::string, std::string> given_rows(const CommandLine& app) {
  std::map<std::string, std::string> given;
  for (const Option* const option : app.get_options()) {
    if (option->count() == 0) continue;
    if (const build::OptionRow* const row = row_of(*option); row != nullptr && row->in_process)
      given[row->name] = fmt::format("{}", fmt::join(option->results(), ","));
  }
  return given;
}

}  // namespace bf_aot::cli
