#include "aot/build/dispatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/build/frontend_result.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/wrap.h"
#include "frontend/diagnostic.h"
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

std::string forwarder(const Signature& function, const std::string& name,
                      const std::vector<Target>& levels) {
  std::string text = emit::prototype(name, function, Language::kC) + " {\n";
  for (const Target& level : levels) {
    const std::string call =
        "return " + emit::call_of(emit::Dialect(), name + level_suffix(level), function, function) +
        ";\n";
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
    text += fmt::format("#include \"{}{}.h\"\n", stem, level_suffix(level));
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
  const std::string suffix = level_suffix(level);
  Verifier verifier = compile(front, name + suffix, stem + suffix, one);
  for (emit::EmittedFile& file : verifier.files) {
    if (file.suffix == ".cpp") rename_runtime(name + suffix, stem + suffix, file.bytes);
    file.suffix.insert(0, suffix);
    if (!file.suffix.ends_with(".json") && !file.suffix.ends_with(".h")) file.flags = level.flags;
  }
  return verifier;
}

std::shared_ptr<const Lowered> renamed(Plan plan, const std::string& name) {
  plan.name = name;
  return lower(std::make_shared<const Plan>(std::move(plan)));
}

// The comments are the first level's; sizes suit each.
std::string header_of(const std::vector<Verifier>& levels, const std::string& name,
                      const CompileOptions& options) {
  emit::HeaderBytes bytes = emit::header_bytes(levels.front().plan());
  for (std::size_t i = 1; i < levels.size(); ++i)
    bytes = emit::of_both(bytes, emit::header_bytes(levels[i].plan()));
  Plan first = levels.front().plan();
  first.name = name;
  std::string header =
      emit::emit_header(first, bytes, options.property ? &*options.property : nullptr);
  const std::size_t guard = header.find("#ifndef BF_VERIFIER_");
  BF_CHECK(guard != std::string::npos);
  header.insert(guard,
                fmt::format("/* Calls go to the first of {} that the processor offers. Sizes "
                            "suit each; what\n * comments say of the code is of the "
                            "first. */\n",
                            level_names(options.levels)));
  return header;
}

}  // namespace

std::string level_suffix(const Target& target) {
  return "_" + identifier_from(target.name);
}

std::vector<Target> dispatch_levels(const Target& target) {
  const std::vector<std::string> order = {"x86-64-v4", "x86-64-v3", std::string(kBaseline)};
  std::vector<Target> levels;
  for (auto at = std::ranges::find(order, target.name); at != order.end(); ++at)
    levels.push_back(find_target(*at));
  return levels;
}

Verifier compile_dispatched(const FrontendResult& front, const std::string& name,
                            const std::string& stem, const CompileOptions& options) {
  BF_CHECK(!options.levels.empty() && options.levels.back().name == kBaseline &&
           !options.time_parts);
  if (!options.planner.cheaper.empty())
    fail("BF2122", "--method " + methods_text(options.planner), "--dispatch takes one method",
         "name one method, or leave --dispatch out");
  Verifier verifier;
  std::vector<Verifier>& levels = verifier.levels;
  for (const Target& level : options.levels) {
    levels.push_back(compile_level(front, name, stem, level, options));
    BF_CHECK(std::ranges::equal(levels.back().plan().functions, levels.front().plan().functions, {},
                                &ExportedFunction::signature, &ExportedFunction::signature));
  }
  const Verifier& largest = *std::ranges::max_element(
      levels, {}, [](const Verifier& level) { return level.plan().arena_bytes(); });
  verifier.lowered = renamed(largest.plan(), name);
  verifier.property = levels.front().property;
  // The work is that of the level that takes most.
  for (const Verifier& level : levels)
    if (level.verify_work &&
        (!verifier.verify_work || level.verify_work->operations > verifier.verify_work->operations))
      verifier.verify_work = level.verify_work;
  for (const Verifier& level : levels) verifier.weights_bytes += level.weights_bytes;
  verifier.files = {
      {".cpp", emit_dispatcher(verifier.plan(), stem, options.levels), options.levels.back().flags},
      {".h", header_of(levels, name, options), {}},
      {".json", {}, {}}};
  for (Verifier& level : levels) {
    for (emit::EmittedFile& file : level.files) verifier.files.push_back(std::move(file));
    level.files.clear();
  }
  emit::wrap_files(verifier.files);
  return verifier;
}

}  // namespace bf_aot::build
