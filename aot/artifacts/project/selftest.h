#pragma once

#include <vector>

#include "aot/artifacts/project/vectors.h"
#include "aot/build/compile.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::artifacts {

// The files NAME_selftest.h and NAME_selftest.c, which check vectors on the device, and
// golden.json, which has them for other tests: "golden" of docs/reference/json-schema.json.
// names: @name@, @NAME@ of the verifier, and @stem@ of its files.
std::vector<emit::EmittedFile> selftest_files(const build::Verifier& verifier,
                                              const Vectors& vectors, const emit::Arguments& names);

}  // namespace bf_aot::artifacts
