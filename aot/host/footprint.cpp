#include "aot/host/footprint.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "aot/host/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// Lines "file:line:column:function <tab> bytes <tab> qualifiers". A frame of unknown size makes the
// whole sum unknown.
std::optional<std::int64_t> sum_of_frames(const std::filesystem::path& report) {
  std::ifstream stream(report);
  if (!stream) return std::nullopt;
  std::int64_t sum = 0;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line.substr(std::min(line.find('\t'), line.size())));
    std::int64_t bytes = 0;
    std::string qualifiers;
    if (!(fields >> bytes >> qualifiers)) return std::nullopt;
    if (qualifiers == "dynamic") return std::nullopt;
    sum += bytes;
  }
  return sum;
}

std::optional<std::int64_t> stack_bound(const Toolchain& toolchain,
                                        const std::filesystem::path& folder,
                                        const std::string& stem) {
  std::vector<std::string> command = toolchain.compiler;
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  for (std::string argument :
       {"-I" + toolchain.include_folder, std::string("-I."), std::string("-fstack-usage"),
        std::string("-c"), "./" + stem + ".cpp", std::string("-o"), std::string("stack_usage.o")})
    command.push_back(std::move(argument));
  if (run_process(command, folder).exit_code != 0) return std::nullopt;
  return sum_of_frames(folder / "stack_usage.su");
}

}  // namespace

Footprint measure_footprint(const Toolchain& toolchain, const std::filesystem::path& folder,
                            const std::string& stem) {
  Footprint footprint;
  const ProcessResult result =
      run_process({find_utility(toolchain, "size"), "lib" + stem + ".a"}, folder);
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
  footprint.stack = stack_bound(toolchain, folder, stem);
  return footprint;
}

std::optional<std::int64_t> code_bytes(const std::filesystem::path& library,
                                       const Toolchain& toolchain) {
  const ProcessResult result =
      run_process({find_utility(toolchain, "size"), "-A", "-d", library.string()});
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

}  // namespace bf_aot::cli
