#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "aot/cli/commands.h"
#include "aot/cli/files.h"
#include "aot/cli/inspect.h"
#include "aot/cli/options.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/plan_json.h"
#include "planner/planner.h"

namespace bf::cli {
namespace {

constexpr char kFooter[] =
    "Without options: the normalised network and a summary of the plan.\n"
    "\n"
    "Examples:\n"
    "  bf-aot inspect model.onnx --dump-after=all\n"
    "  bf-aot inspect model.onnx --plan --method ibp > plan.json\n"
    "  bf-aot inspect model.onnx --dot net.dot && dot -Tsvg net.dot -o net.svg\n"
    "  bf-aot inspect --list-passes";

struct Arguments {
  ModelArguments model;
  std::string dump_after;
  std::string dot_file;
  bool list_passes = false;
  bool plan_json = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  add_model_options(app, arguments.model, true);
  app.get_option("MODEL")->required(false);
  add_method_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  app.add_option("--dump-after", arguments.dump_after,
                 "print the graph after this pass: a name of --list-passes, 'import', or 'all'")
      ->type_name("PASS");
  app.add_flag("--list-passes", arguments.list_passes, "print the names of the passes in order");
  app.add_option("--dot", arguments.dot_file,
                 "write the network and the task graph as a Graphviz file")
      ->type_name("FILE");
  app.add_flag("--plan", arguments.plan_json, "print the plan as JSON");
  app.footer(kFooter);
}

void inspect(const Arguments& arguments) {
  CompileOptions options = compile_options(arguments.model);
  const std::string& dumped = arguments.dump_after;
  if (!dumped.empty() && dumped != "all" && dumped != "import") check_pass_name(dumped);
  options.after_pass = [&dumped](std::string_view pass, const Graph& graph) {
    if (dumped == "all" || dumped == pass) fmt::print("-- after {}\n{}\n", pass, to_string(graph));
  };
  const FrontendResult front = run_frontend(arguments.model.model, options);
  const bool summary_wanted = dumped.empty() && arguments.dot_file.empty() && !arguments.plan_json;
  if (!summary_wanted && arguments.dot_file.empty() && !arguments.plan_json) return;

  const std::string name =
      options.name.empty()
          ? identifier_from(std::filesystem::path(arguments.model.model).stem().string())
          : options.name;
  const Plan made = plan(front.graph, front.info, name, options.spec.has_value(), options.planner);
  if (!arguments.dot_file.empty()) write_file(arguments.dot_file, dot(front.graph, made));
  if (arguments.plan_json) fmt::print("{}\n", to_json(made).dump(2));
  if (summary_wanted)
    fmt::print("model {} (sha256 {}), opset {}\n{}\n{}", front.info.file_name, front.info.sha256,
               front.info.opset, to_string(front.graph), summary(made));
}

}  // namespace

int inspect_command(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Shows what the compiler makes of a model.", "bf-aot inspect");
  add_options(app, arguments);
  if (const auto code = parse(app, argc, argv)) return *code;
  if (arguments.list_passes) {
    fmt::print("{}", list_passes());
    return 0;
  }
  if (arguments.model.model.empty()) {
    fmt::print(stderr, "MODEL is required\nRun with --help for more information.\n");
    return 2;
  }
  inspect(arguments);
  return 0;
}

}  // namespace bf::cli
