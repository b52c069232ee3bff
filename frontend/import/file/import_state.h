#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "frontend/algebra/fold_node.h"
#include "frontend/algebra/reach.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/import/file/bodies.h"
#include "frontend/import/file/tensors.h"

namespace bf_aot {

// A value whose maker failed and said why; its readers stay silent.
struct Poisoned {};

// Made by the model but of no use in a verifier: the mask of Dropout.
struct Unavailable {
  std::string what;  // "the mask that Dropout 'd' makes"
  std::string hint;
};

// An initializer or Constant node; becomes a Literal node when an operator first reads it.
struct PendingLiteral {
  Constant value;
  Origin origin;
  ElementType type = onnx::TensorProto::FLOAT;
};

// A real tensor some of whose elements are -inf: a mask of Softmax, or what it was added to. Or,
// with `other`, some of them are NaN or infinite, and nothing but moves them or chooses others is
// known.
struct Masked {
  ValueId value;             // what the others are
  std::vector<bool> hidden;  // by element: it is such a one, whatever `value` has there
  std::string other = {};    // "nan" or "inf", one that is there; empty: all are -inf
};

// A sequence of tensors, by their names.
struct Sequence {
  std::vector<std::string> tensors;
};

// The meaning of a tensor name of the ONNX graph. Values of integer type that are computed from
// constants alone are always IntegerTensors.
using Symbol =
    std::variant<Poisoned, Unavailable, ValueId, PendingLiteral, IntegerTensor, Masked, Sequence>;

// An input of token ids, which are sums over a one-hot input.
struct TokenIds {
  ValueId one_hot;
  std::vector<std::vector<std::int64_t>> sets;  // by element
};

// Token ids as an operator reads them.
struct ReadTokenIds {
  const TokenIds& ids;
  std::vector<std::int64_t> element;  // of the ids, for each element that is read
};

// The model while it is imported.
struct ImportState {
  Graph graph;
  TensorReader reader;
  std::int64_t opset = 0;                           // the newest one that the model imports
  std::int64_t oldest_opset = 0;                    // that it imports, too
  std::unordered_map<std::string, Symbol> symbols;  // by ONNX name
  std::vector<Diagnostic> diagnostics;              // found so far
  std::unordered_set<std::string> names;            // of the graph's values

  // Side tables that are indexed by ValueId:
  std::vector<ElementType> types;
  std::vector<int> makers;                              // graph.nodes' index; -1: an input
  std::vector<bool> known;                              // computed from constants alone
  std::vector<std::unique_ptr<const Constant>> folded;  // of known values, when asked for

  FoldBudget folding;

  std::map<ValueId, TokenIds> token_ids;

  // Masked::hidden of what an operator that masks reads, by name, while it is imported.
  std::unordered_map<std::string, std::vector<bool>> hidden;

  std::map<std::string, std::string> operators;  // see ModelInfo

  BodyImporter* bodies = nullptr;  // of the node that is imported

  // Adds a graph input for the ONNX tensor `name`. Limits and errors as add_node.
  ValueId add_input(const std::string& name, const Shape& shape, ElementType type);

  // Adds a node and its output, whose shape must be within the limits and not empty.
  // Throws: BF1005, BF1014, BF1028.
  ValueId add_node(Op op, std::vector<ValueId> inputs, const std::string& name, const Shape& shape,
                   ElementType type, Origin origin);

  // A constant as a symbol: Masked where an element is NaN or infinite. Throws as add_node.
  Symbol constant_symbol(const std::string& name, Constant value, ElementType type, Origin origin);

  // Gives a value another name, made unique.
  void rename(ValueId id, const std::string& name);

  // The graph's value for a name; makes the Literal node of a constant.
  // Throws: BF1020 not available, BF1019 an integer that is no double, BF1023 it is Masked. The
  // name must be known, not poisoned.
  ValueId value(const std::string& name);

  // The constant that a value is, with a bound of its rounding; nullptr when it depends on the
  // model's inputs or cannot be bounded. Stays valid until a node is added. Throws: BF1028, BF2005.
  const Constant* constant(ValueId id);

  // The integers that a value of integer type is; nullopt when they depend on the model's inputs,
  // are not known exactly, or are beyond 2^53.
  std::optional<IntegerTensor> integers(ValueId id);

  // The value whose elements `id` has, moved alone: token ids, an input, or what another operator
  // makes. element: which of its elements each element of `id` is.
  ValueId moved_from(ValueId id, std::vector<std::int64_t>& element) const;

  // The name of the nearest tensor of several real numbers, made by an operator, that whole numbers
  // are computed from, such as the scores that ArgMax reads. Empty: there is none, or `id` has real
  // numbers.
  std::string scores_before(ValueId id) const;

  // Holds what the values so far may be, by ValueId, for helpers/integer_types.h.
  std::vector<Reach> reaches = {};

  // The operator that is being imported takes tensors without elements; others may not read one.
  bool reads_empty = false;

 private:
  // Throws: BF1014 when a tensor of this shape has no elements.
  static void expect_elements(const std::string& name, const Shape& shape);
  ValueId add_value(const std::string& name, const Shape& shape, ElementType type, int maker,
                    bool is_known);
  std::string unique_name(const std::string& name);
};

}  // namespace bf_aot
