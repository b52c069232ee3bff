#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/search_options.h"

namespace bf_aot::cli {

// A call of a command.
struct Call {
  std::vector<const char*> arguments;             // the first: the command's name in the usage text
  std::function<void(const CommandLine&)> visit;  // if set: gets the options, and nothing is done
};

// Command-line options that several commands share, as they were typed.
// The lowering of commands that answer a question: the engine needs no C++ compiler.
inline constexpr const char* kInProcess = "prebuilt";

struct ModelArguments {
  std::string model;
  std::string method = "crown";
  std::string lowering = "vector";  // commands that run the verifier themselves: kInProcess
  std::string target = "host";
  std::string semantics = "real";
  bool method_given = true;  // false: add_method_option() was called, and the user gave none
  std::string arithmetic = "float";  // where add_arithmetic_option() is not called
  double libm_ulps = 4;
  bool flush_to_zero = false;
  std::vector<std::string> outputs;  // tensors that are the outputs instead of the model's own
  std::string name;
  std::string spec;
  std::string property;
  std::string cxx;
  std::vector<std::string> cxx_flags;
  std::string jit = "off";  // where add_jit_option() is not called
  int row_tile = 0;
  std::vector<std::string> cache;
  int batch = 1;
  int workers = 1;
  std::string decide;  // what NAME_decide splits; empty: there is none
  std::string granularity = "region";
  std::string tuning_log;
  std::string profile;  // a name or a file; empty: the target's
  int iterations = 20;
  std::string alpha = "outputs";
  std::string norm = "linf";                 // where add_norm_option() is not called
  std::vector<std::string> disabled_passes;  // of the graph and of the planner
  SearchArguments search;
  std::string config;  // read by parse()
};

// Adds MODEL and the options that decide the plan. `reference`: --lowering may be "reference".
void add_model_options(CommandLine& app, ModelArguments& arguments, bool reference);
void add_name_option(CommandLine& app, ModelArguments& arguments);
void add_output_tensor_option(CommandLine& app, std::vector<std::string>& outputs);
void add_method_option(CommandLine& app, ModelArguments& arguments);
void add_norm_option(CommandLine& app, ModelArguments& arguments);
void add_spec_option(CommandLine& app, ModelArguments& arguments);
void add_property_option(CommandLine& app, ModelArguments& arguments);  // after add_spec_option
void add_arithmetic_option(CommandLine& app, ModelArguments& arguments);
void add_compiler_options(CommandLine& app, ModelArguments& arguments);
void add_jit_option(CommandLine& app, ModelArguments& arguments);

// Resolves the arguments, and reads the specification's file. Throws: CompileError.
build::CompileOptions compile_options(const ModelArguments& arguments);
build::CompilerOptions compiler_options(const ModelArguments& arguments);

Method method_of(const std::string& text);
inline constexpr Method kAllMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                         Method::kAlphaCrown};  // of any network

// Adds the options of all commands, parses, then applies --config. After --help and usage errors it
// has printed a text and returns the exit code, 0 or 2. Throws: CompileError for the configuration.
std::optional<int> parse(CommandLine& app, const Call& call);

// Prints what is wrong with the usage, and where it is explained. Returns 2.
int usage_error(const CommandLine& app, const std::string& message);

}  // namespace bf_aot::cli
