#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/object_machine.h"
#include "aot/emit/text/emitted_file.h"
#include "planner/machine/target.h"
#include "planner/plan/config.h"

namespace bf_aot {
namespace build {

// The time at which code is compiled for the calls of an engine that take most of its time. auto:
// in the background, once calls took long enough for that to pay, where there is a C++ compiler;
// wait: after the first call of each of its programs; off: never.
enum class JitMode : std::uint8_t { kAuto, kOff, kWait };

}  // namespace build

template <>
inline constexpr auto kNames<build::JitMode> = std::to_array<NamedValue<build::JitMode>>({
    {build::JitMode::kAuto, "auto"},
    {build::JitMode::kOff, "off"},
    {build::JitMode::kWait, "wait"},
});

namespace build {

// The user's options about the C++ compiler of a verifier.
struct CompilerOptions {
  std::string cxx;                 // --cxx; empty: $CXX, else the first that is found
  std::vector<std::string> flags;  // --cxx-flags, words
  JitMode jit = JitMode::kOff;
};

// A C++ compiler, ready to be run.
struct Toolchain {
  std::vector<std::string> compiler;  // program and leading arguments, as in "ccache g++"
  std::string version;                // first line of --version
  std::vector<std::string> flags;     // all that decide what code is made; no paths of this machine
  std::string include_folder;         // holds bf.h and the other runtime headers
  std::optional<ObjectMachine> machine = std::nullopt;  // that objects must be for; none: any
  Language language = Language::kCpp;                   // of sources
};

// Finds the C++ compiler for a target, which compiles C, too, and its flags. Throws: BF3202 no
// compiler; BF3203 it does not work; BF3204 a flag that breaks the bounds; BF3205 bf.h is missing.
Toolchain find_toolchain(const CompilerOptions& options, const Target& target,
                         Language language = Language::kCpp);

// The flags of find_toolchain(), whether there is a compiler or not.
std::vector<std::string> code_flags(const CompilerOptions& options, const Target& target,
                                    Language language = Language::kCpp);

// The flags of one source besides those of all sources.
std::vector<std::string> own_flags(const emit::EmittedFile& file);

// Returns whether find_toolchain() would find a compiler; nothing is run.
bool finds_compiler(const CompilerOptions& options, const Target& target);

// A program of the compiler's binary utilities: "ar", "nm", "objdump", "size".
std::string find_utility(const Toolchain& toolchain, const std::string& name);

// True when code for `target` runs on this machine.
bool runs_here(const Target& target);

// Throws: BF3304 when code for `target` does not run on this machine.
void expect_runs_here(const Target& target);

// Returns whether the compiler translates the file: C++, C or assembler.
bool is_source(const emit::EmittedFile& file);

// The object of an archive that holds the runtime's own functions.
inline constexpr std::string_view kRuntimeObject = "bf_runtime.o";

// Writes lib<stem>.a from the verifier's files in `folder`, and the runtime's functions.
// Throws: BF3203 with what the compiler says; Interrupted.
void build_archive(const Toolchain& toolchain, const std::filesystem::path& folder,
                   const std::string& stem, const std::vector<emit::EmittedFile>& files);

// Writes <stem>.so, to be loaded by this process.
void build_shared(const Toolchain& toolchain, const std::filesystem::path& folder,
                  const std::string& stem, const std::vector<emit::EmittedFile>& files);

// The folder of the runtime that verifiers are compiled with: that of the installed program, else
// of the source tree; and its headers and bf.cpp, as paths in the folder, in order of name. Throws:
// BF3205.
std::filesystem::path runtime_folder();
std::vector<std::filesystem::path> runtime_files();

std::vector<std::string> split_words(const std::string& text);

}  // namespace build
}  // namespace bf_aot
