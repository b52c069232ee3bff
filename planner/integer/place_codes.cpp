#include "planner/integer/place_codes.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"

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
  plan.entries.push_back(std::move(entry));
}

}  // namespace bf_aot
