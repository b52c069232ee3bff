#include "planner/integer/layer_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "planner/integer/refuse.h"

namespace bf_aot {
namespace {

bool is_identity_table(const CodeTable& table, const GridTensor& in) {
  for (int code = in.low; code <= in.high; ++code)
    if (table.code[static_cast<std::size_t>(code)] != code) return false;
  return true;
}

// ---- Floats

mpq_class exact(float x) {
  return mpq_class(static_cast<double>(x));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

// The largest float that is at most x; -infinity below all of them.
float float_down(const mpq_class& x) {
  if (x >= exact(kMost)) return kMost;
  if (x < -exact(kMost)) return -kInfinity;
  float y = static_cast<float>(x.get_d());
  if (y > kMost) y = kMost;
  while (exact(y) > x) y = std::nextafter(y, -kInfinity);
  while (y < kMost && exact(std::nextafter(y, kInfinity)) <= x) y = std::nextafter(y, kInfinity);
  return y;
}

float float_up(const mpq_class& x) {
  return -float_down(-x);
}

// bf::integer::key_of: rises with the float, 0 for both zeros.
std::int32_t key_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffffU);
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// The key of the least float that reaches a cut; none where the float is not known.
std::optional<std::int32_t> key_of(const Cut& cut) {
  if (cut.where == Cut::Where::kAlways) return std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  if (cut.where == Cut::Where::kNever) return kNever;
  const auto key = [&](const mpq_class& at) {
    float least = float_up(at);
    if (std::isfinite(least) && !cut.inclusive && exact(least) == at)
      least = std::nextafter(least, kInfinity);
    return std::isfinite(least) ? key_of(least) : least > 0 ? kNever : -kNever;
  };
  const std::int32_t low = key(cut.at.low);
  if (low != key(cut.at.high)) return std::nullopt;
  return low;
}

// ---- Codes of codes

CodeOrder order_of(const CodeTable& table, int low, int high) {
  bool rises = true;
  bool falls = true;
  for (int code = low; code < high; ++code) {
    const auto at = static_cast<std::size_t>(code);
    rises = rises && table.code[at] <= table.code[at + 1];
    falls = falls && table.code[at] >= table.code[at + 1];
  }
  return rises ? CodeOrder::kRises : falls ? CodeOrder::kFalls : CodeOrder::kNeither;
}

// Codes beyond those that occur have the code of the nearest that does.
CodeTable table_of(const Chain& chain, const GridTensor& in, const std::string& origin) {
  CodeTable table;
  for (int code = in.low; code <= in.high; ++code) {
    const auto image = image_of(chain, Range(mpq_class(code)));
    if (!image) refuse_integers(origin, "its function has no value for some code of its input");
    if (image->low != image->high || image->low.get_den() != 1) refuse_loose_constants(origin);
    table.code[static_cast<std::size_t>(code)] =
        static_cast<std::uint8_t>(image->low.get_num().get_si());
  }
  for (int code = 0; code < in.low; ++code)
    table.code[static_cast<std::size_t>(code)] = table.code[static_cast<std::size_t>(in.low)];
  for (int code = in.high + 1; code < kGridCodes; ++code)
    table.code[static_cast<std::size_t>(code)] = table.code[static_cast<std::size_t>(in.high)];
  table.order = order_of(table, in.low, in.high);
  return table;
}

BoundTable bounds_of(const Chain& chain, const GridTensor& in, const std::string& origin) {
  BoundTable table;
  bool rises = true;
  bool falls = true;
  for (int c = 0; c < kGridCodes; ++c) {
    const int code = std::clamp(c, in.low, in.high);
    const auto image = image_of(chain, Range(mpq_class(code)));
    if (!image) refuse_integers(origin, "an output has no value for some code");
    const auto at = static_cast<std::size_t>(c);
    table.lower[at] = float_down(image->low);
    table.upper[at] = float_up(image->high);
    if (c == 0) continue;
    rises =
        rises && table.lower[at - 1] <= table.lower[at] && table.upper[at - 1] <= table.upper[at];
    falls =
        falls && table.lower[at - 1] >= table.lower[at] && table.upper[at - 1] >= table.upper[at];
  }
  if (!rises && !falls) refuse_integers(origin, "an output neither rises nor falls with its code");
  table.falls = !rises;
  return table;
}

// The table of each element; empty, which means the first table, if there is one class alone.
std::vector<int> table_numbers(const LinkClasses& classes) {
  return classes.leader.size() == 1 ? std::vector<int>{} : classes.of;
}

}  // namespace

// ---- Tensors

GridId LayerMaker::add_tensor(std::string_view kind, const Origin& origin, std::size_t count,
                              int low, int high) {
  GridTensor tensor;
  tensor.name = fmt::format("{}_{}", kind, plan_.tensors.size());
  tensor.origin = origin;
  tensor.count = static_cast<int>(count);
  tensor.low = low;
  tensor.high = high;
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<GridId>(plan_.tensors.size()) - 1;
}

GridId LayerMaker::in_order(const CodeSource& codes, const Origin& origin, std::size_t count) {
  if (codes.source.empty()) return codes.tensor;
  const GridTensor from = plan_.tensor(codes.tensor);
  GridTable step;
  step.in = codes.tensor;
  step.source = codes.source;
  step.out = add_tensor("moved", origin, count, from.low, from.high);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

// ---- Codes

Chain LayerMaker::chain_of(const Target& target, std::size_t element) const {
  Chain chain = chain_at(target.expression.links, element);
  if (target.limits.low != 0)
    chain.emplace_back(
        AffineLink{Range(mpq_class(1)), Range(mpq_class(static_cast<long>(-target.limits.low)))});
  return chain;
}

GridId LayerMaker::make_codes(const GridExpression& expression, const CodeLimits& limits,
                              std::size_t count) {
  const Target target{expression, limits, count};
  return std::visit([&](const auto& source) { return make(source, target); }, expression.source);
}

GridId LayerMaker::make_loose(GridId codes, const CodeLimits& limits) {
  const GridTensor in = plan_.tensor(codes);
  GridLoose step;
  step.in = codes;
  step.highest = static_cast<int>(limits.high - limits.low);
  step.out = add_tensor("loose", in.origin, static_cast<std::size_t>(in.count),
                        std::max(in.low - 1, 0), std::min(in.high + 1, step.highest));
  plan_.steps.emplace_back(step);
  return step.out;
}

GridId LayerMaker::make(const InputSource& input, const Target& target) {
  const LinkClasses classes = classes_of(target.expression.links, target.count);
  QuantizeBox step;
  for (const std::size_t leader : classes.leader) {
    const Chain chain = chain_of(target, leader);
    std::vector<std::int32_t> keys;
    for (int code = 1; code < target.codes(); ++code) {
      const auto cut = cut_of(chain, code);
      if (!cut)
        refuse_integers(target.expression.origin, "codes of the network's input must rise with it");
      const auto key = key_of(*cut);
      if (!key) refuse_loose_constants(target.expression.origin);
      keys.push_back(*key);
    }
    step.keys.push_back(std::move(keys));
  }
  step.source = input.source;
  step.table = table_numbers(classes);
  step.out = add_tensor("input", target.expression.origin, target.count, 0, target.codes() - 1);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

GridId LayerMaker::make(const CodeSource& codes, const Target& target) {
  const GridTensor in = plan_.tensor(codes.tensor);
  const LinkClasses classes = classes_of(target.expression.links, target.count);
  GridTable step;
  step.in = codes.tensor;
  step.source = codes.source;
  int low = kGridCodes;
  int high = 0;
  bool copies = true;
  for (const std::size_t leader : classes.leader) {
    step.tables.push_back(table_of(chain_of(target, leader), in, target.expression.origin));
    const CodeTable& table = step.tables.back();
    low = std::min<int>(low, *std::ranges::min_element(table.code));
    high = std::max<int>(high, *std::ranges::max_element(table.code));
    copies = copies && is_identity_table(table, in);
  }
  if (copies && step.source.empty()) return codes.tensor;
  if (copies) step.tables.clear();
  if (!copies) step.table = table_numbers(classes);
  step.out = add_tensor("table", target.expression.origin, target.count, low, high);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

GridId LayerMaker::make(const LinearSource& linear, const Target& target) {
  if (const auto* const dense = std::get_if<Affine>(&linear.node->op))
    return make_linear(*dense, linear, target);
  if (const auto* const conv = std::get_if<Conv>(&linear.node->op))
    return make_linear(*conv, linear, target);
  return make_linear(std::get<SparseAffine>(linear.node->op), linear, target);
}

GridId LayerMaker::make_largest(const CodeSource& codes, const GroupMax& op, const Origin& origin) {
  const GridTensor in = plan_.tensor(codes.tensor);
  GridMax step;
  step.in = codes.tensor;
  step.row_start = op.row_start;
  step.source = op.source;
  if (!codes.source.empty())
    for (std::int64_t& from : step.source) from = codes.source[static_cast<std::size_t>(from)];
  step.out = add_tensor("max", origin, static_cast<std::size_t>(op.rows()), in.low, in.high);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

// ---- Sums of two tensors

GridId LayerMaker::make(const PairSource& pair, const Target& target) {
  const Origin& origin = target.expression.origin;
  if (classes_of(target.expression.links, target.count).leader.size() != 1)
    refuse_integers(origin, "the codes of a sum of two tensors have several scales");
  if (pair.a.scale < 0 || pair.b.scale < 0)
    refuse_integers(origin, "a tensor is subtracted from another");
  const Chain chain = chain_of(target, 0);
  PairShape shape;
  const auto form = round_form(chain);
  if (!form || !(form->factor > 0))
    refuse_integers(origin, "the codes of a sum of two tensors must rise");
  shape.a_slope = form->factor * pair.a.scale;
  shape.b_slope = form->factor * pair.b.scale;
  shape.offset = form->factor * (pair.a.offset + pair.b.offset) + form->offset + form->after;
  shape.after = form->after;
  const mpq_class ratio = shape.a_slope / shape.b_slope;
  shape.a_multiple = ratio.get_num();
  shape.b_multiple = ratio.get_den();
  shape.rounds = true;

  GridSum step;
  Cuts cuts;
  for (int code = 1; code < target.codes(); ++code) {
    auto cut = cut_of(chain, code);
    if (!cut) refuse_integers(origin, "the codes of a sum of two tensors must rise");
    if (!cut->at.is_exact()) refuse_loose_constants(origin);
    cuts.push_back(std::move(*cut));
  }
  const auto reached = [&](const Cut& cut, const mpq_class& x) {
    if (cut.where != Cut::Where::kAt) return cut.where == Cut::Where::kAlways;
    return cut.inclusive ? x >= cut.at.low : x > cut.at.low;
  };
  for (int a = 0; a < kGridCodes; ++a) {
    std::size_t code = 0;
    for (int b = 0; b < kGridCodes; ++b) {
      const mpq_class x = pair.a.scale * a + pair.a.offset + pair.b.scale * b + pair.b.offset;
      while (code < cuts.size() && reached(cuts[code], x)) ++code;
      step.code.push_back(static_cast<std::uint8_t>(code));
    }
  }
  step.low = step.code.front();
  step.high = step.code.back();
  if (!find_arithmetic(shape, step))
    refuse_integers(origin, "no arithmetic of 64 bits rounds the sum of the two tensors exactly");
  step.a = in_order(pair.a.codes, origin, target.count);
  step.b = in_order(pair.b.codes, origin, target.count);
  const auto code_at = [&](int a, int b) {
    return step.code[static_cast<std::size_t>(a * kGridCodes + b)];
  };
  const GridTensor a = plan_.tensor(step.a);
  const GridTensor b = plan_.tensor(step.b);
  step.out =
      add_tensor("sum", origin, target.count, code_at(a.low, b.low), code_at(a.high, b.high));
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

// ---- Tensors side by side

namespace {

// Runs of elements whose codes follow each other in one part, or have indices of their own.
std::vector<GridPart> runs_of(const PartsSource& source) {
  std::vector<GridPart> runs;
  for (std::size_t i = 0; i < source.part.size(); ++i) {
    const int part = source.part[i];
    const auto from = static_cast<int>(source.from[i]);
    const bool follows = i > 0 && source.part[i - 1] == part;
    if (!follows) {
      GridPart run;
      run.in = part;
      run.first = static_cast<int>(i);
      run.begin = from;
      runs.push_back(std::move(run));
    }
    GridPart& run = runs.back();
    if (run.source.empty() && from != run.begin + run.count)
      for (int k = 0; k < run.count; ++k) run.source.push_back(run.begin + k);
    if (!run.source.empty()) run.source.push_back(from);
    ++run.count;
  }
  return runs;
}

}  // namespace

GridId LayerMaker::add_parts(GridParts step, const PartsSource& parts, const Origin& origin) {
  int low = kGridCodes;
  int high = 0;
  for (const GridPart& part : step.parts) {
    const GridTensor& in = plan_.tensor(part.in);
    low = std::min<int>(low, part.copies ? in.low : *std::ranges::min_element(part.table.code));
    high = std::max<int>(high, part.copies ? in.high : *std::ranges::max_element(part.table.code));
  }
  step.out = add_tensor("parts", origin, parts.part.size(), low, high);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

GridId LayerMaker::make_copies(const PartsSource& parts, const Origin& origin) {
  GridParts step{0, runs_of(parts)};
  for (GridPart& part : step.parts)
    part.in = parts.parts[static_cast<std::size_t>(part.in)].codes.tensor;
  return add_parts(std::move(step), parts, origin);
}

GridId LayerMaker::make(const PartsSource& parts, const Target& target) {
  const Origin& origin = target.expression.origin;
  if (classes_of(target.expression.links, target.count).leader.size() != 1)
    refuse_integers(origin, "the codes of tensors side by side have several scales");
  const Chain chain = chain_of(target, 0);
  std::vector<CodeTable> tables;
  for (const CodeView& view : parts.parts) {
    Chain whole = chain;
    put_before(whole, AffineLink{Range(view.scale), Range(view.offset)});
    tables.push_back(table_of(whole, plan_.tensor(view.codes.tensor), origin));
  }
  Chain nothing = chain;
  put_before(nothing, AffineLink{Range(mpq_class(0)), Range(mpq_class(0))});
  GridParts step{0, runs_of(parts)};
  for (GridPart& part : step.parts) {
    const int number = part.in;
    const CodeView& view = parts.parts[number < 0 ? 0 : static_cast<std::size_t>(number)];
    part.in = view.codes.tensor;
    const GridTensor& in = plan_.tensor(part.in);
    part.table =
        number < 0 ? table_of(nothing, in, origin) : tables[static_cast<std::size_t>(number)];
    part.copies = is_identity_table(part.table, in);
    // Zeros need no code of their own.
    if (number < 0) part.source.assign(static_cast<std::size_t>(part.count), 0);
  }
  return add_parts(std::move(step), parts, origin);
}

// ---- Outputs

void LayerMaker::make_outputs(const GridExpression& expression, int first, std::size_t count) {
  if (const auto* const linear = std::get_if<LinearSource>(&expression.source))
    return make_sum_outputs(expression, *linear, first);
  const auto* const codes = std::get_if<CodeSource>(&expression.source);
  if (codes == nullptr) refuse_integers(expression.origin, "an output is not rounded to codes");
  DequantizeBounds step;
  step.origin = expression.origin;
  step.in = codes->tensor;
  step.source = codes->source;
  step.first = first;
  step.count = static_cast<int>(count);
  const LinkClasses classes = classes_of(expression.links, count);
  for (const std::size_t leader : classes.leader)
    step.tables.push_back(bounds_of(chain_at(expression.links, leader), plan_.tensor(codes->tensor),
                                    expression.origin));
  step.table = table_numbers(classes);
  for (std::size_t i = 0; i < count; ++i) {
    Chain chain = chain_at(expression.links, i);
    put_before(chain, AffineLink{Range(mpq_class(1)), Range(mpq_class(0))});
    const std::int64_t code = step.source.empty() ? static_cast<std::int64_t>(i) : step.source[i];
    outputs_.push_back({step.in, {{code, 1}}, std::move(chain), expression.origin});
  }
  plan_.steps.emplace_back(std::move(step));
}

}  // namespace bf_aot
