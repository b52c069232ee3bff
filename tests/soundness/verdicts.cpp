#include "tests/soundness/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <utility>

#include "tests/support/property_text.h"

namespace bf_aot::soundness {
namespace {

constexpr float kUntouched = -12345.5F;

// y_i, or y_i - y_j; at times with inputs, or inputs alone.
PropertyRow random_row(Random& random, int inputs, int outputs) {
  PropertyRow made;
  const int i = pick(random, 0, outputs - 1), j = pick(random, 0, outputs - 1);
  if (i == j || pick(random, 0, 2) == 0)
    made.outputs = {{i, 1}};
  else
    made.outputs = {{std::min(i, j), 1}, {std::max(i, j), -1}};
  if (pick(random, 0, 3) > 0) return made;
  for (int k = 0; k < inputs; ++k)
    if (pick(random, 0, 1) == 0) made.inputs.emplace_back(k, mpq_class(pick(random, 1, 9) - 10, 4));
  if (!made.inputs.empty() && pick(random, 0, 1) == 0) made.outputs.clear();
  return made;
}

mpq_class inside(float lower, float upper, int part) {
  return mpq_class(lower) + (mpq_class(upper) - mpq_class(lower)) * mpq_class(part, 8);
}

// Doubles, mostly floats; a part of the whole or, on some sides, more.
PropertyCase random_case(Random& random, const FloatBox& whole) {
  PropertyCase made;
  for (std::size_t i = 0; i < whole.lower.size(); ++i) {
    int from = 0, to = 8;
    if (pick(random, 0, 3) == 0) from = pick(random, -1, 4);
    if (pick(random, 0, 3) == 0) to = pick(random, std::max(from, 4), 9);
    double lower = inside(whole.lower[i], whole.upper[i], from).get_d();
    double upper = inside(whole.lower[i], whole.upper[i], to).get_d();
    if (from == 0) lower = whole.lower[i];
    if (to == 8) upper = whole.upper[i];
    lower = std::clamp<double>(lower, -FLT_MAX, FLT_MAX);  // what a property may say
    upper = std::clamp<double>(upper, lower, FLT_MAX);
    made.box.lower.push_back(lower);
    made.box.upper.push_back(upper);
  }
  made.inner = made.box;
  return made;
}

}  // namespace

Property random_property(Random& random, const FloatBox& box, int outputs, const Values& values) {
  Property made;
  made.file_name = "random.vnnlib";
  made.input_count = static_cast<std::int64_t>(box.lower.size());
  made.output_count = outputs;
  made.inputs = {{"X", "Real", {made.input_count}, ""}};
  made.outputs = {{"Y", "Real", {made.output_count}, ""}};
  for (int i = pick(random, 1, 3); i > 0; --i) {
    PropertyRow row = random_row(random, static_cast<int>(made.input_count), outputs);
    if (std::ranges::find(made.rows, row) == made.rows.end()) made.rows.push_back(std::move(row));
  }

  std::vector<std::vector<mpq_class>> reached;
  for (int k = 0; k < 6; ++k) {
    std::vector<mpq_class> x;
    for (std::size_t i = 0; i < box.lower.size(); ++i)
      x.push_back(inside(box.lower[i], box.upper[i], k == 0 ? 4 : pick(random, 0, 8)));
    const std::vector<mpq_class> y = values(x);
    reached.emplace_back();
    for (const PropertyRow& row : made.rows) reached.back().push_back(test::value_of(row, x, y));
  }

  const auto condition = [&] {
    Condition one;
    one.row = pick(random, 0, static_cast<int>(made.rows.size()) - 1);
    one.negated = pick(random, 0, 1) == 0;
    one.strict = pick(random, 0, 3) == 0;
    std::vector<mpq_class> along;
    for (const auto& rows : reached) {
      const mpq_class& value = rows[static_cast<std::size_t>(one.row)];
      along.push_back(one.negated ? mpq_class(-value) : value);
    }
    const mpq_class least = *std::ranges::min_element(along);
    const mpq_class most = *std::ranges::max_element(along);
    // Behind what is reached, far behind, between, at both ends and before.
    constexpr int kParts[] = {-1, -16, -64, -256, 0, 4, 8, 12};
    one.limit = least + (most - least) * mpq_class(kParts[pick(random, 0, 7)], 8);
    return one;
  };
  for (int i = pick(random, 1, 2); i > 0; --i) {
    PropertyCase one = random_case(random, box);
    for (int j = pick(random, 1, 2); j > 0; --j) {
      Clause clause;
      for (int k = pick(random, 1, 2); k > 0; --k) clause.push_back(condition());
      if (std::ranges::find(one.clauses, clause) == one.clauses.end())
        one.clauses.push_back(std::move(clause));
    }
    made.cases.push_back(std::move(one));
  }
  return made;
}

Verdicts call_verdicts(const Plan& plan, const Callee& callee, const Signature& signature,
                       const std::vector<FloatBox>& boxes, const CallWith& with,
                       std::uint64_t budget) {
  Verdicts made;
  std::vector<float> lower, upper;
  for (const FloatBox& box : boxes) {
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
    made.boxes.emplace_back().point.resize(box.lower.size(), kUntouched);
  }
  std::vector<bf_result> results;
  for (Judged& each : made.boxes) results.push_back({BF_BUDGET, 77, 78, each.point.data()});
  std::vector<bf_status> statuses(boxes.size(), BF_BLOB_STALE);
  const bf_budget limit = {budget, nullptr, nullptr};
  engine::Arguments a;
  Arena arena = workspace_for(plan, signature, with, a.workspace_bytes);
  a.boxes.count = boxes.size();
  a.boxes.lower = lower.data();
  a.boxes.upper = upper.data();
  a.decision.results = results.data();
  a.boxes.statuses = statuses.data();
  a.decision.budget = &limit;
  a.decision.search = &made.search;
  a.workspace = arena.data();
  a.executor = with.executor;
  if (with.context != nullptr) {
    a.context.memory = with.context->data();
    a.context.bytes = static_cast<std::size_t>(plan.context.bytes);
  }
  made.status = callee(signature, a);
  expect_guards(arena);
  if (with.context != nullptr) expect_guards(*with.context);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    made.boxes[i].status = signature.batch ? statuses[i] : made.status;
    made.boxes[i].result = results[i];
  }
  return made;
}

