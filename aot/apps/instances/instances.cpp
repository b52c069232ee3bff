#include "aot/apps/instances/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "aot/apps/proofs/proof_set.h"
#include "aot/input/array.h"
#include "aot/input/table.h"
#include "aot/prove/proof_file.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::apps {
namespace {

namespace fs = std::filesystem;

constexpr InstanceAnswer kAnswers[] = {InstanceAnswer::kUnsat, InstanceAnswer::kSat,
                                       InstanceAnswer::kUnknown, InstanceAnswer::kTimeout,
                                       InstanceAnswer::kError};

// A process is ended when it still runs this long after its own timeout.
constexpr double kGraceSeconds = 2;

std::optional<InstanceAnswer> answer_named(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kAnswers, [&](InstanceAnswer each) { return name == to_string(each); });
  if (found == std::end(kAnswers)) return std::nullopt;
  return *found;
}

void count(InstanceTotals& totals, InstanceAnswer answer) {
  switch (answer) {
    case InstanceAnswer::kUnsat:
      ++totals.unsat;
      break;
    case InstanceAnswer::kSat:
      ++totals.sat;
      break;
    case InstanceAnswer::kUnknown:
      ++totals.unknown;
      break;
    case InstanceAnswer::kTimeout:
      ++totals.timeout;
      break;
    case InstanceAnswer::kError:
      ++totals.error;
      break;
  }
}

std::string competition_text(const api::Counterexample& example) {
  std::string text;
  for (std::size_t i = 0; i < example.exact_input.size(); ++i)
    text += fmt::format("{}(X_{} {})", text.empty() ? "(" : "\n", i, example.exact_input[i]);
  for (std::size_t i = 0; i < example.output.size(); ++i)
    text += fmt::format("\n(Y_{} {})", i, example.output[i]);
  return text + ")\n";
}

// Returns the names of all instances' files, without their ending: of model and property, and a
// number where an earlier instance has that name.
std::vector<std::string> names_of(const std::vector<Instance>& instances) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Instance& each : instances) {
    const std::string plain = fmt::format("{}_{}", fs::path(each.onnx).stem().string(),
                                          fs::path(each.vnnlib).stem().string());
    std::string name = plain;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{}_{}", plain, number);
    names.push_back(std::move(name));
  }
  return names;
}

std::string first_line(const std::string& text) {
  return printable(std::string_view(text).substr(0, text.find('\n')));
}

// Decides a property in a process of its own, and returns the answer as JSON.
std::string decide_apart(const api::Model& model, const fs::path& property,
                         const api::VerifyOptions& options) {
  nlohmann::ordered_json json;
  auto result = api::verify(model, property, options);
  if (!result && (result.error().code == "BF3022" || result.error().code == "BF3024")) {
    json["no_proof"] = result.error().message;
    api::VerifyOptions without = options;
    without.proof.clear();
    without.more.erase("recheck");
    result = api::verify(model, property, without);
  }
  if (!result) {
    json["answer"] = to_string(InstanceAnswer::kError);
    json["message"] = result.error().text();
    return json.dump();
  }
  const InstanceAnswer answer = result->verdict == api::Verdict::kVerified ? InstanceAnswer::kUnsat
                                : result->verdict == api::Verdict::kFalsified ? InstanceAnswer::kSat
                                : result->stopped ? InstanceAnswer::kTimeout
                                                  : InstanceAnswer::kUnknown;
  json["answer"] = to_string(answer);
  if (result->counterexample) json["counterexample"] = competition_text(*result->counterexample);
  json["proof"] = result->proof && result->proof->missing.empty();
  json["rechecked"] = result->proof && result->proof->rechecked;
  if (result->proof && !result->proof->missing.empty()) json["no_proof"] = result->proof->missing;
  return json.dump();
}

