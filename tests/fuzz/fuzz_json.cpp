// libFuzzer: fuzz_json CORPUS_FOLDER -max_total_time=60

#include "tests/fuzz/fuzz_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/mutate_json.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Of values, and now and then of bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string made =
      bf_aot::test::mutate_json({reinterpret_cast<const char*>(data), size}, seed);
  if (made.size() > most || made.empty()) return LLVMFuzzerMutate(data, size, most);
  std::copy(made.begin(), made.end(), data);
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bf_aot::test::try_json({reinterpret_cast<const char*>(data), size});
  return 0;
}
