// libFuzzer: fuzz_vnnlib CORPUS_FOLDER -max_total_time=60

#include "tests/fuzz/fuzz_vnnlib.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bf_aot::test::try_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
