#include "aot/cli/verify/verify_print.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "aot/cli/options/question.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/engine/verifier/report.h"
#include "aot/system/files.h"
#include "aot/system/terminal.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

// After the timeout, for work that does not ask whether it is over.
constexpr double kGraceSeconds = 0.5;

using decide::DecisionPhase;

const char* name_of(DecisionPhase phase) {
  switch (phase) {
    case DecisionPhase::kBound:
      return "bound";
    case DecisionPhase::kPoints:
      return "search";
    case DecisionPhase::kBoxes:
      return "split boxes";
    case DecisionPhase::kNeurons:
      return "split neurons";
    case DecisionPhase::kTokens:
      return "split sets of ids";
    case DecisionPhase::kDifferences:
      return "differences";
    case DecisionPhase::kMixes:
      return "mixes";
  }
  return "";
}

std::string text_of(const decide::DecisionProgress& progress) {
  if (progress.phase == DecisionPhase::kBound || progress.phase == DecisionPhase::kPoints)
    return fmt::format("{} of {} cases", progress.done, progress.count);
  return fmt::format("{} {}, {:.4f} % of the cases", progress.nodes,
                     progress.phase == DecisionPhase::kNeurons ? "nodes" : "boxes",
                     100 * progress.proven);
}

// The boxes that were split: of inputs, or sets of token ids.
decide::SearchTotals box_totals(const decide::Outcome& outcome) {
  decide::SearchTotals made = outcome.totals(DecisionPhase::kBoxes);
  const decide::SearchTotals& tokens = outcome.totals(DecisionPhase::kTokens);
  made.nodes += tokens.nodes;
  made.points += tokens.points;
  made.seconds += tokens.seconds;
  return made;
}

std::vector<std::string> names_of(const std::vector<decide::DecisionMethod>& methods) {
  std::vector<std::string> names;
  for (const decide::DecisionMethod& each : methods) names.push_back(each.name());
  return names;
}

std::string model_names(const VerifyArguments& arguments) {
  std::string names;
  const auto add = [&](const std::string& file) {
    names +=
        (names.empty() ? "" : ", ") + printable(std::filesystem::path(file).filename().string());
  };
  if (arguments.networks.empty()) add(arguments.model.model);
  for (const std::string& network : arguments.networks) add(network.substr(network.find('=') + 1));
  return names;
}

const char* word_of(DecisionPhase phase) {
  switch (phase) {
    case DecisionPhase::kBound:
      return "bounds";
    case DecisionPhase::kPoints:
      return "points";
    case DecisionPhase::kBoxes:
      return "boxes";
    case DecisionPhase::kNeurons:
      return "neurons";
    case DecisionPhase::kTokens:
      return "tokens";
    case DecisionPhase::kDifferences:
      return "differences";
    case DecisionPhase::kMixes:
      return "mixes";
  }
  return "";
}

const char* word_of(decide::SplitRule rule) {
  using decide::SplitRule;
  switch (rule) {
    case SplitRule::kLines:
      return "lines";
    case SplitRule::kWeights:
      return "weights";
    case SplitRule::kGain:
      return "gain";
    case SplitRule::kClauses:
      return "clauses";
    case SplitRule::kTokens:
      return "tokens";
    case SplitRule::kSlopes:
      return "slopes";
  }
  return "";
}

nlohmann::ordered_json to_json(const decide::NeuronName& name) {
  return {{"layer", name.layer}, {"index", name.index}};
}

void add_part(nlohmann::ordered_json& json, const decide::HeldOut& part) {
  json["by"] = word_of(part.by);
  json["case"] = part.property_case;
  json["clause"] = part.clause;
  json["splits"] = part.splits;
  json["lacks"] = nullptr;
  if (part.lacks) json["lacks"] = *part.lacks;
  if (part.by == DecisionPhase::kBoxes)
    json["box"] = {{"lower", part.box.lower}, {"upper", part.box.upper}};
  if (part.by == DecisionPhase::kNeurons) {
    json["sides"] = nlohmann::ordered_json::array();
    for (const decide::HeldSide& side : part.sides) {
      nlohmann::ordered_json& one = json["sides"].emplace_back(to_json(side.name));
      one["above"] = side.above;
      one["point"] = side.point;
    }
  }
  json["neuron"] = nullptr;
  if (!part.neuron) return;
  json["neuron"] = to_json(part.neuron->name);
  json["neuron"]["lower"] = engine::number_json(part.neuron->lower);
  json["neuron"]["upper"] = engine::number_json(part.neuron->upper);
  json["neuron"]["loss"] = engine::number_json(part.neuron->loss);
}

