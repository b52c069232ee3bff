#include "aot/artifacts/project/build_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string_view>

#include "aot/artifacts/project/boards.h"
#include "aot/artifacts/project/project_text.h"
#include "aot/build/library.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

constexpr std::string_view kBoardFlags =
    "-std=c99 -Os -ffreestanding -ffunction-sections -fdata-sections "
    "-fno-tree-loop-distribute-patterns";  // else memcpy() is compiled into a call of itself
constexpr std::string_view kBoardLinking = "-nostdlib -Wl,--gc-sections";

std::string words(const std::vector<std::string>& flags, const char* separator = " ") {
  return fmt::format("{}", fmt::join(flags, separator));
}

bool has_board(const Target& target) {
  return !target.qemu_board.empty();
}

// The processor's name as CMake and QEMU have it.
std::string processor_of(const Target& target) {
  if (has_board(target)) return find_board(target.qemu_board).processor;
  return target.gnu_system.substr(0, target.gnu_system.find('-'));
}

// The option of QEMU that names the processor to emulate; empty where the target's flags name none.
std::string core_of(const Target& target) {
  constexpr std::string_view kCore = "-mcpu=";
  for (const std::string& flag : target.flags)
    if (flag.starts_with(kCore)) return " -cpu " + flag.substr(kCore.size());
  return {};
}

std::string emulator_of(const Target& target) {
  if (!has_board(target)) return "qemu-" + processor_of(target) + core_of(target);
  const Board board = find_board(target.qemu_board);
  return fmt::format(
      "qemu-system-{} -machine {}{} -display none -monitor none -serial none "
      "-semihosting-config enable=on,target=native -kernel",
      board.processor, board.name, board.options);
}

emit::Arguments machine_arguments(const Target& target) {
  return {{"target", target.name},
          {"board", target.qemu_board},
          {"tools", target.gnu_system},
          {"processor", processor_of(target)},
          {"emulator", emulator_of(target)},
          {"system", has_board(target) ? "Generic" : "Linux"},
          {"linking", std::string(has_board(target) ? kNoLinking : kStaticLinking)}};
}

// Commands of a shell, for users without CMake.
std::string commands(const build::Verifier& verifier, const std::string& stem,
                     const std::vector<std::string>& flags) {
  const Target& target = verifier.plan().config.target;
  const std::string prefix = target.gnu_system.empty() ? "" : target.gnu_system + "-";
  const std::string cpp = target.gnu_system.empty() ? "c++" : prefix + "g++";
  const std::string c = target.gnu_system.empty() ? "cc" : prefix + "gcc";
  const std::string machine = target.flags.empty() ? "" : " " + words(target.flags);
  std::string text, objects;
  const auto add = [&](std::string_view line) { text += fmt::format("    {}\n", line); };
  add(fmt::format("flags=\"{}\"", words(flags)));
  const auto compile = [&](const std::string& source, const std::vector<std::string>& own) {
    const std::string object = source.substr(0, source.rfind('.')) + ".o";
    add(fmt::format("{} $flags {}{}-I. -c {} -o {}", cpp, words(own), own.empty() ? "" : " ",
                    source, object));
    objects += " " + object;
  };
  for (const emit::EmittedFile& file : verifier.files)
    if (build::is_source(file)) compile(stem + file.suffix, build::own_flags(file));
  compile("bf.cpp", {});
  add(fmt::format("{}ar rcs lib{}.a{}", prefix, stem, objects));
  if (has_board(target)) {
    add(
        fmt::format("{}{} {} -I. {} example.c bf_monitor.c {}_selftest.c board.c console.c lib{}.a "
                    "-T board.ld -lgcc -o example",
                    c, machine, kBoardFlags, kBoardLinking, stem, stem));
    add(emulator_of(target) + " example");
  } else {
    add(fmt::format("{} -std=c99 -O2 -I. example.c bf_monitor.c {}_selftest.c lib{}.a {}-o example",
                    c, stem, stem, target.gnu_system.empty() ? "" : "-static "));
    add(target.gnu_system.empty() ? "./example" : emulator_of(target) + " example");
  }
  return text;
}

