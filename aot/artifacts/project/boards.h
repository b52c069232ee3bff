#pragma once

#include <string>
#include <string_view>

namespace bf_aot::artifacts {

// A board that QEMU has, which stands in for the user's.
struct Board {
  std::string name;        // of a target: Target::qemu_board
  std::string processor;   // as QEMU calls it: qemu-system-PROCESSOR
  std::string options;     // of QEMU besides -machine
  std::string start_file;  // in runtime/board/: start-up and console
  std::string memory;      // in runtime/board/: where its memories lie, for the linker
};

Board find_board(std::string_view name);

}  // namespace bf_aot::artifacts