std::string difference(const Verdicts& a, const Verdicts& b) {
  if (a.status != b.status || a.boxes.size() != b.boxes.size())
    return fmt::format("status {} and {}", static_cast<int>(a.status), static_cast<int>(b.status));
  for (std::size_t i = 0; i < a.boxes.size(); ++i) {
    const Judged &one = a.boxes[i], &other = b.boxes[i];
    if (one.status != other.status || one.result.verdict != other.result.verdict ||
        one.result.property_case != other.result.property_case ||
        one.result.clause != other.result.clause)
      return fmt::format(
          "box {}: status {} and {}, verdict {} and {}, case {} and {}, clause {} and {}", i,
          static_cast<int>(one.status), static_cast<int>(other.status),
          static_cast<int>(one.result.verdict), static_cast<int>(other.result.verdict),
          one.result.property_case, other.result.property_case, one.result.clause,
          other.result.clause);
    if (std::memcmp(one.point.data(), other.point.data(), one.point.size() * sizeof(float)) != 0)
      return fmt::format("box {}: other counterexamples", i);
  }
  const bf_search &one = a.search, &other = b.search;
  if (one.boxes != other.boxes || one.points != other.points || one.open != other.open ||
      one.most_open != other.most_open ||
      std::memcmp(&one.proven, &other.proven, sizeof one.proven) != 0)
    return fmt::format("search: {} and {} boxes, {} and {} points, {} and {} open", one.boxes,
                       other.boxes, one.points, other.points, one.open, other.open);
  return {};
}

}  // namespace bf_aot::soundness
