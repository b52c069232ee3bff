// schema_cases FILE [FIRST]: bounds of each case's model at its point, from case FIRST on. Prints a
// line a case: its name, what came out ("value" or the code of the first diagnostic), how that
// compares ("right", "wrong", "wide", "other", or "-" where nothing is expected), and the bounds or
// the message. Fails unless all are right. FILE may be compressed by gzip.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "frontend/gzip.h"
#include "tests/schemas/cases.h"

namespace bf_aot::test {
namespace {

struct Outcome {
  std::string code;  // "value", or of the first diagnostic
  std::string text;  // the diagnostic
  std::vector<float> lower, upper;
};

Outcome refused(const api::Error& error) {
  std::string text = error.where + ": " + error.message;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return {error.code, text, {}, {}};
}

Outcome run(const SchemaCase& given) {
  const auto bytes = std::as_bytes(std::span(given.model));
  const auto model = api::Model::from_bytes(bytes, "m");
  if (!model) return refused(model.error());
  if (model->input_count() != given.point.size())
    return {"inputs", fmt::format("{} inputs", model->input_count()), {}, {}};
  api::Options options;
  options.method = api::Method::kIbp;
  const auto verifier = api::Verifier::make(*model, options);
  if (!verifier) return refused(verifier.error());
  const auto bounds =
      verifier->bounds(std::span(given.point), std::span<const double>(given.point));
  if (!bounds) return refused(bounds.error());
  return {"value", "", bounds->lower, bounds->upper};
}

// The right values were computed in float32.
double slack(double right) {
  return 1e-3 * std::abs(right) + 1e-5;
}

std::string compare(const SchemaCase& given, const Outcome& made) {
  if (given.expected.empty()) return "-";
  const bool inside = given.expected == "inside";
  if (made.code != (inside ? "value" : given.expected)) return "other";
  if (made.code != "value") return "right";
  if (made.lower.size() != given.values.size()) return "wrong";
  double largest = 0;
  for (const double right : given.values) largest = std::max(largest, std::abs(right));
  bool wide = false;
  for (std::size_t i = 0; i < made.lower.size(); ++i) {
    const double right = given.values[i];
    if (std::isnan(right)) continue;
    if (!(made.lower[i] <= right + slack(right) && made.upper[i] >= right - slack(right)))
      return "wrong";
    wide = wide || (!inside && !(made.upper[i] - made.lower[i] <= 2 * slack(largest)));
  }
  return wide ? "wide" : "right";
}

std::string bounds_text(const Outcome& made) {
  std::string text;
  for (std::size_t i = 0; i < made.lower.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : " ", made.lower[i], made.upper[i]);
  return text;
}

std::string read(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(std::string("cannot read ") + path);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!is_gzip(bytes)) return bytes;
  Unpacked unpacked = unpack_gzip(bytes, std::uint64_t{1} << 32);
  if (unpacked.state != Unpacked::State::kWhole) throw std::runtime_error("a damaged file");
  return std::move(unpacked.bytes);
}

int check(const char* path, int first) {
  const std::string bytes = read(path);
  CaseReader reader(bytes);
  int count = 0, failed = 0;
  for (int i = 0; !reader.done(); ++i) {
    const SchemaCase given = reader.next();
    if (i < first) continue;
    const Outcome made = run(given);
    const std::string result = compare(given, made);
    failed += result == "right" || result == "-" ? 0 : 1;
    ++count;
    fmt::print("{}\t{}\t{}\t{}\n", given.name, made.code, result,
               made.code == "value" ? bounds_text(made) : made.text);
    std::fflush(stdout);
  }
  fmt::print("{} cases, {} not right\n", count, failed);
  return count > 0 && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bf_aot::test

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: schema_cases FILE [FIRST]\n");
    return 2;
  }
  return bf_aot::test::check(argv[1], argc == 3 ? std::stoi(argv[2]) : 0);
}
