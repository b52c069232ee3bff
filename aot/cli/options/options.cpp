#include "aot/cli/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "aot/build/compile.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/output_files.h"
#include "aot/cli/options/values.h"
#include "aot/input/json/tokens.h"
#include "aot/input/json_io.h"
#include "aot/input/profile_file.h"
#include "aot/input/tune_log_file.h"
#include "aot/system/errors.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {

using Set = build::OptionRow::Set;

Option* add_row(CommandLine& app, std::string_view name, build::OptionValues& values,
                const Shown& shown) {
  const build::OptionRow* const row = build::find_option_row(name);
  BF_CHECK(row != nullptr);
  using Form = build::OptionRow::Form;
  const std::string own = *row->flags == 0 ? row->flag() : row->flags;
  const std::string names = shown.names.empty() ? own : shown.names;
  const std::string help = shown.help == nullptr ? row->help : shown.help;
  const std::string group = shown.group == nullptr ? row->group : shown.group;
  if (row->form == Form::kFlag)
    return app
        .add_flag(
            names, [row, &values](bool set) { row->take(values, {set ? "true" : "false"}); }, help)
        ->group(group);
  const bool many = row->form == Form::kWords || row->form == Form::kList;
  Option* const option = app.add_option(
      names, [row, &values](const std::vector<std::string>& words) { row->take(values, words); },
      many, help);
  option->group(group);
  if (row->writes)
    option->writes(row->value_name);
  else
    option->type_name(row->value_name);
  const build::ValueRule rule = shown.rule ? *shown.rule : row->rule;
  if (row->form == Form::kList)
    takes_names(option, rule);
  else if (rule.read)
    option->transform(rule);
  const std::string usual = row->shown(values);
  if (!usual.empty()) option->default_str(usual);
  return option;
}

void add_rows(CommandLine& app, build::OptionRow::Set set, build::OptionValues& values,
              const char* group) {
  for (const build::OptionRow& row : build::option_rows())
    if (row.set == set) add_row(app, row.name, values, {.group = group});
}

const build::OptionRow* row_of(const Option& option) {
  if (option.get_positional() || option.get_lnames().empty()) return nullptr;
  const std::string flag = "--" + option.get_lnames().front();
  for (const build::OptionRow& row : build::option_rows())
    if (row.flag() == flag && option.get_group() == row.group) return &row;
  return nullptr;
}

void add_method_option(CommandLine& app, ModelArguments& arguments) {
  arguments.values.compile.method_is_default = true;
  add_row(app, "method", arguments.values, {.names = "-m,--method"});
  for (const build::OptionRow& row : build::option_rows())
    if (row.set == Set::kMethod && std::string_view(row.name) != "method")
      add_row(app, row.name, arguments.values);
}

void add_norm_option(CommandLine& app, ModelArguments& arguments) {
  add_rows(app, Set::kNorm, arguments.values);
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
               "input (--decide=inputs), or also at neurons: signs before ReLUs, functions and "
               "products (--decide=neurons), which is chosen where over 16 inputs vary")
      ->needs("--property")
      ->transform(one_of(build::names_of<Splits>()));
}

void add_model_options(CommandLine& app, ModelArguments& arguments, bool reference) {
  app.add_option("MODEL", arguments.model, "ONNX file; -: standard input")
      ->required()
      ->type_name("FILE");
  add_cut_options(app, arguments.values.compile.cut);
  std::vector<std::string> lowerings = build::names_of<Lowering>();
  if (!reference) std::erase(lowerings, to_string(Lowering::kReference));
  for (const build::OptionRow& row : build::option_rows()) {
    if (row.set != Set::kModel) continue;
    if (!reference && std::string_view(row.name) == "lowering")
      add_row(app, row.name, arguments.values,
              {.help = "code: generic (portable C++17), vector (SIMD), tuned (the same with the "
                       "schedules of --tuning-log), or prebuilt (SIMD, in extents of a few sizes)",
               .rule = one_of(lowerings)});
    else
      add_row(app, row.name, arguments.values);
  }
  add_config_option(app, arguments.config);
}

