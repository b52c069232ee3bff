#include "aot/build/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/wrap.h"
#include "frontend/diagnostic.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"

namespace bf_aot::build {
namespace {

constexpr std::string_view kBaseline = "x86-64";

// The level's number as bf::x86_level() counts.
int level_of(const Target& target) {
  if (target.name == "x86-64-v4") return 4;
  if (target.name == "x86-64-v3") return 3;
  BF_CHECK(target.name == kBaseline);
  return 1;
}

std::string suffix_of(const Target& target) {
  return "_" + identifier_from(target.name);
}

std::vector<std::string> split_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// "#define NAME_WORKSPACE_BYTES 64": what is before, the number, what is after.
struct SizeLine {
  std::string before, after;
  std::int64_t number = 0;
};

SizeLine size_line(const std::string& line) {
  BF_CHECK(line.starts_with("#define "));
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t end = line.size();
  while (end > 0 && !is_digit(line[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  BF_CHECK(begin < end);
  return {line.substr(0, begin), line.substr(end), std::stoll(line.substr(begin, end - begin))};
}

std::string merge_lines(const std::string& a, const std::string& b) {
  const bool adds_up = a.find("_WEIGHTS_BYTES ") != std::string::npos && a.starts_with("#define ");
  if (a == b && !adds_up) return a;
  SizeLine merged = size_line(a);
  const SizeLine other = size_line(b);
  BF_CHECK(merged.before == other.before && merged.after == other.after);
  merged.number = adds_up ? merged.number + other.number : std::max(merged.number, other.number);
  return merged.before + std::to_string(merged.number) + merged.after;
}

std::string forwarder(const Signature& function, const std::string& name,
                      const std::vector<Target>& levels) {
  std::string text = emit::prototype(name, function, emit::Language::kC) + " {\n";
  for (const Target& level : levels) {
    const std::string call =
        "return " + emit::call_of(name + suffix_of(level), function, function) + ";\n";
    text += level.name == kBaseline ? "  " + call
                                    : fmt::format("  if (level() >= {}) {}", level_of(level), call);
  }
  return text + "}\n\n";
}

constexpr std::string_view kLevel = R"(
namespace {

// The level of this processor. Asked for once: cpuid takes tens of microseconds on virtual machines.
// Calls that race find the same.
__attribute__((noinline)) int level() {
  static int known = 0;
  int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found == 0) {
    found = bf::x86_level(bf::read_x86_features());
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found;
}

}  // namespace

)";

std::string level_names(const std::vector<Target>& levels) {
  std::string text;
  for (const Target& level : levels) text += (text.empty() ? "" : ", ") + level.name;
  return text;
}

std::string emit_dispatcher(const Plan& plan, const std::string& stem,
                            const std::vector<Target>& levels) {
  std::string text = emit::emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += fmt::format("//\n// Forwards to the code for what this processor offers of {}.\n",
                      level_names(levels));
  text += fmt::format("\n#include \"{}.h\"\n\n#include \"bf/core/cpu.h\"\n", stem);
  for (const Target& level : levels)
    text += fmt::format("#include \"{}{}.h\"\n", stem, suffix_of(level));
  text += kLevel;
  for (const ExportedFunction& function : plan.functions)
    text += forwarder(function.signature, plan.name, levels);
  return text;
}

// Code for a level must not be shared with others: the linker keeps one copy of an inline function,
// whichever object it comes from, and a processor may lack what that copy uses.
void rename_runtime(const std::string& name, const std::string& stem, std::string& source) {
  const std::string include = fmt::format("\n#include \"{}.h\"\n", stem);
  const std::size_t at = source.find(include);
  BF_CHECK(at != std::string::npos);
  source.insert(at, fmt::format("\n// The runtime's functions under a name of their own: other "
                                "levels' copies use other\n// instructions.\n#define bf {}_bf\n",
                                name));
}

Verifier compile_level(const FrontendResult& front, const std::string& name,
                       const std::string& stem, const Target& level,
                       const CompileOptions& options) {
  CompileOptions one = options;
  one.levels.clear();
  one.planner.target = level;
  const std::string suffix = suffix_of(level);
  Verifier verifier = compile(front, name + suffix, stem + suffix, one);
  for (emit::EmittedFile& file : verifier.files) {
    if (file.suffix == ".cpp") rename_runtime(name + suffix, stem + suffix, file.bytes);
    file.suffix.insert(0, suffix);
    if (!file.suffix.ends_with(".json") && !file.suffix.ends_with(".h")) file.flags = level.flags;
  }
  return verifier;
}

nlohmann::ordered_json manifest_of(const std::vector<Verifier>& levels, const std::string& name,
                                   const std::string& stem) {
  const Plan& first = levels.front().plan;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Verifier& level : levels) {
    const Target& target = level.plan.config.target;
    list.push_back({{"target", target.name},
                    {"manifest", stem + suffix_of(target) + ".json"},
                    {"arena_bytes", level.plan.arena_bytes()},
                    {"weights_bytes", level.plan.weights_bytes()}});
  }
  return {{"name", name},
          {"model", to_json(first)["model"]},
          {"method", to_string(first.config.method)},
          {"dispatch", std::move(list)}};
}

}  // namespace

std::vector<Target> dispatch_levels(const Target& target) {
  const std::vector<std::string> order = {"x86-64-v4", "x86-64-v3", std::string(kBaseline)};
  std::vector<Target> levels;
  for (auto at = std::ranges::find(order, target.name); at != order.end(); ++at)
    levels.push_back(find_target(*at));
  return levels;
}

std::string merge_headers(const std::vector<std::string>& headers) {
  std::vector<std::string> merged = split_lines(headers.front());
  for (std::size_t i = 1; i < headers.size(); ++i) {
    const std::vector<std::string> lines = split_lines(headers[i]);
    auto next = lines.begin();
    const auto is_define = [](const std::string& line) { return line.starts_with("#define "); };
    for (std::string& line : merged) {
      if (!is_define(line)) continue;
      next = std::find_if(next, lines.end(), is_define);
      BF_CHECK(next != lines.end());
      line = merge_lines(line, *next++);
    }
    BF_CHECK(std::find_if(next, lines.end(), is_define) == lines.end());
  }
  std::string text;
  for (const std::string& line : merged) text += line + "\n";
  return text;
}

Verifier compile_dispatched(const FrontendResult& front, const std::string& name,
                            const std::string& stem, const CompileOptions& options) {
  BF_CHECK(!options.levels.empty() && options.levels.back().name == kBaseline && !options.trace);
  const Property* const property = options.property ? &*options.property : nullptr;
  std::vector<Verifier> levels;
  std::vector<std::string> headers;
  for (const Target& level : options.levels) {
    levels.push_back(compile_level(front, name, stem, level, options));
    Plan plan = levels.back().plan;
    plan.name = name;
    BF_CHECK(std::ranges::equal(plan.functions, levels.front().plan.functions, {},
                                &ExportedFunction::signature, &ExportedFunction::signature));
    headers.push_back(emit::emit_header(plan, property));
  }
  std::string header = merge_headers(headers);
  const std::size_t guard = header.find("#ifndef BF_VERIFIER_");
  BF_CHECK(guard != std::string::npos);
  header.insert(guard,
                fmt::format("/* Calls go to the first of {} that the processor offers. Sizes "
                            "suit each; what\n * comments say of the code is of the "
                            "first. */\n",
                            level_names(options.levels)));
  Verifier verifier;
  verifier.plan = std::ranges::max_element(levels, {}, [](const Verifier& level) {
                    return level.plan.arena_bytes();
                  })->plan;
  verifier.plan.name = name;
  // The work is that of the level that takes most.
  for (const Verifier& level : levels)
    if (level.verify_work &&
        (!verifier.verify_work || level.verify_work->operations > verifier.verify_work->operations))
      verifier.verify_work = level.verify_work;
  for (const Verifier& level : levels) verifier.weights_bytes += level.weights_bytes;
  verifier.files = {
      {".cpp", emit_dispatcher(verifier.plan, stem, options.levels), options.levels.back().flags},
      {".h", header, {}},
      {".json", manifest_of(levels, name, stem).dump(2) + "\n", {}}};
  for (Verifier& level : levels)
    for (emit::EmittedFile& file : level.files) verifier.files.push_back(std::move(file));
  emit::wrap_files(verifier.files);
  return verifier;
}

}  // namespace bf_aot::build
