#include "planner/integer/place_codes.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/integer/crown_lines.h"

namespace bf_aot {
namespace {

BufferId add_codes(Entry& entry, std::string name, std::int64_t count, int first, int last) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.element = Element::kUint8;
  buffer.count = count;
  buffer.first = first;
  buffer.last = last;
  entry.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(entry.buffers.size() - 1);
}

}  // namespace

void list_code_buffers(Plan& plan) {
  IntegerPlan& integer = *plan.integer;
  std::vector<int> made(integer.tensors.size(), -1), read(integer.tensors.size(), -1);
  for (std::size_t i = 0; i < integer.steps.size(); ++i) {
    const int number = static_cast<int>(i);
    for (const GridId in : inputs_of(integer.steps[i])) read[static_cast<std::size_t>(in)] = number;
    const GridId out = output_of(integer.steps[i]);
    if (out >= 0)
      made[static_cast<std::size_t>(out)] = read[static_cast<std::size_t>(out)] = number;
  }
  const int end = static_cast<int>(integer.steps.size());
  // Rows of a property follow all steps.
  if (integer.property)
    for (const PropertySums& sums : integer.property->sums)
      read[static_cast<std::size_t>(sums.in)] = end;
  // Rows of method crown end at the input's codes.
  if (integer.crown) read[static_cast<std::size_t>(output_of(integer.steps.front()))] = end;
  Entry entry;
  entry.kind = EntryKind::kBounds;
  for (std::size_t i = 0; i < integer.tensors.size(); ++i) {
    GridTensor& tensor = integer.tensors[i];
    BF_CHECK(made[i] >= 0);
    tensor.lower = add_codes(entry, tensor.name + "_lower", tensor.count, made[i], read[i]);
    tensor.upper = add_codes(entry, tensor.name + "_upper", tensor.count, made[i], read[i]);
  }
  for (std::size_t i = 0; i < integer.steps.size(); ++i) {
    auto* const conv = std::get_if<GridConv>(&integer.steps[i]);
    if (conv == nullptr) continue;
    const std::int64_t filter = conv->geometry.in_group() * conv->geometry.taps();
    const std::string& name = integer.tensor(conv->out).name;
    const int step = static_cast<int>(i);
    conv->window_lower = add_codes(entry, name + "_window_lower", filter, step, step);
    conv->window_upper = add_codes(entry, name + "_window_upper", filter, step, step);
  }
  if (integer.crown)
    integer.crown->room = add_codes(entry, "room", crown_room_bytes(integer), 0, end);
  plan.entries.push_back(std::move(entry));
}

}  // namespace bf_aot
