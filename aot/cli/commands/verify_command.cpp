#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>

#include "aot/apps/instances/instances.h"
#include "aot/build/compile.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/library_options.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/values.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/property/branch.h"
#include "aot/decide/property/decision.h"
#include "aot/decide/request.h"
#include "aot/engine/verifier/report.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {
namespace {

constexpr char kVerifyExamples[] =
    "bf-aot verify model.onnx property.vnnlib\n"
    "bf-aot verify model.onnx property.vnnlib --vnncomp --timeout 116\n"
    "bf-aot verify query.vnnlib --network f=model.onnx      (VNN-LIB 2.0)\n"
    "bf-aot verify --instances instances.csv --results results.csv --jobs 4";

constexpr char kVerifyNotes[] =
    "The first line of the answer is 'verified' (no input violates the property), "
    "'falsified' (an input does, which follows and is proven to), 'unknown', or "
    "'timeout'. What a property file may hold is in docs/reference/properties.md.\n\n"
    "Exit code: 0 verified, 3 falsified, 4 unknown, 5 timeout; with --vnncomp or "
    "--network 0 for all of these. With --instances 0, or 1 when some are errors. 1 the input "
    "cannot be handled (see the diagnostics), 2"
    " wrong usage.";

struct VerifyArguments {
  ModelArguments model;
  std::string property;
  std::vector<std::string> networks;
  std::string counterexample;
  double timeout = 0;
  std::optional<double> search, branch;  // seconds
  std::string instances, results, counterexamples, junit;
  std::optional<std::size_t> index;
  std::string checkpoint, part, save_part;
  int jobs = 0;
  bool competition = false;
  bool json = false;

