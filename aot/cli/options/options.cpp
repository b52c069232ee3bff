#include "aot/cli/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot/build/compile.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/values.h"
#include "aot/input/json_io.h"
#include "aot/input/profile_file.h"
#include "aot/input/tune_log_file.h"
#include "aot/system/errors.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/plan/pipeline.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot::cli {

void add_method_option(CommandLine& app, ModelArguments& arguments) {
  arguments.method_given = false;
  app.add_option(
         "-m,--method", arguments.method,
         "ibp: intervals; crown-ibp: backward bounds of the outputs on interval bounds; "
         "crown: backward bounds of every unstable neuron; alpha-crown: the same, with the "
         "outputs' slopes optimised; forward: intervals and lines in one pass forward, for dense "
         "layers with ReLU; auto: the best mix of the others within the budgets")
      ->transform(one_of({"ibp", "crown-ibp", "crown", "alpha-crown", "forward", "auto"}))
      ->capture_default_str()
      ->sets(arguments.method_given)
      ->group(kMethodGroup);
  add_search_options(app, arguments.search);
}

void add_norm_option(CommandLine& app, ModelArguments& arguments) {
  app.add_option(
         "--norm", arguments.norm,
         "linf: bounds hold for the box; l2, l1: for the ellipsoid or the cross-polytope in it "
         "that touches its faces, which is a ball where the box is a cube (crown-ibp, crown, "
         "alpha-crown)")
      ->transform(one_of({"linf", "l2", "l1"}))
      ->capture_default_str()
      ->group(kMethodGroup);
}

void add_spec_option(CommandLine& app, ModelArguments& arguments) {
  app.add_option("--spec", arguments.spec,
                 "JSON file {\"C\": [[..], ..]}: bound the rows of C y besides the outputs y")
      ->type_name("FILE");
}

void add_property_option(CommandLine& app, ModelArguments& arguments) {
  app.add_option("--property", arguments.property,
                 "VNN-LIB file: also emit NAME_verify, which decides the property on a box")
      ->type_name("FILE")
      ->excludes("--spec");
  app.add_flag("--decide{auto}", arguments.decide,
               "also emit NAME_decide, which splits until the property is decided: boxes at an "
               "input (--decide=inputs), or at the sign of a neuron before its ReLU "
               "(--decide=neurons), which is chosen where over 16 inputs vary")
      ->needs("--property")
      ->transform(one_of({"auto", "inputs", "neurons"}));
}

