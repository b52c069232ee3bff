#include "frontend/import/learning/classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/softmax.h"
#include "frontend/import/helpers/winners.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

// The label of each row: least + max_i (label_i - least) w_i, where one w_i is 1 and the others 0.
void emit_label(NodeImport& node, ValueId winners, const std::vector<double>& labels) {
  const Shape shape = {
      element_count(node.shape_of(winners)) / static_cast<std::int64_t>(labels.size()),
      static_cast<std::int64_t>(labels.size())};
  const double least = std::ranges::min(labels);
  Constant factor{shape, {}, {}};
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    factor.data.push_back(labels[static_cast<std::size_t>(i % shape[1])] - least);
  const ValueId scaled = add_scale(node, winners, std::move(factor), filled(shape, 0));
  RowBuilder rows(node);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    if (i % shape[1] == 0) rows.begin();
    rows.add(i);
  }
  node.set_output_type(TensorProto::INT64);
  const ValueId label = std::move(rows).finish_maxima(scaled, {shape[0]});
  node.emit(0, least == 0 ? label : add_scale(node, label, 1, least));
}

void emit_no_label(NodeImport& node) {
  node.define(
      0, Unavailable{fmt::format("the labels that {} makes", node.origin().text),
                     node.has_output(1)
                         ? fmt::format("bound the scores: --output-tensor {}", node.output_name(1))
                         : "bound the scores, which its second output would be"});
}

}  // namespace

Classes read_classes(const NodeImport& node, std::string_view integers, std::string_view texts) {
  Classes classes;
  for (const std::int64_t label :
       node.ints_attribute(integers).value_or(std::vector<std::int64_t>())) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (label > kMost || label < -kMost)
      fail("BF1019", "", fmt::format("the label {} is beyond 2^31", label));
    classes.labels.push_back(static_cast<double>(label));
  }
  classes.count = static_cast<std::int64_t>(classes.labels.size());
  if (classes.labels.empty())
    classes.count = static_cast<std::int64_t>(
        node.strings_attribute(texts).value_or(std::vector<std::string>()).size());
  return classes;
}

ValueId add_transformed(NodeImport& node, ValueId scores, const std::string& transform) {
  constexpr std::int64_t kOneAxis = 13;
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return add_unary(node, scores, {FunctionKind::kSigmoid});
  if (transform == "SOFTMAX")
    return add_softmax(node, scores, softmax_rows(node, Shape(node.shape_of(scores)), 1, kOneAxis));
  fail("BF1026", "", fmt::format("post_transform is '{}'", printable(transform)),
       "NONE, LOGISTIC and SOFTMAX are supported");
}

void emit_labels(NodeImport& node, ValueId scores, const Classes& classes) {
  if (!node.has_output(0)) return;
  if (classes.labels.empty()) return emit_no_label(node);
  const Rows each{node.shape_of(scores)[0], classes.count, 1};
  check_comparisons(node, each);
  emit_label(node, add_winner(node, scores, each, false, 1), classes.labels);
}

void emit_classes(NodeImport& node, ValueId scores, const Classes& classes,
                  const std::string& transform) {
  if (node.has_output(1)) {
    node.set_output_type(TensorProto::FLOAT);
    node.emit(1, add_transformed(node, scores, transform));
  }
  emit_labels(node, scores, classes);
}

void emit_two_classes(NodeImport& node, ValueId score, const Classes& classes,
                      const TwoClasses& form) {
  const std::int64_t rows = element_count(node.shape_of(score));
  if (form.transform != "NONE" && form.transform != "LOGISTIC")
    fail("BF1026", "",
         fmt::format("post_transform is '{}' of one score", printable(form.transform)),
         "NONE and LOGISTIC are supported");
  if (node.has_output(1)) {
    node.set_output_type(TensorProto::FLOAT);
    RowBuilder both(node);
    for (std::int64_t row = 0; row < rows; ++row) {
      both.begin({form.complement ? 1.0 : 0.0, 0});
      both.add(row, {-1, 0});
      both.begin();
      both.add(row);
    }
    node.emit(1,
              add_transformed(node, std::move(both).finish_sums(score, {rows, 2}), form.transform));
  }
  if (!node.has_output(0)) return;
  if (classes.labels.empty()) return emit_no_label(node);
  const ValueId lead = add_scale(node, score, 1, -form.threshold);
  const ValueId second = add_unary(node, add_reshape(node, lead, {rows}), {FunctionKind::kStep});
  node.set_output_type(TensorProto::INT64);
  node.emit(0, add_scale(node, second, classes.labels[1] - classes.labels[0], classes.labels[0]));
}

}  // namespace bf_aot
