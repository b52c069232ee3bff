#include "aot/emit/loop/print/print_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "aot/emit/loop/access.h"
#include "aot/emit/loop/intrinsics.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

constexpr const char* kInTile = "_tile";  // ends names of accumulators that sums leave

}  // namespace

std::string NestPrinter::inside(std::size_t opened, int indent) {
  indent_ = indent;
  BF_CHECK(!nest_.why_incomplete());
  find_loops();
  for (std::size_t i = opened; i < nest_.region(); ++i) open(nest_.loops()[i]);
  if (nest_.expression().sums.empty())
    print_points();
  else
    print_sums();
  close_to(indent);
  return std::move(text_);
}

std::string NestPrinter::header(const Loop& loop, int indent) {
  indent_ = indent;
  open(loop);
  return std::move(text_);
}

void NestPrinter::find_loops() {
  const std::vector<Loop>& loops = nest_.loops();
  for (std::size_t i = nest_.region(); i < loops.size(); ++i) {
    const bool reduced = nest_.is_reduced(loops[i]);
    if (!reduced && loops[i].is_counted()) continue;  // of one iteration
    (reduced ? reduced_ : tile_).push_back(&loops[i]);
  }
}

void NestPrinter::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(indent_), ' ') + text + "\n";
}

void NestPrinter::open(const Loop& loop) {
  const std::int64_t trips = nest_.trip_count(loop);
  const bool chosen = loop.kind == LoopKind::kBound;  // the loop says which item runs it
  if (loop.kind == LoopKind::kVector || loop.kind == LoopKind::kCall ||
      (nest_.runs_once(loop) && !chosen))
    return;
  if (loop.kind == LoopKind::kUnrolled) {
    if (!after_sums_ || !loop.rolled) line(fmt::format("BF_UNROLL({})", trips));
    line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", loop.name, trips));
  } else {
    open_counted(loop);
  }
  indent_ += 2;
}

// The begin and the end of the part of a list that lies in the tile, for the innermost loop over
// it.
std::pair<std::string, std::string> NestPrinter::places_of(const Loop& loop) {
  const Axis& axis = nest_.axis(loop.axis);
  Linear tile;
  if (!loop.outer.empty()) tile = expr_.values().value_of(nest_.loop(loop.outer));
  if (tile.terms.empty()) return {"0", axis.list + "[0]"};
  const auto place_from = [&](const std::string& value) {
    return fmt::format("{}({}, {}, {})", expr_.helper("place_from"), axis.list, axis.entries,
                       value);
  };
  const std::string begin = place_from(to_text(tile));
  tile.constant += nest_.loop(loop.outer).step;
  std::string end = to_text(tile);
  if (!nest_.is_exact(loop))
    end = fmt::format("{}({}, {})", expr_.helper("smaller"), end, axis.end);
  line(fmt::format("const int {}_end = {};", loop.name, place_from(end)));
  return {begin, loop.name + "_end"};
}

void NestPrinter::open_counted(const Loop& loop) {
  const Axis& axis = nest_.axis(loop.axis);
  std::string begin, end;
  if (axis.is_listed() && axis.reduced && loop.step == 1) {
    std::tie(begin, end) = places_of(loop);
  } else {
    begin = to_text(loop.outer.empty() ? Linear{{}, axis.begin}
                                       : expr_.values().value_of(nest_.loop(loop.outer)));
    end = end_of(loop);
  }
  const std::string advance =
      loop.step == 1 ? "++" + loop.name : fmt::format("{} += {}", loop.name, loop.step);
  if (loop.kind == LoopKind::kParallel)
    line("// Iterations are independent; one after the other here.");
  if (loop.unroll > 1) line(fmt::format("BF_UNROLL_BY({})", loop.unroll));
  if (loop.kind == LoopKind::kBound) return open_bound(loop, begin, end);
  line(fmt::format("for (int {0} = {1}; {0} < {2}; {3}) {{", loop.name, begin, end, advance));
}

// An item begins where its number says, and goes on by a step for each item. All items go through
// as many turns: see BF_EACH.
void NestPrinter::open_bound(const Loop& loop, const std::string& begin, const std::string& end) {
  const std::string item = loop.stride == 1
                               ? fmt::format("BF_ITEM % {}", loop.items)
                               : fmt::format("BF_ITEM / {} % {}", loop.stride, loop.items);
  const std::string first = loop.step == 1 ? item : fmt::format("{} * ({})", loop.step, item);
  line(fmt::format(
      "for (int {0}_turn = {1}, {0} = {2}; {0}_turn < {3}; {0}_turn += {4}, {0} += {4}) {{",
      loop.name, begin, begin == "0" ? first : fmt::format("{} + {}", begin, first), end,
      loop.step * loop.items));
  line(fmt::format("  if ({} >= {}) continue;", loop.name, end));
}

