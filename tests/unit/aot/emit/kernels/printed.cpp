#include "tests/unit/aot/emit/kernels/printed.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "aot/emit/interface/emit.h"
#include "aot/emit/loop/print/print.h"
#include "planner/planner.h"
#include "tests/paths.h"

namespace bf_aot::testing {
namespace {

// With the macros and helpers of generated files.
std::string source_of(const std::vector<loop::Program>& programs,
                      const std::vector<std::string>& buffers,
                      const std::vector<std::string>& tables) {
  loop::Needs needs;
  std::string kernels, wrappers;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::string parameters, arguments;
    const auto add = [&](const std::string& type, const std::string& name) {
      const std::string comma = parameters.empty() ? "" : ", ";
      arguments += fmt::format("{}static_cast<{}*>(all[{}])", comma, type,
                               std::count(parameters.begin(), parameters.end(), '*'));
      parameters += fmt::format("{}{}* {}", comma, type, name);
    };
    for (const std::string& name : buffers) add("float", name);
    for (const std::string& name : tables) add("std::int32_t", name);
    kernels +=
        fmt::format("BF_KERNEL nest_{}({}) {{\n{}}}\n\n", i, parameters, print(programs[i], needs));
    wrappers += fmt::format("extern \"C\" void run_{0}(void* const* all) {{ nest_{0}({1}); }}\n", i,
                            arguments);
  }
  Plan frame;
  frame.config.target = find_target("generic");
  return "#include \"bf/core/kernel.h\"\n\n" + emit::emit_prelude(frame, needs) + kernels +
         "}  // namespace\n\n" + wrappers;
}

}  // namespace

PrintedPrograms::PrintedPrograms(const std::vector<loop::Program>& programs,
                                 std::vector<std::string> buffers, std::vector<std::string> tables)
    : buffers_(std::move(buffers)), tables_(std::move(tables)) {
  folder_ = (std::filesystem::temp_directory_path() / "bf_nests_XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) {
    ADD_FAILURE() << "cannot make " << folder_;
    return;
  }
  const std::string stem = folder_ + "/nests";
  std::ofstream(stem + ".cpp") << source_of(programs, buffers_, tables_);
  const std::string command = fmt::format(
      "'{0}' -std=c++17 -O0 -w -Wno-psabi -shared -fPIC -I'{2}/runtime' -o '{1}.so' '{1}.cpp'",
      BF_CXX, stem, BF_SOURCE_DIR);
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  handle_ = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle_, nullptr) << dlerror();
}

PrintedPrograms::~PrintedPrograms() {
  if (handle_ == nullptr) return;
  dlclose(handle_);
  std::filesystem::remove_all(folder_);
}

void PrintedPrograms::run(std::size_t program, Memory& memory) const {
  std::vector<std::vector<float>> data;
  std::vector<std::vector<std::int32_t>> entries;
  for (const std::string& name : buffers_) {
    data.emplace_back();
    for (const Number& each : memory.at(name))
      data.back().push_back(static_cast<float>(each.value));
  }
  for (const std::string& name : tables_) {
    entries.emplace_back();
    for (const Number& each : memory.at(name))
      entries.back().push_back(static_cast<std::int32_t>(each.value));
  }
  std::vector<void*> arguments;
  for (auto& each : data) arguments.push_back(each.data());
  for (auto& each : entries) arguments.push_back(each.data());
  void* const symbol = dlsym(handle_, fmt::format("run_{}", program).c_str());
  ASSERT_NE(symbol, nullptr) << dlerror();
  reinterpret_cast<void (*)(void* const*)>(symbol)(arguments.data());
  for (std::size_t b = 0; b < buffers_.size(); ++b)
    for (std::size_t i = 0; i < data[b].size(); ++i)
      memory.at(buffers_[b])[i].value = static_cast<double>(data[b][i]);
}

std::string text_of(const loop::Program& program) {
  loop::Needs needs;
  return print(program, needs);
}

std::uint64_t test_seed() {
  const char* given = std::getenv("BF_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

}  // namespace bf_aot::testing
