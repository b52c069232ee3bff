#include "aot/build/footprint/footprint.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "aot/build/footprint/library_stack.h"
#include "aot/build/footprint/stack_usage.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::build {
namespace {

std::optional<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// The report that a command of the compiler writes; none when it fails. A cache of compiled files
// may answer in its place and write none: then it is told not to.
std::optional<std::string> report_of(std::vector<std::string> command,
                                     const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::remove(folder / name);
  if (system::run_process(command, folder).exit_code != 0) return std::nullopt;
  if (auto text = text_of(folder / name)) return text;
  command.insert(command.begin(), {"/usr/bin/env", "CCACHE_DISABLE=1"});
  if (system::run_process(command, folder).exit_code != 0) return std::nullopt;
  return text_of(folder / name);
}

// The reports that the compiler writes by a flag, a text for each source, to a file with this
// extension. None when it does not know the flag.
std::optional<std::vector<std::string>> reports(const Toolchain& toolchain,
                                                const std::filesystem::path& folder,
                                                const std::string& stem,
                                                const std::vector<emit::EmittedFile>& files,
                                                const std::string& flag,
                                                const std::string& extension) {
  std::vector<std::string> texts;
  for (const emit::EmittedFile& file : files) {
    if (!is_source(file) || file.suffix.ends_with(".S")) continue;
    std::vector<std::string> command = toolchain.compiler;
    command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
    const std::vector<std::string> own = own_flags(file);
    command.insert(command.end(), own.begin(), own.end());
    for (std::string argument :
         {"-I" + toolchain.include_folder, std::string("-I."), flag, std::string("-c"),
          "./" + stem + file.suffix, std::string("-o"), std::string("stack_usage.o")})
      command.push_back(std::move(argument));
    auto text = report_of(std::move(command), folder, "stack_usage." + extension);
    if (!text) return std::nullopt;
    texts.push_back(std::move(*text));
  }
  return texts;
}

void measure_stack(const Toolchain& toolchain, const std::filesystem::path& folder,
                   const std::string& stem, const std::vector<emit::EmittedFile>& files,
                   Footprint& footprint) {
  if (const auto graphs = reports(toolchain, folder, stem, files, "-fcallgraph-info=su", "ci")) {
    footprint.stack = deepest_stack(*graphs);
    footprint.stack_by_calls = footprint.stack.has_value();
    if (footprint.stack) return;
  }
  const auto frames = reports(toolchain, folder, stem, files, "-fstack-usage", "su");
  if (!frames) return;
  std::int64_t sum = 0;
  for (const std::string& report : *frames) {
    const auto part = sum_of_frames(report);
    if (!part) return;
    sum += *part;
  }
  footprint.stack = sum;
}

// Adds the frames of libgcc's functions, where they are known.
void add_library_stack(const Toolchain& toolchain, Footprint& footprint) {
  std::vector<std::string> command = toolchain.compiler;
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  command.emplace_back("-print-libgcc-file-name");
  std::string libgcc = system::run_process(command).output;
  libgcc.resize(std::min(libgcc.find('\n'), libgcc.size()));
  const std::string code =
      system::run_process({find_utility(toolchain, "objdump"), "-d", libgcc}).output;
  const std::string symbols =
      system::run_process({find_utility(toolchain, "nm"), "-g", libgcc}).output;
  const auto bytes = library_stack(code, symbols, footprint.calls);
  if (!bytes) return;
  *footprint.stack += *bytes;
  footprint.uncounted = not_in_library(symbols, footprint.calls);
}

// Links all of an archive with what there is of the compiler's library and the C library. What
// neither has is left open: the board's own files bring it.
std::optional<std::vector<LibraryObject>> linked_objects(const Toolchain& toolchain,
                                                         const std::filesystem::path& folder,
                                                         const std::string& archive,
                                                         const std::vector<std::string>& calls) {
  std::vector<std::string> command = toolchain.compiler;
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  for (const std::string& argument :
       {std::string("-nostdlib"), std::string("-Wl,--whole-archive"), "./" + archive,
        std::string("-Wl,--no-whole-archive"), std::string("-Wl,--unresolved-symbols=ignore-all"),
        std::string("-Wl,-Map=linked.map"), std::string("-o"), std::string("linked.elf"),
        std::string("-lgcc"), std::string("-lc"), std::string("-lgcc")})
    command.push_back(argument);
  bool done = system::run_process(command, folder).exit_code == 0;
  if (!done) {  // without a C library
    command.resize(command.size() - 2);
    done = system::run_process(command, folder).exit_code == 0;
  }
  const auto map = done ? text_of(folder / "linked.map") : std::nullopt;
  if (!map) return std::nullopt;
  return library_objects(*map, archive, calls);
}

// Bytes of code and constants of an object, as `size` counts them.
std::optional<std::int64_t> flash_of(const Toolchain& toolchain,
                                     const std::filesystem::path& folder, const char* object) {
  std::istringstream lines(
      system::run_process({find_utility(toolchain, "size"), object}, folder).output);
  std::string head;
  std::getline(lines, head);
  std::int64_t text = 0, data = 0;
  if (!(lines >> text >> data)) return std::nullopt;
  return text + data;
}

// The bytes of libgcc that the library's objects need: they are linked into one object with it and
// without it.
std::optional<std::int64_t> library_bytes(const Toolchain& toolchain,
                                          const std::filesystem::path& folder,
                                          const std::string& archive) {
  constexpr const char* kObject = "linked.o";
  std::vector<std::string> command = toolchain.compiler;
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  command.insert(command.end(), {"-nostdlib", "-r", "-Wl,--whole-archive", archive,
                                 "-Wl,--no-whole-archive", "-o", kObject});
  if (system::run_process(command, folder).exit_code != 0) return std::nullopt;
  const auto without = flash_of(toolchain, folder, kObject);
  command.emplace_back("-lgcc");
  if (system::run_process(command, folder).exit_code != 0) return std::nullopt;
  const auto with = flash_of(toolchain, folder, kObject);
  if (!with || !without) return std::nullopt;
  return *with - *without;
}

// Names that the objects use and do not define, from lines "value letter name" with the letter U.
std::vector<std::string> calls_of(const Toolchain& toolchain, const std::filesystem::path& folder,
                                  const std::string& archive) {
  const system::ProcessResult result =
      system::run_process({find_utility(toolchain, "nm"), "-g", archive}, folder);
  std::set<std::string> used, held;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() == 2 && words[0] == "U") used.insert(words[1]);
    if (words.size() == 3) held.insert(words[2]);
  }
  std::vector<std::string> calls;
  // The mark of position-independent code is no function.
  for (const std::string& name : used)
    if (!held.contains(name) && name != "_GLOBAL_OFFSET_TABLE_") calls.push_back(name);
  return calls;
}

}  // namespace