  Wording wording() const {
    return !networks.empty() ? Wording::kStandard
           : competition     ? Wording::kCompetition
                             : Wording::kPlain;
  }
};

constexpr char kInstances[] = "Many questions";

void add_instance_options(CommandLine& app, VerifyArguments& arguments) {
  Option* const instances =
      app.add_option("--instances", arguments.instances,
                     "in place of MODEL and PROPERTY: lines onnx,vnnlib,timeout, as in VNN-COMP")
          ->type_name("FILE")
          ->group(kInstances);
  Option* const results =
      app.add_option("--results", arguments.results,
                     "answers, a line for each, as VNN-COMP writes them; instances that have a "
                     "line are not decided again")
          ->needs(instances)
          ->type_name("FILE")
          ->group(kInstances);
  instances->needs(results);
  app.add_option("--index", arguments.index, "the only instance that is decided, from 0")
      ->transform(whole(0))
      ->needs(instances)
      ->type_name("K")
      ->group(kInstances);
  app.add_option("--counterexamples", arguments.counterexamples,
                 "folder for the counterexamples, in the competitions' syntax")
      ->needs(instances)
      ->type_name("FOLDER")
      ->group(kInstances);
  app.add_option("--junit", arguments.junit, "JUnit XML, a test for each instance")
      ->needs(instances)
      ->type_name("FILE")
      ->group(kInstances);
}

constexpr char kTree[] = "Long searches";

void add_tree_options(CommandLine& app, VerifyArguments& arguments) {
  Option* const checkpoint =
      app.add_option("--checkpoint", arguments.checkpoint,
                     "keeps the tree of a search in this file, written every minute and when the "
                     "search ends or is interrupted; a search whose file is there goes on from it")
          ->type_name("FILE")
          ->group(kTree);
  Option* const part =
      app.add_option("--part", arguments.part,
                     "searches part I of N alone, from 0; 'bf-aot merge' joins the files of all")
          ->excludes(checkpoint)
          ->transform({[](std::string& text) {
                         return decide::parse_part(text)
                                    ? std::string()
                                    : "expected I/N, I from 0 to N - 1: " + text;
                       },
                       ""})
          ->type_name("I/N")
          ->group(kTree);
  Option* const saved =
      app.add_option("--save-part", arguments.save_part, "the part's file, as of --checkpoint")
          ->needs(part)
          ->type_name("FILE")
          ->group(kTree);
  part->needs(saved);
}

void add_options(CommandLine& app, VerifyArguments& arguments) {
  arguments.model.lowering = kInProcess;
  add_model_options(app, arguments.model, false);
  app.get_option("MODEL")->required(false);
  app.add_option("PROPERTY", arguments.property, "VNN-LIB file, plain or compressed by gzip")
      ->type_name("FILE");
  arguments.model.method = "auto";
  app.add_option("-m,--method", arguments.model.method,
                 "ibp, crown-ibp, crown, alpha-crown, forward; auto: crown, after ibp for many "
                 "cases or large networks")
      ->transform(one_of({"auto", "ibp", "crown-ibp", "crown", "alpha-crown", "forward"}))
      ->capture_default_str()
      ->group(kMethodGroup);
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  app.add_option("--network", arguments.networks,
                 "VNN-LIB 2.0: the model of a declared network; MODEL is the query then")
      ->type_name("NAME=FILE");
  app.add_option("--timeout", arguments.timeout, "seconds until the answer is 'timeout'")
      ->transform(number("0", "1e6"))
      ->type_name("S");
  app.add_option("--search", arguments.search,
                 "most seconds to search for a counterexample (default: 5, with --timeout as long "
                 "as that allows)")
      ->transform(number("0", "1e6"))
      ->type_name("S");
  app.add_option("--branch", arguments.branch,
                 "most seconds to split boxes where few inputs vary, else neurons; 0: never "
                 "(default: 20, with "
                 "--timeout as long as that allows)")
      ->transform(number("0", "1e6"))
      ->type_name("S");
  app.add_option("-j,--jobs", arguments.jobs,
                 "threads that split; with --instances instances at once, each in a process "
                 "of its own (default: as many as there are cores)")
      ->transform(whole(1, 256))
      ->type_name("N");
  app.add_option("--counterexample", arguments.counterexample,
                 "write a counterexample to this file, in the competitions' syntax")
      ->type_name("FILE");
  app.add_flag("--vnncomp", arguments.competition,
               "answer in the words of VNN-COMP: sat, unsat, unknown, timeout");
  app.add_flag("--json", arguments.json, "print one JSON object");
  add_tree_options(app, arguments);
  add_instance_options(app, arguments);
  set_help(app, {kVerifyExamples, kVerifyNotes, "reference/properties.md"});
}

// --network NAME=FILE makes the positional MODEL the query. Returns whether the files are complete.
bool assign_files(VerifyArguments& arguments) {
  if (arguments.networks.empty())
    return !arguments.model.model.empty() && !arguments.property.empty();
  if (!arguments.property.empty()) return false;
  arguments.property = arguments.model.model;
  const std::string& network = arguments.networks[0];
  const std::size_t equals = network.find('=');
  if (arguments.networks.size() > 1)
    fail("BF3410", "--network", "a query about several networks is not supported");
  if (equals == std::string::npos || equals == 0) return false;
  arguments.model.model = network.substr(equals + 1);
  return true;
}

void check_network_name(const VerifyArguments& arguments, const Property& property) {
  if (arguments.networks.empty()) return;
  const std::string name = arguments.networks[0].substr(0, arguments.networks[0].find('='));
  if (name != property.network)
    fail("BF3413", "--network",
         property.network.empty() ? "the property declares no network: it is in VNN-LIB 1.0"
                                  : fmt::format("the query declares network '{}', not '{}'",
                                                property.network, printable(name)),
         property.network.empty() ? "give model and property one after the other"
                                  : fmt::format("use --network {}=FILE", property.network));
}

const char* name_of(decide::DecisionPhase phase) {
  return phase == decide::DecisionPhase::kBound    ? "bound"
         : phase == decide::DecisionPhase::kSearch ? "search"
         : phase == decide::DecisionPhase::kSplit  ? "split boxes"
                                                   : "split neurons";
}

std::string text_of(const decide::DecisionProgress& progress) {
  const bool counts_nodes = progress.phase == decide::DecisionPhase::kSplit ||
                            progress.phase == decide::DecisionPhase::kNeurons;
  if (!counts_nodes) return fmt::format("{} of {} cases", progress.done, progress.count);
  return fmt::format("{} {}, {:.4f} % of the cases", progress.nodes,
                     progress.phase == decide::DecisionPhase::kSplit ? "boxes" : "nodes",
                     100 * progress.proven);
}

// A line on stderr that counts, when that is a terminal; with --verbose elsewhere what a step came
// to, and what it took.
class Counter {
 public:
  explicit Counter(decide::DecisionPhase phase)
      : what_(name_of(phase)), shown_(system::shows_progress()) {}
  ~Counter() {
    if (printed_) std::fputc('\n', stderr);
    if (system::tells_steps())
      system::tell_step(fmt::format("{}: {}", what_, text_of(last_)), stopwatch_.seconds());
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void show(const decide::DecisionProgress& progress) {
    constexpr double kInterval = 0.2;
    last_ = progress;
    if (!shown_ || stopwatch_.seconds() < next_) return;
    next_ = stopwatch_.seconds() + kInterval;
    fmt::print(stderr, "\r\033[K{:<14}{}", what_, text_of(progress));
    std::fflush(stderr);
    printed_ = true;
  }

 private:
  const char* what_;
  decide::DecisionProgress last_;
  bool shown_;
  bool printed_ = false;
  double next_ = 0.5;
  system::Stopwatch stopwatch_;
};

// The request that the options make. --method auto leaves the choice of methods to decide().
decide::Request request_of(const VerifyArguments& arguments) {
  decide::Request request;
  if (arguments.model.method != "auto") request.method = method_of(arguments.model.method);
  ModelArguments model = arguments.model;
  model.method = "crown";  // until a decision sets each
  request.compile = compile_options(model);
  request.compile.name = build::symbol_prefix(model.model, request.compile);
  request.compiler = compiler_options(model);
  request.search_seconds = arguments.search;
  request.branch_seconds = arguments.branch;
  request.keeps_tree = !arguments.checkpoint.empty() || !arguments.part.empty();
  request.timeout_seconds = arguments.timeout;
  request.jobs = static_cast<std::size_t>(arguments.jobs);
  return request;
}

int jobs_of(const VerifyArguments& arguments) {
  return arguments.jobs > 0 ? arguments.jobs
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::vector<std::string> names_of(const std::vector<decide::DecisionMethod>& methods) {
  std::vector<std::string> names;
  for (const decide::DecisionMethod& each : methods) names.push_back(each.name());
  return names;
}

nlohmann::ordered_json to_json(const VerifyArguments& arguments, const std::string& property,
                               const std::string& semantics, const decide::Outcome& outcome) {
  nlohmann::ordered_json json;
  json["model"] = printable(std::filesystem::path(arguments.model.model).filename().string());
  json["property"] = property;
  json["semantics"] = semantics;
  json["verdict"] = word(outcome.answer, Wording::kPlain);
  json["methods"] = names_of(outcome.methods);
  json["cases"] = outcome.cases;
  json["verified_cases"] = outcome.verified_cases;
  json["boxes"] = outcome.branched.boxes;
  json["points"] = outcome.branched.points;
  json["branch_seconds"] = outcome.branched.seconds;
  json["neuron_nodes"] = outcome.neurons.nodes;
  json["neuron_seconds"] = outcome.neurons.seconds;
  json["decide_seconds"] = outcome.decide_seconds;
  json["counterexample"] = nullptr;
  if (outcome.witness) json["counterexample"] = cli::to_json(*outcome.witness);
  json["seconds"] = outcome.seconds;
  json["compile_seconds"] = outcome.make_seconds;
  return json;
}

nlohmann::ordered_json to_json(const VerifyArguments& arguments, const Property& property,
                               const decide::Outcome& outcome) {
  return to_json(arguments, property.file_name,
                 std::string(to_string(semantics_of(arguments.model, property))), outcome);
}

// The text that --timeout prints when it ends the program: the object of other ends, with the
// counts that are known so far.
class TimeoutReport {
 public:
  explicit TimeoutReport(const VerifyArguments& arguments)
      : arguments_(arguments),
        property_(printable(std::filesystem::path(arguments.property).filename().string())),
        semantics_(arguments.model.semantics) {
    outcome_.answer = decide::Answer::kTimeout;
    outcome_.seconds = arguments.timeout;
    write();
  }

  const char* text() const { return texts_[last_].c_str(); }

  void set_property(const Property& property) {
    property_ = property.file_name;
    semantics_ = to_string(semantics_of(arguments_.model, property));
    outcome_.cases = property.cases.size();
    write();
  }
  void add(const decide::DecisionMethod& method) {
    outcome_.methods.push_back(method);
    write();
  }
  void show(const decide::DecisionProgress& progress) {
    if (progress.phase == decide::DecisionPhase::kSplit) outcome_.branched.boxes = progress.nodes;
    if (progress.phase == decide::DecisionPhase::kNeurons) outcome_.neurons.nodes = progress.nodes;
    constexpr double kInterval = 0.1;
    if (stopwatch_.seconds() < next_) return;
    next_ = stopwatch_.seconds() + kInterval;
    write();
  }

 private:
  // The signal's handler may print the text before this one: texts take turns.
  void write() {
    if (!arguments_.json && !texts_[last_].empty()) return;
    last_ = (last_ + 1) % texts_.size();
    texts_[last_] = (arguments_.json ? to_json(arguments_, property_, semantics_, outcome_).dump()
                                     : word(decide::Answer::kTimeout, arguments_.wording())) +
                    std::string("\n");
    system::set_deadline_text(text());
  }

  const VerifyArguments& arguments_;
  std::string property_, semantics_;
  decide::Outcome outcome_;
  std::array<std::string, 16> texts_;
  std::size_t last_ = 0;
  double next_ = 0;
  system::Stopwatch stopwatch_;
};

// Decides with counters on a terminal.
decide::Outcome decide_with(const VerifyArguments& arguments, const Property& property,
                            decide::TreeKeeper* keeper, TimeoutReport* timeout,
                            decide::TreeCompany* company = nullptr) {
  const system::Stopwatch stopwatch;
  const Network network = read_network(arguments.model);
  std::optional<Counter> counter;
  std::optional<decide::DecisionPhase> phase;
  decide::RequestCalls calls;
  calls.before_plan = [&](const decide::DecisionMethod&) {
    counter.reset();
    phase.reset();
  };
  calls.after_plan = [&](const decide::DecisionMethod& asked, double seconds) {
    if (system::tells_steps()) system::tell_step("plan " + asked.name(), seconds);
    if (timeout != nullptr) timeout->add(asked);
  };
  calls.progress = [&](const decide::DecisionProgress& progress) {
    if (phase != progress.phase) {
      counter.reset();
      phase = progress.phase;
      counter.emplace(*phase);
    }
    counter->show(progress);
    if (timeout != nullptr) timeout->show(progress);
  };
  calls.keeper = keeper;
  calls.company = company;
  decide::Outcome outcome =
      decide::decide(network.sampler, network.info, property, request_of(arguments), calls);
  outcome.seconds = stopwatch.seconds();
  return outcome;
}

const char* proof_of(const decide::Witness& witness) {
  if (witness.emitted) return "violated for the emitted order";
  return witness.rational ? "proven in rational arithmetic"
                          : "proven in double arithmetic with error bounds";
}

void print_plain(const decide::Outcome& outcome) {
  fmt::print("{}\n", word(outcome.answer, Wording::kPlain));
  if (outcome.witness)
    fmt::print("\n{}\nviolates case {}, clause {}: {}\n",
               plain_text(*outcome.witness, most_lines()), outcome.witness->property_case,
               outcome.witness->clause, proof_of(*outcome.witness));
  std::string methods;
  for (const std::string& method : names_of(outcome.methods))
    methods += (methods.empty() ? "" : ", ") + method;
  fmt::print("\ncases    {} of {} verified\n", outcome.verified_cases, outcome.cases);
  if (!methods.empty()) fmt::print("methods  {}\n", methods);
  if (outcome.branched.boxes > 0)
    fmt::print("split    {} boxes and {} points in {}\n", outcome.branched.boxes,
               outcome.branched.points, engine::duration(outcome.branched.seconds));
  if (outcome.neurons.nodes > 0)
    fmt::print("neurons  {} nodes in {}\n", outcome.neurons.nodes,
               engine::duration(outcome.neurons.seconds));
  fmt::print("time     {}, of which {} compile\n", engine::duration(outcome.seconds),
             engine::duration(outcome.make_seconds));
}

void print(const VerifyArguments& arguments, const Property& property,
           const decide::Outcome& outcome) {
  if (arguments.json) {
    fmt::print("{}\n", to_json(arguments, property, outcome).dump());
    return;
  }
  const Wording wording = arguments.wording();
  if (wording == Wording::kPlain) {
    print_plain(outcome);
    return;
  }
  fmt::print("{}\n", word(outcome.answer, wording));
  if (!outcome.witness) return;
  fmt::print("{}", wording == Wording::kStandard ? standard_text(property, *outcome.witness)
                                                 : competition_text(*outcome.witness));
}

// Throws: BF3020 where nothing would be split.
void expect_splits(const VerifyArguments& arguments) {
  if (arguments.branch && *arguments.branch <= 0)
    fail("BF3020", "--branch", "with 0 nothing is split, so there is no tree to search");
}

// The keeper of a tree's file; null where no file is asked for. Throws: BF3020.
std::unique_ptr<decide::TreeKeeper> make_keeper(const VerifyArguments& arguments,
                                                const Property& property) {
  const bool is_part = !arguments.part.empty();
  if (!is_part && arguments.checkpoint.empty()) return nullptr;
  expect_splits(arguments);
  if (is_part && semantics_of(arguments.model, property) == Semantics::kFloat32Exact)
    fail("BF3020", "--part", "a counterexample of float32-exact cannot be checked when parts meet",
         "use --semantics float32");
  return std::make_unique<decide::TreeKeeper>(
      is_part ? arguments.save_part : arguments.checkpoint,
      is_part ? *decide::parse_part(arguments.part) : decide::TreePart{},
      question_of(arguments.model, arguments.property, property));
}

// A part by itself verifies nothing.
int print_part(const VerifyArguments& arguments, const decide::TreeKeeper& keeper,
               const Property& property, const decide::Outcome& outcome) {
  const decide::TreeFile& file = keeper.file();
  const bool closed = keeper.is_closed();
  const std::string verdict = closed ? "closed" : word(outcome.answer, Wording::kPlain);
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(arguments, property, outcome);
    json["verdict"] = verdict;
    json["part"] = file.part.index;
    json["parts"] = file.part.count;
    json["open_nodes"] = file.state.open.size();
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}\n\npart     {} of {}: {} nodes, {} open\ntime     {}\n", verdict,
               file.part.index, file.part.count, file.state.nodes, file.state.open.size(),
               engine::duration(outcome.seconds));
  }
  return closed ? 0 : exit_code(outcome.answer, Wording::kPlain);
}

