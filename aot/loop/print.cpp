#include "aot/loop/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "aot/literals.h"
#include "frontend/diagnostic.h"

namespace bf::loop {
namespace {

// constant + sum of coefficient * variable, in order of first use.
struct Linear {
  std::vector<std::pair<std::string, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const Linear& other, std::int64_t factor) {
    constant += other.constant * factor;
    for (const auto& [name, coefficient] : other.terms) {
      const auto same =
          std::ranges::find(terms, name, &std::pair<std::string, std::int64_t>::first);
      if (same != terms.end())
        same->second += coefficient * factor;
      else
        terms.emplace_back(name, coefficient * factor);
    }
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  }

  bool is_zero() const { return terms.empty() && constant == 0; }
};

std::string to_text(const Linear& linear) {
  std::string text;
  for (const auto& [name, coefficient] : linear.terms) {
    if (!text.empty()) text += " + ";
    BF_CHECK(coefficient > 0);
    text += coefficient == 1 ? name : fmt::format("{} * {}", coefficient, name);
  }
  if (text.empty()) return std::to_string(linear.constant);
  if (linear.constant != 0)
    text += fmt::format(" {} {}", linear.constant < 0 ? '-' : '+', std::abs(linear.constant));
  return text;
}

class NestPrinter {
 public:
  NestPrinter(const Nest& nest, VectorTypes& types)
      : nest_(nest), types_(types), lanes_(nest.lanes()) {}

  // The nest without its first `skipped` loops, which the caller has opened.
  std::string print_inside(std::size_t skipped, int indent) {
    indent_ = indent;
    find_regions(skipped);
    for (std::size_t i = skipped; i < region_; ++i) open(nest_.loops()[i]);
    if (nest_.expression().sums.empty())
      print_points();
    else
      print_sums();
    close_to(indent);
    return std::move(text_);
  }

  // Opens one serial loop and returns its header lines.
  std::string header(const Loop& loop, int indent) {
    indent_ = indent;
    open(loop);
    return std::move(text_);
  }

 private:
  // `region_`: the position after the last serial loop over a kept axis. Accumulators live there.
  void find_regions(std::size_t skipped) {
    const std::vector<Loop>& loops = nest_.loops();
    region_ = skipped;
    for (std::size_t i = skipped; i < loops.size(); ++i)
      if (!is_reduced(loops[i]) && loops[i].kind == LoopKind::kSerial &&
          nest_.trip_count(loops[i]) > 1)
        region_ = i + 1;
    // What a sum gathers before the last iteration of a reduced loop outside would be lost.
    for (std::size_t i = 0; i < region_; ++i)
      if (is_reduced(loops[i]) && nest_.trip_count(loops[i]) > 1)
        for (const Sum& sum : nest_.expression().sums) BF_CHECK(!sum.buffer.empty());
    bool inner = false;
    for (std::size_t i = region_; i < loops.size(); ++i) {
      const bool reduced = is_reduced(loops[i]);
      if (!reduced && loops[i].kind == LoopKind::kSerial) continue;  // of one iteration
      BF_CHECK(!(reduced && inner));  // reduced loops come before the register tile
      if (reduced)
        reduced_.push_back(&loops[i]);
      else
        tile_.push_back(&loops[i]);
      inner = inner || !reduced;
    }
  }

  bool is_reduced(const Loop& loop) const { return nest_.axis(loop.axis).reduced; }

  // ---- values of loops and indices

  Linear value_of(const Loop& loop) const {
    Linear value;
    const bool single = nest_.trip_count(loop) == 1 && loop.kind != LoopKind::kVector;
    if (loop.kind == LoopKind::kSerial && !single) {
      value.terms.emplace_back(loop.name, 1);
      return value;
    }
    value = loop.outer.empty() ? Linear{{}, nest_.axis(loop.axis).begin}
                               : value_of(nest_.loop(loop.outer));
    if (loop.kind == LoopKind::kUnrolled && !single) value.add({{{loop.name, 1}}, 0}, loop.step);
    return value;
  }

