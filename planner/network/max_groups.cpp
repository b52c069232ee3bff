#include "planner/network/max_groups.h"

#include <algorithm>
#include <vector>

#include "planner/network/stride_gathers.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot {
namespace {

// Limit of a group's extent, such that two groups as far apart as may be still go together.
constexpr std::int32_t kMostOfLine = bf::kMaxLine / 4;

// The first candidate of each group.
std::vector<std::int32_t> firsts(const SparseMap& map) {
  std::vector<std::int32_t> made;
  for (std::size_t i = 0; i + 1 < map.row_start.size(); ++i)
    made.push_back(map.column[static_cast<std::size_t>(map.row_start[i])]);
  return made;
}

// The place of each element of a group relative to the first.
std::vector<std::int32_t> offsets(const SparseMap& map) {
  std::vector<std::int32_t> made(map.column.begin(), map.column.begin() + map.row_start[1]);
  for (std::int32_t& offset : made) offset -= map.column.front();
  return made;
}

// Taps that are no neighbours all go before the last.
bool settle_taps(StridedView& taps) {
  if (taps.count[3] == 1 || taps.stride[3] == 1) return true;
  if (taps.count[0] != 1) return false;
  std::rotate(taps.count.begin(), taps.count.begin() + 1, taps.count.end());
  std::rotate(taps.stride.begin(), taps.stride.begin() + 1, taps.stride.end());
  return true;
}

}  // namespace

SparseMap candidates_of(const GroupView& groups) {
  SparseMap made{{0}, {}};
  const std::vector<std::int32_t> taps = elements_of(groups.taps);
  for (const std::int32_t first : elements_of(groups.firsts)) {
    for (const std::int32_t tap : taps) made.column.push_back(first + tap);
    made.row_start.push_back(static_cast<std::int32_t>(made.column.size()));
  }
  return made;
}

std::optional<GroupView> max_groups(const SparseMap& candidates) {
  const auto groups = strided_view(firsts(candidates));
  auto taps = strided_view(offsets(candidates));
  if (!groups || !taps || !settle_taps(*taps)) return std::nullopt;
  const std::int32_t step = groups->stride[3], last = taps->count[3];
  if (step < 1 || step > 2 * last || last > kMostOfLine) return std::nullopt;
  const GroupView made{*groups, *taps};
  return candidates_of(made) == candidates ? std::optional(made) : std::nullopt;
}

}  // namespace bf_aot
