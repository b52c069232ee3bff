#include "aot/build/work_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/cost/cost_model.h"
#include "planner/integer/step_work.h"

namespace bf_aot::build {
namespace {

using Json = nlohmann::ordered_json;

Json calls_json(const calls::Work& work) {
  Json list = Json::array();
  for (const calls::CallCount& call : work.calls)
    list.push_back({{"function", call.function}, {"at_most", call.most}, {"always", call.always}});
  return list;
}

Json loops_json(const calls::Work& work) {
  Json list = Json::array();
  for (const calls::LoopBound& loop : work.loops)
    list.push_back({{"task", loop.task},
                    {"over", loop.over},
                    {"at_most", loop.most},
                    {"always", loop.always}});
  return list;
}

// Each step runs once, whatever the box.
Json integer_json(const Plan& plan) {
  calls::Work work;
  for (const IntegerStep& step : plan.integer->steps)
    for (const StepCalls& made : calls_of(*plan.integer, step)) {
      const auto found =
          std::ranges::find(work.calls, std::string(made.function), &calls::CallCount::function);
      if (found == work.calls.end())
        work.calls.push_back({made.function, made.count, true});
      else
        found->most += made.count;
    }
  return {{"entry", to_string(EntryKind::kBounds)},
          {"operations", most_integer_operations(plan)},
          {"operations_bounded", true},
          {"calls", calls_json(work)},
          {"loops", Json::array()}};
}

}  // namespace

std::int64_t layer_operations(const Plan& plan, const Entry& entry, const calls::Work& work) {
  const EntryCost cost =
      predict_entry(plan, entry, assumed_activity(plan, entry, 1), profile_of(plan.config));
  return work.groups * static_cast<std::int64_t>(std::ceil(cost.total.flops));
}

std::int64_t most_integer_operations(const Plan& plan) {
  constexpr std::int64_t kCheckedInput = 10;  // bf::integer::check_box
  std::int64_t sum = kCheckedInput * plan.input_count;
  for (const IntegerStep& step : plan.integer->steps) sum += most_operations(*plan.integer, step);
  return sum;
}

namespace {

// Returns the operations that bound the property's rows on one box.
std::int64_t row_bounds_operations(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  if (!plan.integer) {
    const Entry& entry = *plan.find_entry(EntryKind::kSpecBounds);
    return layer_operations(plan, entry, calls::work_of(lowered, entry));
  }
  std::int64_t sum = row_operations(*plan.integer);
  for (const IntegerStep& step : plan.integer->steps)
    if (output_of(step) >= 0) sum += most_operations(*plan.integer, step);
  return sum;
}

Json entry_json(const Lowered& lowered, const Entry& entry) {
  const calls::Work work = calls::work_of(lowered, entry);
  return {{"entry", name_of(entry)},
          {"operations", layer_operations(lowered.plan(), entry, work)},
          {"operations_bounded", false},
          {"calls", calls_json(work)},
          {"loops", loops_json(work)}};
}

Json verify_json(const Plan& plan, const VerifyWork& verify) {
  calls::Work calls;
  calls.calls = {{plan.integer ? "rows" : plan.name + "_spec_bounds", verify.bounds, false}};
  return {{"entry", "verify"},
          {"operations", verify.operations},
          {"operations_bounded", plan.integer.has_value()},
          {"calls", calls_json(calls)},
          {"loops", Json::array()}};
}

}  // namespace

VerifyWork verify_work(const Lowered& lowered, const Property& property) {
  const Plan& plan = lowered.plan();
  const std::int64_t once = row_bounds_operations(lowered);
  const std::int64_t free = std::min<std::int64_t>(plan.input_count, kTriedCorners);
  const std::int64_t points = 1 + (std::int64_t{1} << free);
  std::int64_t terms = 0;
  for (const PropertyCase& one : property.cases)
    for (const Clause& clause : one.clauses) terms += static_cast<std::int64_t>(clause.size());
  VerifyWork work;
  const auto cases = static_cast<std::int64_t>(property.cases.size());
  work.bounds = cases * (1 + points);
  // A coordinate of a case's box takes kCut operations, which intersect boxes and bring ends
  // inward; a coordinate of a point takes kPoint.
  constexpr std::int64_t kCut = 3 + 2;
  constexpr std::int64_t kPoint = 3 + 2;
  work.operations = work.bounds * once +
                    (cases * kCut + cases * points * kPoint) * plan.input_count +
                    terms * (1 + points);
  return work;
}

std::vector<std::pair<std::string, std::int64_t>> work_of_calls(
    const Lowered& lowered, const std::optional<VerifyWork>& verify) {
  const Plan& plan = lowered.plan();
  std::vector<std::pair<std::string, std::int64_t>> list;
  for (const Entry& entry : plan.entries)
    if (entry.kind == EntryKind::kBounds)
      list.emplace_back(plan.name + "_" + name_of(entry),
                        plan.integer
                            ? most_integer_operations(plan)
                            : layer_operations(plan, entry, calls::work_of(lowered, entry)));
  if (verify) list.emplace_back(plan.name + "_verify", verify->operations);
  return list;
}

Json work_json(const Lowered& lowered, const std::optional<VerifyWork>& verify) {
  const Plan& plan = lowered.plan();
  Json list = Json::array();
  for (const Entry& entry : plan.entries)
    list.push_back(plan.integer ? integer_json(plan) : entry_json(lowered, entry));
  if (verify) list.push_back(verify_json(plan, *verify));
  return list;
}

}  // namespace bf_aot::build