InstanceResult result_of(const system::ProcessPool::Ended& ended) {
  InstanceResult result;
  result.index = ended.id;
  result.run_seconds = ended.seconds;
  if (ended.late) {
    result.answer = InstanceAnswer::kTimeout;
    return result;
  }
  const nlohmann::json json = nlohmann::json::parse(ended.result.output, nullptr, false);
  if (ended.result.exit_code != 0 || !json.is_object()) {
    result.message =
        ended.result.errors.empty()
            ? fmt::format("the process ended with exit code {}", ended.result.exit_code)
            : ended.result.errors;
    return result;
  }
  result.answer = answer_named(json["answer"]).value();
  result.message = json.value("message", "");
  result.counterexample = json.value("counterexample", "");
  result.has_proof = json.value("proof", false);
  result.rechecked = json.value("rechecked", false);
  result.no_proof = json.value("no_proof", "");
  return result;
}

// The words of reports for an answer. A gate takes sat and unsat alike: both decide the instance.
struct AnswerText {
  artifacts::GateOutcome outcome;
  const char* word;
  const char* message;
};

const AnswerText& text_of(InstanceAnswer answer) {
  using artifacts::GateOutcome;
  static constexpr AnswerText kTexts[] = {
      {GateOutcome::kPassed, "verified", "no input violates the property"},
      {GateOutcome::kPassed, "falsified", "an input violates the property"},
      {GateOutcome::kOpen, "unknown", "neither proven nor refuted"},
      {GateOutcome::kOpen, "timeout", "not decided within the time"},
      {GateOutcome::kError, "error", "the process ended without an answer"},
  };
  return kTexts[static_cast<std::size_t>(answer)];
}

class Runner {
 public:
  Runner(const InstanceFile& file, fs::path results, const InstanceSettings& settings)
      : file_(file),
        names_(names_of(file.instances)),
        results_(std::move(results)),
        settings_(settings),
        pool_(settings.jobs()) {}

