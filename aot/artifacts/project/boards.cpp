#include "aot/artifacts/project/boards.h"

#include <algorithm>
#include <vector>

#include "frontend/diagnostic.h"

namespace bf_aot::artifacts {
namespace {

constexpr const char* kCortexM = "board_cortex_m.c";

const std::vector<Board>& boards() {
  static const std::vector<Board> table = {
      // This is QEMU's one board with an ARMv6-M core, on which unaligned accesses fault. Its
      // memories of 256 KB and 16 KB are enlarged.
      {"microbit", "arm",
       " -global nrf51-soc.flash-size=4194304 -global nrf51-soc.sram-size=4194304", kCortexM,
       "mps2.ld"},
      {"mps2-an385", "arm", "", kCortexM, "mps2.ld"},
      {"mps2-an386", "arm", "", kCortexM, "mps2.ld"},
      {"mps2-an500", "arm", "", kCortexM, "mps2.ld"},
      {"mps2-an505", "arm", "", kCortexM, "mps2-an505.ld"},
      {"mps3-an547", "arm", "", kCortexM, "mps3-an547.ld"},
      // QEMU has no board with a Cortex-R5; this one takes any core that is named, and has RAM at
      // 0.
      {"versatilepb", "arm", " -cpu cortex-r5f -audiodev none,id=none", "board_cortex_r.c",
       "versatilepb.ld"},
      {"virt", "riscv32", " -bios none", "board_riscv32.c", "virt.ld"},
  };
  return table;
}

}  // namespace

Board find_board(std::string_view name) {
  const auto found = std::ranges::find(boards(), name, &Board::name);
  BF_CHECK(found != boards().end());
  return *found;
}

}  // namespace bf_aot::artifacts
