#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/values.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/cli/verify/verify_print.h"
#include "aot/decide/invariant.h"
#include "aot/engine/verifier/report.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

constexpr char kInvariantExamples[] =
    "bf-aot invariant step.onnx --state x:next --box first.json\n"
    "bf-aot invariant rnn.onnx --state h:h_next --box b.json --obligation p.vnnlib";

constexpr char kInvariantNotes[] =
    "MODEL is one step: --state says which of its inputs are the state, and which outputs are "
    "their next values. The box is of all inputs: its states are those where steps begin, and the "
    "other inputs may be anywhere in it at every step. The box of states that is printed holds "
    "those, and no step leaves it.\n\n"
    "Exit code: 0 found, 4 not found. 1 the input is wrong, 2 wrong options.";

struct InvariantArguments {
  ModelArguments model;
  std::vector<std::string> state;
  BoxArguments box;
  std::string obligation;
  double timeout = 20;
  int jobs = 0;
  bool json = false;
};

void add_options(CommandLine& app, InvariantArguments& arguments) {
  arguments.model.values.compile.planner.lowering = kInProcess;
  add_model_options(app, arguments.model, false);
  add_row(app, "method", arguments.model.values,
          {.names = "-m,--method", .rule = one_of({"ibp", "crown-ibp", "crown", "alpha-crown"})});
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  app.add_option("--state", arguments.state,
                 "tensor of the state, and that of its next value; NAME[A:B]: elements A to B - 1 "
                 "of a tensor; once for each")
      ->required()
      ->type_name("IN:OUT");
  add_box_options(app, arguments.box);
  app.add_option("--obligation", arguments.obligation,
                 "write what is proven as a VNN-LIB file: that no step leaves the box")
      ->writes("FILE");
  app.add_option("--timeout", arguments.timeout, "seconds (default: 20)")
      ->transform(positive_number("1e6"))
      ->type_name("S");
  add_jobs_option(app, arguments.jobs, "threads that bound and split");
  app.add_flag("--json", arguments.json, "print one JSON object");
  set_help(app, {kInvariantExamples, kInvariantNotes, "guide/invariant.md"});
}

struct Elements {
  std::size_t first = 0, count = 0;
};

// The elements that a text names, of tensors one after the other; none where it names no tensor.
std::optional<Elements> elements_of(const Graph& graph, const std::vector<ValueId>& tensors,
                                    const std::string& text) {
  std::size_t place = 0;
  for (const ValueId id : tensors) {
    const Value& value = graph.value(id);
    const auto count = static_cast<std::size_t>(element_count(value.shape));
    if (text == value.name) return Elements{place, count};
    std::size_t begin = 0, end = 0;
    int read = 0;
    if (text.starts_with(value.name + "[") &&
        std::sscanf(text.c_str() + value.name.size(), "[%zu:%zu]%n", &begin, &end, &read) == 2 &&
        value.name.size() + static_cast<std::size_t>(read) == text.size() && begin < end &&
        end <= count)
      return Elements{place + begin, end - begin};
    place += count;
  }
  return std::nullopt;
}

std::string names_of(const Graph& graph, const std::vector<ValueId>& tensors) {
  std::string names;
  for (const ValueId id : tensors)
    names += (names.empty() ? "" : ", ") + printable(graph.value(id).name) + " " +
             to_string(graph.value(id).shape);
  return names;
}

