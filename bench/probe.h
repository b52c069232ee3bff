#pragma once

#include <cstddef>

// Limits of one core of this machine, measured by loops of the compiler's native vectors. Each call
// takes one short sample; a limit is the best of several, taken between the samples of what is
// compared.

namespace bf_aot::bench {

// The number of floats in a vector.
int probe_lanes();

// Samples multiply-adds on registers alone: GFLOP/s in float32, a multiply-add counted as two.
double sample_peak_gflops();

// Samples multiply-adds in vectors of 32 bytes, or in the native ones if these are shorter.
double sample_peak_gflops_of_32_bytes();

// Reads memory over and over, as wide as the machine loads.
class ReadProbe {
 public:
  explicit ReadProbe(std::size_t bytes);  // rounded up to whole steps
  ~ReadProbe();
  ReadProbe(const ReadProbe&) = delete;
  ReadProbe& operator=(const ReadProbe&) = delete;

  double sample_gigabytes_per_second();

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace bf_aot::bench
