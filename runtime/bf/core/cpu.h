#pragma once

#include <cpuid.h>

// The x86-64 level of the System V psABI that this processor and its operating system offer, for
// verifiers that hold code for several (bf-aot --dispatch).

namespace bf {

// The answers of the instruction cpuid, and the register states that the system saves (XCR0).
struct X86Features {
  unsigned basic = 0;            // leaf 1, ecx
  unsigned extended = 0;         // leaf 0x80000001, ecx
  unsigned structured = 0;       // leaf 7, ebx
  unsigned long long saved = 0;  // 0 when the system does not save vectors
};

// 4 for x86-64-v4, 3 for x86-64-v3, else 1; all features of a level are asked for.
constexpr int x86_level(const X86Features& cpu) {
  // SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C
  constexpr unsigned kBasic = 1U << 0 | 1U << 9 | 1U << 12 | 1U << 13 | 1U << 19 | 1U << 20 |
                              1U << 22 | 1U << 23 | 1U << 27 | 1U << 28 | 1U << 29;
  constexpr unsigned kExtended = 1U << 0 | 1U << 5;              // LAHF, LZCNT
  constexpr unsigned kAvx2 = 1U << 3 | 1U << 5 | 1U << 8;        // BMI1, AVX2, BMI2
  constexpr unsigned kAvx512 = 1U << 16 | 1U << 17 | 1U << 28 |  // F, DQ, CD
                               1U << 30 | 1U << 31;              // BW, VL
  constexpr unsigned long long kYmm = 0x6, kZmm = 0xe6;
  if ((cpu.basic & kBasic) != kBasic || (cpu.extended & kExtended) != kExtended ||
      (cpu.structured & kAvx2) != kAvx2 || (cpu.saved & kYmm) != kYmm)
    return 1;
  return (cpu.structured & kAvx512) == kAvx512 && (cpu.saved & kZmm) == kZmm ? 4 : 3;
}

inline X86Features read_x86_features() {
  X86Features cpu;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) cpu.basic = c;
  if (__get_cpuid(0x80000001U, &a, &b, &c, &d) != 0) cpu.extended = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) cpu.structured = b;
  constexpr unsigned kXsave = 1U << 27;  // by the system: the instruction below exists
  if ((cpu.basic & kXsave) != 0) {
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    cpu.saved = static_cast<unsigned long long>(high) << 32 | low;
  }
  return cpu;
}

}  // namespace bf