// Throws: BF3417.
std::vector<decide::StateElement> state_of(const std::vector<std::string>& texts,
                                           const Graph& graph) {
  std::vector<decide::StateElement> state;
  for (const std::string& text : texts) {
    std::optional<Elements> in, out;
    // Names have colons, too.
    for (std::size_t at = text.find(':'); at != std::string::npos && !(in && out);
         at = text.find(':', at + 1)) {
      in = elements_of(graph, graph.inputs, text.substr(0, at));
      out = elements_of(graph, graph.outputs, text.substr(at + 1));
    }
    if (!in || !out)
      fail("BF3417", "--state",
           fmt::format("'{}' names no input and output of the model", printable(text)),
           fmt::format("inputs are {}; outputs are {}", names_of(graph, graph.inputs),
                       names_of(graph, graph.outputs)));
    if (in->count != out->count)
      fail("BF3417", "--state",
           fmt::format("'{}' has {} elements of an input and {} of an output", printable(text),
                       in->count, out->count),
           "a state and its next value have equally many");
    for (std::size_t i = 0; i < in->count; ++i) state.push_back({in->first + i, out->first + i});
  }
  std::vector<std::size_t> inputs;
  for (const decide::StateElement& each : state) inputs.push_back(each.input);
  std::ranges::sort(inputs);
  if (std::ranges::adjacent_find(inputs) != inputs.end())
    fail("BF3417", "--state", "an element of an input is in two of them",
         "each element of the state has one next value");
  return state;
}

nlohmann::ordered_json to_json(const InvariantArguments& arguments,
                               const decide::Invariant& found) {
  nlohmann::ordered_json json;
  json["model"] = printable(std::filesystem::path(arguments.model.model).filename().string());
  json["found"] = found.found;
  json["box"] = engine::bounds_json({found.box.lower, found.box.upper});
  json["by"] =
      !found.found ? nullptr : nlohmann::ordered_json(found.by_bounds ? "bounds" : "splits");
  json["rounds"] = found.rounds;
  json["seconds"] = found.seconds;
  return json;
}

void print(const decide::Invariant& found, const std::vector<decide::StateElement>& state) {
  fmt::print("{}\n\n", found.found ? "invariant: no step leaves this box of states"
                                   : "not found: the last box that was tried");
  fmt::print("{:<8} {:>16} {:>16}\n", "input", "lower", "upper");
  for (const decide::StateElement& each : state)
    fmt::print("{:<8} {:>16.9g} {:>16.9g}\n", each.input, found.box.lower[each.input],
               found.box.upper[each.input]);
  if (!found.found && found.last)
    fmt::print("\nleft from\n{}", plain_text(*found.last, most_lines()));
  fmt::print("\nproof    {}\n", !found.found ? "none"
                                : found.by_bounds
                                    ? "bounds of the next state lie in the box"
                                    : "bounds of parts of the box, or of neurons' splits");
  fmt::print("time     {}; boxes tried: {}\n", engine::duration(found.seconds), found.rounds);
}

}  // namespace

int invariant_command(const Call& call) {
  InvariantArguments arguments;
  CommandLine app("Searches a box of states that no step of a network leaves.", "bf-aot invariant");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.box.given()) return usage_error(app, "--box is required, or --centre and --eps");
  const Network network = read_network(arguments.model);
  const Graph& graph = network.sampler.graph();
  const std::vector<decide::StateElement> state = state_of(arguments.state, graph);
  std::int64_t inputs = 0, outputs = 0;
  for (const ValueId id : graph.inputs) inputs += element_count(graph.value(id).shape);
  for (const ValueId id : graph.outputs) outputs += element_count(graph.value(id).shape);
  const input::BoxFile file = box_of(arguments.box, static_cast<int>(inputs));
  (void)input::round_outward(file, static_cast<int>(inputs));  // refuses what has no such box
  decide::Request request;
  request.compile = compile_options(arguments.model);
  request.method = request.compile.planner.method;
  request.compile.name = build::symbol_prefix(arguments.model.model, request.compile);
  request.compiler = arguments.model.values.compiler;
  request.jobs = static_cast<std::size_t>(arguments.jobs);
  decide::InvariantSettings settings;
  settings.seconds = arguments.timeout;
  decide::RequestCalls calls;
  calls.stop = system::Stop().or_interrupt();
  const decide::Invariant found = decide::find_invariant(network.sampler, network.info, file.box,
                                                         state, request, settings, calls);
  system::throw_if_interrupted();
  if (found.found && !arguments.obligation.empty())
    system::publish_file(arguments.obligation, decide::obligation_text(found.box, state, outputs));
  if (arguments.json)
    fmt::print("{}\n", to_json(arguments, found).dump());
  else
    print(found, state);
  return found.found ? 0 : 4;
}

}  // namespace bf_aot::cli
