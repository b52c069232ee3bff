// The entry points that measure a device as a program in C++, for sanitizers: the items of a group
// are threads, and groups go one after the other. The compiler is told the source's name
// (WORDS_SOURCE) and the number of items (WORDS_ITEMS). Ends with 1 where a number is wrong.

#include <algorithm>

#include "tests/soundness/opencl_threads.h"

#include WORDS_SOURCE

namespace {

using Entry = void (*)(const int32_t*, float*, float*);
constexpr size_t kItems = WORDS_ITEMS, kGroups = 3, kNumbers = 8 * kItems * 2;

std::vector<float> call(Entry entry, const std::vector<int32_t>& counts,
                        std::vector<float>& memory) {
  std::vector<float> made(kGroups * kItems, -1.0f);
  for (words_group = 0; words_group < kGroups; ++words_group) {
    std::vector<std::thread> items;
    for (size_t item = 0; item < kItems; ++item)
      items.emplace_back([&, item] {
        words_item = item;
        entry(counts.data(), memory.data(), made.data());
      });
    for (std::thread& item : items) item.join();
  }
  return made;
}

// All items sum up 12 chains that converge to a half.
bool are_chains(const std::vector<float>& made) {
  return std::all_of(made.begin(), made.end(), [](float x) { return x == 6.0f; });
}

}  // namespace

int main() {
  std::vector<float> memory(kGroups * kNumbers);
  const auto numbers = static_cast<int32_t>(kNumbers);
  if (!are_chains(call(bf_peak_float32, {512, 1}, memory))) return 1;
  if (!are_chains(call(bf_peak_float64, {512, 1}, memory))) return 1;
  call(bf_peak_fill, {numbers, numbers}, memory);
  const std::vector<float> made = call(bf_peak_read, {numbers, numbers, 2}, memory);
  for (size_t i = 0; i < made.size(); ++i) {
    uint32_t sum = 0;  // of what the item reads, of each group's part
    for (uint32_t turn = 0; turn < 2; ++turn)
      for (auto k = static_cast<uint32_t>(i % kItems); k < kNumbers; k += WORDS_ITEMS)
        sum += k ^ turn;
    if (made[i] != static_cast<float>(sum)) return 1;
  }
  return 0;
}
