#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "aot/reach/question/question_file.h"
#include "frontend/diagnostic.h"
#include "tests/paths.h"
#include "tests/seed.h"
#include "tests/support/error_cases.h"
#include "tests/support/model_text.h"

namespace bf_aot::reach {
namespace {

std::string value(const char* role, const char* name, int size) {
  return fmt::format(
      "{} {{ name: \"{}\" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 1 }} dim "
      "{{ dim_value: {} }} }} }} }} }}\n",
      role, name, size);
}

std::string network(const std::string& body) {
  return test::encode_model("ir_version: 8 opset_import { version: 13 } graph { name: \"g\"\n" +
                            body + "}");
}

std::string matrix(const char* name, int rows, int columns) {
  std::string made = fmt::format("initializer {{ dims: {} dims: {} data_type: 1 name: \"{}\"", rows,
                                 columns, name);
  for (int i = 0; i < rows * columns; ++i) made += " float_data: 0.5";
  return made + " }\n";
}

// A network y = x W.
std::string linear(int inputs, int outputs) {
  return network("node { op_type: \"MatMul\" input: \"x\" input: \"W\" output: \"y\" }\n" +
                 matrix("W", inputs, outputs) + value("input", "x", inputs) +
                 value("output", "y", outputs));
}

// dx = x A + u B + w C.
std::string plant(bool disturbed) {
  return network(
      "node { op_type: \"MatMul\" input: \"x\" input: \"A\" output: \"ax\" }\n"
      "node { op_type: \"MatMul\" input: \"u\" input: \"B\" output: \"bu\" }\n"
      "node { op_type: \"Add\" input: \"ax\" input: \"bu\" output: \"" +
      std::string(disturbed ? "s" : "dx") + "\" }\n" +
      (disturbed ? "node { op_type: \"MatMul\" input: \"w\" input: \"C\" output: \"cw\" }\n"
                   "node { op_type: \"Add\" input: \"s\" input: \"cw\" output: \"dx\" }\n" +
                       matrix("C", 3, 2)
                 : "") +
      matrix("A", 2, 2) + matrix("B", 1, 2) + value("input", "x", 2) + value("input", "u", 1) +
      (disturbed ? value("input", "w", 3) : "") + value("output", "dx", 2));
}

class ReachQuestion : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new test::TempFolder;
    write("c.onnx", linear(2, 1));
    write("c3.onnx", linear(3, 1));
    write("c22.onnx", linear(2, 2));
    write("o.onnx", linear(2, 3));
    write("step.onnx", linear(2, 2));
    write("less.onnx", linear(3, 2));
    write("f.onnx", plant(false));
    write("fw.onnx", plant(true));
    write("two.onnx",
          network("node { op_type: \"Relu\" input: \"x\" output: \"y\" }\n"
                  "node { op_type: \"Tanh\" input: \"x\" output: \"z\" }\n" +
                  value("input", "x", 2) + value("output", "y", 2) + value("output", "z", 2)));
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }
  static void write(const char* name, const std::string& bytes) {
    test::write_bytes(folder->path() / name, bytes);
  }

  // The question {"plant": ..} of these keys.
  static Question read(const std::string& keys) {
    return make_question(parse_question("{" + keys + "}", "reach.json", folder->path()));
  }
  static std::string error_of(const std::string& keys) {
    try {
      read(keys);
    } catch (const CompileError& error) {
      return error.what();
    }
    return "";
  }

  static test::TempFolder* folder;
};

test::TempFolder* ReachQuestion::folder = nullptr;

const std::string kBox = R"q("initial": {"lower": [0, 0.1], "upper": [1, 0.2]})q";
const std::string kLoop =
    R"q("controller": "c.onnx", "plant": "f.onnx", "period": 0.1, "steps": 5, )q" + kBox;
const std::string kStep = R"q("plant": "step.onnx", "kind": "discrete", "steps": 5, )q" + kBox;

