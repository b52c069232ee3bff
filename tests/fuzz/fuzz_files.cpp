// libFuzzer: fuzz_files CORPUS_FOLDER -max_total_time=60

#include "tests/fuzz/fuzz_files.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bf_aot::test::try_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
