#include <fmt/format.h>

#include "aot/emit/kernels/kernels.h"
#include "aot/emit/loop/intrinsics.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {
namespace {

// Lines that refuse a compiler that is not set to the target for which the code was scheduled.
std::string target_check(const Target& target) {
  std::string macro;
  if (target.name == "x86-64-v4") macro = "__AVX512F__";
  if (target.name == "x86-64-v3") macro = "__AVX2__";
  if (target.name == "x86-64") macro = "__SSE2__";
  if (target.gnu_system == "aarch64-linux-gnu") macro = "__ARM_NEON";
  if (macro.empty()) return {};
  std::string flags;
  for (const std::string& flag : target.flags) flags += " " + flag;
  return fmt::format(
      "#if !defined({})\n#error \"this verifier is for {}: compile it with{}\"\n#endif\n\n", macro,
      target.name, flags);
}

}  // namespace

std::string emit_prelude(const Plan& plan, const loop::Needs& needs) {
  if (plan.config.language != Language::kCpp)
    return {};  // scalar code that names all that it calls
  std::string text = needs.vectors.empty() ? std::string() : target_check(plan.config.target);
  text += "namespace {\n\nusing namespace bf::kernel;\n\n";
  for (const auto& [type, lanes] : needs.vectors) {
    const int bytes = type == loop::Type::kFloat32 ? 4 : 8;
    text +=
        fmt::format("using {} = {} __attribute__((vector_size({})));\n",
                    loop::type_name(type, lanes), bytes == 4 ? "float" : "double", bytes * lanes);
  }
  if (!needs.vectors.empty()) text += "\n";
  for (const loop::Intrinsic& each : loop::intrinsics())
    if (needs.intrinsics.contains(each.name)) text += each.text + "\n";
  return text;
}

}  // namespace bf_aot::emit