  // The loop whose value is floor(axis, tile).
  const Loop* loop_of(const std::string& axis, std::int64_t tile) const {
    for (const Loop& loop : nest_.loops())
      if (loop.axis == axis && loop.step == tile) return &loop;
    return nullptr;
  }

  Linear value_of(const IndexTerm& term) const {
    const Axis& range = nest_.axis(term.axis);
    BF_CHECK(range.begin % term.tile == 0);  // else the loops' tiles are not the index's
    if (const Loop* loop = loop_of(term.axis, term.tile)) return value_of(*loop);
    BF_CHECK(range.begin >= 0 && range.end <= term.tile);  // else the schedule lacks a tile loop
    return {};
  }

  Linear linear(const Index& index) const {
    Linear sum;
    sum.constant = index.constant;
    for (const IndexTerm& term : index.terms) sum.add(value_of(term), term.coefficient);
    return sum;
  }

  bool follows_lanes(const Index& index) const {
    if (lanes_ == 1) return false;
    const std::string& axis = nest_.loops().back().axis;
    std::int64_t coefficient = 0;
    for (const IndexTerm& term : index.terms)
      if (term.axis == axis && term.tile == 1) coefficient += term.coefficient;
    BF_CHECK(coefficient == 0 || coefficient == 1);  // lanes are neighbours in memory or equal
    return coefficient == 1;
  }

  // ---- expressions

  std::string type(Type element) {
    if (lanes_ > 1 && element != Type::kMask) types_.insert({element, lanes_});
    return type_name(element, lanes_);
  }

  std::string broadcast(const std::string& value, Type element) {
    if (lanes_ == 1) return value;
    return fmt::format("broadcast<{}>({})", type(element), value);
  }

  std::string at(const std::string& buffer, const Index& index) const {
    const Linear offset = linear(index);
    return offset.is_zero() ? buffer : buffer + " + " + to_text(offset);
  }

  std::string element(const Expr& expr) const {
    return fmt::format("{}[{}]", expr.name, to_text(linear(expr.index)));
  }

  std::string load_text(const Expr& expr) {
    if (!follows_lanes(expr.index)) return broadcast(element(expr), expr.type);
    return fmt::format("load<{}>({})", type(expr.type), at(expr.name, expr.index));
  }

  static std::string number(const Expr& expr) {
    if (std::isinf(expr.value)) return expr.value < 0 ? "-kInfinity" : "kInfinity";
    return expr.type == Type::kFloat64 ? double_literal(expr.value)
                                       : float_literal(static_cast<float>(expr.value));
  }

  // How tightly an expression binds in C++; atoms and calls most.
  static int precedence(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kSelect:
        return 0;
      case ExprKind::kAnd:
        return 1;
      case ExprKind::kLess:
      case ExprKind::kLessEqual:
        return 2;
      case ExprKind::kAdd:
      case ExprKind::kSub:
        return 3;
      case ExprKind::kMul:
        return 4;
      default:
        return 5;
    }
  }

  // Comparisons joined by & or && are written in parentheses: compilers warn of them otherwise.
  std::string infix(const Expr& expr, const char* symbol) {
    const int own = precedence(expr);
    const bool strict = expr.kind == ExprKind::kAnd;
    return fmt::format("{} {} {}", operand(*expr.operands[0], strict ? 5 : own), symbol,
                       operand(*expr.operands[1], strict ? 5 : own + 1));
  }

  // Two signs would be a decrement.
  static std::string negated(const std::string& text) {
    return text.starts_with('-') ? "-(" + text + ")" : "-" + text;
  }

  // In parentheses when it binds less tightly than `least`.
  std::string operand(const Expr& expr, int least = 5) {
    const std::string text = expression(expr);
    return precedence(expr) < least ? "(" + text + ")" : text;
  }

