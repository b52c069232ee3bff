#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

// A model of input x [2] and outputs y, z if there is one.
ImportedModel import_control(const std::string& graph, const ImportLimits& limits = {}) {
  return import_model_bytes(
      test::encode_model("ir_version: 8 opset_import { version: 17 } graph { name: \"g\" " + graph +
                         " input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { "
                         "dim_value: 2 } } } } } output { name: \"y\" } }"),
      "m", {}, limits);
}

std::vector<double> values_at(const ImportedModel& model, const std::vector<double>& x) {
  return evaluate(model.graph, {x})[0];
}

std::string control_error(const std::string& graph, const ImportLimits& limits = {}) {
  try {
    import_control(graph, limits);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

std::string truth_value(const std::string& name, bool value) {
  return "initializer { name: \"" + name + "\" data_type: 9 int32_data: " + (value ? "1" : "0") +
         " } ";
}

std::string trip_count(const std::string& name, int value) {
  return "initializer { name: \"" + name + "\" data_type: 7 int64_data: " + std::to_string(value) +
         " } ";
}

const std::string kBranches = R"(
    attribute { name: "then_branch" type: GRAPH g { output { name: "t" }
      node { op_type: "Neg" input: "x" output: "t" } } }
    attribute { name: "else_branch" type: GRAPH g { output { name: "e" }
      initializer { name: "two" data_type: 1 float_data: 2 }
      node { op_type: "Mul" input: "x" input: "two" output: "e" } } })";

TEST(ImportControl, AConditionThatIsKnownChooses) {
  for (const bool condition : {true, false}) {
    const ImportedModel model =
        import_control(truth_value("c", condition) +
                       R"(node { op_type: "If" input: "c" output: "y" )" + kBranches + "}");
    EXPECT_EQ(values_at(model, {1, -3}),
              (condition ? std::vector<double>{-1, 3} : std::vector<double>{2, -6}));
    EXPECT_EQ(model.graph.nodes.back().origin.nodes, (std::vector<std::int32_t>{0}));
  }
}

// x_0 > 0 ? -x : 2 x
TEST(ImportControl, AComputedConditionJoinsBothBranches) {
  const ImportedModel model = import_control(R"(
      initializer { name: "zero" dims: 1 data_type: 7 int64_data: 0 }
      initializer { name: "none" data_type: 1 float_data: 0 }
      node { op_type: "Gather" input: "x" input: "zero" output: "first" }
      node { op_type: "Greater" input: "first" input: "none" output: "c" }
      node { op_type: "If" input: "c" output: "y" )" +
                                             kBranches + "}");
  EXPECT_EQ(values_at(model, {1, -3}), (std::vector<double>{-1, 3}));
  EXPECT_EQ(values_at(model, {-1, -3}), (std::vector<double>{-2, -6}));
}

// s <- -(s + i) for i = 0, 1, .. while i < 2; what is scanned is s + i.
std::string loop_node(const std::string& inputs, const std::string& outputs) {
  return R"(initializer { name: "last" data_type: 7 int64_data: 2 }
      node { op_type: "Loop" name: "l" )" +
         inputs + outputs + R"(
        attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "s" }
          output { name: "goes" } output { name: "next" } output { name: "sum" }
          node { op_type: "Less" input: "i" input: "last" output: "goes" }
          node { op_type: "Cast" input: "i" output: "real" attribute { name: "to" type: INT i: 1 } }
          node { op_type: "Add" input: "s" input: "real" output: "sum" }
          node { op_type: "Neg" input: "sum" output: "next" } } } })";
}

TEST(ImportControl, LoopsRunAsOftenAsTheyAreTold) {
  const auto last = [](int trips) {
    return values_at(
        import_control(trip_count("n", trips) +
                       loop_node(R"(input: "n" input: "" input: "x" )", R"(output: "y" )")),
        {10, 20});
  };
  EXPECT_EQ(last(0), (std::vector<double>{10, 20}));
  EXPECT_EQ(last(1), (std::vector<double>{-10, -20}));
  EXPECT_EQ(last(2), (std::vector<double>{9, 19}));
  EXPECT_EQ(last(3), (std::vector<double>{-11, -21}));
  EXPECT_EQ(last(100), (std::vector<double>{-11, -21}));  // the condition ends it
}

