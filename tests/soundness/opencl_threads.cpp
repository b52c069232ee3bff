// A source in OpenCL C as a program in C++, for sanitizers: the items of a group are threads, and
// boxes go one after the other. The compiler is told the source's name (WORDS_SOURCE), its entry
// point (WORDS_ENTRY) and numbers of items, inputs, outputs and bytes of the arena. It reads
// weights, then lower and upper ends of boxes from files, and writes bounds to one.

#include "tests/soundness/opencl_threads.h"

#include WORDS_SOURCE

int main() {
  const auto weights = exactly<double>(read("weights"));
  const std::vector<char> ends = read("lower");
  const auto lower = exactly<float>(ends);
  const auto upper = exactly<float>(read("upper"));
  const size_t boxes = ends.size() / sizeof(float) / WORDS_INPUTS;
  std::ofstream made("made", std::ios::binary);
  bf_team team;
  for (size_t i = 0; i < boxes; ++i) {
    std::unique_ptr<double[]> arena(new double[WORDS_ARENA / sizeof(double)]);
    std::vector<float> low(WORDS_OUTPUTS), high(WORDS_OUTPUTS);
    std::vector<std::thread> items;
    for (size_t item = 0; item < WORDS_ITEMS; ++item)
      items.emplace_back([&, item] {
        words_item = item;
        WORDS_ENTRY(reinterpret_cast<const unsigned char*>(weights.get()),
                    reinterpret_cast<unsigned char*>(arena.get()), lower.get() + i * WORDS_INPUTS,
                    upper.get() + i * WORDS_INPUTS, low.data(), high.data(), &team);
      });
    for (std::thread& item : items) item.join();
    for (const std::vector<float>& end : {low, high})
      made.write(reinterpret_cast<const char*>(end.data()),
                 static_cast<std::streamsize>(end.size() * sizeof(float)));
  }
  return made.good() ? 0 : 1;
}