nlohmann::ordered_json to_json(const decide::Undecided& why) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (why.part) add_part(json, *why.part);
  json["searches"] = nlohmann::ordered_json::array();
  for (const decide::SearchChoice& each : why.searches) {
    nlohmann::ordered_json& one = json["searches"].emplace_back();
    one["search"] = word_of(each.phase);
    one["why"] = each.why;
    one["share"] = each.share;
    one["rule"] = nullptr;
    if (each.rule) one["rule"] = word_of(*each.rule);
    one["nodes"] = each.totals.nodes;
    one["seconds"] = each.totals.seconds;
    one["open"] = each.open;
    one["stuck"] = each.totals.leaves;
    one["proven"] = each.proven;
  }
  return json;
}

void print_why(const decide::Undecided& why) {
  for (const decide::SearchChoice& each : why.searches)
    fmt::print("chosen   {}{}: {}; {} nodes, {} open, {} that cannot be split, {:.4f} % proven\n",
               word_of(each.phase), each.rule ? fmt::format(" by {}", word_of(*each.rule)) : "",
               each.why, each.totals.nodes, each.open, each.totals.leaves, 100 * each.proven);
  if (!why.part) return;
  const decide::HeldOut& part = *why.part;
  fmt::print("open     case {}, clause {}, after {} splits of {}{}\n", part.property_case,
             part.clause, part.splits, word_of(part.by),
             part.lacks ? fmt::format("; the bound lacks {:.4g}", *part.lacks) : "");
  for (const decide::HeldSide& side : part.sides)
    fmt::print("         neuron {} of {} {} {:.6g}\n", side.name.index, side.name.layer,
               side.above ? ">=" : "<=", side.point);
  for (std::size_t i = 0; part.by == DecisionPhase::kBoxes && i < part.box.lower.size(); ++i)
    if (i < most_lines())
      fmt::print("         X_{} in [{}, {}]\n", i, part.box.lower[i], part.box.upper[i]);
  if (part.neuron)
    fmt::print("neuron   {} of {}, in [{:.6g}, {:.6g}], may hold the bound down by {:.4g}\n",
               part.neuron->name.index, part.neuron->name.layer, part.neuron->lower,
               part.neuron->upper, part.neuron->loss);
}

nlohmann::ordered_json to_json(const VerifyArguments& arguments, const std::string& property,
                               const std::string& semantics, const decide::Outcome& outcome) {
  nlohmann::ordered_json json;
  json["model"] = model_names(arguments);
  json["property"] = property;
  json["semantics"] = semantics;
  json["verdict"] = word(outcome.answer, Wording::kPlain);
  json["methods"] = names_of(outcome.methods);
  json["cases"] = outcome.cases;
  json["verified_cases"] = outcome.verified_cases;
  const decide::SearchTotals boxes = box_totals(outcome);
  const decide::SearchTotals& neurons = outcome.totals(DecisionPhase::kNeurons);
  const decide::SearchTotals& differences = outcome.totals(DecisionPhase::kDifferences);
  json["boxes"] = boxes.nodes;
  json["points"] = boxes.points;
  json["branch_seconds"] = boxes.seconds;
  json["neuron_nodes"] = neurons.nodes;
  json["neuron_seconds"] = neurons.seconds;
  json["neuron_nodes_on_device"] = neurons.on_device;
  json["difference_boxes"] = differences.nodes;
  json["difference_seconds"] = differences.seconds;
  json["decide_seconds"] = outcome.decide_seconds;
  json["counterexample"] = nullptr;
  if (outcome.witness) json["counterexample"] = cli::to_json(*outcome.witness);
  json["unknown"] = nullptr;
  if (outcome.why) json["unknown"] = to_json(*outcome.why);
  json["seconds"] = outcome.seconds;
  json["compile_seconds"] = outcome.make_seconds;
  return json;
}

