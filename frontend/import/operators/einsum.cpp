#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

// One letter of the equation stands for one dimension; those of the ellipsis are digits, counted
// from the last one.
using Labels = std::string;

constexpr std::string_view kEllipsis = "...";

Labels expand_ellipsis(std::string term, std::size_t rank, std::size_t most) {
  const std::size_t at = term.find(kEllipsis);
  if (at == std::string::npos) return term;
  const std::size_t named = term.size() - kEllipsis.size();
  const std::size_t hidden = rank == std::string::npos ? most : rank < named ? 0 : rank - named;
  if (hidden > 9) fail("BF1026", "", "an ellipsis of more than 9 dimensions");
  std::string digits;
  for (std::size_t i = hidden; i-- > 0;) digits += static_cast<char>('0' + i);
  return term.replace(at, kEllipsis.size(), digits);
}

// A tensor that is multiplied: an input of the node, or a product of some of them.
struct Multiplied {
  ValueId value;
  Shape shape;
  std::optional<Constant> known;  // it is one of the node's constants
};

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  Labels summed;                        // all labels that the output lacks
  std::map<char, std::int64_t> extent;  // of each label
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  return parts;
}

// An equation without "->" has an output of the ellipsis and the letters that occur once, in order.
Labels implicit_output(const std::vector<Labels>& inputs) {
  Labels digits, letters;
  for (char label = '9'; label >= '0'; --label)
    for (const Labels& labels : inputs)
      if (labels.find(label) != std::string::npos && digits.find(label) == std::string::npos)
        digits += label;
  std::map<char, int> count;
  for (const Labels& labels : inputs)
    for (char label : labels) ++count[label];
  for (const auto& [label, times] : count)
    if (times == 1 && label > '9') letters += label;
  return digits + letters;
}

void measure(const std::vector<Shape>& shapes, Equation& equation) {
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const Shape& shape = shapes[i];
    const Labels& labels = equation.inputs[i];
    if (labels.size() != shape.size())
      fail("BF1014", "",
           fmt::format("{} labels for input {} of shape {}", labels.size(), i, to_string(shape)));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = equation.extent.emplace(labels[d], 1).first->second;
      if (extent != shape[d] && extent != 1 && shape[d] != 1)
        fail("BF1014", "",
             fmt::format("dimension {} of input {} is {}, not {}", d, i, shape[d], extent));
      extent = std::max(extent, shape[d]);
    }
  }
}

void find_summed(Equation& equation) {
  for (const auto& [label, extent] : equation.extent)
    if (equation.output.find(label) == std::string::npos) equation.summed += label;
}

Equation parse_equation(NodeImport& node) {
  std::string text = node.attribute("equation", onnx::AttributeProto::STRING).s();
  std::erase(text, ' ');
  const auto malformed = [&] {
    fail("BF1012", "", fmt::format("attribute 'equation' is '{}'", printable(text)),
         "terms of letters and at most one ellipsis, like ij,jk->ik");
  };
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  if (terms.size() != node.input_count()) malformed();
  const std::string result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  for (std::string term : terms) {
    if (const std::size_t at = term.find(kEllipsis); at != std::string::npos) term.erase(at, 3);
    for (char c : term)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) malformed();
  }
  Equation equation;
  std::size_t most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Labels labels = expand_ellipsis(terms[i], node.input_shape(i).size(), 0);
    if (terms[i].find(kEllipsis) != std::string::npos)
      most = std::max(most, labels.size() + kEllipsis.size() - terms[i].size());
    equation.inputs.push_back(labels);
  }
  equation.output = arrow == std::string::npos ? implicit_output(equation.inputs)
                                               : expand_ellipsis(result, std::string::npos, most);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) shapes.push_back(node.input_shape(i));
  measure(shapes, equation);
  for (char label : equation.output)
    if (!equation.extent.contains(label) ||
        std::count(equation.output.begin(), equation.output.end(), label) > 1)
      malformed();
  find_summed(equation);
  return equation;
}

