#include "aot/compile/work_json.h"

#include <cmath>
#include <cstdint>

#include "planner/cost/cost_model.h"

namespace bf_aot {
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

}  // namespace

std::int64_t most_operations(const Plan& plan, const Entry& entry, const calls::Work& work) {
  const EntryCost cost =
      predict_entry(plan, entry, assumed_activity(plan, entry, 1), profile_of(plan.config));
  return work.groups * static_cast<std::int64_t>(std::ceil(cost.total.flops));
}

Json work_json(const Plan& plan) {
  Json list = Json::array();
  if (plan.integer) return list;  // each step runs once
  for (const Entry& entry : plan.entries) {
    const calls::Work work = calls::work_of(plan, entry);
    list.push_back({{"entry", to_string(entry.kind)},
                    {"operations", most_operations(plan, entry, work)},
                    {"calls", calls_json(work)},
                    {"loops", loops_json(work)}});
  }
  return list;
}

}  // namespace bf_aot