  std::string expression(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral:
        return broadcast(number(expr), expr.type);
      case ExprKind::kScalar:
        return broadcast(expr.name, expr.type);
      case ExprKind::kLocal:
        return local_text(expr.name);
      case ExprKind::kLoad:
        return load_text(expr);
      case ExprKind::kAdd:
        return infix(expr, "+");
      case ExprKind::kSub:
        return infix(expr, "-");
      case ExprKind::kMul:
        return infix(expr, "*");
      case ExprKind::kMax:
        return fmt::format("larger({}, {})", expression(*expr.operands[0]),
                           expression(*expr.operands[1]));
      case ExprKind::kNegate:
        return negated(operand(*expr.operands[0]));
      case ExprKind::kAbs:
        return fmt::format("magnitude({})", expression(*expr.operands[0]));
      case ExprKind::kLess:
        return infix(expr, "<");
      case ExprKind::kLessEqual:
        return infix(expr, "<=");
      case ExprKind::kAnd:
        return infix(expr, lanes_ == 1 ? "&&" : "&");
      case ExprKind::kSelect:
        return fmt::format("{} ? {} : {}", operand(*expr.operands[0], 2),
                           operand(*expr.operands[1], 3), operand(*expr.operands[2], 3));
      case ExprKind::kToDouble:
        // One number for all lanes is converted before it is spread: GCC 12 takes twice as long the
        // other way round.
        if (lanes_ > 1 && expr.operands[0]->kind == ExprKind::kLoad &&
            !follows_lanes(expr.operands[0]->index))
          return broadcast(fmt::format("static_cast<double>({})", element(*expr.operands[0])),
                           Type::kFloat64);
        [[fallthrough]];
      case ExprKind::kToFloat:
        return fmt::format("{}<{}>({})", lanes_ == 1 ? "static_cast" : "convert", type(expr.type),
                           expression(*expr.operands[0]));
    }
    BF_CHECK(false);
    return {};
  }

  // Accumulators are arrays over the unrolled loops of the register tile.
  std::string subscript() const {
    std::string text;
    for (const Loop* loop : tile_)
      if (loop->kind == LoopKind::kUnrolled && nest_.trip_count(*loop) > 1)
        text += fmt::format("[{}]", loop->name);
    return text;
  }

  const Sum* sum_named(const std::string& name) const {
    for (const Sum& sum : nest_.expression().sums)
      if (sum.accumulator == name) return &sum;
    return nullptr;
  }

  std::string local_text(const std::string& name) const {
    return sum_named(name) != nullptr ? name + subscript() : name;
  }

  // ---- statements

  void line(const std::string& text) { text_ += std::string(indent_, ' ') + text + "\n"; }

  void open(const Loop& loop) {
    const std::int64_t trips = nest_.trip_count(loop);
    if (loop.kind == LoopKind::kVector || trips == 1) return;
    if (loop.kind == LoopKind::kUnrolled) {
      line(fmt::format("BF_UNROLL({})", trips));
      line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", loop.name, trips));
    } else {
      const Axis& range = nest_.axis(loop.axis);
      Linear begin{{}, range.begin};
      std::string end = std::to_string(range.end);
      if (!loop.outer.empty()) {
        begin = value_of(nest_.loop(loop.outer));
        Linear last = begin;
        last.constant += nest_.loop(loop.outer).step;
        if (!begin.terms.empty() && nest_.is_exact(loop)) end = to_text(last);
        if (!begin.terms.empty() && !nest_.is_exact(loop)) {
          line(fmt::format("const int {}_end = smaller({}, {});", loop.name, to_text(last), end));
          end = loop.name + "_end";
        }
      }
      const std::string advance =
          loop.step == 1 ? "++" + loop.name : fmt::format("{} += {}", loop.name, loop.step);
      line(fmt::format("for (int {0} = {1}; {0} < {2}; {3}) {{", loop.name, to_text(begin), end,
                       advance));
    }
    indent_ += 2;
  }

  void close_to(int indent) {
    while (indent_ > indent) {
      indent_ -= 2;
      line("}");
    }
  }

  void declare(const std::string& suffix) {
    std::string extents;
    for (const Loop* loop : tile_)
      if (loop->kind == LoopKind::kUnrolled && nest_.trip_count(*loop) > 1)
        extents += fmt::format("[{}]", nest_.trip_count(*loop));
    for (const Sum& sum : nest_.expression().sums)
      line(fmt::format("{} {}{}{} = {};", type(sum.value->type), sum.accumulator, suffix, extents,
                       extents.empty() && lanes_ == 1 ? "0" : "{}"));
  }

  // Position in `order` of the innermost loop that an expression varies with; -1: none.
  int depth_of(const Expr& expr, const std::vector<const Loop*>& order,
               const std::map<std::string, int>& locals) const {
    int depth = -1;
    for (const ExprPtr& operand : expr.operands)
      depth = std::max(depth, depth_of(*operand, order, locals));
    if (expr.kind == ExprKind::kLocal) {
      const auto known = locals.find(expr.name);
      depth = std::max(depth,
                       known == locals.end() ? static_cast<int>(order.size()) - 1 : known->second);
    }
    if (expr.kind == ExprKind::kLoad)
      for (const IndexTerm& term : expr.index.terms)
        for (std::size_t i = 0; i < order.size(); ++i)
          if (order[i]->axis == term.axis && order[i]->step >= term.tile &&
              order[i]->kind != LoopKind::kVector)
            depth = std::max(depth, static_cast<int>(i));
    return depth;
  }

  void statement(const Statement& statement) {
    if (const auto* let = std::get_if<Let>(&statement)) {
      const bool kept = nest_.is_kept(let->name);
      const Type element = let->value->type;
      line(fmt::format("{}{} {} = {};", kept ? "" : "const ",
                       element == Type::kMask ? "auto" : type(element), let->name,
                       expression(*let->value)));
      if (kept && lanes_ > 1) line(fmt::format("BF_KEEP({});", let->name));
      return;
    }
    const auto& store = std::get<Store>(statement);
    const std::string value = expression(*store.value);
    if (store.limit) {
      const Linear position = value_of(*loop_of(store.limit->first, 1));
      line(fmt::format(
          "store_first({}, {}, {} - {});", at(store.buffer, store.index), value,
          store.limit->second,
          position.terms.size() > 1 ? "(" + to_text(position) + ")" : to_text(position)));
    } else if (follows_lanes(store.index)) {
      line(fmt::format("store({}, {});", at(store.buffer, store.index), value));
    } else {
      BF_CHECK(lanes_ == 1);
      line(fmt::format("{}[{}] = {};", store.buffer, to_text(linear(store.index)), value));
    }
  }

  // The body's statements, each at the outermost of the loops `order` where it can stand, and
  // `innermost` after them; opens the loops.
  template <typename Innermost>
  void print_body(const std::vector<const Loop*>& order, Innermost innermost) {
    std::map<std::string, int> locals;
    std::vector<std::vector<const Statement*>> at_depth(order.size() + 1);
    for (const Statement& item : nest_.expression().body) {
      int depth = static_cast<int>(order.size()) - 1;
      if (const auto* let = std::get_if<Let>(&item))
        locals[let->name] = depth = depth_of(*let->value, order, locals);
      at_depth[static_cast<std::size_t>(depth + 1)].push_back(&item);
    }
    for (std::size_t i = 0; i <= order.size(); ++i) {
      for (const Statement* item : at_depth[i]) statement(*item);
      if (i < order.size()) open(*order[i]);
    }
    innermost();
  }

  void print_points() {
    std::vector<const Loop*> order = reduced_;
    order.insert(order.end(), tile_.begin(), tile_.end());
    print_body(order, [] {});
  }

  void print_sums() {
    const int region_indent = indent_;
    declare("");
    std::vector<const Loop*> order = reduced_;
    const std::string& partial = nest_.partial_loop();
    const bool two_levels = !partial.empty() && nest_.trip_count(nest_.loop(partial)) > 1;
    int partial_indent = indent_;
    if (two_levels) {
      BF_CHECK(order.front()->name == partial);
      open(*order.front());
      order.erase(order.begin());
      partial_indent = indent_;
      declare("_part");
    }
    order.insert(order.end(), tile_.begin(), tile_.end());
    const std::string suffix = two_levels ? "_part" : "";
    print_body(order, [&] {
      for (const Sum& sum : nest_.expression().sums)
        line(fmt::format("{}{}{} += {};", sum.accumulator, suffix, subscript(),
                         expression(*sum.value)));
    });
    if (two_levels) {
      close_to(partial_indent);
      for (const Loop* loop : tile_) open(*loop);
      for (const Sum& sum : nest_.expression().sums)
        line(fmt::format("{0}{1} += {0}_part{1};", sum.accumulator, subscript()));
    }
    close_to(region_indent);
    for (const Loop* loop : tile_) open(*loop);
    for (const Sum& sum : nest_.expression().sums)
      if (!sum.buffer.empty()) flush(sum);
    for (const Statement& item : nest_.expression().epilogue) statement(item);
    close_to(region_indent);
  }

  // True on the first iteration of the reduced loops outside the accumulators; empty: always.
  std::string first_block() const {
    std::string condition;
    for (std::size_t i = 0; i < region_; ++i) {
      const Loop& loop = nest_.loops()[i];
      if (is_reduced(loop) && nest_.trip_count(loop) > 1)
        condition += fmt::format("{}{} == {}", condition.empty() ? "" : " && ", loop.name,
                                 nest_.axis(loop.axis).begin);
    }
    return condition;
  }

  void flush(const Sum& sum) {
    const bool vector = follows_lanes(sum.index);
    BF_CHECK(vector || lanes_ == 1);
    const std::string place = vector
                                  ? at(sum.buffer, sum.index)
                                  : fmt::format("{}[{}]", sum.buffer, to_text(linear(sum.index)));
    const std::string old =
        vector ? fmt::format("load<{}>({})", type(sum.value->type), place) : place;
    const std::string value = sum.accumulator + subscript();
    std::string result = fmt::format("{} + {}", old, value);
    const std::string first = first_block();
    if (!sum.add)
      result = first.empty() ? value : fmt::format("{} ? {} : {}", first, value, result);
    line(vector ? fmt::format("store({}, {});", place, result)
                : fmt::format("{} = {};", place, result));
  }

  const Nest& nest_;
  VectorTypes& types_;
  std::int64_t lanes_;
  std::size_t region_ = 0;
  std::vector<const Loop*> reduced_;  // of the region, outermost first
  std::vector<const Loop*> tile_;     // unrolled and vector loops, outermost first
  std::string text_;
  int indent_ = 0;
};

}  // namespace