namespace {

// The name and the sizes of "input=1,128"; the name is what stands before the last '='.
std::optional<std::pair<std::string, Shape>> shape_in(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return std::nullopt;
  Shape shape;
  const char* from = text.data() + at + 1;
  const char* const end = text.data() + text.size();
  for (;; ++from) {
    std::int64_t size = 0;
    const auto read = std::from_chars(from, end, size);
    if (read.ec != std::errc() || size <= 0) return std::nullopt;
    shape.push_back(size);
    from = read.ptr;
    if (from == end) return std::pair(text.substr(0, at), std::move(shape));
    if (*from != ',') return std::nullopt;
  }
}

build::ValueRule shape_rule() {
  return {[](std::string& text) {
            if (shape_in(text)) return std::string();
            return text + " is no shape of an input, as NAME=1,128";
          },
          "NAME=1,128"};
}

}  // namespace

void add_cut_options(CommandLine& app, ModelCut& cut) {
  app.add_option(
         "--tokens",
         [&cut](const std::vector<std::string>& words) {
           cut.tokens = input::read_tokens(words.back());
         },
         false,
         "file of the token ids that may stand at each position of an input: JSON {\"tokens\": "
         "{\"NAME\": [[3], [5, 8]]}}")
      ->type_name("FILE");
  app.add_option("--output-tensor", cut.outputs,
                 "cut the network at this tensor, which becomes its output; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app.add_option("--input-tensor", cut.inputs,
                 "begin at this tensor, which becomes an input; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app.add_option(
         "--shape",
         [&cut](const std::vector<std::string>& words) {
           cut.shapes.clear();
           for (const std::string& word : words) {
             auto [name, shape] = shape_in(word).value();
             cut.shapes.insert_or_assign(std::move(name), std::move(shape));
           }
         },
         true, "shape of an input whose file leaves sizes open; may be repeated")
      ->allow_extra_args(false)
      ->transform(shape_rule());
}

void add_name_option(CommandLine& app, ModelArguments& arguments) {
  app.add_option("--name", arguments.values.compile.name,
                 "prefix of the verifier's symbols (default: made from the file name)");
}

void add_arithmetic_option(CommandLine& app, ModelArguments& arguments) {
  arguments.values.compile.planner.arithmetic = Arithmetic::kAuto;
  add_rows(app, Set::kArithmetic, arguments.values);
}

void add_language_option(CommandLine& app, ModelArguments& arguments) {
  add_rows(app, Set::kLanguage, arguments.values);
}

void add_compiler_options(CommandLine& app, ModelArguments& arguments) {
  add_rows(app, Set::kCompiler, arguments.values);
}

void add_jit_option(CommandLine& app, ModelArguments& arguments) {
  arguments.values.compiler.jit = build::JitMode::kAuto;
  add_rows(app, Set::kJit, arguments.values);
}

static void read_files(const build::OptionValues& values, build::CompileOptions& options) {
  if (!values.tuning_log.empty())
    options.planner.tuned = best_results(input::read_tuning_log(values.tuning_log));
  else if (options.planner.lowering == Lowering::kTuned)
    fail("BF3310", "--lowering", "tuned schedules stand in a log, and none is given",
         "give --tuning-log FILE, which bf-aot tune writes");
  if (!values.profile.empty()) options.planner.profile = input::read_profile(values.profile);
  for (const std::string& file : values.sample_boxes)
    for (const input::BoxFile& box : input::read_boxes(file))
      options.planning.samples.push_back(box.box);
}

build::CompileOptions compile_options(const ModelArguments& arguments) {
  build::CompileOptions options = build::resolved(arguments.values);
  read_files(arguments.values, options);
  options.planner.decide = !arguments.decide.empty();
  if (options.planner.decide)
    options.planner.splits = *build::value_named<Splits>(arguments.decide);
  if (!options.name.empty() && build::identifier_from(options.name) != options.name)
    fail("BF3302", "--name", "'" + options.name + "' is no lower-case C identifier",
         "use '" + build::identifier_from(options.name) + "'");
  if (!arguments.spec.empty()) options.spec = input::read_spec(arguments.spec);
  if (!arguments.property.empty()) options.property = read_property(arguments.property);
  if (options.property && is_float32(*options.property))
    options.planner.semantics = Semantics::kFloat32;
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
    expect_apart(app);
    return std::nullopt;
  } catch (const UsageError& error) {
    const std::string meant = suggestion(app, call);
    return usage_error(app, error.text + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
}

}  // namespace bf_aot::cli
