#pragma once

#include <string>
#include <vector>

namespace bf_aot::build {

// Judges words that a C++ compiler of verifiers is given. Only flags that are known to leave
// floating-point arithmetic as the proofs need it are let through: a flag that lets a compiler
// change results is often silent, has no macro that a header could refuse, and has a new name in
// the next version.
// where: "$CXX", "--cxx" or "--cxx-flags", for the message. programs: words that are no flags may
// stand among them, as in "ccache g++". Throws: BF3204 that names the word.
void judge_compiler_words(const std::vector<std::string>& words, const std::string& where,
                          bool programs);

}  // namespace bf_aot::build
