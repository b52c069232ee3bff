#include "aot/cli/reach/reach_arguments.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>

#include "aot/build/options/option_rows.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/input/exact_box.h"
#include "aot/reach/question/question_file.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"

namespace bf_aot::cli {
namespace {

constexpr char kReachExamples[] =
    "bf-aot reach reach.json\n"
    "bf-aot reach reach.json --plot tube.html --steps 100\n"
    "bf-aot reach --controller c.onnx --plant f.onnx --period 0.1 --steps 50 \\\n"
    "    --box start.json --always '(<= -1 x[0] 1)'\n"
    "bf-aot reach reach.json -o monitor.cpp --target cortex-m7\n"
    "bf-aot reach --plant step.onnx --kind discrete --steps 20 --box start.json \\\n"
    "    --at 'end:(<= x[0] 0.1)'";

constexpr char kReachNotes[] =
    "The plant maps the state x, the control u and disturbances to dx/dt, or of discrete plants "
    "to the next state; the controller maps x to u, which is held for a period. Conditions are "
    "written as in VNN-LIB 2.0, over x[i], u[j], x0[i] (the state at the start) and names of "
    "--state-names. Times are seconds, of discrete plants steps.\n\n"
    "The first line of the answer is 'verified' (every start meets every requirement), "
    "'falsified' (a trajectory breaks one, which is proven), 'unknown', or 'bounded' where "
    "nothing is required.\n\n"
    "Exit code: 0 verified or bounded, 3 falsified, 4 unknown. 1 the input is wrong, 2 wrong "
    "options.";

constexpr char kLoop[] = "Loop";
constexpr char kRequirements[] = "Requirements";
constexpr char kTubes[] = "Tubes";
constexpr char kMonitor[] = "Monitor";

// A value of the form NAME:REST with both parts.
ValueRule pair_rule(std::string form) {
  return {[form](std::string& text) {
            const std::size_t colon = text.find(':');
            if (colon != std::string::npos && colon > 0 && colon + 1 < text.size())
              return std::string();
            return "expected " + form + ": " + text;
          },
          ""};
}

std::pair<std::string, std::string> split(const std::string& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {text, text};
  return {text.substr(0, at), text.substr(at + 1)};
}

void add_network_options(CommandLine& app, ReachArguments& arguments) {
  const auto file = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->type_name("FILE")->group(kLoop)->excludes("QUESTION");
  };
  file("--plant", arguments.plant, "ONNX file (x, u, ..) -> dx/dt, or the next state");
  file("--controller", arguments.controller, "ONNX file x -> u");
  file("--observer", arguments.observer, "ONNX file x -> what the controller reads");
  Option* const box = file("--box", arguments.box,
                           "box of the states at the start: JSON {\"lower\": [..], \"upper\": "
                           "[..]}, or NumPy's .npy");
  app.add_option("--index", arguments.index, "which box of a file of several, from 0")
      ->transform(whole(0))
      ->type_name("K")
      ->group(kLoop)
      ->needs(box);
  const auto disturbance = [&](const char* name, std::vector<std::string>& values,
                               const char* help) {
    app.add_option(name, values, help)
        ->transform(pair_rule("NAME:FILE"))
        ->type_name("NAME:FILE")
        ->group(kLoop)
        ->excludes("QUESTION");
  };
  disturbance("--disturbance", arguments.disturbances,
              "NAME:FILE: box of a further input of the plant, which has another value in "
              "each period");
  disturbance("--constant", arguments.constants, "the same, with one value for all time");
  disturbance("--changing", arguments.changing, "the same, with any value at any time");
  app.add_option("--state-names", arguments.state_names, "names of the state's elements")
      ->type_name("NAME")
      ->group(kLoop)
      ->excludes("QUESTION");
}

void add_time_options(CommandLine& app, ReachArguments& arguments) {
  app.add_option("--kind", arguments.kind,
                 "what the plant is: continuous; euler (the next state is x + h dx); or discrete "
                 "(its output is the next state) (default: continuous)")
      ->transform(one_of({"continuous", "euler", "discrete"}))
      ->type_name("NAME")
      ->group(kLoop);
  app.add_option("--period", arguments.period,
                 "seconds that a control is held for, of discrete plants steps")
      ->type_name("T")
      ->group(kLoop);
  app.add_option("--steps", arguments.steps, "periods that are looked ahead")
      ->transform(whole(1, 1000000))
      ->type_name("N")
      ->group(kLoop);
  app.add_option("--substeps", arguments.substeps,
                 "steps of a period: of Euler's method (default: 1), or of tubes of continuous "
                 "plants (default: chosen)")
      ->transform(whole(1, 1000000))
      ->type_name("K")
      ->group(kLoop);
  Option* const delayed = app.add_flag("--delayed", arguments.delayed,
                                       "the control that a period computes is held in the next one")
                              ->group(kLoop)
                              ->excludes("QUESTION");
  takes_numbers(app.add_option("--first-control", arguments.first_control,
                               "with --delayed: the control of the first period"))
      ->type_name("LIST")
      ->group(kLoop)
      ->needs(delayed);
}

void add_requirement_options(CommandLine& app, ReachArguments& arguments) {
  const auto requirement = [&](const char* name, std::vector<std::string>& values, const char* type,
                               const char* help) {
    return app.add_option(name, values, help)->type_name(type)->group(kRequirements);
  };
  requirement("--always", arguments.always, "C", "a condition that holds at all times");
  requirement("--never", arguments.never, "C", "a condition that holds at no time");
  requirement("--at", arguments.at, "T:C",
              "T:C, a condition that holds at the time T, a number or 'end'")
      ->transform(pair_rule("T:C"));
  requirement("--within", arguments.within, "A,B:C",
              "A,B:C, a condition that holds at all times from A to B")
      ->transform(pair_rule("A,B:C"));
}

void add_tube_options(CommandLine& app, ReachArguments& arguments) {
  app.add_option("--order", arguments.order, "of Taylor polynomials in time (default: chosen)")
      ->transform(whole(1, 32))
      ->type_name("N")
      ->group(kTubes);
  app.add_option("--symbols", arguments.symbols,
                 "symbols that states keep in common (default: chosen)")
      ->transform(whole(1, 4096))
      ->type_name("N")
      ->group(kTubes);
  app.add_option("--cells", arguments.least_cells,
                 "split into at least so many cells: the tube is narrower")
      ->transform(whole(1, 1U << 20))
      ->type_name("N")
      ->group(kTubes);
  app.add_option("--most-cells", arguments.most_cells, "most cells that the box is split into")
      ->transform(whole(1, 1U << 30))
      ->type_name("N")
      ->capture_default_str()
      ->group(kTubes);
  add_row(app, "method", arguments.values,
          {.names = "-m,--method",
           .help = "bounds of the controller",
           .group = kTubes,
           .rule = one_of({"ibp", "crown-ibp", "crown", "alpha-crown"})});
  for (const char* const name : {"semantics", "flush-to-zero", "libm-ulps"})
    add_row(app, name, arguments.values, {.group = kTubes});
}

void add_output_options(CommandLine& app, ReachArguments& arguments) {
  app.add_option("--timeout", arguments.timeout, "seconds (default: 60)")
      ->transform(positive_number("1e6"))
      ->type_name("S");
  add_jobs_option(app, arguments.jobs, "threads that bound and split");
  const ValueRule plot = {[](std::string& text) {
                            if (text.ends_with(".svg") || text.ends_with(".html"))
                              return std::string();
                            return "expected a file .svg or .html: " + text;
                          },
                          ""};
  app.add_option("--plot", arguments.plots,
                 "draw the tube into this .svg or .html; may be repeated")
      ->transform(plot)
      ->writes("FILE");
  app.add_flag("--json", arguments.json, "print one JSON object");
}

void add_monitor_options(CommandLine& app, ReachArguments& arguments) {
  const ValueRule source = {[](std::string& text) {
                              const std::filesystem::path path(text);
                              if (path.extension() == ".cpp" && !path.stem().empty())
                                return std::string();
                              return "the name of the C++ file must end in .cpp: " + text;
                            },
                            ""};
  Option* const output =
      app.add_option("-o,--output", arguments.monitor,
                     "write a monitor that looks so many periods ahead from any box of states, "
                     "and what it includes, instead of an answer")
          ->transform(source)
          ->writes("FILE.cpp")
          ->group(kMonitor);
  add_row(app, "target", arguments.values, {.group = kMonitor})->needs(output);
  app.add_option("--name", arguments.values.compile.name,
                 "prefix of the monitor's symbols (default: made from the file name)")
      ->type_name("NAME")
      ->group(kMonitor)
      ->needs(output);
}

void add_requirements(const std::vector<std::string>& conditions, reach::Requirement::Kind kind,
                      const char* option, reach::QuestionText& to) {
  using Kind = reach::Requirement::Kind;
  for (const std::string& each : conditions) {
    reach::RequirementText made{kind, {}, {}, each, option};
    if (kind == Kind::kAt || kind == Kind::kWithin) {
      std::string times;
      std::tie(times, made.condition) = split(each, ':');
      if (kind == Kind::kWithin && times.find(',') == std::string::npos)
        fail("BF3605", option, fmt::format("'{}' is no window", printable(times)),
             "give its two ends as 0.5,1");
      std::tie(made.from, made.to) = split(times, ',');
      if (kind == Kind::kAt) made.from = made.to = times;
    }
    to.requirements.push_back(std::move(made));
  }
}

reach::BoxText box_of(const std::string& file, std::optional<std::size_t> index) {
  const input::TypedBox typed = input::read_typed_box(file, index);
  if (typed.file.ids)
    fail("BF3021", typed.file.where, "ids stand where a box is needed", "give lower and upper");
  return {typed.file.box, typed.inner, typed.file.where};
}

reach::QuestionText typed_question(const ReachArguments& arguments) {
  reach::QuestionText made;
  made.plant = *arguments.plant;
  made.controller = arguments.controller;
  made.observer = arguments.observer;
  made.initial = box_of(*arguments.box, arguments.index);
  made.delayed = arguments.delayed;
  for (const std::string& text : arguments.first_control)
    made.first_control.push_back(
        vnnlib::round_to_double(exact(exact_number(text, "--first-control"))));
  made.state_names = arguments.state_names;
  using Changes = reach::Disturbance::Changes;
  const auto add = [&](const std::vector<std::string>& disturbances, Changes changes) {
    for (const std::string& each : disturbances) {
      const auto [name, file] = split(each, ':');
      made.disturbances.push_back({name, box_of(file, {}), changes});
    }
  };
  add(arguments.disturbances, Changes::kEachPeriod);
  add(arguments.constants, Changes::kNever);
  add(arguments.changing, Changes::kAnyTime);
  return made;
}

std::optional<reach::CellFile> kept_cells(const ReachArguments& arguments,
                                          const reach::Question& question) {
  if (arguments.checkpoint.empty() && arguments.part.empty()) return std::nullopt;
  if (question.requirements.empty())
    fail("BF3020", arguments.part.empty() ? "--checkpoint" : "--part",
         "without requirements no cells are split, so there is nothing to keep",
         "require something by --always, --never, --at or --within");
  reach::CellFile made;
  made.path = arguments.part.empty() ? arguments.checkpoint : arguments.save_part;
  if (!arguments.part.empty()) made.part = *decide::parse_part(arguments.part);
  const reach::Loop& loop = question.loop;
  for (const reach::Part* const part : {&loop.plant, loop.controller ? &*loop.controller : nullptr,
                                        loop.observer ? &*loop.observer : nullptr})
    if (part != nullptr)
      made.question.models.push_back(
          {std::filesystem::absolute(part->path).string(), part->info.sha256});
  made.question.property = arguments.question;
  made.question.property_sha256 = sha256("a loop");  // demands are part of what cells mean
  made.question.semantics = to_string(arguments.values.compile.planner.semantics);
  made.question.flush_to_zero = arguments.values.compile.planner.flush_to_zero;
  return made;
}

void add_tree_options(CommandLine& app, ReachArguments& arguments) {
  app.add_option("--checkpoint", arguments.checkpoint,
                 "keep the cells in this file; go on from it if it exists")
      ->type_name("FILE")
      ->group(kTubes);
  const ValueRule rule = {[](std::string& text) {
                            return decide::parse_part(text)
                                       ? std::string()
                                       : "expected I/N, part I of N, counted from 0: " + text;
                          },
                          ""};
  Option* const part = app.add_option("--part", arguments.part,
                                      "bound one part of the cells: I/N; 'bf-aot merge' joins them")
                           ->transform(rule)
                           ->type_name("I/N")
                           ->group(kTubes);
  Option* const saved =
      app.add_option("--save-part", arguments.save_part, "the part's file, as of --checkpoint")
          ->type_name("FILE")
          ->group(kTubes);
  part->excludes("--checkpoint")->needs(saved);
  saved->needs(part);
}

}  // namespace

