// schema_cases FILE [FIRST]: bounds of each case's model at its point, from case FIRST on. Prints a
// line a case: its name, what came out ("value" or the code of the first diagnostic), how that
// compares ("right", "wrong", "wide", "other", or "-" where nothing is expected), and the bounds or
// the message. Fails unless all are right. FILE may be compressed by gzip.
// schema_cases --float32 FILE: the same in float32 semantics, of cases that have values. These were
// computed in float32, and have to lie inside. Operators are taken, or refused, as the table of
// float32_operators() says, each of which some case shows.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "frontend/gzip.h"
#include "frontend/passes/float32/float32_operators.h"
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

Outcome run(const SchemaCase& given, api::Semantics semantics = api::Semantics::kReal) {
  const auto bytes = std::as_bytes(std::span(given.model));
  const auto model = api::Model::from_bytes(bytes, "m");
  if (!model) return refused(model.error());
  if (model->input_count() != given.point.size())
    return {"inputs", fmt::format("{} inputs", model->input_count()), {}, {}};
  api::Options options;
  options.method = api::Method::kIbp;
  options.semantics = semantics;
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

// What the values of a case are computed from: "LRN@13 form 2" is of LRN.
std::string operator_of(const SchemaCase& given) {
  return given.name.substr(0, given.name.find('@'));
}

// The reference evaluator gives Selu's first versions the attributes of today.
bool is_disputed(const SchemaCase& given) {
  return given.name.starts_with("Selu@1 ") || given.name.starts_with("Selu@5 ");
}

bool is_inside(const SchemaCase& given, const Outcome& made) {
  for (std::size_t i = 0; i < made.lower.size(); ++i) {
    const auto right = static_cast<float>(given.values[i]);
    if (!std::isnan(right) && !(made.lower[i] <= right && right <= made.upper[i])) return false;
  }
  return true;
}

// Returns true if some forms of the operator are refused.
bool has_forms(const Float32Operator& of) {
  return std::ranges::any_of(float32_operators(), [&](const Float32Operator& each) {
    return each.type.starts_with(std::string(of.type) + ",");
  });
}

int check_float32(const char* path) {
  const std::string bytes = read(path);
  CaseReader reader(bytes);
  std::map<std::string, int> taken, refusals;
  int failed = 0;
  while (!reader.done()) {
    const SchemaCase given = reader.next();
    if ((given.expected != "value" && given.expected != "inside") || is_disputed(given)) continue;
    const Outcome made = run(given, api::Semantics::kFloat32);
    const std::string type = operator_of(given);
    const bool is_value = made.code == "value";
    ++(is_value ? taken : refusals)[type];
    const bool right = is_value ? is_inside(given, made) : made.code == "BF2110";
    failed += right ? 0 : 1;
    if (!right)
      fmt::print("{}\t{}\t{}\n", given.name, made.code, is_value ? bounds_text(made) : made.text);
  }
  for (const Float32Operator& each : float32_operators()) {
    const std::string type(each.type);
    const bool wrong = each.refused.empty()
                           ? refusals.contains(type) && !taken.contains(type) && !has_forms(each)
                           : taken.contains(type);
    failed += wrong ? 1 : 0;
    if (wrong)
      fmt::print("{} is {}, unlike its row\n", type, taken.contains(type) ? "taken" : "refused");
  }
  fmt::print("{} operators are taken, {} are refused in some case; {} failures\n", taken.size(),
             refusals.size(), failed);
  return taken.size() > 100 && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bf_aot::test

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--float32")
    return bf_aot::test::check_float32(argv[2]);
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: schema_cases FILE [FIRST] | --float32 FILE\n");
    return 2;
  }
  return bf_aot::test::check(argv[1], argc == 3 ? std::stoi(argv[2]) : 0);
}
