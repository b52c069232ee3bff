#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

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

struct Kernel {
  std::string type;
  double gamma = 0, offset = 0, degree = 1;
};

Kernel read_kernel(const NodeImport& node) {
  const std::vector<double> given = read_floats(node, "kernel_params");
  Kernel kernel{node.string_attribute("kernel_type", "LINEAR")};
  if (given.size() == 3) {
    kernel.gamma = given[0];
    kernel.offset = given[1];
    kernel.degree = given[2];
  } else if (!given.empty() || kernel.type != "LINEAR") {
    fail("BF1012", "",
         fmt::format("attribute 'kernel_params' has {} numbers, not 3", given.size()));
  }
  if (kernel.type != "LINEAR" && kernel.type != "POLY" && kernel.type != "RBF" &&
      kernel.type != "SIGMOID")
    fail("BF1012", "", fmt::format("attribute 'kernel_type' is '{}'", printable(kernel.type)));
  if (kernel.type == "POLY" && (kernel.degree < 1 || kernel.degree != std::floor(kernel.degree)))
    fail("BF1026", "", fmt::format("a polynomial kernel of degree {}", kernel.degree),
         "whole degrees from 1 on are supported");
  return kernel;
}

// Products of each row of x, [rows, features], with each of `count` vectors, times `factor`, plus
// `offset`: [rows, count].
ValueId add_inner_products(NodeImport& node, ValueId x, const std::vector<double>& vectors,
                           std::int64_t count, double factor, double offset) {
  const std::int64_t features = node.shape_of(x)[1];
  const ValueId weight = add_constant(node, {{count, features}, vectors, {}});
  const ValueId bias = add_constant(node, filled({count}, offset));
  return node.add(Gemm{factor, 1, false, true}, {x, weight, bias});
}

// -gamma |x - s|^2 for each row x and each vector s.
ValueId add_distances(NodeImport& node, ValueId x, const std::vector<double>& vectors,
                      std::int64_t count, double gamma) {
  const std::int64_t rows = node.shape_of(x)[0], features = node.shape_of(x)[1];
  RowBuilder differences(node), sums(node);
  for (std::int64_t i = 0; i < rows * count; ++i) {
    sums.begin();
    for (std::int64_t f = 0; f < features; ++f) {
      const auto at = static_cast<std::size_t>(i % count * features + f);
      differences.begin({-vectors[at], 0});
      differences.add(i / count * features + f);
      sums.add(i * features + f, {-gamma, 0});
    }
  }
  const ValueId each = std::move(differences).finish_sums(x, {rows * count * features});
  return std::move(sums).finish_sums(add_unary(node, each, {FunctionKind::kPower, 2}),
                                     {rows, count});
}

// The kernel of each row and each vector: [rows, count].
ValueId add_kernel(NodeImport& node, ValueId x, const Kernel& kernel,
                   const std::vector<double>& vectors, std::int64_t count) {
  if (kernel.type == "RBF")
    return add_unary(node, add_distances(node, x, vectors, count, kernel.gamma),
                     {FunctionKind::kExp});
  if (kernel.type == "LINEAR") return add_inner_products(node, x, vectors, count, 1, 0);
  const ValueId inner = add_inner_products(node, x, vectors, count, kernel.gamma, kernel.offset);
  if (kernel.type == "SIGMOID") return add_unary(node, inner, {FunctionKind::kTanh});
  if (kernel.degree == 1) return inner;
  return add_unary(node, inner, {FunctionKind::kPower, kernel.degree});
}

// rho + the sum of coefficients times kernels with the support vectors; without these the
// coefficients are the weights of a linear model. Of a model of one class the sign: 1 above 0, else
// -1.
void import_svm_regressor(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  const std::string transform = node.string_attribute("post_transform", "NONE");
  if (transform != "NONE")
    fail("BF1026", "", fmt::format("post_transform is '{}' of one target", printable(transform)),
         "add the function behind the regressor");
  if (node.int_attribute("n_targets", 1) != 1)
    fail("BF1026", "", fmt::format("{} targets", node.int_attribute("n_targets", 1)),
         "give each target a regressor of its own");
  const ValueId x = read_rows(node);
  const Shape shape = node.shape_of(x);
  const std::vector<double> coefficients = read_floats(node, "coefficients");
  const std::vector<double> vectors = read_floats(node, "support_vectors");
  const std::vector<double> rho = read_floats(node, "rho");
  const std::int64_t supports = node.int_attribute("n_supports", 0);
  if (supports < 0 || rho.size() != 1)
    fail("BF1012", "", fmt::format("{} support vectors and {} numbers rho", supports, rho.size()));
  const Kernel kernel = read_kernel(node);
  const std::int64_t count = supports > 0 ? supports : shape[1];
  check_work(node, count, element_count(shape));
  if (static_cast<std::int64_t>(coefficients.size()) != count ||
      static_cast<std::int64_t>(vectors.size()) != supports * shape[1])
    fail("BF1012", "",
         fmt::format("{} coefficients and {} numbers of support vectors for {} features",
                     coefficients.size(), vectors.size(), shape[1]));
  const ValueId kernels = supports > 0 ? add_kernel(node, x, kernel, vectors, supports) : x;
  const ValueId y = add_inner_products(node, kernels, coefficients, 1, 1, rho[0]);
  if (!node.flag("one_class", false)) return node.emit(y);
  node.emit(add_scale(node, add_unary(node, y, {FunctionKind::kStep}), 2, -1));
}