std::string toolchain_default(const Target& target) {
  if (target.gnu_system.empty()) return "set(own_toolchain \"\")\n";
  if (has_board(target)) return emit::fill_in(kOwnToolchain, {{"query", ""}, {"elsewhere", ""}});
  return emit::fill_in(
      kOwnToolchain,
      {{"query", "cmake_host_system_information(RESULT here QUERY OS_PLATFORM)\n"},
       {"elsewhere", fmt::format(" AND NOT here STREQUAL \"{}\"", processor_of(target))}});
}

std::string example_settings(const Plan& plan, const std::string& stem) {
  const Target& target = plan.config.target;
  if (has_board(target))
    return emit::fill_in(
        kBoardExample, {{"stem", stem},
                        {"board", target.qemu_board},
                        {"board_flags", fmt::format("{} {}", words(target.flags), kBoardFlags)},
                        {"link_flags", fmt::format("{} {}", words(target.flags), kBoardLinking)}});
  return emit::fill_in(
      kHostExample, {{"stem", stem}, {"parallel", plan.parallel.workers > 1 ? "TRUE" : "FALSE"}});
}

std::string how_built(const Target& target) {
  if (target.gnu_system.empty()) return {};
  return emit::fill_in(has_board(target) ? kBoardBuild : kCrossBuild, {},
                       machine_arguments(target));
}

}  // namespace

std::string cmake_lists(const Plan& plan, const std::string& stem) {
  return emit::fill_in(kCMakeLists, {{"name", plan.name}, {"stem", stem}});
}

std::string verifier_cmake(const build::Verifier& verifier, const std::string& stem,
                           const std::vector<std::string>& flags) {
  const Target& target = verifier.plan().config.target;
  std::string sources, weights, levels;
  for (const emit::EmittedFile& file : verifier.files) {
    if (!build::is_source(file)) continue;
    const std::string name = stem + file.suffix;
    sources += "  " + name + "\n";
    if (name.ends_with(".S"))
      weights +=
          emit::fill_in(kWeightsProperties,
                        {{"file", name.substr(0, name.size() - 2)},
                         {"machine", target.flags.empty() ? "" : words(target.flags, ";") + ";"}});
    else if (const std::vector<std::string> own = build::own_flags(file); !own.empty())
      levels += emit::fill_in(kOwnFlags, {{"file", name}, {"flags", words(own, ";")}});
  }
  return emit::fill_in(kVerifierCMake, {{"target", target.name},
                                        {"toolchain", toolchain_default(target)},
                                        {"languages", weights.empty() ? "C CXX" : "C CXX ASM"},
                                        {"sources", sources},
                                        {"flags", words(flags)},
                                        {"weights", weights},
                                        {"levels", levels},
                                        {"example", example_settings(verifier.plan(), stem)}});
}

emit::Arguments readme_of_build(const build::Verifier& verifier, const std::string& stem,
                                const std::vector<std::string>& flags) {
  return {{"how_built", how_built(verifier.plan().config.target)},
          {"commands", commands(verifier, stem, flags)}};
}

std::vector<emit::EmittedFile> machine_files(const Target& target) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  if (target.gnu_system.empty()) return {};
  std::vector<emit::EmittedFile> files = {
      {"toolchain.cmake", emit::fill_in(kToolchain, {}, machine_arguments(target))}};
  if (!has_board(target)) return files;
  const Board board = find_board(target.qemu_board);
  const auto copy_of = [&](const std::string& name) {
    return read_file(build::runtime_folder() / "board" / name, kMaxBytes, "runtime source");
  };
  files.push_back({"board.h", copy_of("board.h")});
  files.push_back({"board.c", copy_of(board.start_file)});
  files.push_back({"console.c", copy_of("console.c")});
  files.push_back({"board.ld", copy_of(board.memory) + "\n" + copy_of("sections.ld")});
  return files;
}

}  // namespace bf_aot::artifacts