// The smaller of the tile's end and the axis' end.
std::string NestPrinter::end_of(const Loop& loop) {
  const Axis& axis = nest_.axis(loop.axis);
  std::string end = std::to_string(axis.end);
  if (axis.walks_places())
    end = axis.end == axis.entries
              ? axis.list + "[0]"
              : fmt::format("{}({}[0], {})", expr_.helper("smaller"), axis.list, end);
  if (loop.outer.empty()) return end;
  Linear last = expr_.values().value_of(nest_.loop(loop.outer));
  if (last.terms.empty()) return end;
  last.constant += nest_.loop(loop.outer).step;
  if (nest_.is_exact(loop) && !axis.walks_places()) return to_text(last);
  line(fmt::format("const int {}_end = {}({}, {});", loop.name, expr_.helper("smaller"),
                   to_text(last), end));
  return loop.name + "_end";
}

void NestPrinter::open_tile() {
  for (const Loop* loop : tile_) open(*loop);
}

void NestPrinter::close_to(int indent) {
  while (indent_ > indent) {
    indent_ -= 2;
    line("}");
  }
}

// ---- Bodies

// Position in `order` of the innermost loop that an index varies with; -1: none.
int NestPrinter::depth_of(const Index& index, const Loops& order) const {
  int depth = -1;
  for (const Lookup& each : index.lookups) depth = std::max(depth, depth_of(place(each), order));
  for (const IndexTerm& term : index.terms) {
    const bool has_loop = expr_.values().tiles_of(term) != nullptr;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i]->axis == term.axis && (!has_loop || order[i]->step >= term.tile) &&
          order[i]->kind != LoopKind::kVector)
        depth = std::max(depth, static_cast<int>(i));
  }
  return depth;
}

int NestPrinter::depth_of(const Expr& expr, const Loops& order,
                          const std::map<std::string, int>& locals) const {
  const int innermost = static_cast<int>(order.size()) - 1;
  int depth = -1;
  for (const ExprPtr& operand : expr.operands)
    depth = std::max(depth, depth_of(*operand, order, locals));
  if (expr.kind == ExprKind::kLocal) {
    const auto known = locals.find(expr.name);
    depth = std::max(depth, known == locals.end() ? innermost : known->second);
  }
  if (expr.kind == ExprKind::kLoad) {
    depth = std::max(depth, depth_of(expr.index, order));
    for (const Range& range : expr.within) depth = std::max(depth, depth_of(range.value, order));
    for (const Statement& each : nest_.expression().body)
      if (const auto* store = std::get_if<Store>(&each); store && store->buffer == expr.name)
        depth = innermost;  // what it reads changes
  }
  return depth;
}

// The body's statements, each at the outermost of the loops `order` where it can stand, and
// `innermost` after them; opens the loops.
template <typename Innermost>
void NestPrinter::print_body(const Loops& order, Innermost innermost) {
  std::map<std::string, int> locals;
  std::vector<std::vector<const Statement*>> at_depth(order.size() + 1);
  for (const Statement& item : nest_.expression().body) {
    int depth = static_cast<int>(order.size()) - 1;
    if (const auto* let = std::get_if<Let>(&item))
      locals[let->name] = depth = depth_of(*let->value, order, locals);
    at_depth[static_cast<std::size_t>(depth + 1)].push_back(&item);
  }
  for (std::size_t i = 0; i <= order.size(); ++i) {
    if (i == order.size() - tile_.size()) print_pointers(false);
    for (const Statement* item : at_depth[i]) print(*item);
    if (i + tile_.size() + 1 == order.size()) print_rows();
    if (i < order.size()) open(*order[i]);
  }
  innermost();
}

void NestPrinter::print_points() {
  Loops order = reduced_;
  order.insert(order.end(), tile_.begin(), tile_.end());
  if (nest_.called().empty()) return print_body(order, [] {});
  for (const Loop* loop : order) open(*loop);
  line(call_text() + ";");
}

// A call of the function that takes the innermost loop's place, from its first element on.
std::string NestPrinter::call_text() {
  const Intrinsic& intrinsic = *find_intrinsic(nest_.called());
  needs_.intrinsics.insert(intrinsic.name);
  const Loop& loop = nest_.loops().back();
  std::string text = intrinsic.name + "(";
  for (const Access& each : arguments(nest_, loop, intrinsic))
    text += expr_.at(each.buffer, each.index) + ", ";
  if (nest_.is_exact(loop)) return text + fmt::format("{})", nest_.trip_count(loop));
  const Linear begin = expr_.values().value_of(loop);
  return text + fmt::format("{} - {})", end_of(loop), to_text(begin));
}