  InstancesRun run() {
    const system::Stopwatch stopwatch;
    read_earlier();
    if (!settings_.counterexamples.empty()) system::make_folder(settings_.counterexamples);
    if (!settings_.decision.proof.folder.empty()) proofs_.emplace(settings_.decision.proof.folder);
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < file_.instances.size(); ++i)
      if ((!settings_.index || *settings_.index == i) && !done_.contains(i)) asked.push_back(i);
    system::ProgressBar bar(static_cast<int>(asked.size()));
    std::size_t ended = 0;
    const auto wait = [&] {
      bar.show(static_cast<int>(ended++), "");
      finish(result_of(pool_.wait()));
    };
    for (const std::size_t index : asked) {
      while (pool_.is_full()) wait();
      start(index);
    }
    while (!pool_.is_empty()) wait();
    std::ranges::sort(kept_, {}, &InstanceResult::index);
    if (proofs_) proofs_->publish(manifest());
    totals_.seconds = stopwatch.seconds();
    return {totals_, gate()};
  }

 private:
  // Reads the lines of an earlier process about instances of the file; a last line that was cut is
  // left out.
  void read_earlier() {
    std::error_code error;
    if (!fs::exists(results_, error)) return;
    std::string text = input::read_data_file(results_, Sources::kFiles);
    const std::size_t end = text.rfind('\n');
    if (end + 1 != text.size()) {
      text.resize(end == std::string::npos ? 0 : end + 1);
      system::publish_file(results_, text);
    }
    if (text.empty()) return;
    const input::Table table = input::parse_table(text, printable(results_.string()), false);
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const std::vector<std::string>& cells = table.rows[row];
      const auto answer = cells.size() == 6 ? answer_named(cells[4]) : std::nullopt;
      if (!answer)
        fail("BF3015", table.place(row), "this is no line of results",
             "category,onnx,vnnlib,prepare_seconds,result,run_seconds");
      for (std::size_t i = 0; i < file_.instances.size(); ++i) {
        const Instance& instance = file_.instances[i];
        if (instance.onnx != cells[1] || instance.vnnlib != cells[2] || !done_.insert(i).second)
          continue;
        InstanceResult result;
        result.index = i;
        result.answer = *answer;
        result.run_seconds = table.number(row, 5);
        result.is_earlier = true;
        keep(std::move(result));
        ++totals_.earlier;
        break;
      }
    }
  }

  void start(std::size_t index) {
    const Instance& instance = file_.instances[index];
    const system::Stopwatch preparing;
    if (!model_ || model_name_ != instance.onnx) {
      model_ = api::Model::load(file_.existing(instance.onnx));
      model_name_ = instance.onnx;
    }
    prepared_[index] = preparing.seconds();
    if (!*model_) {
      InstanceResult result;
      result.index = index;
      result.message = model_->error().text();
      finish(std::move(result));
      return;
    }
    api::VerifyOptions options = settings_.options;
    for (const char* const of_all : {"timeout", "jobs"}) options.more.erase(of_all);
    const build::DecisionOptions& decision = settings_.decision;
    options.timeout_seconds =
        decision.timeout_seconds > 0 ? decision.timeout_seconds : instance.timeout_seconds;
    const fs::path property = file_.existing(instance.vnnlib);
    if (proofs_) options.proof = proofs_->folder() / (names_[index] + ".bfc");
    const bool has_end =
        options.timeout_seconds > 0 && (options.proof.empty() || decision.proof.seconds > 0);
    pool_.start(
        index, [&] { return decide_apart(**model_, property, options); },
        has_end ? options.timeout_seconds + decision.proof.seconds + kGraceSeconds : 0);
  }

  void finish(InstanceResult result) {
    result.prepare_seconds = prepared_[result.index];
    const Instance& instance = file_.instances[result.index];
    if (!result.message.empty() && system::verbosity() != system::Verbosity::kQuiet)
      fmt::print(stderr, "{} {}: {}\n", printable(instance.onnx), printable(instance.vnnlib),
                 first_line(result.message));
    if (!settings_.counterexamples.empty() && !result.counterexample.empty()) {
      system::publish_file(settings_.counterexamples / (names_[result.index] + ".counterexample"),
                           result.counterexample);
    }
    if (!result.no_proof.empty() && system::verbosity() != system::Verbosity::kQuiet)
      fmt::print(stderr, "{} {}: no certificate: {}\n", printable(instance.onnx),
                 printable(instance.vnnlib), first_line(result.no_proof));
    if (result.has_proof) {
      system::publish_file(proofs_->folder() / (names_[result.index] + ".vnnlib"),
                           prove::bytes_of(file_.existing(instance.vnnlib)));
      ++totals_.proofs;
      if (result.rechecked) ++totals_.rechecked;
    }
    std::ofstream stream(results_, std::ios::binary | std::ios::app);
    stream << fmt::format("{},{},{},{:.3f},{},{:.3f}\n", input::table_cell(file_.category),
                          input::table_cell(instance.onnx), input::table_cell(instance.vnnlib),
                          result.prepare_seconds, to_string(result.answer), result.run_seconds);
    stream.close();
    if (!stream) fail("BF3102", printable(results_.string()), "cannot write");
    keep(std::move(result));
  }

  void keep(InstanceResult result) {
    count(totals_, result.answer);
    kept_.push_back(std::move(result));
  }

  // Returns what the certificates are about, and the answers of all instances that have one.
  nlohmann::ordered_json manifest() const {
    nlohmann::ordered_json manifest = {{"models", nlohmann::ordered_json::array()},
                                       {"answers", nlohmann::ordered_json::array()}};
    std::map<std::string, nlohmann::ordered_json> models;
    for (const InstanceResult& each : kept_) {
      const Instance& instance = file_.instances[each.index];
      const std::string& name = names_[each.index];
      std::error_code error;
      const bool has_proof =
          each.has_proof ||
          (each.is_earlier && fs::exists(proofs_->folder() / (name + ".bfc"), error));
      nlohmann::ordered_json answer = {{"onnx", instance.onnx},
                                       {"vnnlib", instance.vnnlib},
                                       {"answer", text_of(each.answer).word},
                                       {"model", nullptr}};
      if (has_proof && !models.contains(instance.onnx)) {
        models[instance.onnx] = named_digest(file_.existing(instance.onnx));
        manifest["models"].push_back(models[instance.onnx]);
      }
      if (has_proof) answer["model"] = models[instance.onnx]["sha256"];
      add_files(answer, name, has_proof);
      manifest["answers"].push_back(std::move(answer));
    }
    return manifest;
  }

  artifacts::Gate gate() const {
    artifacts::Gate gate{"verify " + printable(file_.category), {}, 0};
    for (const InstanceResult& each : kept_) {
      const Instance& instance = file_.instances[each.index];
      const AnswerText& text = text_of(each.answer);
      gate.seconds += each.run_seconds;
      gate.cases.push_back({printable(instance.onnx), printable(instance.vnnlib),
                            file_.existing(instance.vnnlib).string(),
                            settings_.must_hold && each.answer != InstanceAnswer::kError &&
                                    each.answer != InstanceAnswer::kUnsat
                                ? artifacts::GateOutcome::kFailed
                                : text.outcome,
                            text.word,
                            each.message.empty() ? text.message : first_line(each.message), "",
                            each.run_seconds});
    }
    return gate;
  }

  const InstanceFile& file_;
  const std::vector<std::string> names_;
  const fs::path results_;
  const InstanceSettings& settings_;
  std::optional<ProofSet> proofs_;
  system::ProcessPool pool_;
  std::optional<api::Result<api::Model>> model_;
  std::string model_name_;
  std::map<std::size_t, double> prepared_;
  std::set<std::size_t> done_;
  std::vector<InstanceResult> kept_;
  InstanceTotals totals_;
};

}  // namespace

