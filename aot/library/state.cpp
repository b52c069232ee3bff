#include "aot/library/state.h"

#include <algorithm>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/library/enums.h"
#include "planner/plan/plan.h"

namespace bf_aot::api {
namespace {

constexpr int kMostThreads = 256;

void expect(bool holds, const char* option, const std::string& message) {
  if (!holds) refuse("BF3501", option, message);
}

Error to_error(const CompileError& thrown) {
  Error all;
  for (const Diagnostic& each : thrown.diagnostics()) {
    Error one = {each.code, each.where, each.message, each.hint, {}};
    if (all.code.empty())
      all = std::move(one);
    else
      all.others.push_back(std::move(one));
  }
  return all;
}

Error internal_error(const char* doing, const char* what) {
  return {"BF9000",
          doing,
          std::string("internal error: ") + what,
          "this is a bug of bf-aot; please report it with this message, the version, the model and "
          "what was called",
          {}};
}

Error out_of_memory(const char* doing, std::size_t numbers) {
  std::string message = "there is not enough memory for the objects that this makes";
  if (numbers > 0)
    message += fmt::format(
        ": the network's {} numbers are {} bytes of float32, of which a verifier and its planning "
        "take up to six times as much",
        numbers, sizeof(float) * numbers);
  return {"BF3504",
          doing,
          std::move(message),
          "a smaller network, fewer boxes in a call or fewer threads need less",
          {}};
}

Error classify(const char* doing, std::size_t numbers) {
  try {
    throw;
  } catch (Failed& failed) {
    return std::move(failed.error);
  } catch (const CompileError& error) {
    return to_error(error);
  } catch (const std::bad_alloc&) {
    return out_of_memory(doing, numbers);
  } catch (const std::exception& error) {
    return internal_error(doing, error.what());
  } catch (...) {
    return internal_error(doing, "an exception of unknown type");
  }
}

// Sets options by the rows of the table.
struct Setter {
  explicit Setter(bool of_decisions) : decisions(of_decisions) {}

  void operator()(std::string_view name, std::string_view text) {
    build::set_in_process(values, name, std::string(text), decisions);
  }
  void operator()(std::string_view name, std::int64_t number) {
    build::set_in_process(values, name, std::to_string(number), decisions);
  }

  // Sets the fields that both structs have, and the options of `more`.
  template <class From>
  void common(const From& from) {
    (*this)("semantics", name_of(from.semantics));
    if (from.semantics == Semantics::kFloat32Flushed) (*this)("flush-to-zero", "true");
    (*this)("alpha", name_of(from.alpha));
    (*this)("iterations", from.iterations);
    (*this)("row-tile", from.row_tile);
    (*this)("memory-budget", from.memory_budget);
    for (const auto& [name, text] : from.more) (*this)(name, text);
  }

  build::OptionValues values;
  bool decisions;
};

}  // namespace

std::vector<OptionInfo> option_infos() {
  std::vector<OptionInfo> infos;
  for (const build::OptionRow& row : build::option_rows()) {
    if (!row.in_process) continue;
    OptionInfo& info = infos.emplace_back();
    info.name = row.name;
    std::ranges::replace(info.name, '-', '_');
    info.help = row.help;
    info.choices = row.rule.choices;
    info.of_decisions = row.of_decisions();
    if (info.name == "method") std::erase(info.choices, to_string(bf_aot::Method::kAuto));
  }
  return infos;
}

build::OptionValues values_of(const Options& options) {
  Setter set(false);
  set("method", name_of(options.method));
  set("norm", name_of(options.norm));
  set("batch", options.batch);
  set.common(options);
  expect(set.values.compile.planner.method != bf_aot::Method::kAuto, "method",
         "auto is not among the methods of the library");
  return set.values;
}

build::OptionValues values_of(const VerifyOptions& options,
                              const build::DecisionOptions& decision) {
  Setter set(true);
  set.values.decision = decision;
  set.values.compile.method_is_default = true;
  if (options.method) set("method", name_of(*options.method));
  set("norm", name_of(options.norm));
  set("jit", name_of(options.jit));
  set.common(options);
  return set.values;
}

Options settled(const Options& options) {
  const PlannerConfig planner = values_of(options).compile.planner;
  Options made = options;
  made.method = *public_of<Method>(planner.method);
  made.norm = *public_of<Norm>(planner.norm);
  made.alpha = *public_of<AlphaRows>(planner.alpha);
  made.semantics =
      planner.flush_to_zero ? Semantics::kFloat32Flushed : *public_of<Semantics>(planner.semantics);
  made.iterations = planner.iterations;
  made.row_tile = planner.row_tile;
  made.memory_budget = planner.memory_budget;
  made.batch = planner.batch;
  for (const char* const name : {"method", "norm", "alpha", "semantics", "flush_to_zero",
                                 "iterations", "row_tile", "memory_budget", "batch"})
    std::erase_if(made.more, [&](const auto& each) {
      return build::find_option_row(each.first) == build::find_option_row(name);
    });
  return made;
}

void check_semantics(const Model& model, bf_aot::Semantics semantics) {
  expect(!Library::state(model).derivative || semantics == bf_aot::Semantics::kReal, "semantics",
         "bounds of derivatives are of the network in exact real arithmetic");
}

build::CompileOptions compile_options(const Model& model, const build::OptionValues& values) {
  build::CompileOptions options = build::resolved(values);
  check_semantics(model, options.planner.semantics);
  options.planner.lowering = Lowering::kPrebuilt;
  options.method_is_default = false;
  options.planning.norms = Library::state(model).norms;
  return options;
}

build::CompileOptions compile_options(const Model& model, const Options& options,
                                      const Specification& specification) {
  build::CompileOptions compiling = compile_options(model, values_of(options));
  if (options.threads < 1 || options.threads > kMostThreads)
    refuse("BF3501", "threads", fmt::format("{} is not in 1 to {}", options.threads, kMostThreads));
  const std::size_t outputs = model.output_count();
  const std::vector<double>& rows = specification.rows;
  if (rows.size() % outputs != 0)
    refuse("BF2007", "specification",
           fmt::format("{} coefficients are no rows of {} outputs", rows.size(), outputs),
           "give [rows, outputs] numbers, row-major");
  if (rows.empty() && !specification.offsets.empty())
    refuse("BF2009", "specification", "there are offsets, but no rows");
  if (!rows.empty()) {
    LinearSpec& spec = compiling.spec.emplace();
    for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(outputs))
      spec.rows.emplace_back(row, row + static_cast<std::ptrdiff_t>(outputs));
    spec.offset = specification.offsets;
  }
  return compiling;
}

std::shared_ptr<const Lowered> plan_for(const Model& model, const build::CompileOptions& options) {
  const Model::State& of = Library::state(model);
  return build::run_planner(build::run_frontend({of.network.graph(), of.info}, options), "network",
                            options);
}

Error current_error(const char* doing, std::size_t numbers) noexcept {
  try {
    return classify(doing, numbers);
  } catch (...) {
    Error error;  // short strings, which need no memory
    error.code = "BF3504";
    error.message = "out of memory";
    return error;
  }
}

}  // namespace bf_aot::api