TEST_F(ReachQuestion, ALoop) {
  const Question made = read(kLoop + R"q(, "state_names": ["h", "v"], "requirements": [
    {"always": "(<= h 2)"}, {"never": "(<= x[1] 2)"}, {"at": "end", "holds": "(<= u[0] 2)"},
    {"within": ["1/3", 0.4], "holds": "(<= x0[1] 2)"}])q");
  const Loop& loop = made.loop;
  EXPECT_EQ(loop.states(), 2u);
  EXPECT_EQ(loop.period, mpq_class(1, 10));
  EXPECT_EQ(loop.kind, PlantKind::kContinuous);
  EXPECT_EQ(loop.substeps, 0u);
  EXPECT_TRUE(loop.controller);
  // 0.1 is no double: the box encloses it.
  EXPECT_LT(mpq_class(loop.initial.lower[1]), mpq_class(1, 10));
  EXPECT_GT(mpq_class(loop.initial.upper[1]), mpq_class(1, 5));
  ASSERT_EQ(made.requirements.size(), 4u);
  EXPECT_EQ(made.requirements[0].to, mpq_class(1, 2));
  EXPECT_TRUE(made.requirements[1].must.formula.strict);
  EXPECT_EQ(made.requirements[1].text, "never (<= x[1] 2)");
  EXPECT_EQ(made.requirements[2].from, mpq_class(1, 2));
  EXPECT_EQ(made.requirements[2].text, "at end (<= u[0] 2)");
  EXPECT_EQ(made.requirements[3].from, mpq_class(1, 3));
  EXPECT_EQ(made.requirements[3].text, "within [1/3, 0.4] (<= x0[1] 2)");
}

TEST_F(ReachQuestion, StartsLieInTheTypedBox) {
  const Loop loop = read(R"q("plant": "step.onnx", "kind": "discrete", "steps": 5,
               "initial": {"lower": [0.1, 0.2], "upper": [0.1, 0.5]})q")
                        .loop;
  const double above = loop.initial.upper[0];
  // [0.1, 0.1] has no double: all of the enclosure stands for it.
  EXPECT_EQ(typed_value(loop.initial, loop.inner, 0, above), (Range{loop.initial.lower[0], above}));
  const Range low = typed_value(loop.initial, loop.inner, 1, loop.initial.lower[1]);
  EXPECT_EQ(low.low, low.high);
  EXPECT_GE(mpq_class(low.low), mpq_class(1, 5));
  EXPECT_EQ(typed_value(loop.initial, loop.inner, 1, 0.5), (Range{0.5, 0.5}));
}

TEST_F(ReachQuestion, DiscreteAndEulerPlantsHaveSteps) {
  EXPECT_EQ(read(kStep).loop.substeps, 1u);
  EXPECT_EQ(read(kStep + R"q(, "period": 3)q").loop.substeps, 3u);
  EXPECT_EQ(read(kLoop + R"q(, "kind": "euler")q").loop.substeps, 1u);
  EXPECT_EQ(read(kLoop + R"q(, "kind": "euler", "substeps": 4)q").loop.substeps, 4u);
  EXPECT_EQ(
      read(kStep + R"q(, "requirements": [{"at": 3, "holds": "true"}])q").requirements[0].from, 3);
}

TEST_F(ReachQuestion, DisturbancesAreInThePlantsOrder) {
  const Question made = read(R"q("controller": "c3.onnx", "observer": "o.onnx", "plant": "fw.onnx",
    "period": "1/3", "steps": 5, "delayed": true, "first_control": [0.1], "disturbances": {"w":
    {"lower": [0, 0, 0], "upper": [1, 1, 1], "constant": true}}, )q" +
                             kBox);
  ASSERT_EQ(made.loop.disturbances.size(), 1u);
  EXPECT_TRUE(made.loop.disturbances[0].is_constant());
  EXPECT_EQ(made.loop.disturbances[0].box.upper.size(), 3u);
  EXPECT_EQ(made.loop.period, mpq_class(1, 3));
  ASSERT_EQ(made.loop.first_control.size(), 1u);
  const Bounded first = made.loop.first_control[0];
  EXPECT_LE(abs(mpq_class(first.value) - mpq_class(1, 10)), mpq_class(first.error));
  EXPECT_LT(first.error, 1e-16);
}

