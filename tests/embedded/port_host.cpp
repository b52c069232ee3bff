#include <cfenv>
#include <cstdio>
#include <cstdlib>

#include "port.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace port {

void write(const char* text) {
  std::fputs(text, stdout);
}
void stop(int exit_code) {
  std::exit(exit_code);
}
void start_counting() {}
uint64_t counted_instructions() {
  return 0;
}
void paint_stack() {}
size_t stack_used() {
  return 0;
}

bool set_float_mode(FloatMode mode) {
  std::fesetround(mode == FloatMode::kUpward       ? FE_UPWARD
                  : mode == FloatMode::kDownward   ? FE_DOWNWARD
                  : mode == FloatMode::kTowardZero ? FE_TOWARDZERO
                                                   : FE_TONEAREST);
#if defined(__SSE2__)
  _mm_setcsr((_mm_getcsr() & ~0x8000u) | (mode == FloatMode::kFlushSubnormals ? 0x8000u : 0u));
  return true;
#elif defined(__aarch64__)
  unsigned long fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~0x1000000ul) | (mode == FloatMode::kFlushSubnormals ? 0x1000000ul : 0ul);
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr));
  return true;
#elif defined(__arm__) && defined(__ARM_FP)
  unsigned fpscr;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
  fpscr = (fpscr & ~0x1000000u) | (mode == FloatMode::kFlushSubnormals ? 0x1000000u : 0u);
  __asm__ volatile("vmsr fpscr, %0" ::"r"(fpscr));
  return true;
#else
  return mode != FloatMode::kFlushSubnormals;
#endif
}

}  // namespace port

int main() {
  return harness_main();
}
