#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aot/artifacts/project/resources.h"
#include "aot/build/compile.h"
#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// The most that a verifier may take of a device, in bytes; 0: no limit.
struct SizeLimits {
  std::uint64_t flash = 0;
  std::uint64_t ram = 0;

  bool any() const { return flash > 0 || ram > 0; }
};

void add_size_limits(CommandLine& app, SizeLimits& limits);

// Plans and builds the network's verifier anew with these options. Throws: CompileError.
using Measure = std::function<artifacts::Resources(const build::CompileOptions& options)>;

// Returns where the verifier of these options keeps the limits. Else it plans and measures looser
// methods and smaller workspaces, and throws BF3106, which names the tightest that keeps the
// limits, or the smallest there is.
void expect_within(const SizeLimits& limits, const build::CompileOptions& options,
                   const artifacts::Resources& resources, const Measure& measure);

// Returns a line for each limit: the option, and how much of it the verifier takes.
std::vector<std::string> sizes_within(const SizeLimits& limits,
                                      const artifacts::Resources& resources);

}  // namespace bf_aot::cli