void add_options(CommandLine& app, ReachArguments& arguments) {
  arguments.values.compile.planner.lowering = kInProcess;
  app.add_option("QUESTION", arguments.question,
                 "JSON file of the whole question; -: standard input")
      ->type_name("FILE");
  add_output_options(app, arguments);
  add_network_options(app, arguments);
  add_time_options(app, arguments);
  add_requirement_options(app, arguments);
  add_tube_options(app, arguments);
  add_tree_options(app, arguments);
  add_monitor_options(app, arguments);
  // A monitor has no answer.
  for (const char* const name : {"--plot", "--json", "--checkpoint", "--part", "--cells"})
    app.get_option("--output")->excludes(name);
  set_help(app, {kReachExamples, kReachNotes, "guide/loops.md"});
}

reach::QuestionText question_of(const ReachArguments& arguments) {
  using Kind = reach::Requirement::Kind;
  reach::QuestionText made = arguments.question.empty() ? typed_question(arguments)
                                                        : reach::read_question(arguments.question);
  if (arguments.kind)
    made.kind = *arguments.kind == "euler"      ? reach::PlantKind::kEuler
                : *arguments.kind == "discrete" ? reach::PlantKind::kDiscrete
                                                : reach::PlantKind::kContinuous;
  const auto replace = [&](const char* key, const auto& value, auto& to) {
    if (!value) return;
    to = *value;
    made.typed.insert(key);
  };
  replace("period", arguments.period, made.period);
  replace("steps", arguments.steps, made.steps);
  replace("substeps", arguments.substeps, made.substeps);
  add_requirements(arguments.always, Kind::kAlways, "--always", made);
  add_requirements(arguments.never, Kind::kNever, "--never", made);
  add_requirements(arguments.at, Kind::kAt, "--at", made);
  add_requirements(arguments.within, Kind::kWithin, "--within", made);
  return made;
}

reach::ReachSettings settings_of(const ReachArguments& arguments, const reach::Question& question) {
  reach::ReachSettings made;
  made.order = arguments.order;
  made.symbols = arguments.symbols;
  made.most_cells = arguments.most_cells;
  made.least_cells = arguments.least_cells;
  made.seconds = arguments.timeout;
  made.jobs = arguments.jobs != 0 ? arguments.jobs : system::core_count();
  made.compile = build::resolved(arguments.values);
  made.compiler = arguments.values.compiler;
  made.kept = kept_cells(arguments, question);
  return made;
}

reach::MonitorSettings monitor_settings_of(const ReachArguments& arguments) {
  reach::MonitorSettings made;
  made.stem = std::filesystem::path(arguments.monitor).stem().string();
  made.order = arguments.order;
  made.symbols = arguments.symbols;
  made.compile = build::resolved(arguments.values);
  made.compile.planner.lowering = PlannerConfig().lowering;
  return made;
}

}  // namespace bf_aot::cli
