#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <system_error>

#include "aot/apps/certify/results.h"
#include "aot/input/array.h"
#include "aot/input/table.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::apps {
namespace {

namespace fs = std::filesystem;

constexpr char kHead[] = "eps,sample,name,label,answer,status,margin,rival";

std::string head_of(const CertifyRun& run, std::size_t outputs) {
  std::string head = kHead;
  if (run.task == CertifyTask::kWithin)
    for (std::size_t i = 0; i < outputs; ++i) head += fmt::format(",lower_{},upper_{}", i, i);
  if (run.complete) head += ",stage,seconds";
  return head + "\n";
}

}  // namespace

Journal::Journal(fs::path path, const std::string& question, const CertifyRun& run)
    : path_(std::move(path)), part_(path_.string() + ".part"), run_(run) {
  found_ = read_earlier(question);
  std::string text = head_of(run, run.outputs);
  for (const SampleResult& result : found_) text += row(result);
  system::publish_file(path_, text);
  system::publish_file(part_, question + "\n");
}

// The rows of an earlier process. Only whole rows count, since it may have ended within the last
// one.
std::vector<SampleResult> Journal::read_earlier(const std::string& question) const {
  std::error_code error;
  if (!fs::exists(part_, error) || !fs::exists(path_, error)) return {};
  if (input::read_data_file(part_, Sources::kFiles) != question + "\n") return {};
  std::string text = input::read_data_file(path_, Sources::kFiles);
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  if (std::count(text.begin(), text.end(), '\n') < 2) return {};
  const input::Table table = input::parse_table(text, printable(path_.string()));
  std::vector<SampleResult> results;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& cells = table.rows[i];
    const auto damaged = [&] {
      fail("BF3015", table.place(i), "the row is not one that this program wrote",
           "remove the file to begin anew");
    };
    if (table.names.size() < 8 || table.names[5] != "status") damaged();
    SampleResult result;
    const auto radius = std::find(run_.radii.begin(), run_.radii.end(), cells[0]);
    const auto status = robustness_named(cells[5]);
    result.sample = static_cast<std::size_t>(table.number(i, 1)) - run_.first;
    if (radius == run_.radii.end() || !status || result.sample >= run_.names.size()) damaged();
    result.radius = static_cast<std::size_t>(radius - run_.radii.begin());
    result.robustness = *status;
    result.answer = static_cast<std::size_t>(table.number(i, 4));
    result.margin = cells[6] == "-inf" ? -INFINITY : table.number(i, 6);
    result.rival = static_cast<std::size_t>(table.number(i, 7));
    if (run_.complete) {
      const auto stage = api::stage_named(cells[8]);
      if (!stage || cells.size() < 10) damaged();
      result.stage = *stage;
      result.seconds[static_cast<std::size_t>(*stage)] = table.number(i, 9);
    }
    for (std::size_t column = run_.complete ? cells.size() : 8; column + 1 < cells.size();
         column += 2) {
      result.lower.push_back(cells[column] == "-inf" ? -INFINITY : table.number(i, column));
      result.upper.push_back(cells[column + 1] == "inf" ? INFINITY : table.number(i, column + 1));
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string Journal::row(const SampleResult& result) const {
  std::string text = fmt::format(
      "{},{},{},{},{},{},{:.9g},{}", run_.radii[result.radius], run_.first + result.sample,
      input::table_cell(run_.names[result.sample]),
      run_.labels.empty() ? std::string() : fmt::format("{}", run_.labels[result.sample]),
      result.answer, to_string(result.robustness), result.margin, result.rival);
  for (std::size_t i = 0; i < result.lower.size(); ++i)
    text += fmt::format(",{:.9g},{:.9g}", result.lower[i], result.upper[i]);
  if (run_.complete)
    text += fmt::format(",{},{:.6g}", to_string(result.stage),
                        std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0));
  return text + "\n";
}

void Journal::append(const std::vector<SampleResult>& results) {
  std::string text;
  for (const SampleResult& result : results) text += row(result);
  std::ofstream stream(path_, std::ios::binary | std::ios::app);
  stream << text;
  stream.close();
  if (!stream) fail("BF3102", printable(path_.string()), "cannot write", "check the free space");
}

void Journal::finish() {
  std::error_code error;
  fs::remove(part_, error);
}

}  // namespace bf_aot::apps