nlohmann::ordered_json to_json(const VerifyArguments& arguments, const Property& property,
                               const decide::Outcome& outcome) {
  return to_json(arguments, property.file_name,
                 std::string(to_string(semantics_of(arguments.model, property))), outcome);
}

const char* proof_of(const decide::Witness& witness) {
  if (witness.emitted) return "violated for the emitted order";
  return witness.rational ? "proven in rational arithmetic"
                          : "proven in double arithmetic with error bounds";
}

void print_plain(const decide::Outcome& outcome) {
  fmt::print("{}\n", word(outcome.answer, Wording::kPlain));
  if (outcome.answer == decide::Answer::kTimeout) {
    if (outcome.why) print_why(*outcome.why);
    return;
  }
  if (outcome.witness)
    fmt::print("\n{}\nviolates case {}, clause {}: {}\n",
               plain_text(*outcome.witness, most_lines()), outcome.witness->property_case,
               outcome.witness->clause, proof_of(*outcome.witness));
  std::string methods;
  for (const std::string& method : names_of(outcome.methods))
    methods += (methods.empty() ? "" : ", ") + method;
  fmt::print("\ncases    {} of {} verified\n", outcome.verified_cases, outcome.cases);
  if (!methods.empty()) fmt::print("methods  {}\n", methods);
  const decide::SearchTotals& differences = outcome.totals(DecisionPhase::kDifferences);
  if (differences.nodes > 0)
    fmt::print("differ   {} boxes in {}\n", differences.nodes,
               engine::duration(differences.seconds));
  const decide::SearchTotals boxes = box_totals(outcome);
  if (boxes.nodes > 0)
    fmt::print("split    {} boxes and {} points in {}\n", boxes.nodes, boxes.points,
               engine::duration(boxes.seconds));
  const decide::SearchTotals& neurons = outcome.totals(DecisionPhase::kNeurons);
  if (neurons.nodes > 0)
    fmt::print("neurons  {} nodes in {}{}\n", neurons.nodes, engine::duration(neurons.seconds),
               neurons.on_device > 0
                   ? fmt::format(", choices of {} by the device", neurons.on_device)
                   : "");
  if (outcome.why) print_why(*outcome.why);
  fmt::print("time     {}, of which {} compile\n", engine::duration(outcome.seconds),
             engine::duration(outcome.make_seconds));
}

}  // namespace

Counter::Counter(decide::DecisionPhase phase)
    : what_(name_of(phase)), shown_(system::shows_progress()) {}

Counter::~Counter() {
  if (printed_) std::fputc('\n', stderr);
  if (system::tells_steps())
    system::tell_step(fmt::format("{}: {}", what_, text_of(last_)), stopwatch_.seconds());
}

void Counter::show(const decide::DecisionProgress& progress) {
  constexpr double kInterval = 0.2;
  last_ = progress;
  if (!shown_ || stopwatch_.seconds() < next_) return;
  next_ = stopwatch_.seconds() + kInterval;
  fmt::print(stderr, "\r\033[K{:<14}{}", what_, text_of(progress));
  std::fflush(stderr);
  printed_ = true;
}

void PhaseCounter::show(const decide::DecisionProgress& progress) {
  if (phase_ != progress.phase) {
    counter_.reset();
    phase_ = progress.phase;
    counter_.emplace(*phase_);
  }
  counter_->show(progress);
}

void PhaseCounter::end() {
  counter_.reset();
  phase_.reset();
}

TimeLimit::TimeLimit(const VerifyArguments& arguments, int code)
    : arguments_(arguments),
      seconds_(arguments.decision().timeout_seconds),
      stop_(system::Stop({}, seconds_).or_interrupt()),
      watchdog_(seconds_ > 0 ? seconds_ + kGraceSeconds : 0, code),
      property_(printable(std::filesystem::path(arguments.property).filename().string())),
      semantics_(to_string(arguments.model.values.compile.planner.semantics)) {
  outcome_.answer = decide::Answer::kTimeout;
  outcome_.seconds = seconds_;
  write();
}