void add_model_options(CommandLine& app, ModelArguments& arguments, bool reference) {
  app.add_option("MODEL", arguments.model, "ONNX file; -: standard input")
      ->required()
      ->type_name("FILE");
  add_output_tensor_option(app, arguments.outputs);
  std::vector<std::string> lowerings = {"generic", "prebuilt", "vector", "tuned"};
  if (reference) lowerings.emplace_back("reference");
  app.add_option("--lowering", arguments.lowering,
                 reference
                     ? "code: generic (portable C++17), vector (SIMD), tuned (the same with the "
                       "schedules of --tuning-log), prebuilt (SIMD, in extents of a few sizes), "
                       "or reference (no code: the plan executed in double, not sound in floating "
                       "point)"
                     : "code: generic (portable C++17), vector (SIMD), tuned (the same with the "
                       "schedules of --tuning-log), or prebuilt (SIMD, in extents of a few sizes)")
      ->transform(one_of(lowerings))
      ->capture_default_str()
      ->group(kPlannerGroup);
  app.add_option("--tuning-log", arguments.tuning_log,
                 "JSON lines that bf-aot tune wrote: the schedules of --lowering tuned")
      ->type_name("FILE")
      ->group(kPlannerGroup);
  app.add_option("--target", arguments.target, "machine that the code is made for")
      ->transform(one_of(target_names()))
      ->capture_default_str()
      ->group(kMethodGroup);
  app.add_option("--semantics", arguments.semantics,
                 "arithmetic of the network that the bounds hold for: real, its exact value; "
                 "float32, every evaluation in float32, in any order of its sums; or "
                 "float32-exact, what the verifier's own NAME_evaluate makes of it")
      ->transform(one_of({"real", "float32", "float32-exact"}))
      ->capture_default_str()
      ->group(kMethodGroup);
  app.add_option("--libm-ulps", arguments.libm_ulps,
                 "of --semantics float32: largest error of the library's tanh, exp, erf, ..., in "
                 "units of the last place")
      ->transform(number("0.5", "1e6"))
      ->capture_default_str()
      ->group(kPlannerGroup);
  app.add_flag("--flush-to-zero", arguments.flush_to_zero,
               "--semantics float32 where subnormal inputs and results of an operation may be "
               "taken for zero")
      ->group(kMethodGroup);
  app.add_option("--row-tile", arguments.row_tile,
                 "rows of backward bounds made together: less needs less memory (default: chosen "
                 "by the planner)")
      ->transform(whole(2, 1 << 20))
      ->type_name("N")
      ->group(kPlannerGroup);
  app.add_option("--granularity", arguments.granularity,
                 "what a task of the plan covers: a step, a layer's region, or the whole entry")
      ->transform(one_of({"step", "region", "entry"}))
      ->capture_default_str()
      ->group(kPlannerGroup);
  app.add_option(
         "--cache", arguments.cache,
         "also emit functions that keep something between calls: reuse-ibp (what was made "
         "for a box), cache-bounds (bounds on a box, for boxes inside), reuse-alpha (slopes "
         "to start from); separated by commas")
      ->transform(one_of({"reuse-ibp", "cache-bounds", "reuse-alpha"}))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->group(kPlannerGroup);
  app.add_option("--batch", arguments.batch,
                 "also emit functions that bound up to N boxes in a call")
      ->transform(whole(1, kMostBatch))
      ->capture_default_str()
      ->type_name("N")
      ->group(kPlannerGroup);
  app.add_option("--parallel", arguments.workers,
                 "also emit functions whose work up to N workers share, through an executor that "
                 "the caller supplies")
      ->transform(whole(1, bf::kMostWorkers))
      ->capture_default_str()
      ->type_name("N")
      ->group(kPlannerGroup);
  app.add_option("--iterations", arguments.iterations,
                 "alpha-crown: times that each row's slopes are tried and improved")
      ->transform(whole(1, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->group(kPlannerGroup);
  app.add_option("--alpha", arguments.alpha,
                 "alpha-crown: whose slopes are improved: those of the outputs' rows, or of all "
                 "unstable neurons', which is tighter and takes longer")
      ->transform(one_of({"outputs", "all"}))
      ->capture_default_str()
      ->group(kPlannerGroup);
  app.add_option("--disable-pass", arguments.disabled_passes,
                 "leave out a pass; may be repeated (see bf-aot inspect --list-passes)")
      ->allow_extra_args(false)
      ->type_name("PASS")
      ->group(kPlannerGroup);
  app.add_option("--profile", arguments.profile,
                 "machine profile to predict times with: a file that bf-aot profile wrote, or a "
                 "name (default: of the target; on this machine, of its CPU)")
      ->type_name("NAME|FILE")
      ->group(kPlannerGroup);
  add_config_option(app, arguments.config);
}

void add_output_tensor_option(CommandLine& app, std::vector<std::string>& outputs) {
  app.add_option("--output-tensor", outputs,
                 "cut the network at this tensor, which becomes its output; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
}

void add_name_option(CommandLine& app, ModelArguments& arguments) {
  app.add_option("--name", arguments.name,
                 "prefix of the verifier's symbols (default: made from the file name)");
}

void add_arithmetic_option(CommandLine& app, ModelArguments& arguments) {
  arguments.arithmetic = to_string(Arithmetic::kAuto);
  app.add_option("--arithmetic", arguments.arithmetic,
                 "numbers that the verifier computes with: float; integer, for a quantised network "
                 "and method ibp; auto: integer where the target has no floating-point unit and "
                 "the network and the other options allow it")
      ->transform(one_of({"auto", "float", "integer"}))
      ->capture_default_str()
      ->group(kPlannerGroup);
}

void add_compiler_options(CommandLine& app, ModelArguments& arguments) {
  app.add_option("--cxx", arguments.cxx,
                 "C++ compiler of the verifier (default: $CXX, else c++, g++ or clang++; for "
                 "cortex targets arm-none-eabi-g++)")
      ->group(kCompilerGroup);
  app.add_option("--cxx-flags", arguments.cxx_flags,
                 "more flags for it, as one word: --cxx-flags=\"-g -O2\"; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FLAGS")
      ->group(kCompilerGroup);
}

void add_jit_option(CommandLine& app, ModelArguments& arguments) {
  arguments.jit = build::kJitModes[0];
  app.add_option("--jit", arguments.jit,
                 "compile the kernels that take the time for this network: auto (in the "
                 "background, once calls have taken a second), off, wait (after the first call)")
      ->transform(one_of(
          std::vector<std::string>(std::begin(build::kJitModes), std::end(build::kJitModes))))
      ->capture_default_str()
      ->group(kCompilerGroup);
}

Method method_of(const std::string& text) {
  for (Method method : kAllMethods)
    if (to_string(method) == text) return method;
  if (text == to_string(Method::kForward)) return Method::kForward;
  if (text == to_string(Method::kAuto)) return Method::kAuto;
  BF_CHECK(!"a Method");
  return Method::kCrown;
}

Lowering lowering_of(const std::string& text) {
  for (const Lowering each : {Lowering::kReference, Lowering::kGeneric, Lowering::kPrebuilt,
                              Lowering::kVector, Lowering::kTuned})
    if (to_string(each) == text) return each;
  BF_CHECK(!"a Lowering");
  return Lowering::kVector;
}

// The profile that --profile asks for; none: the target's.
std::optional<MachineProfile> profile_option(const ModelArguments& arguments) {
  if (!arguments.profile.empty()) return input::read_profile(arguments.profile);
  if (arguments.target == "host") return host_profile();
  return std::nullopt;
}

static bool has(const std::vector<std::string>& list, const char* word) {
  return std::ranges::count(list, word) > 0;
}

static Arithmetic arithmetic_of(const std::string& text) {
  for (const Arithmetic each : {Arithmetic::kAuto, Arithmetic::kFloat, Arithmetic::kInteger})
    if (to_string(each) == text) return each;
  BF_CHECK(!"an Arithmetic");
  return Arithmetic::kFloat;
}

static void set_flush_to_zero(const ModelArguments& arguments, build::CompileOptions& options) {
  if (!arguments.flush_to_zero) return;
  if (options.planner.semantics == Semantics::kFloat32Exact)
    fail("BF3315", "--flush-to-zero", "the verifier's own evaluation keeps subnormal numbers",
         "use --semantics float32");
  options.planner.semantics = Semantics::kFloat32;
  options.planner.flush_to_zero = options.float32.flush = true;
}

build::CompileOptions compile_options(const ModelArguments& arguments) {
  build::CompileOptions options;
  for (const Semantics each : {Semantics::kFloat32, Semantics::kFloat32Exact})
    if (arguments.semantics == to_string(each)) options.planner.semantics = each;
  options.float32.libm_ulps = arguments.libm_ulps;
  set_flush_to_zero(arguments, options);
  options.planner.method = method_of(arguments.method);
  options.planner.lowering = lowering_of(arguments.lowering);
  if (!arguments.tuning_log.empty())
    options.planner.tuned = best_results(input::read_tuning_log(arguments.tuning_log));
  else if (options.planner.lowering == Lowering::kTuned)
    fail("BF3310", "--lowering", "tuned schedules stand in a log, and none is given",
         "give --tuning-log FILE, which bf-aot tune writes");
  options.planner.arithmetic = arithmetic_of(arguments.arithmetic);
  options.method_is_default = !arguments.method_given;
  options.planner.target = find_target(arguments.target);
  options.planner.row_tile = arguments.row_tile;
  options.planner.granularity = arguments.granularity == "step"    ? Granularity::kStep
                                : arguments.granularity == "entry" ? Granularity::kEntry
                                                                   : Granularity::kRegion;
  options.planner.profile = profile_option(arguments);
  options.planner.reuse = {has(arguments.cache, "reuse-ibp"), has(arguments.cache, "cache-bounds"),
                           has(arguments.cache, "reuse-alpha")};
  options.planner.batch = arguments.batch;
  options.planner.workers = arguments.workers;
  options.planner.iterations = arguments.iterations;
  if (arguments.alpha == to_string(AlphaRows::kAll)) options.planner.alpha = AlphaRows::kAll;
  for (const Norm each : {Norm::kEuclid, Norm::kSum})
    if (arguments.norm == to_string(each)) options.planner.norm = each;
  options.planner.decide = !arguments.decide.empty();
  for (const Splits each : {Splits::kNeurons, Splits::kAuto})
    if (arguments.decide == to_string(each)) options.planner.splits = each;
  if (!arguments.name.empty() && build::identifier_from(arguments.name) != arguments.name)
    fail("BF3302", "--name", "'" + arguments.name + "' is no lower-case C identifier",
         "use '" + build::identifier_from(arguments.name) + "'");
  options.name = arguments.name;
  options.outputs = arguments.outputs;
  for (const std::string& pass : arguments.disabled_passes)
    (find_planner_pass(pass) != nullptr ? options.planner.disabled_passes : options.disabled_passes)
        .push_back(pass);
  for (const std::string& pass : options.disabled_passes) check_pass_name(pass);
  resolve(arguments.search, options);
  if (!arguments.spec.empty()) options.spec = input::read_spec(arguments.spec);
  if (!arguments.property.empty()) options.property = read_property(arguments.property);
  if (options.property && is_float32(*options.property))
    options.planner.semantics = Semantics::kFloat32;
  return options;
}

build::CompilerOptions compiler_options(const ModelArguments& arguments) {
  build::CompilerOptions options;
  options.cxx = arguments.cxx;
  options.jit = static_cast<build::JitMode>(std::ranges::find(build::kJitModes, arguments.jit) -
                                            build::kJitModes);
  for (const std::string& words : arguments.cxx_flags)
    for (const std::string& word : build::split_words(words)) options.flags.push_back(word);
  return options;
}

// A sentence about what was probably meant by a word typed in place of an option's name or value.
static std::string suggestion(const CommandLine& app, const Call& call) {
  std::vector<std::string> names;
  const Option* last = nullptr;
  for (const Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    std::string typed = call.arguments[i];
    std::string value;
    if (typed.starts_with("--")) {
      const std::size_t equals = typed.find('=');
      if (equals != std::string::npos) value = typed.substr(equals + 1);
      typed.resize(std::min(equals, typed.size()));
      last = app.get_option_no_throw(typed);
      if (last == nullptr) return closest(typed, names);
    } else if (last != nullptr) {
      value = typed;
    }
    if (value.empty()) continue;
    for (const OptionSection& section : sections_of(app, true))
      for (const OptionHelp& option : section.options)
        if (option.names.back() == last->get_name() && !option.choices.empty() &&
            std::ranges::count(option.choices, value) == 0)
          return closest(value, option.choices);
    last = nullptr;
  }
  return {};
}

int usage_error(const CommandLine& app, const std::string& message) {
  std::string text = message;
  while (text.ends_with('\n')) text.pop_back();
  const std::string hint = app.get_name() + " --help lists the options";
  if (system::json_output())
    fmt::print("{}\n", system::errors_json(
                           std::vector<Diagnostic>{{"BF3300", app.get_name(), text, hint}}));
  fmt::print(stderr, "{} {}\n{}.\n",
             system::Style(system::Style::kError, system::Stream::kErrors)(app.get_name() + ":"),
             text, hint);
  return 2;
}

std::optional<int> parse(CommandLine& app, const Call& call) {
  app.set_help_flag("-h,--help", "print this text")->group(kGeneralGroup);
  if (std::ranges::any_of(app.get_options(), [](const Option* option) {
        return option->get_group() == kPlannerGroup;
      }))
    app.set_help_all_flag("--help-all", "the same with the options of the planner")
        ->group(kGeneralGroup);
  bool quiet = false, verbose = false;
  app.add_flag("-q,--quiet", quiet, "errors alone on standard error")->group(kGeneralGroup);
  app.add_flag("-v,--verbose", verbose, "steps and their times on standard error, also in a file")
      ->excludes("--quiet")
      ->group(kGeneralGroup);
  if (call.visit) {
    call.visit(app);
    return 0;
  }
  system::set_json_output(app.get_option_no_throw("--json") != nullptr &&
                          std::ranges::count(call.arguments, std::string_view("--json")) > 0);
  try {
    if (const auto code = app.parse(call.arguments)) return code;
    if (quiet || verbose)
      system::set_verbosity(quiet ? system::Verbosity::kQuiet : system::Verbosity::kVerbose);
    apply_config(app);
    return std::nullopt;
  } catch (const UsageError& error) {
    const std::string meant = suggestion(app, call);
    return usage_error(app, error.text + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
}

}  // namespace bf_aot::cli
