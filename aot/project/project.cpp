#include "aot/project/project.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "aot/host/footprint.h"
#include "aot/project/project_text.h"
#include "aot/project/runtime_files.h"
#include "aot/text/banner.h"
#include "aot/text/contraction.h"
#include "frontend/diagnostic.h"
#include "frontend/model.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

using Arguments = std::vector<std::pair<std::string_view, std::string>>;

// Replaces each @key@.
std::string fill(std::string_view text, const Arguments& arguments) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('@');
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = text.find('@', begin + 1);
    BF_CHECK(end != std::string_view::npos);
    const std::string_view key = text.substr(begin + 1, end - begin - 1);
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [key](const auto& argument) { return argument.first == key; });
    BF_CHECK(found != arguments.end());
    result += found->second;
    text.remove_prefix(end + 1);
  }
}

std::string shapes(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values)
    text += fmt::format("{}`{}` {}", text.empty() ? "" : ", ", printable(value.name),
                        to_string(value.shape));
  return text;
}

std::string size_table(const Verifier& verifier, const std::optional<Footprint>& footprint) {
  const Plan& plan = verifier.plan;
  std::string text = "| what | bytes |\n|---|---|\n";
  const std::int64_t weights = verifier.weights_bytes;
  if (footprint) {
    text += fmt::format("| flash: code and constants of the library | {} |\n",
                        footprint->text + footprint->data);
    text += fmt::format("| of these: weights | {} |\n", weights);
  } else {
    text += fmt::format("| flash: weights, without the code (`size` tells all) | {} |\n", weights);
  }
  text += fmt::format("| RAM: workspace, aligned to {} | {} |\n", plan.config.target.align,
                      plan.arena_bytes());
  if (footprint)
    text += fmt::format("| RAM: variables of the library | {} |\n",
                        footprint->data + footprint->zeroed);
  text += footprint && footprint->stack
              ? fmt::format("| stack of one call, at most (sum of all frames) | {} |\n",
                            *footprint->stack)
              : std::string("| stack of one call | build with GCC's `-fstack-usage` to see it |\n");
  return text;
}

std::string spec_text(const Plan& plan) {
  if (plan.spec_rows == 0) return {};
  return fmt::format(
      "`{}_spec_bounds` has the same arguments and bounds the {} rows of the compiled-in\n"
      "specification `C y`.\n\n",
      plan.name, plan.spec_rows);
}

// What CMakeLists.txt says of the verifier's sources.
struct Sources {
  std::string list;     // indented lines
  std::string weights;  // properties of those that include the weights
  std::string levels;   // properties of those for a level of processors
};

Sources sources_of(const Verifier& verifier, const std::string& stem) {
  Sources made;
  for (const EmittedFile& file : verifier.files) {
    if (!is_source(file)) continue;
    const std::string name = stem + file.suffix;
    made.list += "  " + name + "\n";
    if (name.ends_with(".S"))
      made.weights += fill(kWeightsProperties, {{"file", name.substr(0, name.size() - 2)}});
    else if (!file.flags.empty())
      made.levels +=
          fill(kLevelProperties,
               {{"file", name}, {"flags", fmt::format("{}", fmt::join(file.flags, ";"))}});
  }
  return made;
}

Arguments arguments_for(const Verifier& verifier, const std::string& stem,
                        const Toolchain* toolchain, const std::optional<Footprint>& footprint) {
  const Plan& plan = verifier.plan;
  const Sources sources = sources_of(verifier, stem);
  const bool separate = std::ranges::any_of(verifier.files, [](const EmittedFile& file) {
    return file.bytes.find(kNoContraction) != std::string::npos;
  });
  const std::string built = toolchain == nullptr
                                ? "The library was not built: these are the planner's figures."
                                : fmt::format("Compiled with {}, flags `{}`.", toolchain->version,
                                              fmt::join(toolchain->flags, " "));
  const Arguments names = {{"name", plan.name}, {"NAME", upper_case(plan.name)}, {"stem", stem}};
  const bool keeps = plan.context.bytes > 0;
  return {
      {"name", plan.name},
      {"NAME", upper_case(plan.name)},
      {"context_memory", keeps ? fill(kContextMemory, names) : ""},
      {"context_calls", keeps ? fill(kContextCalls, names) : ""},
      {"contexts", keeps ? fill(kContextUse, names) : ""},
      {"batches", plan.config.batch > 1 ? fill(kBatchUse, names) : ""},
      {"parallel", plan.parallel.workers > 1 ? fill(kParallelUse, names) : ""},
      {"parallel_target", plan.parallel.workers > 1 ? fill(kParallelTarget, names) : ""},
      {"stem", stem},
      {"version", BF_VERSION_STRING},
      {"model", plan.model.file_name},
      {"sha256", plan.model.sha256},
      {"method", std::string(to_string(plan.config.method))},
      {"target", plan.config.target.name},
      {"inputs", shapes(plan.inputs)},
      {"outputs", shapes(plan.outputs)},
      {"sizes", size_table(verifier, footprint)},
      {"built", built},
      {"spec", spec_text(plan)},
      {"contract", separate ? "off" : "fast"},
      {"languages", sources.weights.empty() ? "C CXX" : "C CXX ASM"},
      {"sources", sources.list},
      {"flags",
       sources.levels.empty() ? fmt::format("{}", fmt::join(plan.config.target.flags, " ")) : ""},
      {"weights", sources.weights},
      {"levels", sources.levels}};
}

}  // namespace

std::vector<EmittedFile> project_files(const Verifier& verifier, const std::string& stem,
                                       const Toolchain* toolchain,
                                       const std::filesystem::path& staging) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  std::optional<Footprint> footprint;
  if (toolchain != nullptr) footprint = measure_footprint(*toolchain, staging, stem);
  const Arguments arguments = arguments_for(verifier, stem, toolchain, footprint);
  std::vector<EmittedFile> files = {{"example.c", fill(kExample, arguments)},
                                    {"CMakeLists.txt", fill(kCMakeLists, arguments)},
                                    {"README.md", fill(kReadme, arguments)}};
  if (verifier.plan.parallel.workers > 1) {
    files.push_back({"example_parallel.cpp", fill(kParallelExample, arguments)});
    files.push_back({"thread_executor.h", read_file(runtime_folder() / "host/thread_executor.h",
                                                    kMaxBytes, "runtime source")});
  }
  std::vector<RuntimeFile> runtime = runtime_files_of(verifier.files);
  runtime.push_back(runtime_source());
  for (RuntimeFile& file : runtime) files.push_back({std::move(file.path), std::move(file.text)});
  return files;
}

}  // namespace bf_aot::cli
