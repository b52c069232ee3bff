#pragma once

// The part of OpenCL C that its sources use, in C++: the items of a group are threads. WORDS_ITEMS:
// how many. A group is at work at a time.

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
size_t words_group = 0;

inline size_t get_group_id(uint /*dimension*/) {
  return words_group;
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
