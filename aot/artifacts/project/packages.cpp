#include "aot/artifacts/project/packages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "aot/build/library.h"
#include "aot/build/single_file.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "frontend/graph/model.h"
#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

constexpr std::string_view kModule =
    R"(# A Zephyr module: west build ... -- -DZEPHYR_EXTRA_MODULES=PATH/TO/THIS/FOLDER
name: @stem@
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
)";

constexpr std::string_view kKconfig = R"(config @SYMBOL@
	bool "Verifier of @model@"
	depends on CPP@needs@
	help
	  Proven bounds of a neural network's outputs, made by bf-aot @version@. README.md tells
	  how to call it, and what flash, RAM and stack it takes.
)";

constexpr std::string_view kZephyr = R"(if(CONFIG_@SYMBOL@)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/..)
  zephyr_include_directories(${folder})
  zephyr_library_named(@stem@)
  zephyr_library_sources(
@sources@  )
  # No heap, no exceptions, no RTTI; never compile it with -ffast-math.
  zephyr_library_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:@flags@>")
@weights@endif()
)";

// The assembler source includes the weights as bytes.
constexpr std::string_view kZephyrWeights =
    R"(  zephyr_library_compile_options("$<$<COMPILE_LANGUAGE:ASM>:-Wa,-I${folder}>")
)";

constexpr std::string_view kEspIdf = R"(# A component of ESP-IDF, which CMakeLists.txt registers.
version: "@version@"
description: @description@
)";

constexpr std::string_view kArduino = R"(name=@name@_verifier
version=@version@
author=bf-aot
maintainer=bf-aot
sentence=Proven bounds of the outputs of @model@.
paragraph=Made by bf-aot: method @method@. See README.md for its sizes and how to call it.
category=Other
url=
architectures=*
includes=@stem@.h
)";

constexpr std::string_view kPack = R"(<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>bf_aot</vendor>
  <name>@name@</name>
  <description>Proven bounds of the outputs of @xml_model@, by method @method@</description>
  <url></url>
  <releases>
    <release version="@version@">Made by bf-aot @version@</release>
  </releases>
  <conditions>
    <condition id="Core">
      <description>The processor that the code was made for</description>
      <require Dcore="@core@"/>
    </condition>
  </conditions>
  <components>
    <component Cclass="Machine Learning" Cgroup="Verifier" Csub="@name@" Cversion="@version@" condition="Core">
      <description>Compile with @flags@</description>
      <files>
        <file category="include" name="./"/>
@files@      </files>
    </component>
  </components>
</package>
)";

// The flags that a build system has no better ones for. It knows its own for the machine; but a
// verifier is compiled without an extension that the target's -mcpu leaves out.
std::vector<std::string> flags_of_source(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (const std::string& flag : flags)
    if (!flag.starts_with("-m") ||
        (flag.starts_with("-mcpu=") && flag.find('+') != std::string::npos))
      kept.push_back(flag);
  return kept;
}

// The target's name in CMSIS, "Cortex-M0+"; empty where it has none.
std::string cmsis_core(const Target& target) {
  constexpr std::string_view kCortex = "cortex-m";
  if (!target.name.starts_with(kCortex)) return {};
  std::string number = target.name.substr(kCortex.size());
  if (number.ends_with("plus")) number.replace(number.size() - 4, 4, "+");
  return "Cortex-M" + number;
}

// The generic target is for any processor.
bool is_generic(const Target& target) {
  return target.name == "generic";
}