// Support vectors of a classifier, class by class, and their coefficients in rows. The pair of
// classes i < j has one score: the kernels of class i times row j - 1, and those of class j times
// row i.
struct SupportVectors {
  std::vector<std::int64_t> first;  // of each class, and their number
  std::vector<double> coefficients, rho;
  std::int64_t classes() const { return static_cast<std::int64_t>(first.size()) - 1; }
  std::int64_t pairs() const { return classes() * (classes() - 1) / 2; }
};

SupportVectors read_support_vectors(const NodeImport& node, const Classes& classes) {
  SupportVectors made{{0}, read_floats(node, "coefficients"), read_floats(node, "rho")};
  const auto counts = node.ints_attribute("vectors_per_class");
  if (!counts)
    fail("BF1026", "", "there are no support vectors", "export a linear model as LinearClassifier");
  for (const std::int64_t count : *counts) {
    if (count < 0 || count > (std::int64_t{1} << 31))
      fail("BF1012", "", fmt::format("{} support vectors of a class", count));
    made.first.push_back(made.first.back() + count);
  }
  const std::int64_t all = made.first.back();
  if (made.classes() != classes.count || classes.count < 2)
    fail("BF1012", "",
         fmt::format("support vectors of {} classes, {} labels", made.classes(), classes.count));
  if (static_cast<std::int64_t>(made.rho.size()) != made.pairs() ||
      static_cast<std::int64_t>(made.coefficients.size()) != (made.classes() - 1) * all)
    fail("BF1012", "",
         fmt::format("{} coefficients and {} numbers rho of {} support vectors of {} classes",
                     made.coefficients.size(), made.rho.size(), all, made.classes()));
  return made;
}

// Returns the score of each pair of classes i < j, which class i wins above 0: [rows, pairs].
ValueId add_pairs(NodeImport& node, ValueId kernels, const SupportVectors& vectors) {
  const std::int64_t rows = node.shape_of(kernels)[0], all = vectors.first.back();
  RowBuilder sums(node);
  const auto add_class = [&](std::int64_t row, std::int64_t which, std::int64_t of) {
    const auto part = static_cast<std::size_t>(which);
    for (std::int64_t k = vectors.first[part]; k < vectors.first[part + 1]; ++k)
      sums.add(row * all + k, {vectors.coefficients[static_cast<std::size_t>(of * all + k)], 0});
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    std::size_t pair = 0;
    for (std::int64_t i = 0; i < vectors.classes(); ++i)
      for (std::int64_t j = i + 1; j < vectors.classes(); ++j) {
        sums.begin({vectors.rho[pair++], 0});
        add_class(row, i, j - 1);
        add_class(row, j, i);
      }
  }
  return std::move(sums).finish_sums(kernels, {rows, vectors.pairs()});
}

// Returns how many pairs each class wins: [rows, classes].
ValueId add_votes(NodeImport& node, ValueId pairs, const SupportVectors& vectors) {
  const std::int64_t rows = node.shape_of(pairs)[0], classes = vectors.classes();
  const ValueId won = add_unary(node, pairs, {FunctionKind::kStep});
  RowBuilder votes(node);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < classes; ++c) {
      votes.begin({static_cast<double>(c), 0});  // of pairs (i, c), less those that i wins
      std::int64_t pair = row * vectors.pairs();
      for (std::int64_t i = 0; i < classes; ++i)
        for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
          if (i == c) votes.add(pair);
          if (j == c) votes.add(pair, {-1, 0});
        }
    }
  return std::move(votes).finish_sums(won, {rows, classes});
}