std::string type_name(Type type, std::int64_t lanes) {
  if (lanes == 1) return type == Type::kFloat64 ? "double" : "float";
  return fmt::format("{}x{}", type == Type::kFloat64 ? "f64" : "f32", lanes);
}

namespace {

// One of several nests at a place: in a block of its own when it declares something there.
std::string print_one(const Nest& nest, std::size_t skipped, bool alone, int indent,
                      VectorTypes& types) {
  std::string text = NestPrinter(nest, types).print_inside(skipped, indent);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (alone || text.starts_with(margin + "for (")) return text;
  text = NestPrinter(nest, types).print_inside(skipped, indent + 2);
  return margin + "{\n" + text + margin + "}\n";
}

}  // namespace

std::string print(const std::vector<Nest>& nests, const std::string& shared, VectorTypes& types) {
  constexpr int kIndent = 2;
  const bool alone = nests.size() == 1;
  std::string text;
  if (shared.empty()) {
    for (const Nest& nest : nests) text += print_one(nest, 0, alone, kIndent, types);
    return text;
  }
  const Loop& outer = nests.front().loops().front();
  BF_CHECK(outer.name == shared);
  const std::string header = NestPrinter(nests.front(), types).header(outer, kIndent);
  const int inside = header.empty() ? kIndent : kIndent + 2;
  text = header;
  for (const Nest& nest : nests) {
    BF_CHECK(nest.loops().front().name == shared);
    text += print_one(nest, 1, alone, inside, types);
  }
  if (!header.empty()) text += "  }\n";
  return text;
}

}  // namespace bf::loop
