#include "tests/conformance/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/import/operators/operators.h"
#include "frontend/passes/float32/float32_operators.h"
#include "tests/conformance/operator_notes.h"

namespace bf_aot::conformance {
namespace {

using Kind = OperatorNote::Kind;

constexpr std::string_view kHead = R"(# Operators

Written by `conformance_table`; `conformance_evaluate_test` compares it with what the importer does.

Operators of the domain `ai.onnx` up to operator set 28. *Tests*: backend tests of ONNX 1.12 (as
Debian's `libonnx-testdata` installs them) whose models consist of this operator alone, passed out
of all but those that make no sense here: training mode, random outputs, strings, sequences, data
that are not finite or have no elements. Passed means: with all inputs of the model free, or those
bound that must be constants, the imported and the normalised graph evaluate to the expected output,
and the compiled verifier's bounds hold it. No supported operator fails a test but for the reason in
its note.

Constants must be: axes, shapes, sizes, lengths, indices, positions, depths, labels, conditions of Compress, weights and
biases of convolutions, trip counts. Loops and recurrent operators are unrolled.

Bounds are those of exact real arithmetic, in which casts to narrower types [round](../guide/soundness.md).
`--semantics float32` takes every operator but [those of its
table](#what-float32-semantics-refuses).

)";

constexpr std::string_view kNoted = R"(| operator | supported | tests | notes |
|---|---|---|---|
)";

constexpr std::string_view kFloat32 = R"(
## What float32 semantics refuses

`--semantics float32` bounds every evaluation in float32, in [the forms that are
named](../proofs/float32.md). It refuses these operators, and these forms of others (BF2110). Tensors
of float16 and bfloat16 are refused as well.

| operators | why |
|---|---|
)";

constexpr std::string_view kOthers = R"(
## Other domains

Tested against exact arithmetic in `tests/unit/frontend/import/`, and against ONNX Runtime, where it has them, by
`tests/schemas/walk.py`. The operators that its optimiser writes (`graph_optimization_level` ORT_ENABLE_EXTENDED) are
among them. At ORT_ENABLE_ALL it writes convolutions of float32 into the domain com.microsoft.nchwc, with weights in an
order that depends on the processor: these are refused.

| operator | notes |
|---|---|
| com.microsoft.Attention, MultiHeadAttention, QAttention | a past is no buffer: all its positions count; masks of truth values or lengths, which add `mask_filter_value` to scores; `unidirectional` leaves keys out |
| com.microsoft.BiasGelu, BiasSplitGelu, FastGelu, Gelu, QuickGelu | |
| com.microsoft.DequantizeLinear, QuantizeLinear | as those of `ai.onnx` |
| com.microsoft.DynamicQuantizeMatMul, MatMulIntegerToFloat | |
| com.microsoft.FusedConv, FusedGemm | the activations that ONNX Runtime fuses |
| com.microsoft.EmbedLayerNormalization | token ids and segments are constant, or sets of [ids](../guide/text.md) |
| com.microsoft.FusedMatMul | |
| com.microsoft.GroupQueryAttention | without padding, and with all positions of a past: `seqlens_k` and `total_sequence_length` are constant; positions count from the end of the past; no window that leaves keys out, no sinks |
| com.microsoft.MatMulNBits | 2, 4 and 8 bits, without `g_idx`; with `accuracy_level` 4 ONNX Runtime also rounds the other operand to 8 bits, which bounds do not count |
| com.microsoft.NhwcMaxPool | |
| com.microsoft.QGemm | the bias counts in units of alpha scale(A) scale(B) |
| com.microsoft.QLinearAdd, QLinearMul | |
| com.microsoft.QLinearAveragePool, QLinearConv, QLinearGlobalAveragePool | also with `channels_last` |
| com.microsoft.QLinearConcat | |
| com.microsoft.QLinearLeakyRelu, QLinearSigmoid, QLinearSoftmax | |
| com.microsoft.RotaryEmbedding | constant positions |
| com.microsoft.SkipLayerNormalization, SkipSimplifiedLayerNormalization | |
| ai.onnx.preview, ai.onnx.preview.training, com.amd.quark | refused by name |
| ai.onnx.ml.ArrayFeatureExtractor | constant indices |
| ai.onnx.ml.Binarizer, Imputer | tensors never hold NaN, which is mostly what is replaced |
| ai.onnx.ml.LinearClassifier, LinearRegressor | `post_transform` NONE, LOGISTIC, SOFTMAX; labels that are integers |
| ai.onnx.ml.Normalizer | MAX divides by the largest element, as ONNX's text and ONNX Runtime do; ONNX's reference evaluator by the largest magnitude, which is the same unless features are negative |
| ai.onnx.ml.Scaler | |
| ai.onnx.ml.SVMClassifier | kernels as of SVMRegressor; integer labels, by votes of pairs of classes; scores are what pairs are told apart by; without probabilities |
| ai.onnx.ml.SVMRegressor | kernels LINEAR, POLY of whole degree, RBF, SIGMOID; no `post_transform` |
| ai.onnx.ml.TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor | one row of features; upper bounds of each tree are those of its reachable leaves, lower ones those of all leaves below the first node that is not decided, so that splits of the input decide; SUM, AVERAGE. TreeEnsemble without BRANCH_MEMBER, and without `post_transform`, whose numbers ONNX's text and ONNX Runtime read differently |
| qonnx.custom_op.general.BipolarQuant, Quant | constant scales, zero points and numbers of bits; rounding to the nearest integer |

Quantised operators compute exactly on the real numbers that codes stand for, and round once, ties to even. What a
classifier of scikit-learn adds behind its scores (labels, `ZipMap`) has no bounds: `--output-tensor NAME` cuts the
network at a tensor, and nothing behind it is read. Trees of LightGBM and XGBoost, as onnxmltools exports them, are
compared with exact sums of their leaves (`tests/differential/boosted_trees_test.py`).

## Functions of the model

Calls of functions that the model defines are replaced by their nodes, as PyTorch's and onnxscript's exporters write
them: functions of functions, overloads, attributes with defaults and inputs that are left out. A function that has an
operator's domain and name stands for it. Tensors within a call are named `CALL/NAME`, where CALL is the call's name, or
that of its first output: `--output-tensor` takes such names. Functions may be of another operator set than the model.

Bodies of branches and loops read what is around them; what does not change from step to step is read once. All calls,
branches and steps together may make 65536 nodes.

## Files in the format .nnet

Networks of Reluplex (`NAME.nnet`) are read as models of one input [1, n] in physical units: clipped to the least and
greatest inputs, normalised, through layers with ReLU, and scaled back by the outputs' range and mean. Numbers are the
doubles nearest to what is written.
)";