Footprint measure_footprint(const Toolchain& toolchain, const std::filesystem::path& folder,
                            const std::string& stem, const std::vector<emit::EmittedFile>& files,
                            const Target& target) {
  Footprint footprint;
  const system::ProcessResult result =
      system::run_process({find_utility(toolchain, "size"), "lib" + stem + ".a"}, folder);
  std::istringstream lines(result.output);
  std::string line;
  std::getline(lines, line);  // the head
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::int64_t text = 0, data = 0, zeroed = 0;
    if (!(fields >> text >> data >> zeroed)) continue;
    if (line.find(kRuntimeObject) != std::string::npos) continue;  // linked only where it is called
    footprint.text += text;
    footprint.data += data;
    footprint.zeroed += zeroed;
  }
  footprint.code = code_bytes(folder / ("lib" + stem + ".a"), toolchain).value_or(0);
  footprint.calls = calls_of(toolchain, folder, "lib" + stem + ".a");
  footprint.uncounted = footprint.calls;
  if (!target.qemu_board.empty())
    footprint.library = linked_objects(toolchain, folder, "lib" + stem + ".a", footprint.calls);
  measure_stack(toolchain, folder, stem, files, footprint);
  if (target.qemu_board.empty()) return footprint;
  footprint.library_bytes = library_bytes(toolchain, folder, "lib" + stem + ".a");
  if (footprint.stack) add_library_stack(toolchain, footprint);
  return footprint;
}

std::optional<std::int64_t> code_bytes(const std::filesystem::path& library,
                                       const Toolchain& toolchain) {
  const system::ProcessResult result =
      system::run_process({find_utility(toolchain, "size"), "-A", "-d", library.string()});
  std::optional<std::int64_t> sum;
  std::istringstream lines(result.output);
  bool counts = true;  // the member of the archive whose sections follow
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(ex ") != std::string::npos) counts = !line.starts_with(kRuntimeObject);
    std::istringstream fields(line);
    std::string section;
    std::int64_t bytes = 0;
    if (counts && fields >> section >> bytes && section.starts_with(".text"))
      sum = sum.value_or(0) + bytes;
  }
  return sum;
}

}  // namespace bf_aot::build