int run(const VerifyArguments& arguments, TimeoutReport& timeout) {
  const system::Stopwatch reading;
  const Property property = read_property(arguments.property);
  if (system::tells_steps()) system::tell_step("read the property", reading.seconds());
  timeout.set_property(property);
  check_network_name(arguments, property);
  const std::unique_ptr<decide::TreeKeeper> keeper = make_keeper(arguments, property);
  const decide::Outcome outcome = decide_with(arguments, property, keeper.get(), &timeout);
  system::set_deadline(0, "", 0);
  if (outcome.witness && !arguments.counterexample.empty())
    system::write_file(arguments.counterexample, competition_text(*outcome.witness));
  if (keeper != nullptr && keeper->is_part() && !outcome.witness)
    return print_part(arguments, *keeper, property, outcome);
  print(arguments, property, outcome);
  return exit_code(outcome.answer, arguments.wording());
}

// Options that the library takes. Others are refused with --instances, since they would have no
// effect.
constexpr std::string_view kOfInstances[] = {"instances",       "results",  "jobs",   "index",
                                             "counterexamples", "junit",    "json",   "method",
                                             "timeout",         "search",   "branch", "semantics",
                                             "iterations",      "row-tile", "quiet",  "verbose",
                                             "flush-to-zero",   "alpha",    "jit"};