// The element of operand i for each index over the labels, the last one the fastest.
std::vector<std::int64_t> source_of(NodeImport& node, const Equation& equation,
                                    const std::vector<Multiplied>& operands, std::size_t i,
                                    const Labels& all) {
  const Shape& shape = operands[i].shape;
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  Shape extents;
  std::vector<std::int64_t> step;
  for (char label : all) {
    extents.push_back(equation.extent.at(label));
    step.push_back(0);
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (equation.inputs[i][d] == label && shape[d] != 1) step.back() += strides[d];
  }
  node.reader().charge(extents, "");
  std::vector<std::int64_t> source = {0};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(source.size() * static_cast<std::size_t>(extents[d]));
    for (std::int64_t base : source)
      for (std::int64_t k = 0; k < extents[d]; ++k) next.push_back(base + k * step[d]);
    source = std::move(next);
  }
  return source;
}

// Sums of `group` terms each: x_{source_k} times the factor's element, if there is a factor.
ValueId add_sums(NodeImport& node, ValueId x, const std::vector<std::int64_t>& source,
                 std::int64_t group, const Shape& shape, const Constant* factor,
                 const std::vector<std::int64_t>& factor_source) {
  RowBuilder rows(node);
  for (std::size_t k = 0; k < source.size(); ++k) {
    if (k % static_cast<std::size_t>(group) == 0) rows.begin();
    rows.add(source[k], factor == nullptr
                            ? Bounded{1, 0}
                            : bounded_at(*factor, static_cast<std::size_t>(factor_source[k])));
  }
  return std::move(rows).finish_sums(x, shape);
}

// The labels of an equation of two operands by where they are, in the order of the output.
struct Roles {
  Labels batch, rows, columns;  // of both operands, of the first, of the second
  bool is_product = true;       // every summed label is of both
};

Roles roles_of(const Equation& equation) {
  Roles roles;
  const auto has = [&](std::size_t i, char label) {
    return equation.inputs[i].find(label) != Labels::npos;
  };
  for (const char label : equation.output) {
    Labels& of = has(0, label) && has(1, label) ? roles.batch
                 : has(0, label)                ? roles.rows
                                                : roles.columns;
    of += label;
  }
  for (const char label : equation.summed)
    roles.is_product = roles.is_product && has(0, label) && has(1, label);
  return roles;
}

std::int64_t extent_of(const Equation& equation, const Labels& labels) {
  std::int64_t count = 1;
  for (const char label : labels) count *= equation.extent.at(label);
  return count;
}

// A product of matrices in batches, put in the order of the output.
ValueId add_product(NodeImport& node, const Equation& equation,
                    const std::vector<Multiplied>& operands, const Roles& roles,
                    const Shape& shape) {
  const std::int64_t batch = extent_of(equation, roles.batch), m = extent_of(equation, roles.rows);
  const std::int64_t n = extent_of(equation, roles.columns);
  const std::int64_t k = extent_of(equation, equation.summed);
  const auto gathered = [&](std::size_t i, const Labels& labels, const Shape& of) {
    return add_index_map(node, operands[i].value, of,
                         [&] { return source_of(node, equation, operands, i, labels); });
  };
  const ValueId left = gathered(0, roles.batch + roles.rows + equation.summed, {batch, m, k});
  const ValueId right = gathered(1, roles.batch + equation.summed + roles.columns, {batch, k, n});
  const ValueId product = node.add(MatMul{}, {left, right}, {batch, m, n});
  const Labels made = roles.batch + roles.rows + roles.columns;
  std::map<char, std::int64_t> stride;
  std::int64_t step = 1;
  for (auto label = made.rbegin(); label != made.rend(); ++label) {
    stride[*label] = step;
    step *= equation.extent.at(*label);
  }
  std::vector<std::int64_t> source = {0};
  for (const char label : equation.output) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : source)
      for (std::int64_t i = 0; i < equation.extent.at(label); ++i)
        next.push_back(base + i * stride[label]);
    source = std::move(next);
  }
  return add_index_map(node, product, shape, [&] { return source; });
}