TEST(ImportControl, LoopsEndByTheirCondition) {
  const std::string inputs = R"(input: "" input: "c" input: "x" )";
  EXPECT_EQ(values_at(import_control(truth_value("c", true) + loop_node(inputs, R"(output: "y" )")),
                      {10, 20}),
            (std::vector<double>{-11, -21}));
  EXPECT_EQ(
      values_at(import_control(truth_value("c", false) + loop_node(inputs, R"(output: "y" )")),
                {10, 20}),
      (std::vector<double>{10, 20}));
}

TEST(ImportControl, LoopsStackWhatTheyScan) {
  const ImportedModel model =
      import_control(trip_count("n", 3) + loop_node(R"(input: "n" input: "" input: "x" )",
                                                    R"(output: "" output: "y" )"));
  EXPECT_EQ(model.graph.value(model.graph.outputs[0]).shape, (Shape{3, 2}));
  EXPECT_EQ(values_at(model, {10, 20}), (std::vector<double>{10, 20, -9, -19, 11, 21}));
}

// What a body computes from constants alone is one set of nodes, however many steps there are.
TEST(ImportControl, WhatStepsShareIsMadeOnce) {
  const auto nodes = [](int trips) {
    return import_control(trip_count("n", trips) +
                          R"(node { op_type: "Loop" input: "n" input: "" input: "x"
        output: "y" attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "s" }
          output { name: "go" } output { name: "next" }
          initializer { name: "w" dims: 2 dims: 2 data_type: 1 float_data: [1, 2, 3, 4] }
          node { op_type: "Exp" input: "w" output: "e" }
          node { op_type: "MatMul" input: "s" input: "e" output: "next" } } } })")
        .graph.nodes.size();
  };
  EXPECT_EQ(nodes(7) - nodes(6), 1u);
}

// Fibonacci of the innermost: loops within loops, and reads from two scopes around.
TEST(ImportControl, LoopsNest) {
  const ImportedModel model = import_control(trip_count("n", 2) + trip_count("m", 3) + R"(
      node { op_type: "Loop" input: "n" input: "" input: "x" output: "y"
        attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "s" }
          output { name: "go" } output { name: "next" }
          node { op_type: "Loop" input: "m" input: "go" input: "s" output: "next"
            attribute { name: "body" type: GRAPH g {
              input { name: "i" } input { name: "go" } input { name: "t" }
              output { name: "go" } output { name: "u" }
              node { op_type: "Add" input: "t" input: "s" output: "v" }
              node { op_type: "Add" input: "v" input: "x" output: "u" } } } } } } })");
  // s <- s + 3 (s + x), twice, from s = x: 7 x, then 31 x.
  EXPECT_EQ(values_at(model, {1, -2}), (std::vector<double>{31, -62}));
}

TEST(ImportControl, ScansGoBothWays) {
  const auto scan = [](const std::string& attributes) {
    return values_at(import_control(R"(
        initializer { name: "start" data_type: 1 float_data: 1 }
        node { op_type: "Scan" input: "start" input: "x" output: "last" output: "y"
          attribute { name: "num_scan_inputs" type: INT i: 1 } )" +
                                    attributes + R"(
          attribute { name: "body" type: GRAPH g {
            input { name: "s" } input { name: "e" } output { name: "d" } output { name: "d2" }
            node { op_type: "Sub" input: "e" input: "s" output: "d" }
            node { op_type: "Identity" input: "d" output: "d2" } } } })"),
                     {10, 20});
  };
  EXPECT_EQ(scan(""), (std::vector<double>{9, 11}));
  EXPECT_EQ(scan(R"(attribute { name: "scan_input_directions" type: INTS ints: 1 })"),
            (std::vector<double>{19, -9}));
  EXPECT_EQ(scan(R"(attribute { name: "scan_output_directions" type: INTS ints: 1 })"),
            (std::vector<double>{11, 9}));
}

