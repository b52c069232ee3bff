#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/system/files.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/entries/keep_coefficients.h"
#include "runtime/bf.h"
#include "tests/support/engine_functions.h"
#include "tests/support/model_text.h"
#include "tests/support/property_text.h"

// Verifiers with NAME_decide, compiled and loaded or run by the engine.
namespace bf_aot::decide {

using Floats = std::vector<float>;

// A network and its property, exactly.
struct Question {
  std::filesystem::path model;
  Property property;

  Question(std::filesystem::path file, Property asked)
      : model(std::move(file)),
        property(std::move(asked)),
        graph_(import_model(model.string()).graph) {}

  bool is_violated_at(const std::vector<double>& x) const {
    return test::violates(property, x, evaluate_exact(graph_, {x})[0]);
  }

  // The property's rows at a point.
  std::vector<mpq_class> rows_at(const std::vector<double>& x) const {
    const auto y = evaluate_exact(graph_, {x})[0];
    std::vector<mpq_class> rows;
    for (const PropertyRow& row : property.rows)
      rows.push_back(test::value_of(row, {x.begin(), x.end()}, y));
    return rows;
  }

 private:
  Graph graph_;
};

// What a call of NAME_decide left.
struct Decided {
  bf_status status = BF_OK;
  bf_result result = {BF_UNKNOWN, 77, 77, nullptr};
  bf_search search = {77, 77, 77, 77, 77};
  Floats point;  // the counterexample, or kUntouched
};

constexpr float kUntouched = -12345.5F;

class Decider {
 public:
  using Decide = bf_status(const float*, const float*, const bf_budget*, bf_result*, bf_search*,
                           void*, std::size_t);
  using Change = std::function<void(build::CompileOptions&)>;

  // Method crown for the generic target, but for what `change` says. The engine's are for this
  // machine.
  explicit Decider(
      const Question& question, const Change& change = [](build::CompileOptions&) {},
      By by = By::kCompiler)
      : inputs_(static_cast<std::size_t>(question.property.input_count)) {
    build::CompileOptions options;
    options.name = "net";
    options.planner.method = Method::kCrown;
    options.planner.lowering = Lowering::kGeneric;
    options.planner.target = find_target("generic");
    options.planner.decide = true;
    options.property = question.property;
    change(options);
    if (by == By::kEngine) {
      engine_ = std::make_unique<EngineFunctions>(question.model, options);
      decide = std::bind_front(&EngineFunctions::decide, engine_.get());
      const Plan& plan = engine_->plan();
      for (const ExportedFunction& each : plan.functions)
        if (each.signature.purpose == Purpose::kDecide)
          workspace_bytes = static_cast<std::size_t>(each.workspace.bytes);
      open_box_bytes = static_cast<std::size_t>(plan.decide.open_box_bytes);
      describe(plan);
      return;
    }
    build::Verifier verifier = build::compile(question.model, "v", options);
    for (emit::EmittedFile& file : verifier.files) {
      if (file.suffix == ".cpp")
        file.bytes +=
            "extern \"C\" size_t net_sizes(int which) {\n"
            "  return which == 0 ? NET_DECIDE_WORKSPACE_BYTES : NET_OPEN_BOX_BYTES;\n}\n";
      system::write_file(folder_.path() / ("v" + file.suffix), file.bytes);
    }
    const build::CompilerOptions warnings{
        "", {"-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"}};
    build::build_shared(build::find_toolchain(warnings, options.planner.target), folder_.path(),
                        "v", verifier.files);
    library_ = dlopen((folder_.path() / "v.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    decide = reinterpret_cast<Decide*>(symbol("net_decide"));
    const auto sizes = reinterpret_cast<std::size_t (*)(int)>(symbol("net_sizes"));
    workspace_bytes = sizes(0);
    open_box_bytes = sizes(1);
    describe(verifier.plan());
  }
  ~Decider() {
    if (library_ != nullptr) dlclose(library_);
  }
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  // With room for `more` boxes than the least workspace has, whose surroundings stay as they are.
  Decided run(const Floats& lower, const Floats& upper, const bf_budget* budget = nullptr,
              std::size_t more = 0) {
    Decided d;
    d.point.assign(inputs_, kUntouched);
    d.result.counterexample = d.point.data();
    const std::size_t bytes = workspace_bytes + more * open_box_bytes;
    d.status = decide(lower.data(), upper.data(), budget, &d.result, &d.search, workspace, bytes);
    EXPECT_TRUE(is_clean_around(bytes)) << "written outside of the workspace";
    return d;
  }

  // Whether nothing but the workspace of so many bytes has been written; cleans it.
  bool is_clean_around(std::size_t bytes) {
    std::fill(workspace, workspace + bytes, kCanary);
    return std::all_of(memory_.begin(), memory_.end(),
                       [](unsigned char b) { return b == kCanary; });
  }

  std::function<Decide> decide;
  std::size_t workspace_bytes = 0, open_box_bytes = 0;
  unsigned char* workspace = nullptr;
  Floats split_weights;
  bool keeps = false;  // coefficients of the rows

  const EngineFunctions* engine() const { return engine_.get(); }  // null: it is compiled
  void* symbol(const char* name) {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("no symbol ") + name);
    return found;
  }

 private:
  static constexpr std::size_t kGuard = 256, kMostMore = 4096;
  static constexpr unsigned char kCanary = 0xA5;

  void describe(const Plan& plan) {
    memory_.resize(kGuard + workspace_bytes + kMostMore * open_box_bytes + kGuard, kCanary);
    workspace = memory_.data() + kGuard - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64;
    split_weights = plan.split_weights;
    keeps = keeps_coefficients(plan);
  }

  std::size_t inputs_;
  test::TempFolder folder_;
  void* library_ = nullptr;
  std::unique_ptr<EngineFunctions> engine_;
  std::vector<unsigned char> memory_;
};

}  // namespace bf_aot::decide