void NestPrinter::declare(const std::string& suffix) {
  const std::string extents = expr_.extents();
  const auto sizes = static_cast<std::size_t>(std::ranges::count(extents, '['));
  std::string zeros(extents.empty() && expr_.lanes() == 1 ? "0" : dialect_.zeros());
  // C++ compilers warn of arrays of arrays without all their braces: CUDA's, where C has {0}.
  if (dialect_.is_c() && sizes > 1)
    zeros = std::string(sizes - 1, '{') + zeros + std::string(sizes - 1, '}');
  for (const Sum& sum : nest_.expression().sums)
    line(fmt::format("{} {}{}{} = {};", expr_.type(sum.value->type), sum.accumulator, suffix,
                     extents, zeros));
}

bool NestPrinter::leaves_registers() const {
  return std::ranges::any_of(
      tile_, [&](const Loop* loop) { return loop->rolled && nest_.trip_count(*loop) > 1; });
}

// Copies the sums for a loop over them: an array that some loop indexes is in memory, also where it
// is added to.
void NestPrinter::leave_registers() {
  const int indent = indent_;
  line("// Out of registers, for a loop over them.");
  for (const Sum& sum : nest_.expression().sums)
    line(fmt::format("{} {}{};", expr_.type(sum.value->type), sum.accumulator, expr_.extents()));
  open_tile();
  for (const Sum& sum : nest_.expression().sums)
    line(fmt::format("{0}{1} = {0}{2}{1};", sum.accumulator, expr_.subscript(), kInTile));
  close_to(indent);
}

// Finds pointers and rows for loads of the sums, without those from buffers that the nest writes.
void NestPrinter::find_pointers() {
  const Expression& expression = nest_.expression();
  const auto is_written = [&](const std::string& buffer) {
    return std::ranges::any_of(accesses(expression), [&](const Access& each) {
      return each.write && each.buffer == buffer;
    });
  };
  std::vector<const Expr*> loads, converted;
  const auto find = [&](const Expr& each) {
    if (each.kind == ExprKind::kLoad) loads.push_back(&each);
    if (each.kind == ExprKind::kToDouble) converted.push_back(each.operands.front().get());
  };
  for (const Statement& each : expression.body)
    if (const auto* let = std::get_if<Let>(&each)) visit(*let->value, find);
  for (const Sum& sum : expression.sums) visit(*sum.value, find);
  for (const Expr* load : loads) {
    if (is_written(load->name)) continue;
    const auto is_same = [&](const Expr* other) {
      return other->kind == ExprKind::kLoad && other->name == load->name &&
             other->index == load->index;
    };
    const bool as_double =
        std::ranges::count_if(converted, is_same) == std::ranges::count_if(loads, is_same);
    const bool at_once = as_double && nest_.partial_loop().empty() && nest_.called().empty();
    if (const ConvertedRows* const rows = at_once ? expr_.rows_of(*load, reduced_) : nullptr) {
      if (std::ranges::find(rows_, rows) == rows_.end()) rows_.push_back(rows);
    } else if (const Pointer* const found = expr_.point_at(*load, as_double, reduced_)) {
      pointers_.push_back(found);
    }
  }
}

// Prints the conversion of rows, before the innermost reduced loop.
void NestPrinter::print_rows() {
  for (const ConvertedRows* each : rows_) {
    const std::string doubles = type_name(Type::kFloat64, expr_.lanes());
    const std::int64_t trips = nest_.trip_count(*each->beside);
    const std::int64_t lanes = expr_.lanes();
    line(fmt::format("alignas({}) double {}[{}][{}];", doubles, each->name, trips,
                     (each->length + lanes - 1) / lanes * lanes));
    line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", each->beside->name, trips));
    line(fmt::format("  widened_row<{}, {}>({}, {}, {}[{}]);", doubles,
                     type_name(Type::kFloat32, expr_.lanes()), each->from, each->count, each->name,
                     each->beside->name));
    line("}");
  }
}

// Prints pointers: arrays outside the reduced loops, single ones inside.
void NestPrinter::print_pointers(bool arrays) {
  for (const Pointer* each : pointers_) {
    if ((each->of_entries != nullptr) != arrays) continue;
    const std::string type = type_name(each->type, 1);
    if (!arrays) {
      if (each->converted > 0)
        line(fmt::format("alignas({}) double {}_wide[{}];",
                         type_name(Type::kFloat64, expr_.lanes()), each->buffer, each->converted));
      line(fmt::format("const {}* const {} = {};", type, each->name, each->part));
      continue;
    }
    const Loop& loop = *each->of_entries;
    const std::int64_t trips = nest_.trip_count(loop);
    line(fmt::format("const {}* {}[{}];", type, each->name, trips));
    line(fmt::format("BF_UNROLL({})", trips));
    line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3};", loop.name, trips,
                     each->name, each->part));
  }
}

