#include "aot/apps/measure/bench_peers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "aot/engine/verifier/report.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

constexpr int kSkipped = 77;  // as automake's and CTest's tests say it

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

PeerTime parse_answer(const std::string& command, const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    fail("BF3330", command, "the peer's answer cannot be used: " + what,
         "it must print {\"name\": text, \"seconds\": [numbers above 0]}");
  };
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  if (!answer.is_object()) refuse("no JSON object");
  if (!answer.contains("name") || !answer["name"].is_string()) refuse("\"name\" is no text");
  if (!answer.contains("seconds") || !answer["seconds"].is_array() || answer["seconds"].empty())
    refuse("\"seconds\" is no list of numbers");
  std::vector<double> samples;
  for (const auto& each : answer["seconds"]) {
    if (!each.is_number() || !(each.get<double>() > 0)) refuse("a time is no number above 0");
    samples.push_back(each.get<double>());
  }
  return {command, answer["name"].get<std::string>(), statistics_of(std::move(samples)), {}};
}

}  // namespace

PeerTime time_peer(const std::string& command, const PeerQuestion& question) {
  const system::Progress progress(command);
  std::vector<std::string> words = build::split_words(command);
  if (words.empty()) fail("BF3330", "--peer", "no program is named", "give COMMAND");
  const auto program = system::find_program(words[0]);
  if (!program) return {command, command, std::nullopt, words[0] + " is not installed"};
  words[0] = *program;

  const system::Staging staging(std::filesystem::temp_directory_path());
  const nlohmann::ordered_json box = {{"lower", question.box.lower}, {"upper", question.box.upper}};
  staging.write("box.json", box.dump());
  words.push_back(std::filesystem::absolute(question.model).string());
  words.push_back((staging.folder() / "box.json").string());
  words.emplace_back(to_string(question.method));
  words.push_back(fmt::format("{}", question.seconds));
  const system::ProcessResult result = system::run_process(words);
  if (result.exit_code == kSkipped)
    return {command, command, std::nullopt, last_line(result.errors)};
  if (result.exit_code != 0)
    fail("BF3330", command,
         fmt::format("the peer failed with exit code {}: {}", result.exit_code,
                     last_line(result.errors)),
         "run it by itself; a peer that cannot run here ends with 77");
  return parse_answer(command, result.output);
}

}  // namespace bf_aot::apps