// An option that does not go with --instances; empty: none was given.
std::string option_of_one(const CommandLine& app) {
  for (const Option* const option : app.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || std::ranges::find(kOfInstances, names.front()) == std::end(kOfInstances))
      return option->get_name();
  }
  return {};
}

// Decides instances. jit_given: compiles calls of the engine as the user asks; else they stay as
// they are, since several instances at once leave no processor free.
int run_many(const VerifyArguments& arguments, bool jit_given) {
  const apps::InstanceFile file = apps::read_instances(arguments.instances);
  if (arguments.index && *arguments.index >= file.instances.size())
    fail("BF3009", "--index",
         fmt::format("{} is beyond the {} instances", *arguments.index, file.instances.size()),
         "they are counted from 0");
  apps::InstanceSettings settings;
  if (arguments.model.method != "auto")
    settings.options.method = library_method(arguments.model.method);
  settings.options.semantics =
      library_semantics(arguments.model.semantics, arguments.model.flush_to_zero);
  settings.options.iterations = arguments.model.iterations;
  settings.options.row_tile = arguments.model.row_tile;
  settings.options.alpha = library_alpha(arguments.model.alpha);
  if (jit_given) settings.options.jit = library_jit(arguments.model.jit);
  settings.options.search_seconds = arguments.search;
  settings.options.branch_seconds = arguments.branch;
  settings.timeout_seconds = arguments.timeout;
  for (const apps::Instance& instance : file.instances)
    if (arguments.timeout <= 0 && instance.timeout_seconds <= 0)
      fail("BF3013", "--timeout", "the instances have no timeouts", "give --timeout S");
  settings.jobs = jobs_of(arguments);
  settings.index = arguments.index;
  settings.counterexamples = arguments.counterexamples;
  settings.junit = arguments.junit;
  const apps::InstanceTotals totals = apps::run_instances(file, arguments.results, settings);
  if (arguments.json) {
    nlohmann::ordered_json json;
    json["unsat"] = totals.unsat;
    json["sat"] = totals.sat;
    json["unknown"] = totals.unknown;
    json["timeout"] = totals.timeout;
    json["error"] = totals.error;
    json["earlier"] = totals.earlier;
    json["seconds"] = totals.seconds;
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("unsat    {}\nsat      {}\nunknown  {}\ntimeout  {}\nerror    {}\n", totals.unsat,
               totals.sat, totals.unknown, totals.timeout, totals.error);
    if (totals.earlier > 0) fmt::print("earlier  {} of these\n", totals.earlier);
    fmt::print("time     {}, {} jobs\n", engine::duration(totals.seconds), settings.jobs);
  }
  return totals.error > 0 ? 1 : 0;
}

