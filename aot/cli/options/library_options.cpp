#include "aot/cli/options/library_options.h"

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {

api::Method library_method(const std::string& name) {
  if (const auto method = api::method_named(name)) return *method;
  BF_BROKEN("no method of the library: " + name);
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