std::string requirement(const std::string& text) {
  return kLoop + R"q(, "kind": "euler", "requirements": [)q" + text + "]";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<std::pair<std::string, std::string>> bad_questions() {
  return {
      {"", "BF3004: reach.json: key 'plant' is missing"},
      {kLoop + R"q(, "box": 1)q", "BF3005: reach.json: unknown key 'box'"},
      {kLoop + R"q(, "plant": "f.onnx")q", "BF3005: reach.json: key 'plant' appears twice"},
      {kLoop + R"q(, "kind": "sampled")q", "BF3004: reach.json: kind: 'sampled' is no kind"},
      {kLoop + R"q(, "kind": 1)q", "BF3004: reach.json: kind: expected a string"},
      {kLoop + R"q(, "delayed": 1)q", "BF3004: reach.json: delayed: expected true or false"},
      {kLoop + R"q(, "substeps": 1.5)q", "BF3004: reach.json: substeps: 1.5 is no whole number"},
      {replaced(kLoop, "f.onnx", "none.onnx"), "BF1001"},
      {replaced(kLoop, "[0, 0.1]", "[2, 0.1]"), "BF3008: reach.json: initial: lower[0] is 2"},
      {replaced(kLoop, "[0, 0.1]", "[null, 0.1]"), "BF3004: reach.json: initial.lower[0]"},
      {replaced(kLoop, "[0, 0.1]", "[0]"), "BF3006: reach.json: initial: lower has 1 numbers"},
      {replaced(kLoop, "[0, 0.1]", "[0, -1e999]"), "BF3007: reach.json: a number is too large"},
      {replaced(kLoop, "[1, 0.2]", "[1, 1.7976931348623158e308]"), "BF3007: reach.json: initial"},
      {replaced(kLoop, "[0, 0.1], \"upper\": [1, 0.2]", "[0], \"upper\": [1]"),
       "BF3601: reach.json: initial: the box has 1 intervals, but the state has 2 elements"},
      {replaced(kLoop, "f.onnx", "step.onnx"), "BF3601: step.onnx: the plant has one input"},
      {replaced(kStep, "step.onnx", "two.onnx"), "BF3601: two.onnx: the plant has 2 outputs"},
      {replaced(kStep, "step.onnx", "less.onnx"),
       "BF3601: less.onnx: the state has 3 elements, the output for the next state 2: no output "
       "feeds x[2]"},
      {replaced(kStep, "step.onnx", "o.onnx"),
       "BF3601: o.onnx: the state has 2 elements, the output for the next state 3"},
      {replaced(kLoop, "c.onnx", "c3.onnx"),
       "BF3601: c3.onnx: the controller reads 3 numbers, but the state has 2"},
      {replaced(kLoop, "c.onnx", "c22.onnx"),
       "BF3601: c22.onnx: the controller's output has 2 elements, but the plant's second input"},
      {replaced(kLoop, "c.onnx", "two.onnx"),
       "BF3601: two.onnx: the controller has 1 inputs and 2 outputs"},
      {kLoop + R"q(, "observer": "o.onnx")q",
       "BF3601: c.onnx: the controller reads 2 numbers, but the observer's output has 3"},
      {kLoop + R"q(, "state_names": ["h"])q", "BF3601: reach.json: state_names: there are 1 names"},
      {replaced(kLoop, "f.onnx", "fw.onnx"),
       "BF3602: reach.json: disturbances: the plant's input 'w' has no box"},
      {kLoop + R"q(, "disturbances": {"v": {"lower": [0], "upper": [1]}})q",
       "BF3602: reach.json: disturbances.v: 'v' is no further input"},
      {replaced(kLoop, "f.onnx", "fw.onnx") +
           R"q(, "disturbances": {"w": {"lower": [0], "upper": [1]}})q",
       "BF3601: reach.json: disturbances.w: the box has 1 intervals, but the input w has 3"},
      {replaced(kLoop, "\"period\": 0.1,", ""), "BF3603: reach.json: period: there is no period"},
      {replaced(kLoop, "0.1,", "0,"), "BF3603: reach.json: period: the period is 0"},
      {replaced(kLoop, "0.1,", "\"1/0\","), "BF3603: reach.json: period: '1/0' is no time"},
      {kStep + R"q(, "period": 1.5)q", "BF3603: reach.json: period: the period is 1.5 steps"},
      {kStep + R"q(, "period": 2, "substeps": 3)q", "BF3603: reach.json: substeps: there are 3"},
      {replaced(kLoop, "5,", "0,"), "BF3603: reach.json: steps: the number of periods"},
      {replaced(kLoop, "5,", "1000001,"), "BF3603: reach.json: steps: the number of periods"},
      {kLoop + R"q(, "substeps": 1000001)q", "BF3603: reach.json: substeps: the number of steps"},
      {kStep + R"q(, "observer": "o.onnx")q", "BF3604: reach.json: observer"},
      {kStep + R"q(, "delayed": true)q", "BF3604: reach.json: delayed: the control is delayed"},
      {kLoop + R"q(, "delayed": true)q",
       "BF3604: reach.json: first_control: the first control has"},
      {kLoop + R"q(, "first_control": [1])q",
       "BF3604: reach.json: first_control: there is a first"},
      {requirement(R"q({"always": "true", "never": "true"})q"),
       "BF3605: reach.json: requirements[0]: this is not one requirement"},
      {requirement(R"q({"at": 1})q"), "BF3605: reach.json: requirements[0]: this is not one"},
      {requirement("{}"), "BF3605: reach.json: requirements[0]: this is not one"},
      {requirement(R"q({"always": "true", "to": 3})q"), "BF3005: reach.json: requirements[0]"},
      {requirement(R"q({"at": "soon", "holds": "true"})q"),
       "BF3605: reach.json: requirements[0]: 'soon' is no time"},
      {requirement(R"q({"at": 0.6, "holds": "true"})q"),
       "BF3605: reach.json: requirements[0]: the window from 0.6 to 0.6 is not within the horizon, "
       "0 to 0.5"},
      {requirement(R"q({"at": -0.1, "holds": "true"})q"), "BF3605: reach.json: requirements[0]"},
      {requirement(R"q({"at": 0.25, "holds": "true"})q"),
       "BF3605: reach.json: requirements[0]: no step ends from 0.25 to 0.25"},
      {requirement(R"q({"within": [0.4, 0.3], "holds": "true"})q"),
       "BF3605: reach.json: requirements[0]: the window begins at 0.4, behind its end at 0.3"},
      {requirement(R"q({"within": [0.4], "holds": "true"})q"),
       "BF3605: reach.json: requirements[0].within: a window has two ends"},
      {kLoop + R"q(, "state_names": ["h", "h"])q", "BF3606: reach.json: state_names: the name 'h'"},
      {kLoop + R"q(, "state_names": ["h", "1"])q",
       "BF3606: reach.json: state_names: '1' is no name"},
      {kLoop + R"q(, "state_names": ["h", "a b"])q", "BF3606: reach.json: state_names: 'a b'"},
      {requirement(R"q({"always": "(<= x[0]"})q"), "BF3610: reach.json: requirements[0]:1:9"},
      {requirement(R"q({"always": "(<= x[2] 1)"})q"), "BF3611: reach.json: requirements[0]:1:5"},
  };
}

TEST_F(ReachQuestion, WhatDoesNotFitIsRefused) {
  std::set<std::string> met;
  for (const auto& [keys, message] : bad_questions()) {
    const std::string error = error_of(keys);
    EXPECT_NE(error.find(message), std::string::npos) << keys << "\n" << error;
    met.insert(message.substr(0, 6));
  }
  const std::set<std::string> listed =
      test::find_codes(test::read_bytes(BF_SOURCE_DIR "/docs/reference/diagnostics.md"),
                       "\\| (BF36(?:0\\d|1[01])) \\|");
  EXPECT_EQ(listed.size(), 8u);
  for (const std::string& code : listed) EXPECT_TRUE(met.contains(code)) << code;
}

TEST_F(ReachQuestion, OptionsAreNamedAsTyped) {
  QuestionText text = parse_question("{" + kLoop + "}", "", folder->path());
  text.first_control = {{1, 0}};
  try {
    make_question(text);
    ADD_FAILURE();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics()[0].where, "--first-control");
  }
}

TEST_F(ReachQuestion, FilesFindTheirNetworks) {
  test::write_bytes(folder->path() / "reach.json", "{" + kLoop + "}");
  EXPECT_EQ(make_question(read_question(folder->path() / "reach.json")).loop.states(), 2u);
}

TEST_F(ReachQuestion, DamagedFilesAreRefused) {
  const std::string good = "{" + kLoop + R"q(, "kind": "euler", "substeps": 2, "state_names":
    ["h", "v"], "requirements": [{"always": "(<= h 2)"}, {"at": "end", "holds": "(<= u[0] 2)"},
    {"within": ["1/3", 0.4], "holds": "(<= x0[1] 2)"}]})q";
  static const char* const kPieces[] = {"{",    "}",  "[",   "]",    ",",     ":",
                                        "\"",   "1",  "-",   "null", "1e400", "\"end\"",
                                        "true", "{}", "0.5", "1/0"};
  std::mt19937_64 random(testing::seed_from_environment(43));
  int read = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::string text = good;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) text.erase(at, 1 + random() % 8);
      if (random() % 2 == 0) text.insert(std::min(at, text.size()), kPieces[random() % 16]);
      if (text.empty()) break;
    }
    try {
      make_question(parse_question(text, "reach.json", folder->path()));
      ++read;
    } catch (const CompileError& error) {
      EXPECT_FALSE(error.diagnostics().empty());
    }
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace bf_aot::reach
