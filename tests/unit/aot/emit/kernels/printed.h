#pragma once

#include <string>
#include <vector>

#include "aot/emit/loop/program.h"
#include "tests/unit/aot/emit/kernels/interpreter.h"

namespace bf_aot::testing {

// Printed programs, compiled. Their buffers are floats, their tables 32-bit integers.
class PrintedPrograms {
 public:
  PrintedPrograms(const std::vector<loop::Program>& programs, std::vector<std::string> buffers,
                  std::vector<std::string> tables);
  ~PrintedPrograms();
  PrintedPrograms(const PrintedPrograms&) = delete;
  PrintedPrograms& operator=(const PrintedPrograms&) = delete;

  // False, after a failure was reported, when they did not compile.
  bool is_loaded() const { return handle_ != nullptr; }

  void run(std::size_t program, Memory& memory) const;

 private:
  std::vector<std::string> buffers_, tables_;
  std::string folder_;
  void* handle_ = nullptr;
};

// What the programs print, one after the other: for messages.
std::string text_of(const loop::Program& program);

// BF_TEST_SEED, or a new one.
std::uint64_t test_seed();

}  // namespace bf_aot::testing