bool is_known(const OperatorNote& note) {
  return note.kind != Kind::kNot && find_operator(note.name) != nullptr;
}

std::string_view support_of(const OperatorNote& note) {
  if (!is_known(note)) return "no";
  return note.kind == Kind::kPartly ? "partly" : "yes";
}

std::string print(const Score& score) {
  return score.total == 0 ? "–" : fmt::format("{} / {}", score.passed, score.total);
}

Score score_of(const Scores& scores, std::string_view name) {
  const auto found = scores.find(std::string(name));
  return found == scores.end() ? Score() : found->second;
}

// Reasons, in the order of the first, with the operators of each.
using Rows = std::vector<std::pair<std::string_view, std::string>>;

void add(Rows& rows, std::string_view reason, std::string_view name) {
  const auto row = std::ranges::find(rows, reason, [](const auto& each) { return each.first; });
  if (row == rows.end())
    rows.emplace_back(reason, name);
  else
    row->second += fmt::format("; {}", name);
}

std::string print(const Rows& rows) {
  std::string text;
  for (const auto& [reason, operators] : rows)
    text += fmt::format("| {} | {} |\n", operators, reason);
  return text;
}

Rows refused_in_float32() {
  Rows rows;
  for (const Float32Operator& each : float32_operators())
    if (!each.refused.empty()) add(rows, each.refused, each.type);
  return rows;
}

}  // namespace

void count(Scores& scores, const TestCase& test, const Report& report) {
  Score& score = scores[test.operator_type];
  if (report.verdict == Verdict::kExcluded) {
    ++score.excluded;
    return;
  }
  ++score.total;
  if (report.verdict == Verdict::kPassed) ++score.passed;
}

std::string operator_table(const Scores& scores) {
  std::string plain, rows;
  Rows refused;
  int partly = 0;
  int not_supported = 0;
  Score all;
  for (const OperatorNote& note : operator_notes()) {
    const std::string_view support = support_of(note);
    const Score score = score_of(scores, note.name);
    if (support == "partly") ++partly;
    if (support == "no") {
      ++not_supported;
      add(refused, note.note, note.name);
    } else if (support == "yes" && note.note.empty() && score.passed == score.total) {
      plain += fmt::format("{}{}", plain.empty() ? "" : ", ", note.name);
    } else {
      rows += fmt::format("| {} | {} | {} | {} |\n", note.name, support, print(score), note.note);
    }
  }
  std::string text(kHead);
  text += fmt::format("## Supported\n\n| operators | notes |\n|---|---|\n| {} | none |\n\n{}{}",
                      plain, kNoted, rows);
  text += fmt::format("\n## Not supported\n\n| operators | why |\n|---|---|\n{}", print(refused));
  for (const auto& [name, score] : scores) {
    all.passed += score.passed;
    all.total += score.total;
    all.excluded += score.excluded;
  }
  const Score several = score_of(scores, "");
  text += fmt::format(
      "\n{} operators are supported in full, {} partly, {} not. Of {} backend tests {} are "
      "excluded, "
      "and {} of the\nothers pass; among them {} of {} whose models have several operators.\n",
      fully_supported(), partly, not_supported, all.total + all.excluded, all.excluded, all.passed,
      several.passed, several.total);
  return text.append(kFloat32).append(print(refused_in_float32())).append(kOthers);
}

int fully_supported() {
  int count = 0;
  for (const OperatorNote& note : operator_notes()) count += support_of(note) == "yes" ? 1 : 0;
  return count;
}

}  // namespace bf_aot::conformance
