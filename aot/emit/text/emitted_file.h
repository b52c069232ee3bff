#pragma once

#include <string>
#include <vector>

namespace bf_aot::emit {

/// A file of the verifier. Its name is the user's stem and then `suffix`.
struct EmittedFile {
  std::string suffix;  ///< ".cpp" or ".c", ".h", ".json", "_weights.S", "_weights.bin"
  std::string bytes;
  std::vector<std::string> flags = {};  ///< for the compiler, besides those of all files
};

}  // namespace bf_aot::emit
