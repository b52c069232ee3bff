// The entry points for nodes of neuron splits as a program in C++, for sanitizers: the items of a
// group are threads, and groups go one after the other. The compiler is told the source's name
// (WORDS_SOURCE) and the number of items (WORDS_ITEMS). Arguments: "ascend" or "look", groups, and
// the numbers of a group's arena, of what is made, and of gains. It reads and writes files of the
// arrays' names.

#include <stdlib.h>

#include <string>

#include "tests/soundness/opencl_threads.h"

#include WORDS_SOURCE

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const bool ascends = std::string(arguments[1]) == "ascend";
  const auto number = [&](int i) { return static_cast<size_t>(atoll(arguments[i])); };
  const size_t groups = number(2);
  const auto network = exactly<float>(read("network"));
  const auto clause = exactly<float>(read("clause"));
  const std::vector<char> given = read("choices");
  const auto choices = exactly<float>(given);
  const auto ranges = exactly<float>(read("ranges"));
  std::unique_ptr<float[]> arenas(new float[groups * number(3)]);
  std::unique_ptr<float[]> made(new float[groups * number(4)]());
  std::unique_ptr<float[]> gains(new float[groups * number(5)]());
  for (words_group = 0; words_group < groups; ++words_group) {
    std::vector<std::thread> items;
    for (size_t item = 0; item < WORDS_ITEMS; ++item)
      items.emplace_back([&, item] {
        words_item = item;
        (ascends ? bf_ascend_nodes : bf_look_ahead)(
            reinterpret_cast<const unsigned char*>(network.get()),
            reinterpret_cast<const unsigned char*>(clause.get()), choices.get(), ranges.get(),
            arenas.get(), made.get(), gains.get());
      });
    for (std::thread& item : items) item.join();
  }
  const auto write = [](const char* name, const float* from, size_t numbers) {
    std::ofstream(name, std::ios::binary)
        .write(reinterpret_cast<const char*>(from),
               static_cast<std::streamsize>(numbers * sizeof(float)));
  };
  write("choices", choices.get(), given.size() / sizeof(float));
  write("made", made.get(), groups * number(4));
  write("gains", gains.get(), groups * number(5));
  return 0;
}
