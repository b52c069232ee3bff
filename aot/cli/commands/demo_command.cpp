#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/library.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/demo_files.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/system/files.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "bf-aot-demo";

// A command of the story, and what is to be read in its answer.
struct Step {
  const char* says;
  std::vector<const char*> words;
  const char* read;
};

std::vector<Step> story(bool has_compiler) {
  std::vector<const char*> compile = {"compile", "avoid.onnx", "--property", "head_on.vnnlib",
                                      "--name",  "avoid",      "-o",         "avoid.cpp"};
  if (!has_compiler) compile.push_back("--no-library");
  return {
      {"avoid.onnx says how an aircraft is to avoid another: it gives a cost to each of five\n"
       "advisories, and the one of least cost is taken. The intruder comes head-on, a little\n"
       "to the right; its position is known to a box. What are the costs in that box?",
       {"run", "avoid.onnx", "--box", "head_on.json", "--spec", "rows.json"},
       "Every cost in the box lies within its bounds: that is proven. Row 0 is the cost of\n"
       "\"clear of conflict\" less that of \"weak left\". Its lower bound is above 0, so \"clear "
       "of\n"
       "conflict\" is never the advice there."},
      {"The same as a property: head_on.vnnlib states what must not happen.",
       {"verify", "avoid.onnx", "head_on.vnnlib"},
       "No state in the box violates it."},
      {"A much wider box: bounds on it as a whole do not suffice.",
       {"verify", "avoid.onnx", "wide.vnnlib"},
       "It was split until each part was proven."},
      {"A verifier for your own program, in C++ with a header for C:", compile,
       has_compiler
           ? "avoid_bounds() takes a box and returns bounds; avoid_verify() decides the property "
             "on\n"
             "it. They have no heap and no dependency; --target cortex-m4 makes them for a board."
           : "There is no C++ compiler here: bf-aot doctor says what to install. The source is\n"
             "complete without."},
  };
}

std::string bytes_of(const embedded::File& file) {
  return {reinterpret_cast<const char*>(file.bytes), file.size};
}

// Writes the files that are not there yet. Throws: BF3110 where one has other bytes; BF3101.
void write_files(const fs::path& folder) {
  system::make_folder(folder);
  for (const embedded::File& file : embedded::kFiles) {
    const fs::path path = folder / file.name;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    std::ifstream stream(path, std::ios::binary);
    const std::string found{std::istreambuf_iterator<char>(stream), {}};
    if (found != bytes_of(file))
      fail("BF3110", printable(path.string()), "is there, and is not the demo's",
           "name another folder: bf-aot demo DIR");
  }
  for (const embedded::File& file : embedded::kFiles)
    system::publish_file(folder / file.name, bytes_of(file));
}

int run(const Step& step) {
  const system::Style bold(system::Style::kBold, system::Stream::kOutput);
  std::string line = "bf-aot";
  for (const char* const word : step.words)
    if (std::string_view(word) != "compile") line += fmt::format(" {}", word);
  fmt::print("\n{}\n\n{}\n", step.says, bold("$ " + line));
  std::fflush(stdout);
  const Command& command = *find_command(step.words.front());
  Call call{step.words, {}};
  call.arguments.front() = command.title;
  const int code = command.run(call);
  if (code == 0) fmt::print("\n{}\n", step.read);
  return code;
}

}  // namespace

int demo_command(const Call& call) {
  std::string folder = kFolder;
  CommandLine app("Bounds, verifies and compiles a small controller that comes with bf-aot.",
                  call.arguments[0]);
  app.add_option("DIR", folder, "folder that gets the demo's files")->capture_default_str();
  set_help(app, {"bf-aot demo", "The commands are shown as they can be typed in that folder.",
                 "start/verify.md"});
  if (const auto code = parse(app, call)) return *code;
  write_files(folder);
  std::error_code error;
  fs::current_path(folder, error);
  if (error) fail("BF3101", printable(folder), error.message());
  fmt::print("The files are in {}.\n", printable(fs::current_path(error).string()));
  for (const Step& step : story(build::finds_compiler({}, find_target("host"))))
    if (const int code = run(step); code != 0) return code;
  fmt::print("\nMore: {}\n", system::document("start/"));
  return 0;
}

}  // namespace bf_aot::cli
