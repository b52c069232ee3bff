/* What sources in OpenCL C use of it, as C11 has it: so they are compiled for this processor, group
 * after group, and compared with what a device makes of them. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

#define __global
#define __constant
#define __kernel
#define CLK_GLOBAL_MEM_FENCE 1
#define CLK_LOCAL_MEM_FENCE 2

typedef unsigned int uint;
typedef unsigned long ulong;

size_t words_group; /* the box at work */

static inline size_t get_group_id(uint dimension) {
  (void)dimension;
  return words_group;
}
static inline size_t get_local_id(uint dimension) {
  (void)dimension;
  return 0;
}
static inline size_t get_local_size(uint dimension) {
  (void)dimension;
  return 1;
}
static inline void barrier(uint fences) {
  (void)fences;
}
static inline ulong as_ulong(double x) {
  ulong bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double as_double(ulong bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint as_uint(float x) {
  uint bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float as_float(uint bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