// The node may name fewer outputs than there are states.
TEST(ImportControl, ScansMayLeaveOutStates) {
  for (const char* opset : {"8", "9"}) {
    SCOPED_TRACE(opset);
    const std::string batch = std::string(opset) == "8" ? R"(input: "")" : "";
    const std::string text = R"(ir_version: 8 opset_import { version: )" + std::string(opset) +
                             R"( } graph { name: "g"
        input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 }
                                                                    dim { dim_value: 2 } } } } }
        initializer { name: "start" dims: 1 data_type: 1 float_data: 1 }
        node { op_type: "Scan" )" +
                             batch + R"( input: "start" input: "start" input: "x"
          output: "y" attribute { name: "num_scan_inputs" type: INT i: 1 }
          attribute { name: "body" type: GRAPH g {
            input { name: "s" } input { name: "t" } input { name: "e" }
            output { name: "d" } output { name: "d2" }
            node { op_type: "Add" input: "s" input: "s" output: "d" }
            node { op_type: "Add" input: "t" input: "t" output: "d2" } } } }
        output { name: "y" } })";
    const ImportedModel model = import_model_bytes(test::encode_model(text), "m", {});
    const double steps = std::string(opset) == "8" ? 2 : 1;
    EXPECT_EQ(evaluate(model.graph, {{10, 20}})[0], (std::vector<double>{std::exp2(steps)}));
  }
}

TEST(ImportControl, StepsAreLimited) {
  const std::string endless =
      truth_value("c", true) + R"(node { op_type: "Loop" name: "l" input: "" input: "c"
      input: "x" output: "y" attribute { name: "body" type: GRAPH g {
        input { name: "i" } input { name: "go" } input { name: "s" }
        output { name: "go" } output { name: "s" } } } })";
  EXPECT_NE(control_error(endless).find(
                "BF1005: Loop 'l' (node 0): branches and steps of loops make over "
                "65536 nodes"),
            std::string::npos);
  ImportLimits limits;
  limits.nodes = 11;
  EXPECT_EQ(control_error(trip_count("n", 2) +
                              loop_node(R"(input: "n" input: "" input: "x" )", R"(output: "y" )"),
                          limits),
            "");
  EXPECT_NE(control_error(trip_count("n", 3) +
                              loop_node(R"(input: "n" input: "" input: "x" )", R"(output: "y" )"),
                          limits),
            "");
}

// What PyTorch writes for chunk(): parts of equal lengths, of which two change places.
TEST(ImportControl, SequencesAreTakenApart) {
  const auto swapped = [](const std::string& attributes, const std::string& length) {
    return values_at(import_control(R"(
        initializer { name: "zero" data_type: 7 int64_data: 0 }
        initializer { name: "two" data_type: 7 int64_data: 2 }
        initializer { name: "last" data_type: 7 int64_data: -1 }
        node { op_type: "SplitToSequence" input: "x" )" +
                                    length + R"( output: "parts" }
        node { op_type: "SequenceAt" input: "parts" input: "zero" output: "a" }
        node { op_type: "SequenceAt" input: "parts" input: "last" output: "b" }
        node { op_type: "SequenceConstruct" input: "b" input: "a" output: "turned" }
        node { op_type: "ConcatFromSequence" input: "turned" output: "y" )" +
                                    attributes + "}"),
                     {10, 20});
  };
  const std::string axis = R"(attribute { name: "axis" type: INT i: 0 })";
  EXPECT_EQ(swapped(axis, ""), (std::vector<double>{20, 10}));
  EXPECT_EQ(swapped(axis + R"(attribute { name: "new_axis" type: INT i: 1 })", ""),
            (std::vector<double>{20, 10}));
  // One part of two elements: it comes twice.
  EXPECT_EQ(swapped(axis, R"(input: "two")"), (std::vector<double>{10, 20, 10, 20}));
}

}  // namespace
}  // namespace bf_aot