int run_together(VerifyArguments& arguments, decide::TreeCompany& company) {
  if (arguments.timeout > 0) arguments.branch = arguments.timeout;
  if (arguments.jobs == 0) arguments.jobs = 1;
  const Property property = read_property(arguments.property);
  check_network_name(arguments, property);
  expect_splits(arguments);
  const auto keeper = company.is_first() ? make_keeper(arguments, property) : nullptr;
  decide::Outcome outcome = decide_with(arguments, property, keeper.get(), nullptr, &company);
  if (!company.is_first()) return 0;
  if (outcome.answer == decide::Answer::kUnknown && arguments.timeout > 0)
    outcome.answer = decide::Answer::kTimeout;
  if (outcome.witness && !arguments.counterexample.empty())
    system::write_file(arguments.counterexample, competition_text(*outcome.witness));
  print(arguments, property, outcome);
  return 0;
}

}  // namespace

int verify_together(const Call& call, decide::TreeCompany& company) {
  VerifyArguments arguments;
  CommandLine app("Decides a property by several processes, which search one tree together.",
                  "bf-aot-mpi");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.instances.empty() || !arguments.part.empty())
    return usage_error(app, "the processes search one tree: no --instances, no --part");
  if (!assign_files(arguments)) return usage_error(app, "MODEL and PROPERTY are required");
  return run_together(arguments, company);
}

