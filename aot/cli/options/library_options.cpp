#include "aot/cli/options/library_options.h"

#include "aot/build/library.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/plan/config.h"

namespace bf_aot::cli {

api::Method library_method(const std::string& name) {
  if (const auto method = api::method_named(name)) return *method;
  BF_BROKEN("no method of the library: " + name);
}

api::AlphaRows library_alpha(const std::string& name) {
  return name == to_string(AlphaRows::kAll) ? api::AlphaRows::kAll : api::AlphaRows::kOutputs;
}

api::Jit library_jit(const std::string& name) {
  if (name == build::kJitModes[static_cast<std::size_t>(build::JitMode::kOff)])
    return api::Jit::kOff;
  return name == build::kJitModes[static_cast<std::size_t>(build::JitMode::kWait)]
             ? api::Jit::kWait
             : api::Jit::kAuto;
}

api::Semantics library_semantics(const std::string& name, bool flush_to_zero) {
  if (flush_to_zero && name != "float32")
    fail("BF3315", "--flush-to-zero", "it is about --semantics float32, not " + name,
         "use --semantics float32");
  if (name == "float32")
    return flush_to_zero ? api::Semantics::kFloat32Flushed : api::Semantics::kFloat32;
  return name == "float32-exact" ? api::Semantics::kFloat32Exact : api::Semantics::kReal;
}

}  // namespace bf_aot::cli
