#include "aot/compile.h"

#include <cctype>

#include "aot/emit.h"
#include "frontend/import/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/plan_json.h"
#include "planner/planner.h"

namespace bf {

std::string identifier_from(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool keep = std::isalnum(byte) != 0 && byte < 0x80;
    if (keep) name += static_cast<char>(std::tolower(byte));
    if (!keep && !name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name = "net_" + name;
  return name;
}

FrontendResult run_frontend(const std::filesystem::path& model, const CompileOptions& options) {
  ImportedModel imported = import_model(model);
  if (options.after_pass) options.after_pass("import", imported.graph);
  PassOptions passes;
  if (options.spec) passes.spec = &*options.spec;
  passes.disabled = options.disabled_passes;
  if (options.after_pass)
    passes.after_pass = [&](std::string_view pass, const Graph& graph, double) {
      options.after_pass(pass, graph);
    };
  normalise(imported.graph, passes);
  return {std::move(imported.graph), std::move(imported.info)};
}

Verifier compile(const std::filesystem::path& model, const std::string& stem,
                 const CompileOptions& options) {
  const FrontendResult front = run_frontend(model, options);
  const std::string name =
      options.name.empty() ? identifier_from(model.stem().string()) : options.name;
  Verifier verifier;
  verifier.plan = plan(front.graph, front.info, name, options.spec.has_value(), options.planner);
  verifier.files = {{".cpp", emit_source(verifier.plan, stem)},
                    {".h", emit_header(verifier.plan)},
                    {".json", to_json(verifier.plan).dump(2) + "\n"}};
  for (EmittedFile& file : emit_weight_files(verifier.plan, stem))
    verifier.files.push_back(std::move(file));
  return verifier;
}

}  // namespace bf
