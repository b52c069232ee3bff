#include "tests/conformance/operator_notes.h"

#include <algorithm>
#include <iterator>

#include "frontend/import/file/importer.h"

namespace bf_aot::conformance {
namespace {

using Kind = OperatorNote::Kind;

// What there is to say of one; those that the importer knows and that are not here are plain.
constexpr OperatorNote kNotes[] = {
    {"AffineGrid", Kind::kPlain, "constant size; matrices may be computed"},
    {"Attention", Kind::kPlain,
     "a mask of truth values, or with -inf, is constant, and so is `nonpad_kv_seqlen`; "
     "`is_causal` "
     "counts the past, as ONNX's text since version 1.23 says of all operator sets"},
    {"Bernoulli", Kind::kNot, "a random output has no bounds"},
    {"BitCast", Kind::kNot, "bits of integers: no real number has them"},
    {"BitShift", Kind::kNot, "bits of integers: no real number has them"},
    {"BitwiseAnd", Kind::kNot, "bits of integers: no real number has them"},
    {"BitwiseNot", Kind::kNot, "bits of integers: no real number has them"},
    {"BitwiseOr", Kind::kNot, "bits of integers: no real number has them"},
    {"BitwiseXor", Kind::kNot, "bits of integers: no real number has them"},
    {"Cast", Kind::kPartly,
     "between real numbers, integers of 8 to 64 bits and truth values; no strings; to float16, "
     "bfloat16 and floats of 8 and 4 bits numbers are rounded, to float constants alone"},
    {"CastLike", Kind::kPartly, "as Cast"},
    {"ConvInteger", Kind::kPlain,
     "constant zero points; that of the input may be one computed number"},
    {"CumProd", Kind::kPlain, "at most 256 factors"},
    {"DFT", Kind::kPlain, "at most 2^24 products"},
    {"DeformConv", Kind::kNot, "the positions read depend on the data"},
    {"Det", Kind::kNot, "no network of the field has a determinant"},
    {"Dropout", Kind::kPartly, "not in training mode; the mask is not made"},
    {"Einsum", Kind::kPlain, "operands beyond two are multiplied in their order"},
    {"Gather", Kind::kPlain, "constant indices, or token ids"},
    {"GridSample", Kind::kPartly, "constant grid; not cubic with padding by the border"},
    {"If", Kind::kPlain,
     "a constant condition chooses a branch; else both are bounded, which make tensors of equal "
     "shapes"},
    {"ImageDecoder", Kind::kNot, "decodes files"},
    {"IsInf", Kind::kPartly,
     "tensors never hold NaN or infinities here, so that the answer is false"},
    {"IsNaN", Kind::kPartly, "as IsInf"},
    {"LSTM", Kind::kPlain, "`clip` as ONNX Runtime has it, of the gates alone"},
    {"MatMulInteger", Kind::kPlain, "zero points are constant, or one computed number"},
    {"MaxPool", Kind::kPartly,
     "the indices are not made: they would be bounded by intervals of no use"},
    {"MaxRoiPool", Kind::kNot, "the positions read depend on the data"},
    {"MaxUnpool", Kind::kNot,
     "places elements by the indices of MaxPool, which depend on the data"},
    {"MelWeightMatrix", Kind::kNot, "its numbers jump where frequencies are rounded"},
    {"Multinomial", Kind::kNot, "a random output has no bounds"},
    {"NonMaxSuppression", Kind::kNot, "the output's shape depends on the data"},
    {"NonZero", Kind::kPartly, "on constants alone"},
    {"Optional", Kind::kPartly, "within the model"},
    {"OptionalGetElement", Kind::kPartly, "within the model"},
    {"OptionalHasElement", Kind::kPartly, "within the model"},
    {"Pow", Kind::kPlain, "constant exponent, or constant positive base"},
    {"RandomNormal", Kind::kNot, "a random output has no bounds"},
    {"RandomNormalLike", Kind::kNot, "a random output has no bounds"},
    {"RandomUniform", Kind::kNot, "a random output has no bounds"},
    {"RandomUniformLike", Kind::kNot, "a random output has no bounds"},
    {"ReduceProd", Kind::kPlain, "at most 256 factors"},
    {"RegexFullMatch", Kind::kNot, "strings cannot be bounded"},
    {"Resize", Kind::kPlain,
     "`align_corners` with scales goes by scale × length before it is rounded down, as ONNX's "
     "reference evaluator does"},
    {"RoiAlign", Kind::kNot, "the positions read depend on the data"},
    {"STFT", Kind::kPlain, "at most 2^24 products"},
    {"Scan", Kind::kPlain, "unrolled; no sequence lengths in operator set 8"},
    {"SimplifiedLayerNormalization", Kind::kPlain,
     "ONNX Runtime's optimiser writes it; ONNX has no such operator"},
    {"StringConcat", Kind::kNot, "strings cannot be bounded"},
    {"StringNormalizer", Kind::kNot, "strings cannot be bounded"},
    {"StringSplit", Kind::kNot, "strings cannot be bounded"},
    {"TfIdfVectorizer", Kind::kNot, "strings cannot be bounded"},
    {"TopK", Kind::kPlain, "constant k; at most 256 elements to sort"},
    {"Unique", Kind::kPartly, "on constants alone"},
};

}  // namespace

const std::vector<OperatorNote>& operator_notes() {
  static const std::vector<OperatorNote> notes = [] {
    std::vector<OperatorNote> all(std::begin(kNotes), std::end(kNotes));
    for (const std::string_view name : supported_operators())
      if (std::ranges::find(kNotes, name, &OperatorNote::name) == std::end(kNotes))
        all.push_back({name});
    std::ranges::sort(all, {}, &OperatorNote::name);
    return all;
  }();
  return notes;
}

}  // namespace bf_aot::conformance