void TimeLimit::set_property(const Property& property) {
  property_ = property.file_name;
  semantics_ = to_string(semantics_of(arguments_.model, property));
  outcome_.cases = property.cases.size();
  write();
}

void TimeLimit::add(const decide::DecisionMethod& method) {
  outcome_.methods.push_back(method);
  write();
}

void TimeLimit::show(const decide::DecisionProgress& progress) {
  outcome_.searches[static_cast<std::size_t>(progress.phase)].nodes = progress.nodes;
  constexpr double kInterval = 0.1;
  if (stopwatch_.seconds() < next_) return;
  next_ = stopwatch_.seconds() + kInterval;
  write();
}

void TimeLimit::write() {
  if (!arguments_.json && !text_.empty()) return;
  text_ = (arguments_.json ? to_json(arguments_, property_, semantics_, outcome_).dump()
                           : word(decide::Answer::kTimeout, arguments_.wording())) +
          std::string("\n");
  watchdog_.say(text_);
}

namespace {

void add_proof(nlohmann::ordered_json& json, const prove::ProofReport* proof) {
  if (proof == nullptr) return;
  json["proof"]["bytes"] = proof->bytes;
  if (proof->leaves > 0) json["proof"]["leaves"] = proof->leaves;
  json["proof"]["seconds"] = proof->seconds;
  if (proof->rechecked) json["proof"]["rechecked"] = true;
}

void print_proof(const prove::ProofReport* proof) {
  if (proof != nullptr)
    fmt::print("proof    {} bytes, {}{} in {}\n", proof->bytes,
               proof->leaves > 0 ? fmt::format("{} leaves, ", proof->leaves) : "",
               proof->rechecked ? "checked" : "made", engine::duration(proof->seconds));
}

}  // namespace

void print(const VerifyArguments& arguments, const Property& property,
           const decide::Outcome& outcome, const prove::ProofReport* proof) {
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(arguments, property, outcome);
    add_proof(json, proof);
    fmt::print("{}\n", json.dump());
    return;
  }
  const Wording wording = arguments.wording();
  if (wording == Wording::kPlain) {
    print_plain(outcome);
    print_proof(proof);
    return;
  }
  fmt::print("{}\n", word(outcome.answer, wording));
  if (!outcome.witness) return;
  if (wording == Wording::kStandard && !arguments.assignments.empty()) return;
  fmt::print("{}", wording == Wording::kStandard ? standard_text(property, *outcome.witness)
                                                 : competition_text(*outcome.witness));
}

void write_counterexample(const VerifyArguments& arguments, const Property& property,
                          const decide::Witness& witness) {
  if (!arguments.counterexample.empty())
    system::publish_file(arguments.counterexample, competition_text(witness));
  if (arguments.assignments.empty()) return;
  const std::filesystem::path folder = arguments.assignments;
  system::make_folder(folder);
  for (const auto& [name, bytes] : serialised(property, witness))
    system::publish_file(folder / name, bytes);
}

int print_part(const VerifyArguments& arguments, const decide::TreeKeeper& keeper,
               const Property& property, const decide::Outcome& outcome,
               const prove::ProofReport* proof) {
  const decide::TreeFile& file = keeper.file();
  const bool closed = keeper.is_closed();
  const std::string verdict = closed ? "closed" : word(outcome.answer, Wording::kPlain);
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(arguments, property, outcome);
    json["verdict"] = verdict;
    json["part"] = file.part.index;
    json["parts"] = file.part.count;
    json["open_nodes"] = file.state.open.size();
    add_proof(json, proof);
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}\n\npart     {} of {}: {} nodes, {} open\ntime     {}\n", verdict,
               file.part.index, file.part.count, file.state.nodes, file.state.open.size(),
               engine::duration(outcome.seconds));
    print_proof(proof);
  }
  return closed ? 0 : exit_code(outcome.answer, Wording::kPlain);
}

}  // namespace bf_aot::cli
