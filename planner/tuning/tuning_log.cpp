#include "planner/tuning/tuning_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/diagnostic.h"
#include "planner/machine/repeated_key.h"

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLine = 1 << 16;  // bytes
constexpr int kMostNumber = 1 << 24;        // of a schedule, of samples

std::string_view to_string(RecordKind kind) {
  return kind == RecordKind::kTrial ? "trial" : "result";
}

Json times_json(const Times& times) {
  return {{"min", times.min}, {"median", times.median}};
}

// Reads one line; every problem is the same diagnostic with another text.
class LineReader {
 public:
  LineReader(std::string_view text, std::string where) : where_(std::move(where)) {
    if (text.size() > kMostLine)
      refuse(fmt::format("a line of {} bytes, at most {} are read", text.size(), kMostLine));
    json_ = Json::parse(text, nullptr, false);
    if (json_.is_discarded()) refuse("no JSON");
    if (!json_.is_object()) refuse("no JSON object");
    if (const std::string key = repeated_key(text); !key.empty())
      refuse(fmt::format("key '{}' appears twice", key));
  }

  TuningRecord read() const {
    if (integer(json_, "schema") != kTuningSchema)
      refuse(
          fmt::format("schema {}, this version reads {}", integer(json_, "schema"), kTuningSchema));
    TuningRecord record;
    const std::string kind = text(json_, "record");
    if (kind != "trial" && kind != "result") refuse("record is neither trial nor result");
    record.kind = kind == "trial" ? RecordKind::kTrial : RecordKind::kResult;
    record.key = text(json_, "key");
    record.target = text(json_, "target");
    record.machine = text(json_, "machine");
    record.compiler = text(json_, "compiler");
    record.schedule = read_schedule(member(json_, "schedule"));
    record.seconds = read_times("seconds");
    record.default_seconds = read_times("default_seconds");
    record.samples = integer(json_, "samples");
    record.error = text(json_, "error");
    if (record.kind == RecordKind::kResult) {
      record.ratio = number(json_, "ratio");
      record.noise = number(json_, "noise");
      record.candidates = integer(json_, "candidates");
      record.is_default = boolean(json_, "is_default");
    }
    record.seed = whole(json_, "seed");
    record.version = text(json_, "version");
    if (record.key.empty()) refuse("no key");
    if (!record.key.ends_with("/" + record.target)) refuse("the key is of another target");
    return record;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail("BF3010", where_, what,
         "remove the line: every line of a tuning log is a record that bf-aot tune wrote");
  }

  const Json& member(const Json& of, const char* name) const {
    const auto found = of.find(name);
    if (found == of.end()) refuse(fmt::format("{} is missing", name));
    return *found;
  }

  std::string text(const Json& of, const char* name) const {
    const Json& value = member(of, name);
    if (!value.is_string()) refuse(fmt::format("{} is no text", name));
    return value.get<std::string>();
  }

  std::uint64_t whole(const Json& of, const char* name) const {
    const Json& value = member(of, name);
    if (!value.is_number_unsigned()) refuse(fmt::format("{} is no whole number", name));
    return value.get<std::uint64_t>();
  }

  int integer(const Json& of, const char* name) const {
    const std::uint64_t value = whole(of, name);
    if (value > kMostNumber) refuse(fmt::format("{} is {}", name, value));
    return static_cast<int>(value);
  }

  bool boolean(const Json& of, const char* name) const {
    const Json& value = member(of, name);
    if (!value.is_boolean()) refuse(fmt::format("{} is neither true nor false", name));
    return value.get<bool>();
  }

  double number(const Json& of, const char* name) const {
    const Json& value = member(of, name);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
      refuse(fmt::format("{} is no number >= 0", name));
    return value.get<double>();
  }

  Times read_times(const char* name) const {
    const Json& times = member(json_, name);
    if (!times.is_object()) refuse(fmt::format("{} is no object", name));
    return {number(times, "min"), number(times, "median")};
  }

  Schedule read_schedule(const Json& json) const {
    if (!json.is_object()) refuse("schedule is no object");
    const int pixels = integer(json, "pixels");
    return {integer(json, "lanes"),
            integer(json, "vectors"),
            integer(json, "columns"),
            integer(json, "chunk"),
            boolean(json, "groups_first"),
            integer(json, "unroll"),
            pixels,
            pixels > 0 ? integer(json, "last_columns") : 0};
  }

  std::string where_;
  Json json_;
};

}  // namespace

std::string to_line(const TuningRecord& record) {
  const Schedule& schedule = record.schedule;
  Json json = {{"schema", kTuningSchema},
               {"record", to_string(record.kind)},
               {"key", record.key},
               {"target", record.target},
               {"machine", record.machine},
               {"compiler", record.compiler},
               {"schedule",
                {{"lanes", schedule.lanes},
                 {"vectors", schedule.vectors},
                 {"columns", schedule.columns},
                 {"chunk", schedule.chunk},
                 {"groups_first", schedule.groups_first},
                 {"unroll", schedule.unroll},
                 {"pixels", schedule.pixels},
                 {"last_columns", schedule.last_columns}}},
               {"seconds", times_json(record.seconds)},
               {"default_seconds", times_json(record.default_seconds)},
               {"samples", record.samples},
               {"error", record.error}};
  if (record.kind == RecordKind::kResult)
    json.update(Json{{"ratio", record.ratio},
                     {"noise", record.noise},
                     {"candidates", record.candidates},
                     {"is_default", record.is_default}});
  json.update(Json{{"seed", record.seed}, {"version", record.version}});
  // The output of a compiler need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<TuningRecord> parse_tuning_log(std::string_view text, const std::string& name) {
  std::vector<TuningRecord> records;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    records.push_back(LineReader(one, fmt::format("{}: line {}", name, line)).read());
  }
  return records;
}

std::vector<TunedSchedule> best_results(const std::vector<TuningRecord>& records) {
  std::map<std::string, const TuningRecord*> best;
  const auto ratio = [](const TuningRecord& r) { return r.is_default ? 1.0 : r.ratio; };
  for (const TuningRecord& record : records) {
    if (record.kind != RecordKind::kResult || !record.error.empty()) continue;
    const auto [known, is_new] = best.try_emplace(record.key, &record);
    if (!is_new && ratio(record) < ratio(*known->second)) known->second = &record;
  }
  std::vector<TunedSchedule> list;
  for (const auto& [key, record] : best)
    list.push_back({key, record->target, record->schedule, record->is_default,
                    record->seconds.median, record->default_seconds.median, record->candidates});
  return list;
}

}  // namespace bf_aot