void NestPrinter::print_sums() {
  const int region_indent = indent_;
  const std::vector<Sum>& sums = nest_.expression().sums;
  Loops order = reduced_;
  const std::string& partial = nest_.partial_loop();
  const bool two_levels = !partial.empty() && nest_.trip_count(nest_.loop(partial)) > 1;
  const bool leaves = !two_levels && leaves_registers();  // chunks leave for outer sums anyway
  declare(leaves ? kInTile : "");
  find_pointers();
  print_pointers(true);
  int partial_indent = indent_;
  if (two_levels) {
    open(*order.front());
    order.erase(order.begin());
    partial_indent = indent_;
    declare("_part");
  }
  order.insert(order.end(), tile_.begin(), tile_.end());
  const std::string suffix = two_levels ? "_part" : leaves ? kInTile : "";
  const auto add = [&](const Sum& sum, const std::string& value) {
    line(fmt::format("{}{}{} += {};", sum.accumulator, suffix, expr_.subscript(), value));
  };
  if (nest_.called().empty()) {
    print_body(order, [&] {
      for (const Sum& sum : sums) add(sum, expr_.expression(*sum.value));
    });
  } else {
    for (const Loop* loop : order) open(*loop);
    add(sums.front(), call_text());
  }
  if (two_levels) {
    close_to(partial_indent);
    open_tile();
    for (const Sum& sum : sums)
      line(fmt::format("{0}{1} += {0}_part{1};", sum.accumulator, expr_.subscript()));
  }
  close_to(region_indent);
  if (leaves) leave_registers();
  after_sums_ = true;
  open_tile();
  for (const Sum& sum : sums)
    if (!sum.buffer.empty()) flush(sum);
  for (const Statement& item : nest_.expression().epilogue) print(item);
  close_to(region_indent);
}

// ---- Statements

void NestPrinter::print(const Statement& statement) {
  std::visit([&](const auto& each) { print(each); }, statement);
}

// Prefetches memory for what is loaded later.
void NestPrinter::ask_ahead(const Let& let) {
  visit(*let.value, [&](const Expr& each) {
    const std::int64_t bytes = each.kind == ExprKind::kLoad ? nest_.prefetched(each.name) : 0;
    if (bytes == 0) return;
    line(fmt::format("BF_PREFETCH({}, {});", expr_.at(each.name, each.index), bytes));
  });
}

void NestPrinter::print(const Let& let) {
  ask_ahead(let);
  const bool kept = nest_.is_kept(let.name);
  const Type element = let.value->type;
  line(fmt::format("{}{} {} = {};", kept ? "" : "const ",
                   element == Type::kMask ? std::string(dialect_.mask()) : expr_.type(element),
                   let.name, expr_.expression(*let.value)));
  if (kept && expr_.lanes() > 1) line(fmt::format("BF_KEEP({});", let.name));
}

void NestPrinter::print(const Store& store) {
  const std::string value = expr_.expression(*store.value);
  const std::string count = expr_.lane_count(store.within);
  const std::string condition = expr_.condition(store.within);
  const std::string guard = condition.empty() ? "" : "if (" + condition + ") ";
  if (!count.empty())
    line(fmt::format("{}store_first({}, {}, {});", guard, expr_.at(store.buffer, store.index),
                     value, count));
  else if (expr_.follows_lanes(store.index))
    line(fmt::format("{}store({}, {});", guard, expr_.at(store.buffer, store.index), value));
  else
    line(fmt::format("{}{} = {};", guard, expr_.element(store.buffer, store.index), value));
}

// A condition that is true in the first iteration of the reduced loops outside the accumulators;
// empty: always.
std::string NestPrinter::first_block() const {
  std::string condition;
  for (std::size_t i = 0; i < nest_.region(); ++i) {
    const Loop& loop = nest_.loops()[i];
    if (nest_.is_reduced(loop) && nest_.trip_count(loop) > 1)
      condition += fmt::format("{}{} == {}", condition.empty() ? "" : " && ", loop.name,
                               nest_.axis(loop.axis).begin);
  }
  return condition;
}

void NestPrinter::flush(const Sum& sum) {
  const bool vector = expr_.follows_lanes(sum.index);
  const std::string place =
      vector ? expr_.at(sum.buffer, sum.index) : expr_.element(sum.buffer, sum.index);
  const std::string old =
      vector ? fmt::format("load<{}>({})", expr_.type(sum.value->type), place) : place;
  const std::string value = sum.accumulator + expr_.subscript();
  std::string result = fmt::format("{} + {}", old, value);
  const std::string first = first_block();
  if (!sum.add) result = first.empty() ? value : fmt::format("{} ? {} : {}", first, value, result);
  line(vector ? fmt::format("store({}, {});", place, result)
              : fmt::format("{} = {};", place, result));
}

}  // namespace bf_aot::loop
