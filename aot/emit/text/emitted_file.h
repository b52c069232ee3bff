#pragma once

#include <string>
#include <vector>

namespace bf_aot::emit {

/// A file of the verifier, named by what follows the user's stem: stem + suffix.
struct EmittedFile {
  std::string suffix;  ///< ".cpp", ".h", ".json", "_weights.S", "_weights.bin"
  std::string bytes;
  std::vector<std::string> flags = {};  ///< of the compiler, besides those of all files
};

}  // namespace bf_aot::emit
