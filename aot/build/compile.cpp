#include "aot/build/compile.h"

#include <cctype>
#include <chrono>

#include "aot/build/choose_arithmetic.h"
#include "aot/build/device/device.h"
#include "aot/build/dispatch.h"
#include "aot/build/frontend_result.h"
#include "aot/build/options/language.h"
#include "aot/emit/constants/constants_check.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/emit/text/dialect.h"
#include "aot/emit/text/wrap.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/clause_boxes.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/entries/share_rows.h"
#include "planner/planner.h"

namespace bf_aot::build {

namespace {

MarginClauses margins_of(const PropertyCase& one) {
  MarginClauses clauses;
  for (const Clause& clause : one.clauses) {
    std::vector<MarginBound>& bounds = clauses.emplace_back();
    for (const Condition& condition : clause)
      bounds.push_back(
          {static_cast<std::size_t>(condition.row), condition.negated, condition.limit.get_d()});
  }
  return clauses;
}

// Integers evaluate a quantised network exactly, so that float32 says nothing of them.
Semantics semantics_of(const CompileOptions& options, Arithmetic arithmetic) {
  return options.float32_by_default && arithmetic == Arithmetic::kFloat ? Semantics::kFloat32
                                                                        : options.planner.semantics;
}

PropertyCounts counts_of(const Property& property) {
  PropertyCounts counts = {property.file_name, property.cases.size(), 0, property.rows.size()};
  for (const PropertyCase& one : property.cases) counts.clauses += one.clauses.size();
  return counts;
}

// NAME_decide splits maxima as ReLUs, where that holds: in real arithmetic.
bool splits_maxima(const PlannerConfig& config, Semantics semantics) {
  return config.decide && config.splits == Splits::kNeurons && semantics == Semantics::kReal;
}

FrontendForm form_of(const CompileOptions& options, Arithmetic arithmetic) {
  BF_CHECK(!options.max_as_relu || options.planner.semantics == Semantics::kReal);
  BF_CHECK((!options.fixed && !options.ordered) ||
           (!options.property && options.planner.semantics == Semantics::kReal));
  const Semantics semantics = semantics_of(options, arithmetic);
  FrontendForm form;
  form.spec = spec_of(options);
  form.fixed = options.fixed;
  form.ordered = options.ordered;
  form.semantics = options.planner.semantics;
  form.arithmetic = arithmetic;
  form.max_as_relu = options.max_as_relu || splits_maxima(options.planner, semantics);
  if (semantics == Semantics::kFloat32) form.float32 = options.float32;
  form.disabled_passes = options.disabled_passes;
  return form;
}

// Gives the network the outputs and inputs that are asked for. Throws: BF3414.
void arrange(Graph& graph, const FrontendForm& form) {
  if (form.spec) {
    check_derived(*form.spec, graph, form.semantics);
    append_derived(graph, form.spec->derived);
  }
  if (form.fixed) {
    join_inputs(graph);
    fix_inputs(graph, *form.fixed);
  }
  if (form.ordered) order_outputs(graph);
}

void normalise_to(FrontendResult& network, const FrontendForm& form,
                  const decltype(CompileOptions::after_pass)& after_pass) {
  PassOptions passes;
  passes.grids = form.arithmetic == Arithmetic::kInteger;
  // Integers compute a property's rows themselves.
  if (form.spec && !passes.grids) passes.spec = &*form.spec;
  passes.disabled = form.disabled_passes;
  passes.max_as_relu = form.max_as_relu;
  if (form.float32) check_float32(network.info);
  passes.float32 = form.float32;
  passes.own_evaluation = form.semantics == Semantics::kFloat32Exact;
  passes.loose_codes = form.semantics == Semantics::kQuantisedAny;
  passes.after_pass = after_pass;
  normalise(network.graph, passes);
}

}  // namespace

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

std::optional<LinearSpec> spec_of(const CompileOptions& options) {
  BF_CHECK(!options.spec || !options.property);
  if (options.property) return to_spec(*options.property);
  return options.spec;
}

void check_derived(const LinearSpec& spec, const Graph& graph, Semantics semantics) {
  if (spec.derived.empty()) return;
  if (graph.one_hot.size > 0)
    fail("BF3414", "sets of token ids", "a condition of the query is not linear",
         "state conditions on ids and outputs as sums");
  if (semantics == Semantics::kFloat32Exact)
    fail("BF3414", "--semantics float32-exact",
         "bounds of the verifier's own evaluation do not hold for products and maxima of exact "
         "values",
         "use --semantics real or float32");
}

FrontendResult run_frontend(const std::filesystem::path& model, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  ModelCut cut = options.cut;
  if (options.property) cut.hidden = hidden_tensors(*options.property);
  ImportedModel imported = import_model(model, {}, {}, cut);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (options.after_pass) options.after_pass("import", imported.graph, seconds.count());
  return run_frontend(FrontendResult{std::move(imported.graph), std::move(imported.info),
                                     Arithmetic::kFloat, std::move(imported.nodes)},
                      options);
}

FrontendForm frontend_form(const CompileOptions& options) {
  BF_CHECK(options.planner.arithmetic == Arithmetic::kFloat);
  return form_of(options, Arithmetic::kFloat);
}

FrontendResult run_frontend(FrontendResult imported, const FrontendForm& form,
                            const decltype(CompileOptions::after_pass)& after_pass) {
  arrange(imported.graph, form);
  imported.arithmetic = form.arithmetic;
  imported.arithmetic_reason.clear();
  normalise_to(imported, form, after_pass);
  return imported;
}

FrontendResult run_frontend(FrontendResult imported, const CompileOptions& options) {
  if (options.property) check_interface(*options.property, imported.graph);
  if (options.planner.arithmetic == Arithmetic::kFloat)
    return run_frontend(std::move(imported), frontend_form(options), options.after_pass);
  // The network is arranged before it is asked for integers, on which its other form depends.
  arrange(imported.graph, form_of(options, Arithmetic::kFloat));
  const ArithmeticChoice choice = choose_arithmetic(imported.graph, imported.info, options);
  imported.arithmetic = choice.arithmetic;
  imported.arithmetic_reason = choice.reason;
  normalise_to(imported, form_of(options, choice.arithmetic), options.after_pass);
  return imported;
}

std::string symbol_prefix(const std::filesystem::path& model, const CompileOptions& options) {
  return options.name.empty() ? identifier_from(model.stem().string()) : options.name;
}

std::shared_ptr<const Lowered> run_planner(const FrontendResult& front, const std::string& name,
                                           const CompileOptions& options) {
  PlanOptions planning = options.planning;
  planning.property = options.property ? &*options.property : nullptr;
  if (planning.samples.empty() && options.property)
    for (const PropertyCase& one : options.property->cases) {
      planning.samples.push_back(box_of_case(*options.property, one));
      planning.margins.push_back(margins_of(one));
    }
  PlannerConfig config = options.planner;
  config.arithmetic = front.arithmetic;
  config.semantics = semantics_of(options, front.arithmetic);
  const bool integer = front.arithmetic == Arithmetic::kInteger;
  if (integer) config.method = integer_method(options);
  Plan made = plan(front.graph, front.info, name, !integer && spec_of(options).has_value(), config,
                   planning);
  if (!front.arithmetic_reason.empty())
    made.rejected.insert(made.rejected.begin(),
                         {kArithmeticSlot, integer ? "float" : "integer", front.arithmetic_reason});
  return lower(std::make_shared<const Plan>(std::move(made)));
}

std::shared_ptr<const Lowered> plan_model(const std::filesystem::path& model,
                                          const CompileOptions& options) {
  if (options.property) emit::check_emittable(*options.property);
  return run_planner(run_frontend(model, options), symbol_prefix(model, options), options);
}

std::vector<emit::EmittedFile> emit(const Lowered& lowered, const std::string& stem,
                                    const CompileOptions& options) {
  expect_float_environment();
  check_language(lowered);
  const Plan& plan = lowered.plan();
  if (is_of_device(plan.config.language)) return device_files(lowered, stem);
  const Property* const property = options.property ? &*options.property : nullptr;
  emit::Instruments instruments;
  instruments.time_parts = options.time_parts;
  instruments.marks = options.marks;
  std::vector<emit::EmittedFile> files = {
      {std::string(emit::Dialect(plan.config.language).suffix()),
       emit::emit_source(lowered, stem, property, instruments)},
      {".h", emit::emit_header(plan, emit::header_bytes(plan), property)}};
  if (property != nullptr)
    if (auto file = emit::emit_property_file(plan, *property, stem))
      files.push_back(std::move(*file));
  for (emit::EmittedFile& file : emit::emit_weight_files(lowered, stem, options.marks))
    files.push_back(std::move(file));
  if (options.check_constants) emit::add_constants_check(files, plan.name);
  emit::wrap_files(files);
  return files;
}

Verifier compile(const std::filesystem::path& model, const std::string& stem,
                 const CompileOptions& options) {
  if (options.property) emit::check_emittable(*options.property);
  return compile(run_frontend(model, options), symbol_prefix(model, options), stem, options);
}

Verifier compile(const FrontendResult& front, const std::string& name, const std::string& stem,
                 const CompileOptions& options) {
  if (!options.levels.empty()) return compile_dispatched(front, name, stem, options);
  Verifier verifier;
  verifier.lowered = run_planner(front, name, options);
  check_workers(verifier.plan());
  verifier.weights_bytes = verifier.plan().weights_bytes();
  verifier.files = emit(*verifier.lowered, stem, options);
  verifier.files.insert(verifier.files.begin() + 2, {".json", {}, {}});
  if (options.property) {
    verifier.property = counts_of(*options.property);
    verifier.verify_work = verify_work(*verifier.lowered, *options.property);
  }
  return verifier;
}

}  // namespace bf_aot::build
