#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/build/options/option_rows.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/parse.h"

namespace bf_aot::cli {

// The lowering of commands that answer a question: the engine needs no C++ compiler.
inline constexpr Lowering kInProcess = Lowering::kPrebuilt;

// A command's question about a model: the options of the table, and files as they were typed.
struct ModelArguments {
  std::string model;
  build::OptionValues values;
  std::string spec, property;
  std::string decide;  // what NAME_decide splits; empty: there is none
  std::string config;  // read by parse()
};

// The form in which a command shows an option, where it differs from the table's.
struct Shown {
  std::string names = {};  // "-m,--method"
  const char* help = nullptr;
  const char* group = nullptr;
  std::optional<ValueRule> rule = {};
};
Option* add_row(CommandLine& app, std::string_view name, build::OptionValues& values,
                const Shown& shown = {});
// Adds all rows of a set. group: in place of the table's.
void add_rows(CommandLine& app, build::OptionRow::Set set, build::OptionValues& values,
              const char* group = nullptr);
// The row that was added as this option; null where it is none of the table.
const build::OptionRow* row_of(const Option& option);

// Adds MODEL and the options that decide the plan. reference: --lowering may be "reference".
void add_model_options(CommandLine& app, ModelArguments& arguments, bool reference);
void add_name_option(CommandLine& app, ModelArguments& arguments);
void add_cut_options(CommandLine& app, ModelCut& cut);
void add_method_option(CommandLine& app, ModelArguments& arguments);
void add_norm_option(CommandLine& app, ModelArguments& arguments);
void add_spec_option(CommandLine& app, ModelArguments& arguments);
void add_property_option(CommandLine& app, ModelArguments& arguments);  // after add_spec_option
void add_arithmetic_option(CommandLine& app, ModelArguments& arguments);
void add_language_option(CommandLine& app, ModelArguments& arguments);
void add_compiler_options(CommandLine& app, ModelArguments& arguments);
void add_jit_option(CommandLine& app, ModelArguments& arguments);

// Resolves the arguments, and reads the files that they name. Throws: CompileError.
build::CompileOptions compile_options(const ModelArguments& arguments);

inline constexpr Method kAllMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                         Method::kAlphaCrown};  // of any network

}  // namespace bf_aot::cli
