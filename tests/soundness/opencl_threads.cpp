// A source in OpenCL C as a program in C++, for sanitizers: the items of a group are threads, and
// boxes go one after the other. The compiler is told the source's name (WORDS_SOURCE), its entry
// point (WORDS_ENTRY) and numbers of items, inputs, outputs and bytes of the arena. It reads
// weights, then lower and upper ends of boxes from files, and writes bounds to one.

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <barrier>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#define __global
#define __constant
#define __kernel
#define __local
#define restrict __restrict
#define CLK_GLOBAL_MEM_FENCE 1
#define CLK_LOCAL_MEM_FENCE 2

typedef unsigned int uint;
typedef unsigned long ulong;

namespace {

std::barrier<> words_barrier(WORDS_ITEMS);
thread_local size_t words_item;

inline size_t get_group_id(uint /*dimension*/) {
  return 0;
}
inline size_t get_local_id(uint /*dimension*/) {
  return words_item;
}
inline void barrier(int /*fences*/) {
  words_barrier.arrive_and_wait();
}
template <typename To, typename From>
To words_bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline ulong as_ulong(double x) {
  return words_bits<ulong>(x);
}
inline double as_double(ulong bits) {
  return words_bits<double>(bits);
}
inline uint as_uint(float x) {
  return words_bits<uint>(x);
}
inline float as_float(uint bits) {
  return words_bits<float>(bits);
}

// Without room behind what is asked for, so that a sanitizer notices whoever reads there.
template <typename Number>
std::unique_ptr<Number[]> exactly(const std::vector<char>& bytes) {
  std::unique_ptr<Number[]> made(new Number[bytes.size() / sizeof(Number)]);
  memcpy(made.get(), bytes.data(), bytes.size());
  return made;
}

std::vector<char> read(const char* name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

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
