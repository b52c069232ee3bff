#include "aot/library/state.h"

#include <algorithm>
#include <iterator>

#include "aot/build/compile.h"
#include "planner/machine/machine_profile.h"
#include "planner/plan/plan.h"

namespace bf_aot::api {
namespace {

constexpr bf_aot::Method kMethods[] = {bf_aot::Method::kIbp, bf_aot::Method::kCrownIbp,
                                       bf_aot::Method::kCrown, bf_aot::Method::kAlphaCrown,
                                       bf_aot::Method::kForward};

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

}  // namespace

bf_aot::Method to_internal(Method method) {
  const auto index = static_cast<std::size_t>(method);
  expect(index < std::size(kMethods), "method", "there is no such method");
  return kMethods[index];
}

Method to_api(bf_aot::Method method) {
  const auto* const found = std::ranges::find(kMethods, method);
  if (found == std::end(kMethods)) BF_BROKEN("no method of the interface");
  return static_cast<Method>(found - std::begin(kMethods));
}

void check(const PlanSettings& settings) {
  (void)to_internal(settings.method);
  expect(settings.iterations >= 1 && settings.iterations <= 1000, "iterations",
         fmt::format("{} is not in 1 to 1000", settings.iterations));
  expect(settings.row_tile == 0 || (settings.row_tile >= 2 && settings.row_tile <= 1 << 20),
         "row_tile", fmt::format("{} is neither 0 nor in 2 to 2^20", settings.row_tile));
  expect(settings.memory_budget >= 0, "memory_budget",
         fmt::format("{} is negative", settings.memory_budget));
}

void check_semantics(const Model& model, Semantics semantics) {
  expect(!Library::state(model).derivative || semantics == Semantics::kReal, "semantics",
         "bounds of derivatives are of the network in exact real arithmetic");
}

build::CompileOptions compile_options(const PlanSettings& settings) {
  check(settings);
  build::CompileOptions options;
  options.planner.method = to_internal(settings.method);
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  options.planner.iterations = settings.iterations;
  if (settings.norm != Norm::kLinf)
    options.planner.norm = settings.norm == Norm::kL2 ? bf_aot::Norm::kEuclid : bf_aot::Norm::kSum;
  if (settings.alpha == AlphaRows::kAll) options.planner.alpha = bf_aot::AlphaRows::kAll;
  options.planner.row_tile = settings.row_tile;
  options.planner.memory_budget = settings.memory_budget;
  if (settings.semantics == Semantics::kFloat32 || settings.semantics == Semantics::kFloat32Flushed)
    options.planner.semantics = bf_aot::Semantics::kFloat32;
  options.planner.flush_to_zero = options.float32.flush =
      settings.semantics == Semantics::kFloat32Flushed;
  if (settings.semantics == Semantics::kFloat32Exact)
    options.planner.semantics = bf_aot::Semantics::kFloat32Exact;
  return options;
}

build::CompileOptions compile_options(const Model& model, const Options& options,
                                      const Specification& specification) {
  check_semantics(model, options.semantics);
  build::CompileOptions compiling = compile_options(
      PlanSettings{options.method, options.iterations, options.row_tile, options.memory_budget,
                   options.semantics, options.alpha, options.norm});
  if (options.batch < 1 || options.batch > kMostBatch)
    refuse("BF3501", "batch", fmt::format("{} is not in 1 to {}", options.batch, kMostBatch));
  if (options.threads < 1 || options.threads > kMostThreads)
    refuse("BF3501", "threads", fmt::format("{} is not in 1 to {}", options.threads, kMostThreads));
  compiling.planner.batch = options.batch;
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