const char* to_string(InstanceAnswer answer) {
  switch (answer) {
    case InstanceAnswer::kUnsat:
      return "unsat";
    case InstanceAnswer::kSat:
      return "sat";
    case InstanceAnswer::kUnknown:
      return "unknown";
    case InstanceAnswer::kTimeout:
      return "timeout";
    case InstanceAnswer::kError:
      return "error";
  }
  return "?";
}

namespace {

// Drops a first line that names the columns, which are in the competitions' order.
void drop_header(input::Table& table) {
  std::vector<std::string> names;
  for (const std::string& cell : table.rows[0]) {
    std::string& name = names.emplace_back();
    for (const char c : cell)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool named = names.size() >= 2 && (names[0] == "onnx" || names[0] == "model") &&
                     (names[1] == "vnnlib" || names[1] == "property") &&
                     (names.size() < 3 || names[2].starts_with("timeout"));
  if (!named) return;
  table.rows.erase(table.rows.begin());
  ++table.first_line;
  if (table.rows.empty()) fail("BF3015", table.where, "there are no instances behind the names");
}

}  // namespace

int InstanceSettings::jobs() const {
  return static_cast<int>(decision.jobs > 0 ? decision.jobs : system::core_count());
}

fs::path InstanceFile::existing(const std::string& name) const {
  const fs::path path = folder / name;
  std::error_code error;
  if (fs::exists(path, error)) return path;
  const fs::path packed = path.string() + ".gz";
  return fs::exists(packed, error) ? packed : path;
}

InstanceFile read_instances(const fs::path& path) {
  input::Table table =
      input::parse_table(input::read_data_file(path), printable(path.string()), false);
  drop_header(table);
  InstanceFile file;
  file.folder = path.parent_path();
  std::error_code error;
  file.category = printable(fs::absolute(path, error).parent_path().filename().string());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::vector<std::string>& cells = table.rows[row];
    if (cells.size() < 2 || cells.size() > 3)
      fail("BF3015", table.place(row), fmt::format("{} cells", cells.size()),
           "a line is onnx,vnnlib or onnx,vnnlib,timeout");
    Instance instance = {cells[0], cells[1], 0};
    if (cells.size() == 3) instance.timeout_seconds = table.number(row, 2);
    if (cells.size() == 3 && !(instance.timeout_seconds > 0))
      fail("BF3015", table.place(row), "the timeout is not positive");
    if (instance.onnx.empty() || instance.vnnlib.empty())
      fail("BF3015", table.place(row), "a path is empty");
    file.instances.push_back(std::move(instance));
  }
  return file;
}

InstancesRun run_instances(const InstanceFile& file, const fs::path& results,
                           const InstanceSettings& settings) {
  return Runner(file, results, settings).run();
}

}  // namespace bf_aot::apps
