#pragma once

#include <string_view>

namespace bf_aot::test {

// Reads a NumPy file where the bytes begin as one, else a network in the format .nnet. Whether it
// was accepted; anything but an array of finite numbers, a network or a diagnostic ends the
// process.
bool try_file(std::string_view bytes);

}  // namespace bf_aot::test
