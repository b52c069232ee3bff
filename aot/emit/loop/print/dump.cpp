#include "aot/emit/loop/print/dump.h"

#include <fmt/format.h>

#include "aot/emit/loop/print/print.h"

namespace bf_aot::loop {
namespace {

std::string statement_text(const Statement& statement) {
  if (const auto* let = std::get_if<Let>(&statement))
    return fmt::format("{} = {}", let->name, to_string(*let->value));
  const auto& store = std::get<Store>(statement);
  std::string text =
      fmt::format("{}[{}] = {}", store.buffer, to_string(store.index), to_string(*store.value));
  for (std::size_t i = 0; i < store.within.size(); ++i)
    text += (i == 0 ? " if " : " and ") + to_string(store.within[i]);
  return text;
}

std::string sum_text(const Sum& sum) {
  std::string text = fmt::format("{} += {}", sum.accumulator, to_string(*sum.value));
  if (sum.buffer.empty()) return text;
  return text +
         fmt::format(", {} {}[{}]", sum.add ? "added to" : "to", sum.buffer, to_string(sum.index));
}

// Lines that follow a heading, below each other.
class Column {
 public:
  explicit Column(const char* heading) : heading_(heading) {}
  void add(const std::string& line) {
    text_ += fmt::format("    {:<9} {}\n", text_.empty() ? heading_ : "", line);
  }
  const std::string& text() const { return text_; }

 private:
  const char* heading_;
  std::string text_;
};

std::string expression_text(const Expression& what) {
  Column axes("axes"), body("body"), sums("sums"), epilogue("epilogue");
  for (const Axis& axis : what.axes)
    axes.add(fmt::format("{} = {}{} .. {}{}{}", axis.name,
                         axis.is_listed() ? axis.list + " entries " : "", axis.begin, axis.end - 1,
                         axis.is_listed() ? " that count" : "",
                         axis.reduced ? ", summed over" : ""));
  for (const Statement& each : what.body) body.add(statement_text(each));
  for (const Sum& each : what.sums) sums.add(sum_text(each));
  for (const Statement& each : what.epilogue) epilogue.add(statement_text(each));
  return axes.text() + body.text() + sums.text() + epilogue.text();
}

std::string nest_text(const Program::Placed& placed) {
  const Nest& nest = placed.nest;
  Column applied("applied"), sums("depth");
  for (const Primitive& each : nest.applied()) applied.add(to_string(each));
  if (!nest.expression().sums.empty())
    sums.add(fmt::format("{} roundings{}", nest.summation_depth(),
                         nest.sums_in_float() ? "" : ", in double"));
  return fmt::format("  nest {}\n", placed.name) + expression_text(nest.expression()) +
         applied.text() + sums.text();
}

class TreePrinter {
 public:
  explicit TreePrinter(const Program& program) : program_(program) {}

  std::string print() {
    for (std::size_t i = 0; i < program_.nests().size(); ++i)
      if (program_.nests()[i].host.empty()) nest(i, 0, 4);
    return std::move(text_);
  }

 private:
  void line(int indent, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(indent), ' ') + text + "\n";
  }

  // Nest `at` inside its first `opened` loops, with the nests that run in it.
  void nest(std::size_t at, std::size_t opened, int indent) {
    bool deeper = false;
    for (const std::size_t guest : program_.guests(at)) {
      deeper = deeper || program_.nests()[guest].depth > opened;
      if (guest < at && program_.nests()[guest].depth == opened) inside(guest, opened, indent);
    }
    if (deeper) {
      loop(program_.nests()[at].nest, opened, indent);
      nest(at, opened + 1, indent + 2);
    } else {
      inside(at, opened, indent);
    }
    for (const std::size_t guest : program_.guests(at))
      if (guest > at && program_.nests()[guest].depth == opened) inside(guest, opened, indent);
  }

  void inside(std::size_t at, std::size_t opened, int indent) {
    const Nest& of = program_.nests()[at].nest;
    line(indent, program_.nests()[at].name + ":");
    const std::size_t region = of.region();
    for (std::size_t i = opened; i <= of.loops().size(); ++i) {
      indent += 2;
      if (i == region && !of.expression().sums.empty()) accumulators(of, indent, "");
      if (i == of.loops().size()) break;
      loop(of, i, indent);
      if (of.loops()[i].name == of.partial_loop()) accumulators(of, indent + 2, "_part");
    }
  }

  void accumulators(const Nest& of, int indent, const char* suffix) {
    std::string text;
    for (const Sum& sum : of.expression().sums)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", sum.accumulator, suffix);
    std::int64_t count = 1;
    for (std::size_t i = of.region(); i < of.loops().size(); ++i)
      if (of.loops()[i].kind == LoopKind::kUnrolled && !of.is_reduced(of.loops()[i]))
        count *= of.trip_count(of.loops()[i]);
    line(indent, fmt::format("accumulators {}: {} {} each", text, count,
                             type_name(of.expression().sums.front().value->type, of.lanes())));
  }

  void loop(const Nest& of, std::size_t at, int indent) {
    const Loop& each = of.loops()[at];
    const std::int64_t trips = of.trip_count(each);
    std::string text = each.name == each.axis ? each.name : each.name + " over " + each.axis;
    text += fmt::format(": {} {}", trips, trips == 1 ? "iteration" : "iterations");
    if (each.step > 1) text += fmt::format(" of {}", each.step);
    if (trips > 1 && !of.is_exact(each)) text += ", the last shorter";
    if (of.is_reduced(each)) text += ", summed over";
    line(indent, text + kind_text(each));
  }

  static std::string kind_text(const Loop& each) {
    if (each.unroll > 1) return fmt::format(", unrolled by {}", each.unroll);
    switch (each.kind) {
      case LoopKind::kSerial:
        return {};
      case LoopKind::kParallel:
        return ", independent";
      case LoopKind::kBound:
        return fmt::format(", over {} items", each.items);
      case LoopKind::kUnrolled:
        return each.rolled ? ", unrolled; after the sums a loop" : ", unrolled";
      case LoopKind::kVector:
        return ", lanes";
      case LoopKind::kCall:
        return ", a call";
    }
    return {};
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string dump(const Program& program) {
  std::string text;
  for (const Program::Placed& each : program.nests()) text += nest_text(each);
  Column placed("applied");
  for (const ProgramPrimitive& each : program.applied()) placed.add(to_string(each));
  for (const Program::Local& each : program.locals())
    placed.add(fmt::format("array {} of {} {}{}", each.name, each.size, type_name(each.type, 1),
                           each.scope == Scope::kGroup ? " of the group" : ""));
  if (!placed.text().empty()) text += "  program\n" + placed.text();
  return text + "  loops\n" + TreePrinter(program).print();
}

}  // namespace bf_aot::loop
