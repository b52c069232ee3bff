#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "frontend/import/file/importer.h"
#include "tests/paths.h"

namespace bf_aot::build {
namespace {

using Change = std::pair<std::string, std::function<void(CompileOptions&)>>;

FrontendResult imported(const std::string& model) {
  ImportedModel read = import_model(std::string(BF_SOURCE_DIR "/models/") + model, {}, {}, {});
  return {std::move(read.graph), std::move(read.info)};
}

// A decision about real numbers, of the differences of the first two outputs.
CompileOptions options_of(const Graph& graph) {
  CompileOptions options;
  const auto outputs = static_cast<std::size_t>(element_count(graph.value(graph.outputs[0]).shape));
  LinearSpec& spec = options.spec.emplace();
  spec.rows.emplace_back(outputs, 0.0)[0] = 1;
  spec.rows[0][1] = -1;
  return options;
}

Graph normal_of(const std::string& model, const CompileOptions& options) {
  return run_frontend(imported(model), options).graph;
}

// Options that plans alone depend on.
const std::vector<Change> kOfPlans = {
    {"method", [](CompileOptions& o) { o.planner.method = Method::kIbp; }},
    {"alpha",
     [](CompileOptions& o) {
       o.planner.method = Method::kAlphaCrown;
       o.planner.alpha = AlphaRows::kAll;
     }},
    {"iterations", [](CompileOptions& o) { o.planner.iterations = 7; }},
    {"decide", [](CompileOptions& o) { o.planner.decide = true; }},
    {"workers", [](CompileOptions& o) { o.planner.workers = 4; }},
    {"batch", [](CompileOptions& o) { o.planner.batch = 64; }},
    {"norm", [](CompileOptions& o) { o.planner.norm = Norm::kEuclid; }},
    {"row tile", [](CompileOptions& o) { o.planner.row_tile = 8; }},
    {"memory budget", [](CompileOptions& o) { o.planner.memory_budget = 1 << 20; }},
    {"name", [](CompileOptions& o) { o.name = "other"; }},
};

// Options by which some network has another normal form.
const std::vector<Change> kOfNetworks = {
    {"spec", [](CompileOptions& o) { o.spec->rows[0][0] = 2; }},
    {"no spec", [](CompileOptions& o) { o.spec.reset(); }},
    {"fixed",
     [](CompileOptions& o) {
       o.fixed = FixedInputs{{0}, {0, 0.5, 0.5, 0.5, 0.5}, {0, 0, 0, 0, 0}};
     }},
    {"float32", [](CompileOptions& o) { o.planner.semantics = Semantics::kFloat32; }},
    {"float32, flushed",
     [](CompileOptions& o) {
       o.planner.semantics = Semantics::kFloat32;
       o.float32.flush = true;
     }},
    {"float32-exact", [](CompileOptions& o) { o.planner.semantics = Semantics::kFloat32Exact; }},
};

TEST(FrontendForm, OptionsOfPlansLeaveTheNetwork) {
  const std::string model = "collision_avoidance_6x50.onnx";
  const CompileOptions usual = options_of(imported(model).graph);
  const Graph graph = normal_of(model, usual);
  for (const auto& [name, change] : kOfPlans) {
    CompileOptions changed = usual;
    change(changed);
    EXPECT_EQ(frontend_form(changed), frontend_form(usual)) << name;
    EXPECT_EQ(normal_of(model, changed), graph) << name;
  }
}

TEST(FrontendForm, HoldsAllThatTheNetworkDependsOn) {
  const std::string model = "collision_avoidance_6x50.onnx";
  const CompileOptions usual = options_of(imported(model).graph);
  const Graph graph = normal_of(model, usual);
  for (const auto& [name, change] : kOfNetworks) {
    CompileOptions changed = usual;
    change(changed);
    EXPECT_NE(normal_of(model, changed), graph) << name << " changes nothing: it tests nothing";
    EXPECT_NE(frontend_form(changed), frontend_form(usual)) << name;
  }
}

TEST(FrontendForm, HoldsWhatFewNetworksDependOn) {
  CompileOptions usual;
  const FrontendForm form = frontend_form(usual);
  CompileOptions changed = usual;
  changed.ordered = true;
  EXPECT_NE(frontend_form(changed), form);
  changed = usual;
  changed.disabled_passes = {"merge-affine"};
  EXPECT_NE(frontend_form(changed), form);
  changed = usual;
  changed.max_as_relu = true;
  EXPECT_NE(frontend_form(changed), form);
  // NAME_decide that splits neurons has maxima as ReLUs, too.
  changed = usual;
  changed.planner.decide = true;
  changed.planner.splits = Splits::kNeurons;
  EXPECT_NE(frontend_form(changed), form);
  changed = usual;
  changed.planner.semantics = Semantics::kQuantisedAny;
  EXPECT_NE(frontend_form(changed), form);
  usual.planner.semantics = Semantics::kFloat32;
  changed = usual;
  changed.float32.libm_ulps = 1;
  EXPECT_NE(frontend_form(changed), frontend_form(usual));
}

TEST(FrontendForm, AFormMakesWhatOptionsMake) {
  for (const std::string model : {"collision_avoidance_6x50.onnx", "tiny.onnx"}) {
    CompileOptions options = options_of(imported(model).graph);
    for (const auto& [name, change] : kOfNetworks) {
      if (model == "tiny.onnx" && name == "fixed") continue;
      CompileOptions changed = options;
      change(changed);
      const FrontendResult made = run_frontend(imported(model), frontend_form(changed), {});
      EXPECT_EQ(made.graph, normal_of(model, changed)) << model << ", " << name;
    }
  }
}

}  // namespace
}  // namespace bf_aot::build
