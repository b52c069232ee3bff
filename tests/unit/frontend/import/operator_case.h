#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/support/model_text.h"

namespace bf_aot::test {

// A model of one node, for what an operator computes on given numbers.
class OperatorCase {
 public:
  explicit OperatorCase(std::string op_type, int opset = 17)
      : node_("op_type: \"" + std::move(op_type) + "\" name: \"n\""), opset_(opset) {}

  // The model's output is the node's output of this number.
  OperatorCase& output(int number) {
    outputs_.clear();
    for (int i = 0; i < number; ++i) outputs_ += " output: \"before" + std::to_string(i) + "\"";
    outputs_ += " output: \"y\"";
    return *this;
  }

  // The next input: of the model, a constant of floats, or one of a type such as 7 (int64).
  OperatorCase& input(const Shape& shape, const std::vector<double>& values, int type = 1) {
    const std::string name = next();
    declared_ += "input { name: \"" + name +
                 "\" type { tensor_type { elem_type: " + std::to_string(type) + " shape { " +
                 dimensions(shape) + "} } } }\n";
    values_.push_back(values);
    return *this;
  }
  OperatorCase& constant(const Shape& shape, const std::vector<double>& values, int type = 1) {
    const std::string name = next();
    const std::string field = type == 1 ? "float_data" : type == 7 ? "int64_data" : "int32_data";
    declared_ += "initializer { name: \"" + name + "\" data_type: " + std::to_string(type);
    for (std::int64_t dim : shape) declared_ += " dims: " + std::to_string(dim);
    for (double value : values) {
      const std::string text =
          type == 1 ? std::to_string(value) : std::to_string(static_cast<std::int64_t>(value));
      declared_ += " " + field + ": " + text;
    }
    declared_ += " }\n";
    return *this;
  }
  // An input of the model that the node does not read, beside constants alone.
  OperatorCase& unread() {
    declared_ += "input { name: \"unread\" type { tensor_type { elem_type: 1 shape { " +
                 dimensions({1}) + "} } } }\n";
    values_.push_back({0});
    return *this;
  }
  OperatorCase& domain(const std::string& name) {
    node_ += " domain: \"" + name + "\"";
    return *this;
  }
  OperatorCase& reals(const std::string& name, const std::vector<double>& values) {
    std::string text = "name: \"" + name + "\" type: FLOATS";
    for (double value : values) text += " floats: " + std::to_string(value);
    return attribute(text);
  }
  OperatorCase& left_out() {
    node_ += " input: \"\"";
    return *this;
  }
  OperatorCase& ints(const std::string& name, const std::vector<std::int64_t>& values) {
    std::string text = "name: \"" + name + "\" type: INTS";
    for (std::int64_t value : values) text += " ints: " + std::to_string(value);
    return attribute(text);
  }
  OperatorCase& number(const std::string& name, std::int64_t value) {
    return attribute("name: \"" + name + "\" type: INT i: " + std::to_string(value));
  }
  OperatorCase& real(const std::string& name, double value) {
    return attribute("name: \"" + name + "\" type: FLOAT f: " + std::to_string(value));
  }
  OperatorCase& texts(const std::string& name, const std::vector<std::string>& values) {
    std::string text = "name: \"" + name + "\" type: STRINGS";
    for (const std::string& value : values) text += " strings: \"" + value + "\"";
    return attribute(text);
  }
  OperatorCase& text(const std::string& name, const std::string& value) {
    return attribute("name: \"" + name + "\" type: STRING s: \"" + value + "\"");
  }

  ImportedModel import() const {
    return import_model_bytes(
        encode_model("ir_version: 8 opset_import { version: " + std::to_string(opset_) +
                     " } graph { name: \"g\" node { " + node_ + outputs_ + " }\n" + declared_ +
                     "output { name: \"y\" } }"),
        "m", {});
  }

  // The output, which must have this shape and these values but for the rounding of double.
  void expect(const Shape& shape, const std::vector<double>& expected,
              double tolerance = 1e-12) const {
    const Graph graph = import().graph;
    EXPECT_EQ(graph.value(graph.outputs[0]).shape, shape);
    const std::vector<double> actual = evaluate(graph, values_)[0];
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }

  // The import must fail with this code first.
  void expect_refused(const std::string& code) const {
    try {
      import();
      ADD_FAILURE() << "imported, but " << code << " expected";
    } catch (const CompileError& error) {
      EXPECT_EQ(error.diagnostics().front().code, code) << error.what();
    }
  }

 private:
  std::string next() {
    const std::string name = "x" + std::to_string(count_++);
    node_ += " input: \"" + name + "\"";
    return name;
  }
  OperatorCase& attribute(const std::string& text) {
    node_ += " attribute { " + text + " }";
    return *this;
  }
  static std::string dimensions(const Shape& shape) {
    std::string text;
    for (std::int64_t dim : shape) text += "dim { dim_value: " + std::to_string(dim) + " } ";
    return text;
  }

  std::string node_;
  std::string outputs_ = " output: \"y\"";
  int opset_;
  int count_ = 0;
  std::string declared_;
  std::vector<std::vector<double>> values_;
};

}  // namespace bf_aot::test
