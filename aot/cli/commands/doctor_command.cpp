#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/cache.h"
#include "aot/build/library.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/values.h"
#include "aot/engine/run/find_prebuilt.h"
#include "aot/system/process.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::cli {
namespace {

constexpr char kDoctorExamples[] =
    "bf-aot doctor\n"
    "bf-aot doctor --target cortex-m4        is all there for this board?";

constexpr char kDoctorNotes[] =
    "What is missing is named with the Debian package that has it. Without a C++ compiler, run, "
    "check "
    "and verify still answer, by the engine in bf-aot.\n\n"
    "Exit code: 0 all is there that is needed; 1 something is missing. Other machines' compilers "
    "and "
    "emulators are needed with --target alone.";

struct Finding {
  std::string name;
  bool ok = false;
  bool needed = true;
  std::string says;     // what was found, or what is wrong
  std::string package;  // of Debian; where something is missing
};

struct CrossTools {
  std::string_view system;
  const char* compiler_package;
  const char* emulator;  // by target, where these differ
  const char* emulator_package;
};

constexpr CrossTools kCrossTools[] = {
    {"arm-none-eabi", "gcc-arm-none-eabi, libstdc++-arm-none-eabi-newlib", "qemu-system-arm",
     "qemu-system-arm"},
    {"riscv64-unknown-elf", "gcc-riscv64-unknown-elf", "qemu-system-riscv32", "qemu-system-misc"},
    {"aarch64-linux-gnu", "g++-aarch64-linux-gnu", "qemu-aarch64", "qemu-user"},
    {"riscv64-linux-gnu", "g++-riscv64-linux-gnu", "qemu-riscv64", "qemu-user"},
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Finds whether the compiler of a target translates the runtime.
Finding compiler_for(const Target& target, const std::string& name, const std::string& package) {
  Finding finding{name, false, true, {}, package};
  try {
    const build::Toolchain toolchain = build::find_toolchain({}, target);
    std::vector<std::string> command = toolchain.compiler;
    command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
    command.insert(command.end(), {"-I" + toolchain.include_folder, "-fsyntax-only",
                                   toolchain.include_folder + "/bf.cpp"});
    const system::ProcessResult result = system::run_process(command);
    finding.ok = result.exit_code == 0;
    finding.says =
        finding.ok ? toolchain.version : "does not compile: " + first_line(result.errors);
  } catch (const CompileError& error) {
    finding.says = error.diagnostics().front().message;
  }
  if (finding.ok) finding.package.clear();
  return finding;
}

Finding program(const std::string& name, const std::string& package) {
  const auto path = system::find_program(name);
  return {name, path.has_value(), true, path.value_or("not found"), path ? "" : package};
}

Finding cache() {
  Finding finding{"cache folder", false, true, {}, {}};
  try {
    const std::filesystem::path folder = build::cache_folder();
    finding.ok = access(folder.c_str(), W_OK | X_OK) == 0;
    finding.says = folder.string() + (finding.ok ? "" : " cannot be written to");
  } catch (const CompileError& error) {
    finding.says = error.diagnostics().front().message;
  }
  return finding;
}

Finding runtime_headers() {
  try {
    return {"runtime headers", true, true, build::runtime_folder().string(), {}};
  } catch (const CompileError& error) {
    return {"runtime headers", false, true, error.diagnostics().front().message, "bf-aot"};
  }
}

// Examines what needs no other machine.
void examine_host(std::vector<Finding>& findings) {
  const Target host = find_target("host");
  findings.push_back({"processor", true, true, host.name, {}});
  const bool prebuilt = engine::find_prebuilt(host.name) != nullptr;
  findings.push_back({"engine's kernels",
                      prebuilt,
                      true,
                      prebuilt ? "for " + host.name : "none for " + host.name,
                      {}});
  const bool rounds = bf::float_environment_ok();
  findings.push_back({"floating point",
                      rounds,
                      true,
                      rounds ? "rounds to nearest, keeps subnormals"
                             : "rounds in another mode, or flushes subnormals",
                      {}});
  findings.push_back(runtime_headers());
  findings.push_back(cache());
  findings.push_back(compiler_for(host, "C++ compiler", "g++"));
}

void examine_target(const Target& target, bool needed, std::vector<Finding>& findings) {
  const auto* const tools = std::ranges::find(kCrossTools, target.gnu_system, &CrossTools::system);
  if (tools == std::end(kCrossTools)) return;
  const Finding compiler =
      compiler_for(target, std::string(tools->system) + "-g++", tools->compiler_package);
  for (Finding found : {compiler, program(tools->emulator, tools->emulator_package)}) {
    found.needed = needed;
    if (std::ranges::find(findings, found.name, &Finding::name) == findings.end())
      findings.push_back(found);
  }
}

void print(const std::vector<Finding>& findings) {
  const system::Style bold(system::Style::kBold, system::Stream::kOutput),
      red(system::Style::kError, system::Stream::kOutput);
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  for (const Finding& finding : findings) {
    const std::string state = finding.ok ? "ok     " : finding.needed ? red("missing") : "absent ";
    fmt::print("{}  {:<{}}  {}\n", state, finding.name, width, wrapped(finding.says, width + 11));
    if (!finding.package.empty())
      fmt::print("{:{}}apt install {}\n", "", width + 11, [&] {
        std::string words = finding.package;
        std::erase(words, ',');
        return words;
      }());
  }
}

}  // namespace

int doctor_command(const Call& call) {
  std::string target;
  bool json = false;
  CommandLine app("Says what is there and what is missing on this machine.", call.arguments[0]);
  app.add_option("--target", target, "a machine that code will be made for: its tools are needed")
      ->transform(one_of(target_names()));
  app.add_flag("--json", json, "print one JSON object");
  set_help(app, {kDoctorExamples, kDoctorNotes, "reference/cli.md"});
  if (const auto code = parse(app, call)) return *code;

  std::vector<Finding> findings;
  examine_host(findings);
  if (!target.empty()) examine_target(find_target(target), true, findings);
  for (const std::string& name : target_names())
    if (target.empty() && name != "host") examine_target(find_target(name), false, findings);
  const bool ok = std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.needed && !finding.ok; });
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings)
      list.push_back({{"name", finding.name},
                      {"ok", finding.ok},
                      {"needed", finding.needed},
                      {"says", finding.says},
                      {"package", finding.package}});
    fmt::print("{}\n", nlohmann::ordered_json{{"ok", ok}, {"findings", list}}.dump());
  } else {
    print(findings);
  }
  return ok ? 0 : 1;
}

}  // namespace bf_aot::cli