int verify_command(const Call& call) {
  VerifyArguments arguments;
  CommandLine app("Decides a property of a network, as far as bounds and a search can.",
                  "bf-aot verify");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.instances.empty()) {
    if (!arguments.model.model.empty() || !arguments.networks.empty())
      return usage_error(app, "--instances names the models and properties itself");
    if (const std::string other = option_of_one(app); !other.empty())
      return usage_error(app, other + " does not go with --instances");
    return run_many(arguments, app.get_option("--jit")->count() > 0);
  }
  // A part's frontier is the same in all processes, whatever is compiled meanwhile.
  if (!arguments.part.empty()) arguments.model.jit = "off";
  if (!assign_files(arguments)) {
    return usage_error(app, "MODEL and PROPERTY are required, or a query and --network NAME=MODEL");
  }
  const int late = exit_code(decide::Answer::kTimeout, arguments.wording());
  // Static, because a deadline may print the text while this function is being left.
  static std::optional<VerifyArguments> kept;
  static std::optional<TimeoutReport> timeout;
  kept.emplace(arguments);
  timeout.emplace(*kept);
  if (arguments.timeout > 0) system::set_deadline(arguments.timeout, timeout->text(), late);
  try {
    return run(arguments, *timeout);
  } catch (const system::Interrupted& interrupted) {
    if (interrupted.signal != SIGALRM) throw;
    std::fputs(timeout->text(), stdout);
    return late;
  }
}

}  // namespace bf_aot::cli