// The sums of an equation of one or two operands.
ValueId add_contracted(NodeImport& node, const Equation& equation,
                       const std::vector<Multiplied>& operands) {
  Shape shape;
  std::int64_t group = 1;
  Shape all;
  for (const auto& [label, extent] : equation.extent) all.push_back(extent);
  node.check_size(all);
  for (char label : equation.output) shape.push_back(equation.extent.at(label));
  for (char label : equation.summed) group *= equation.extent.at(label);
  check_work(node, element_count(shape), group);
  const bool computed = operands.size() == 2 && !operands[0].known && !operands[1].known;
  if (computed && group > 1) {
    const Roles roles = roles_of(equation);
    if (roles.is_product) return add_product(node, equation, operands, roles, shape);
  }
  const Labels labels = equation.output + equation.summed;
  const std::vector<std::int64_t> a = source_of(node, equation, operands, 0, labels);
  if (operands.size() == 1) return add_sums(node, operands[0].value, a, group, shape, nullptr, {});
  const std::vector<std::int64_t> b = source_of(node, equation, operands, 1, labels);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!operands[i].known) continue;
    if (std::ranges::any_of(equation.summed, [&](char label) {
          return equation.inputs[1 - i].find(label) == Labels::npos;
        }))
      node.note_form("sum of the constant");
    return add_sums(node, operands[1 - i].value, i == 0 ? b : a, group, shape, &*operands[i].known,
                    i == 0 ? a : b);
  }
  const Shape terms = {static_cast<std::int64_t>(a.size())};
  const ValueId left = add_index_map(node, operands[0].value, terms, [&] { return a; });
  const ValueId right = add_index_map(node, operands[1].value, terms, [&] { return b; });
  const ValueId products = add_binary(node, Binary::Kind::kMul, left, right);
  std::vector<std::int64_t> terms_in_order(a.size());
  std::iota(terms_in_order.begin(), terms_in_order.end(), 0);
  return add_sums(node, products, terms_in_order, group, shape, nullptr, {});
}

// The first two operands become one, which keeps the labels that the others or the output have.
void contract_first(NodeImport& node, Equation& equation, std::vector<Multiplied>& operands) {
  Labels later = equation.output;
  for (std::size_t i = 2; i < equation.inputs.size(); ++i) later += equation.inputs[i];
  Equation pair;
  pair.inputs = {equation.inputs[0], equation.inputs[1]};
  measure({operands[0].shape, operands[1].shape}, pair);
  for (const char label : equation.inputs[0] + equation.inputs[1])
    if (later.find(label) != Labels::npos && pair.output.find(label) == Labels::npos)
      pair.output += label;
  find_summed(pair);
  const ValueId made = add_contracted(node, pair, {operands[0], operands[1]});
  operands.erase(operands.begin());
  equation.inputs.erase(equation.inputs.begin());
  operands[0] = {made, node.shape_of(made), std::nullopt};
  equation.inputs[0] = pair.output;
  for (const char label : pair.summed) equation.extent.erase(label);
  equation.summed.clear();
  find_summed(equation);
}

// Operands beyond two are multiplied in the order in which they stand.
void import_einsum(NodeImport& node) {
  Equation equation = parse_equation(node);
  if (equation.inputs.size() > 2) node.note_form("of three or more");
  std::vector<Multiplied> operands;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    std::optional<Constant> known;
    if (const Constant* const found = node.constant_if_any(i)) known = *found;
    operands.push_back({node.input(i), node.input_shape(i), std::move(known)});
  }
  while (operands.size() > 2) contract_first(node, equation, operands);
  node.emit(add_contracted(node, equation, operands));
}

}  // namespace

OperatorRows einsum_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Einsum", import_einsum, 1, kVariadic, 1, {"equation"}},
  };
  return kRows;
}

}  // namespace bf_aot
