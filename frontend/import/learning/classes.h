#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/import/file/node_import.h"

// Labels and scores of classifiers of domain ai.onnx.ml.

namespace bf_aot {

struct Classes {
  std::int64_t count = 0;
  std::vector<double> labels;  // empty: they have no bounds, as texts
};

// Throws: BF1019 when a label is beyond 2^31.
Classes read_classes(const NodeImport& node, std::string_view integers, std::string_view texts);

// Returns NONE, LOGISTIC or SOFTMAX of scores, [rows, targets]. Throws: BF1026 for others.
ValueId add_transformed(NodeImport& node, ValueId scores, const std::string& transform);

// Makes output 0, the label of each row's largest score, of equals the first, and output 1, the
// scores, as far as they are there. scores: [rows, classes].
void emit_classes(NodeImport& node, ValueId scores, const Classes& classes,
                  const std::string& transform);

// Makes output 0 of emit_classes() alone, of scores or votes. Fails at the label's readers where
// labels are texts.
void emit_labels(NodeImport& node, ValueId scores, const Classes& classes);

// One score s decides between two classes: it is the second one where s is above the threshold.
// Their scores are 1 - s and s, or the transform of -s and s.
struct TwoClasses {
  double threshold = 0;
  std::string transform;
  bool complement = false;
};
void emit_two_classes(NodeImport& node, ValueId score, const Classes& classes,
                      const TwoClasses& form);

}  // namespace bf_aot
