#pragma once

#include <string>
#include <string_view>

namespace bf_aot::artifacts {

// A board that QEMU emulates, in place of the user's.
struct Board {
  std::string name;        // that a target names: Target::qemu_board
  std::string processor;   // in the name of QEMU's program: qemu-system-PROCESSOR
  std::string options;     // for QEMU, besides -machine
  std::string start_file;  // in runtime/board/: start-up and console
  std::string memory;      // in runtime/board/: the places of its memories, for the linker
};

Board find_board(std::string_view name);

}  // namespace bf_aot::artifacts