bool needs_fpu(const Target& target) {
  return target.hardware_float() && !is_generic(target);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

class Packages {
 public:
  Packages(const build::Verifier& verifier, const std::string& stem,
           const std::vector<std::string>& flags)
      : verifier_(verifier), stem_(stem), flags_(flags_of_source(flags)) {
    for (const emit::EmittedFile& file : verifier.files)
      if (build::is_source(file)) sources_.push_back(stem + file.suffix);
    sources_.emplace_back("bf.cpp");
    in_source_ = std::ranges::none_of(sources_,
                                      [](const std::string& name) { return name.ends_with(".S"); });
    const Plan& plan = verifier.plan();
    arguments_ = {{"stem", stem},
                  {"name", plan.name},
                  {"SYMBOL", emit::upper_case(plan.name) + "_VERIFIER"},
                  {"model", printable(plan.model.file_name)},
                  {"xml_model", escaped(printable(plan.model.file_name))},
                  {"method", std::string(to_string(plan.config.method))},
                  {"version", BF_VERSION_STRING},
                  {"description", nlohmann::json(description()).dump()},
                  {"flags", fmt::format("{}", fmt::join(flags_, " "))},
                  {"core", cmsis_core(plan.config.target)},
                  {"needs", needs_fpu(plan.config.target) ? "\n\tdepends on FPU" : ""},
                  {"weights", in_source_ ? "" : std::string(kZephyrWeights)}};
  }

  std::vector<emit::EmittedFile> files() {
    std::string lines;
    for (const std::string& source : sources_) lines += "    ${folder}/" + source + "\n";
    arguments_.emplace_back("sources", lines);
    std::string listed;
    for (const std::string& source : sources_)
      listed += fmt::format("        <file category=\"source\" name=\"{}\"/>\n", source);
    listed += fmt::format("        <file category=\"header\" name=\"{}.h\"/>\n", stem_);
    arguments_.emplace_back("files", listed);

    std::vector<emit::EmittedFile> files = {
        {"idf_component.yml", emit::fill_in(kEspIdf, {}, arguments_)},
        {"zephyr/module.yml", emit::fill_in(kModule, {}, arguments_)},
        {"zephyr/CMakeLists.txt", emit::fill_in(kZephyr, {}, arguments_)},
        {"zephyr/Kconfig", emit::fill_in(kKconfig, {}, arguments_)}};
    // The other build systems cannot tell the assembler where the weights lie.
    if (!in_source_) return files;
    files.push_back({"library.json", platformio()});
    if (!cmsis_core(verifier_.plan().config.target).empty())
      files.push_back({fmt::format("bf_aot.{}.pdsc", verifier_.plan().name),
                       emit::fill_in(kPack, {}, arguments_)});
    files.push_back({"library.properties", emit::fill_in(kArduino, {}, arguments_)});
    // An Arduino library compiles all of src/, and has no other way to find headers.
    for (emit::EmittedFile& file : build::single_file(verifier_, stem_))
      if (!file.suffix.ends_with(".json"))
        files.push_back({"src/" + stem_ + file.suffix, std::move(file.bytes)});
    return files;
  }

 private:
  std::string description() const {
    return "Proven bounds of the outputs of " + printable(verifier_.plan().model.file_name);
  }

  std::string platformio() const {
    std::vector<std::string> filter = {"-<*>"};
    for (const std::string& source : sources_) filter.push_back("+<" + source + ">");
    const Plan& plan = verifier_.plan();
    const nlohmann::ordered_json json = {
        {"name", plan.name + "_verifier"},
        {"version", BF_VERSION_STRING},
        {"description", description()},
        {"frameworks", "*"},
        {"platforms", "*"},
        {"headers", stem_ + ".h"},
        {"build",
         {{"srcDir", "."}, {"includeDir", "."}, {"srcFilter", filter}, {"flags", flags_}}}};
    return json.dump(2) + "\n";
  }

  const build::Verifier& verifier_;
  const std::string& stem_;
  std::vector<std::string> flags_;
  std::vector<std::string> sources_;
  bool in_source_ = true;
  emit::Arguments arguments_;
};

}  // namespace

bool has_packages(const Target& target) {
  return !target.qemu_board.empty() || is_generic(target);
}

std::vector<emit::EmittedFile> package_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags) {
  if (!has_packages(verifier.plan().config.target)) return {};
  return Packages(verifier, stem, flags).files();
}

}  // namespace bf_aot::artifacts
