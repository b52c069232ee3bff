#include "aot/build/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "aot/build/compiler_flags.h"
#include "aot/emit/text/contraction.h"
#include "aot/system/files.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "planner/plan/plan.h"

namespace bf_aot::build {
namespace {

namespace fs = std::filesystem;

bool is_embedded(const Target& target) {
  return !target.qemu_board.empty();
}

std::vector<std::string> default_compilers(const Target& target) {
  if (!target.gnu_system.empty() && target.name != find_target("host").name)
    return {target.gnu_system + "-g++"};
  return {"c++", "g++", "clang++"};
}

std::vector<std::string> find_compiler(const CompilerOptions& options, const Target& target) {
  std::string wanted = options.cxx;
  const char* environment = std::getenv("CXX");
  if (wanted.empty() && environment != nullptr && !is_embedded(target)) wanted = environment;
  if (!wanted.empty()) {
    if (const auto whole = system::find_program(wanted)) return {*whole};
    std::vector<std::string> words = split_words(wanted);
    judge_compiler_words(words, options.cxx.empty() ? "$CXX" : "--cxx", true);
    const auto first = words.empty() ? std::nullopt : system::find_program(words[0]);
    if (!first)
      fail("BF3202", options.cxx.empty() ? "$CXX" : "--cxx",
           fmt::format("there is no compiler '{}'", wanted), "install it or name another one");
    words[0] = *first;
    return words;
  }
  const std::vector<std::string> names = default_compilers(target);
  for (const std::string& name : names)
    if (const auto path = system::find_program(name)) return {*path};
  fail("BF3202", "", fmt::format("no C++ compiler found: tried {}", fmt::join(names, ", ")),
       "install g++ or clang++, name one with --cxx, or use --no-library");
}

// The first lines of a compiler's errors: the first error is what has to be mended.
std::string first_lines(const std::string& text, std::size_t count) {
  std::istringstream stream(text);
  std::string result, line;
  for (std::size_t i = 0; i < count && std::getline(stream, line); ++i) result += "\n    " + line;
  if (std::getline(stream, line)) result += "\n    ...";
  return result;
}

void run_compiler(const Toolchain& toolchain, const std::vector<std::string>& more,
                  const std::filesystem::path& folder) {
  std::vector<std::string> command = toolchain.compiler;
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  command.push_back("-I" + toolchain.include_folder);
  command.insert(command.end(), more.begin(), more.end());
  const system::ProcessResult result = system::run_process(command, folder);
  if (result.exit_code != 0)
    fail("BF3203", toolchain.compiler[0],
         fmt::format("the compiler failed with exit code {}:{}", result.exit_code,
                     first_lines(result.errors + result.output, 30)),
         "check --cxx, --cxx-flags and --target; --no-library writes the source alone");
}

void compile_object(const Toolchain& toolchain, std::vector<std::string> arguments,
                    const std::string& source, const std::string& object, const fs::path& folder) {
  arguments.insert(arguments.end(), {"-c", "./" + source, "-o", object});
  run_compiler(toolchain, arguments, folder);
  if (toolchain.machine) expect_machine(folder / object, *toolchain.machine);
}

// Compiles all sources to objects, by name in their own folder, so that no path gets into them.
std::vector<std::string> compile_objects(const Toolchain& toolchain,
                                         const std::filesystem::path& folder,
                                         const std::string& stem,
                                         const std::vector<emit::EmittedFile>& files) {
  std::vector<std::string> objects;
  for (const emit::EmittedFile& file : files) {
    if (!is_source(file)) continue;
    const std::string object = stem + file.suffix.substr(0, file.suffix.rfind('.')) + ".o";
    std::vector<std::string> arguments = own_flags(file);
    arguments.emplace_back("-I.");
    compile_object(toolchain, arguments, stem + file.suffix, object, folder);
    objects.push_back(object);
  }
  return objects;
}

// The flags by which a C++ compiler takes a source for C.
std::vector<std::string> as_c() {
  return {"-x", "c"};
}

// Compiles bf.cpp under a name of its own, since the user's file may be called so.
std::string compile_runtime(const Toolchain& toolchain, const std::filesystem::path& folder) {
  std::string object(kRuntimeObject);
  const std::string source = object.substr(0, object.rfind('.')) + ".cpp";
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  system::write_file(folder / source,
                     read_file(runtime_folder() / "bf.cpp", kMaxBytes, "runtime source"));
  std::vector<std::string> own;
  if (toolchain.language == Language::kC) own = as_c();
  compile_object(toolchain, own, source, object, folder);
  return object;
}

// The path of the program or shared object, such as a Python package's, that this code is part of.
// Empty where it is not known, as when the program was called by a relative path.
fs::path own_object() {
  static const char anchor = 0;
  Dl_info object = {};
  if (dladdr(&anchor, &object) == 0 || object.dli_fname == nullptr || *object.dli_fname != '/')
    return {};
  std::error_code error;
  fs::path path = fs::canonical(object.dli_fname, error);
  return error ? fs::path() : path;
}

int rank_on_x86(std::string_view name) {
  constexpr std::array<std::string_view, 4> order = {"generic", "x86-64", "x86-64-v3", "x86-64-v4"};
  const auto found = std::find(order.begin(), order.end(), name);
  return found == order.end() ? -1 : static_cast<int>(found - order.begin());
}

}  // namespace

bool is_source(const emit::EmittedFile& file) {
  return file.suffix.ends_with(".cpp") || file.suffix.ends_with(".c") ||
         file.suffix.ends_with(".S");
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::filesystem::path runtime_folder() {
  std::vector<fs::path> candidates;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (const fs::path object = own_object(); !object.empty() && object != program) {
    // The Python module's; of libbf_aot.so in lib/ or lib/ARCHITECTURE/.
    const fs::path folder = object.parent_path();
    candidates.push_back(folder / "include");
    candidates.push_back(folder.parent_path() / "include" / "bf_aot");
    candidates.push_back(folder.parent_path().parent_path() / "include" / "bf_aot");
  } else if (!error) {
    // Installed, and the program of the Python package.
    const fs::path folder = program.parent_path().parent_path() / "include";
    candidates.push_back(folder / "bf_aot");
    candidates.push_back(folder);
  }
  constexpr std::string_view kSources = BF_SOURCE_FOLDER;  // empty in programs that are shipped
  if (!kSources.empty()) candidates.push_back(fs::path(kSources) / "runtime");
  for (const fs::path& folder : candidates)
    if (fs::is_regular_file(folder / "bf.h", error) && fs::is_directory(folder / "bf", error))
      return folder;
  fail("BF3205", "bf.h", "the runtime headers are missing beside the program",
       "install bf-aot again");
}

std::vector<std::filesystem::path> runtime_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = runtime_folder();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::filesystem::path path = entry.path().lexically_relative(folder);
    const bool source = path.extension() == ".h" || path.extension() == ".cpp";
    if (source && *path.begin() != "host" && *path.begin() != "board") files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> code_flags(const CompilerOptions& options, const Target& target,
                                    Language language) {
  const bool in_c = language == Language::kC;
  // Strict ISO modes would not form fused multiply-adds; every error term covers them.
  std::vector<std::string> flags = {in_c ? "-std=c99" : "-std=c++17", "-ffp-contract=fast",
                                    is_embedded(target) ? "-Os" : "-O3"};
  if (!in_c) flags.insert(flags.end(), {"-fno-exceptions", "-fno-rtti"});
  flags.emplace_back("-fno-math-errno");
  if (is_embedded(target))
    flags.insert(flags.end(), {"-ffreestanding", "-ffunction-sections", "-fdata-sections"});
  else
    flags.push_back("-fPIC");
  flags.insert(flags.end(), target.flags.begin(), target.flags.end());
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  return flags;
}

std::vector<std::string> own_flags(const emit::EmittedFile& file) {
  std::vector<std::string> flags;
  if (file.suffix.ends_with(".c")) flags = as_c();
  if (file.bytes.find(emit::kNoContraction) != std::string::npos)
    flags.emplace_back(emit::kNoContractionFlag);
  flags.insert(flags.end(), file.flags.begin(), file.flags.end());
  return flags;
}

Toolchain find_toolchain(const CompilerOptions& options, const Target& target, Language language) {
  judge_compiler_words(options.flags, "--cxx-flags", false);
  // The variable edits the command line of clang.
  if (const char* edits = std::getenv("CCC_OVERRIDE_OPTIONS"); edits != nullptr && *edits != '\0')
    fail("BF3204", "$CCC_OVERRIDE_OPTIONS", "it may let the compiler break the proven bounds",
         "unset it");
  Toolchain toolchain;
  toolchain.compiler = find_compiler(options, target);
  toolchain.language = language;
  toolchain.flags = code_flags(options, target, language);
  toolchain.include_folder = runtime_folder().string();
  std::vector<std::string> command = toolchain.compiler;
  command.emplace_back("--version");
  const system::ProcessResult result = system::run_process(command);
  if (result.exit_code != 0)
    fail("BF3203", toolchain.compiler[0],
         fmt::format("'--version' failed with exit code {}:{}", result.exit_code,
                     first_lines(result.errors, 5)),
         "name a GCC or clang C++ compiler with --cxx");
  toolchain.version = result.output.substr(0, result.output.find('\n'));
  toolchain.machine = machine_of(target);
  if (toolchain.version.find("clang") != std::string::npos) {
    const std::vector<std::string> more = clang_flags(target);
    toolchain.flags.insert(toolchain.flags.begin(), more.begin(), more.end());
  }
  return toolchain;
}

bool finds_compiler(const CompilerOptions& options, const Target& target) {
  try {
    return !find_compiler(options, target).empty();
  } catch (const CompileError&) {
    return false;
  }
}

std::string find_utility(const Toolchain& toolchain, const std::string& name) {
  std::vector<std::string> command = toolchain.compiler;
  command.push_back("-print-prog-name=" + name);
  const system::ProcessResult result = system::run_process(command);
  const std::string answer = result.output.substr(0, result.output.find('\n'));
  if (result.exit_code == 0 && !answer.empty())
    if (const auto path = system::find_program(answer)) return *path;
  if (const auto path = system::find_program(name)) return *path;
  fail("BF3202", name, "not found beside the compiler", "install binutils");
}

bool runs_here(const Target& target) {
  const std::string host = find_target("host").name;
  if (target.name == host || target.name == "generic") return true;
  const int here = rank_on_x86(host), there = rank_on_x86(target.name);
  return here > 0 && there >= 0 && there <= here;
}

void expect_runs_here(const Target& target) {
  if (!runs_here(target))
    fail("BF3304", "--target",
         fmt::format("code for '{}' does not run on this machine", target.name),
         "leave --target out");
}

void build_archive(const Toolchain& toolchain, const std::filesystem::path& folder,
                   const std::string& stem, const std::vector<emit::EmittedFile>& files) {
  const std::string archive = "lib" + stem + ".a";
  std::vector<std::string> command = {find_utility(toolchain, "ar"), "rcsD", archive};
  for (const std::string& object : compile_objects(toolchain, folder, stem, files))
    command.push_back(object);
  command.push_back(compile_runtime(toolchain, folder));
  const system::ProcessResult result = system::run_process(command, folder);
  if (result.exit_code != 0)
    fail("BF3203", command[0],
         fmt::format("failed with exit code {}:{}", result.exit_code,
                     first_lines(result.errors, 10)));
}

void build_shared(const Toolchain& toolchain, const std::filesystem::path& folder,
                  const std::string& stem, const std::vector<emit::EmittedFile>& files) {
  std::vector<std::string> arguments = {"-shared", "-o", stem + ".so"};
  for (const std::string& object : compile_objects(toolchain, folder, stem, files))
    arguments.push_back(object);
  run_compiler(toolchain, arguments, folder);
}

}  // namespace bf_aot::build