// Output 0: the label of the class that wins most pairs, of equals the first. Output 1: the scores
// of the pairs; the score s of two classes stands as -s and s.
void import_svm_classifier(NodeImport& node) {
  node.set_output_type(TensorProto::FLOAT);
  if (node.has_attribute("prob_a") || node.has_attribute("prob_b"))
    fail("BF1026", "", "its probabilities are found by iteration (prob_a, prob_b)",
         "export the model without probabilities, as SVC(probability=False)");
  const Classes classes = read_classes(node, "classlabels_ints", "classlabels_strings");
  const SupportVectors vectors = read_support_vectors(node, classes);
  const ValueId x = read_rows(node);
  const Shape shape = node.shape_of(x);
  const std::vector<double> points = read_floats(node, "support_vectors");
  const std::int64_t count = vectors.first.back();
  check_work(node, std::max<std::int64_t>(count, 1), element_count(shape));
  check_work(node, count, shape[0] * vectors.pairs());
  if (count < 1 || static_cast<std::int64_t>(points.size()) != count * shape[1])
    fail("BF1012", "",
         fmt::format("{} numbers of {} support vectors of {} features", points.size(), count,
                     shape[1]));
  const std::string transform = node.string_attribute("post_transform", "NONE");
  const ValueId pairs =
      add_pairs(node, add_kernel(node, x, read_kernel(node), points, count), vectors);
  if (node.has_output(1)) {
    ValueId scores = pairs;
    if (vectors.pairs() == 1) {
      if (transform != "NONE" && transform != "LOGISTIC")
        fail("BF1026", "", fmt::format("post_transform is '{}' of one score", printable(transform)),
             "NONE and LOGISTIC are supported");
      RowBuilder both(node);
      for (std::int64_t row = 0; row < shape[0]; ++row)
        for (const double sign : {-1.0, 1.0}) {
          both.begin();
          both.add(row, {sign, 0});
        }
      scores = std::move(both).finish_sums(pairs, {shape[0], 2});
    }
    node.emit(1, add_transformed(node, scores, transform));
  }
  if (node.has_output(0)) emit_labels(node, add_votes(node, pairs, vectors), classes);
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

// For each category 1 where the number, cut to an integer, is it, and 0 elsewhere: a new last axis.
// A run-time that is told to refuse other numbers (`zeros` 0) has no result there, of which nothing
// is said.
void import_one_hot_encoder(NodeImport& node) {
  (void)node.flag("zeros", true);
  if (node.has_attribute("cats_strings"))
    fail("BF1022", "", "categories that are strings", "encode strings before the network");
  const std::vector<std::int64_t> categories =
      node.ints_attribute("cats_int64s").value_or(std::vector<std::int64_t>());
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  std::set<std::int64_t> seen;
  for (const std::int64_t each : categories)
    if (each < -kExact || each > kExact || !seen.insert(each).second)
      fail("BF1012", "", fmt::format("attribute 'cats_int64s' has {} twice, or too large", each));
  if (categories.empty()) fail("BF1012", "", "attribute 'cats_int64s' has no category");
  const bool integers = is_integer_type(node.input_type(0));
  const ValueId x = integers ? node.input(0) : add_trunc(node, node.input(0));
  Shape shape = node.input_shape(0);
  const auto count = static_cast<std::int64_t>(categories.size());
  shape.push_back(count);
  node.set_output_type(TensorProto::FLOAT);
  const ValueId repeated = add_index_map(node, x, shape, [&] {
    std::vector<std::int64_t> source;
    for (std::int64_t i = 0; i < element_count(shape); ++i) source.push_back(i / count);
    return source;
  });
  Constant offset = filled(shape, 0);
  for (std::size_t i = 0; i < offset.data.size(); ++i)
    offset.data[i] = -static_cast<double>(categories[i % categories.size()]);
  node.emit(Unary{{FunctionKind::kIsZero}},
            {add_scale(node, repeated, filled(shape, 1), std::move(offset))});
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
      {"OneHotEncoder",
       import_one_hot_encoder,
       1,
       1,
       1,
       {"cats_int64s", "cats_strings", "zeros"},
       kMachineLearning},
      {"SVMClassifier",
       import_svm_classifier,
       1,
       1,
       2,
       {"classlabels_ints", "classlabels_strings", "coefficients", "kernel_params", "kernel_type",
        "post_transform", "prob_a", "prob_b", "rho", "support_vectors", "vectors_per_class"},
       kMachineLearning,
       true},
      {"SVMRegressor",
       import_svm_regressor,
       1,
       1,
       1,
       {"coefficients", "kernel_params", "kernel_type", "n_supports", "n_targets", "one_class",
        "post_transform", "rho", "support_vectors"},
       kMachineLearning},
  };
  return kRows;
}

}  // namespace bf_aot
