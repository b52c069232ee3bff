#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/learning/classes.h"
#include "frontend/import/operators/operators.h"

// Linear models and preprocessing of domain ai.onnx.ml, as skl2onnx writes them. Where ONNX's text
// is silent, they do what ONNX Runtime does.

namespace bf_aot {
namespace {

using onnx::TensorProto;

std::vector<double> read_floats(const NodeImport& node, std::string_view attribute) {
  return node.floats_attribute(attribute).value_or(std::vector<double>());
}

// The input as rows of features; a vector is one row.
ValueId read_rows(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  if (shape.empty() || shape.size() > 2)
    fail("BF1014", "",
         fmt::format("the input has shape {}, not rows of features", to_string(shape)));
  return shape.size() == 2 ? node.input(0) : add_reshape(node, node.input(0), {1, shape[0]});
}

// x coefficients^T + intercepts: [rows, targets].
ValueId add_linear(NodeImport& node, ValueId x, std::int64_t targets) {
  const std::int64_t features = node.shape_of(x)[1];
  std::vector<double> coefficients = read_floats(node, "coefficients");
  std::vector<double> intercepts = read_floats(node, "intercepts");
  if (static_cast<std::int64_t>(coefficients.size()) / features != targets ||
      static_cast<std::int64_t>(coefficients.size()) % features != 0)
    fail("BF1012", "",
         fmt::format("{} coefficients, not {} for each of {} targets", coefficients.size(),
                     features, targets));
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets)
    fail("BF1012", "", fmt::format("{} intercepts for {} targets", intercepts.size(), targets));
  intercepts.resize(static_cast<std::size_t>(targets), 0);
  const ValueId weight = add_constant(node, {{targets, features}, std::move(coefficients), {}});
  const ValueId bias = add_constant(node, {{targets}, std::move(intercepts), {}});
  return node.add(Gemm{1, 1, false, true}, {x, weight, bias});
}

void import_linear_regressor(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  const std::int64_t targets = node.int_attribute("targets", 1);
  if (targets < 1) fail("BF1012", "", fmt::format("attribute 'targets' is {}", targets));
  const std::string transform = node.string_attribute("post_transform", "NONE");
  // ONNX Runtime transforms no single target, although the text says so.
  if (targets == 1 && transform != "NONE")
    fail("BF1026", "", fmt::format("post_transform is '{}' of one target", printable(transform)),
         "add the function behind the regressor");
  node.emit(add_transformed(node, add_linear(node, read_rows(node), targets), transform));
}

// Output 0: the label of the largest score, of equals the first; of one score that of its sign.
// Output 1: the scores; of one score s 1 - s and s, or sigma(-s) and sigma(s).
void import_linear_classifier(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  const auto scores = static_cast<std::int64_t>(read_floats(node, "intercepts").size());
  const Classes classes = read_classes(node, "classlabels_ints", "classlabels_strings");
  const bool one_score = scores == 1 && classes.count == 2;
  if (scores < 1 || (classes.count != scores && !one_score))
    fail("BF1012", "", fmt::format("{} intercepts for {} classes", scores, classes.count));
  const std::string transform = node.string_attribute("post_transform", "NONE");
  const ValueId raw = add_linear(node, read_rows(node), scores);
  if (one_score) {
    emit_two_classes(node, raw, classes, {0, transform, transform == "NONE"});
  } else {
    emit_classes(node, raw, classes, transform);
  }
}

// x > threshold ? 1 : 0
void import_binarizer(NodeImport& node) {
  const double threshold = node.float_attribute("threshold", 0);
  node.emit(Unary{{FunctionKind::kStep}}, {add_scale(node, node.input(0), 1, -threshold)});
}

// Elements that are the replaced value become the imputed one of their feature. Tensors never hold
// NaN, which is what is replaced mostly.
void import_imputer(NodeImport& node) {
  const bool integers = is_integer_type(node.input_type(0));
  const std::string_view name = integers ? "replaced_value_int64" : "replaced_value_float";
  double replaced = 0;
  if (node.has_attribute(name))
    replaced = integers ? static_cast<double>(node.int_attribute(name, 0))
                        : node.attribute(name, onnx::AttributeProto::FLOAT).f();
  const ValueId x = node.input(0);
  if (!std::isfinite(replaced)) return node.emit(x);
  const Shape shape = node.input_shape(0);
  std::vector<double> imputed;
  if (integers) {
    for (const std::int64_t each :
         node.ints_attribute("imputed_value_int64s").value_or(std::vector<std::int64_t>()))
      imputed.push_back(static_cast<double>(each));
  } else {
    imputed = read_floats(node, "imputed_value_floats");
  }
  const std::int64_t features = shape.empty() ? 1 : shape.back();
  if (imputed.empty() ||
      (imputed.size() != 1 && static_cast<std::int64_t>(imputed.size()) != features))
    fail("BF1012", "", fmt::format("{} imputed values for {} features", imputed.size(), features));
  // x + (imputed - replaced) [x == replaced]
  const ValueId equal = add_unary(node, add_scale(node, x, 1, -replaced), {FunctionKind::kIsZero});
  ConstantBuilder change(shape);
  for (std::size_t i = 0; i < change.size(); ++i)
    change.set(i, add({imputed[i % imputed.size()], 0}, {-replaced, 0}));
  const ValueId changed =
      add_scale(node, equal, std::move(change).finish(node.origin()), filled(shape, 0));
  node.emit(Binary{Binary::Kind::kAdd}, {x, changed});
}

}  // namespace

OperatorRows linear_model_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Binarizer", import_binarizer, 1, 1, 1, {"threshold"}, kMachineLearning},
      {"Imputer",
       import_imputer,
       1,
       1,
       1,
       {"imputed_value_floats", "imputed_value_int64s", "replaced_value_float",
        "replaced_value_int64"},
       kMachineLearning},
      {"LinearClassifier",
       import_linear_classifier,
       1,
       1,
       2,
       {"classlabels_ints", "classlabels_strings", "coefficients", "intercepts", "multi_class",
        "post_transform"},
       kMachineLearning,
       true},
      {"LinearRegressor",
       import_linear_regressor,
       1,
       1,
       1,
       {"coefficients", "intercepts", "post_transform", "targets"},
       kMachineLearning},
  };
  return kRows;
}

}  // namespace bf_aot
