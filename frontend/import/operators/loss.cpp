#include <fmt/format.h>

#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/softmax.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// The loss of each position is -weight x_column, 0 where the label is to be ignored.
struct Positions {
  std::vector<std::int64_t> column;  // -1: ignored
  std::vector<Bounded> weight;
};

// Input 0 is [N, C, d1, ...] and the labels, input 1, are [N, d1, ...].
Positions read_labels(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const IntegerTensor& labels = node.integers(1, "labels");
  Shape expected = shape;
  if (shape.size() < 2) fail("BF1014", "", fmt::format("no classes in {}", to_string(shape)));
  expected.erase(expected.begin() + 1);
  if (labels.shape != expected)
    fail("BF1014", "",
         fmt::format("labels have shape {}, not {}", to_string(labels.shape), to_string(expected)));
  const bool ignores = node.has_attribute("ignore_index");
  const std::int64_t ignored = node.int_attribute("ignore_index", 0);
  const Constant* const weights = node.has_input(2) ? &node.constant(2, "weight") : nullptr;
  if (weights != nullptr && weights->shape != Shape{shape[1]})
    fail("BF1014", "",
         fmt::format("weights have shape {} for {} classes", to_string(weights->shape), shape[1]));
  const std::int64_t inner = element_count(Shape(shape.begin() + 2, shape.end()));
  Positions result;
  for (std::size_t i = 0; i < labels.data.size(); ++i) {
    const std::int64_t label = labels.data[i];
    const bool skip = ignores && label == ignored;
    if (!skip && (label < 0 || label >= shape[1]))
      fail("BF1014", "", fmt::format("label {} of {} classes", label, shape[1]));
    const auto at = static_cast<std::int64_t>(i);
    result.column.push_back(skip ? -1 : (at / inner * shape[1] + label) * inner + at % inner);
    result.weight.push_back(weights == nullptr || skip
                                ? Bounded{skip ? 0.0 : 1.0, 0}
                                : bounded_at(*weights, static_cast<std::size_t>(label)));
  }
  return result;
}

// Adds the loss of log probabilities x. Its reduction is none, sum, or mean, which is weighted.
ValueId add_loss(NodeImport& node, ValueId x) {
  const std::string reduction = node.string_attribute("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    fail("BF1012", "",
         fmt::format("attribute 'reduction' is '{}', not none, sum or mean", printable(reduction)));
  const Positions positions = read_labels(node);
  const Shape labels = node.input_shape(1);
  Sum total;
  for (const Bounded& weight : positions.weight) total.add(weight);
  const Bounded divisor = reduction == "mean" ? total.result() : Bounded{1, 0};
  if (!can_divide_by(divisor)) fail("BF1014", "", "the weights of all labels add up to 0");
  RowBuilder rows(node);
  for (std::size_t i = 0; i < positions.column.size(); ++i) {
    if (i == 0 || reduction == "none") rows.begin();
    if (positions.column[i] < 0) continue;
    rows.add(positions.column[i], divide(negate(positions.weight[i]), divisor));
  }
  return std::move(rows).finish_sums(x, reduction == "none" ? labels : Shape{});
}

void import_negative_log_likelihood_loss(NodeImport& node) {
  node.emit(add_loss(node, node.input(0)));
}

void import_softmax_cross_entropy_loss(NodeImport& node) {
  if (node.input_shape(0).size() < 2)
    fail("BF1014", "", fmt::format("no classes in {}", to_string(node.input_shape(0))));
  const ValueId log_probabilities = add_log_softmax(
      node, node.input(0), softmax_rows(node, node.input_shape(0), 1, kNewestOpset));
  node.emit(add_loss(node, log_probabilities));
  if (node.has_output(1)) node.emit(1, log_probabilities);
}

}  // namespace

OperatorRows loss_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"NegativeLogLikelihoodLoss",
       import_negative_log_likelihood_loss,
       2,
       3,
       1,
       {"ignore_index", "reduction"}},
      {"SoftmaxCrossEntropyLoss",
       import_softmax_cross_entropy_loss,
       2,
       3,
       2,
       {"ignore_index", "reduction"}},
  };
  return kRows;
}

}  // namespace bf_aot
