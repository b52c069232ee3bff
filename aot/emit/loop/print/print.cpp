#include "aot/emit/loop/print/print.h"

#include <fmt/format.h>

#include "aot/emit/loop/print/print_nest.h"
#include "frontend/diagnostic.h"

namespace bf_aot::loop {
namespace {

class ProgramPrinter {
 public:
  ProgramPrinter(const Program& program, Needs& needs, const emit::Dialect& dialect)
      : program_(program), needs_(needs), dialect_(dialect) {}

  std::string print() {
    constexpr int kIndent = 2;
    std::size_t places = 0;
    for (const Program::Placed& each : program_.nests()) places += each.host.empty() ? 1 : 0;
    std::string text;
    for (const Program::Local& each : program_.locals())
      text += each.scope == Scope::kGroup
                  ? fmt::format("  BF_LOCAL float* const {} = team->staged;\n", each.name)
                  : fmt::format("  {} {}[{}];\n", type_name(each.type, 1), each.name, each.size);
    bool first = true;
    for (std::size_t i = 0; i < program_.nests().size(); ++i) {
      const Program::Placed& each = program_.nests()[i];
      if (!each.host.empty()) continue;
      // Items that share a nest read what others have written in those before.
      if (!first && each.nest.is_bound()) text += "  BF_BARRIER;\n";
      first = false;
      text += inside(i, 0, kIndent, places == 1);
    }
    return text;
  }

 private:
  // Nest `at` and what runs in it, inside its first `opened` loops. `alone`: nothing else stands
  // at this place.
  std::string inside(std::size_t at, std::size_t opened, int indent, bool alone) {
    std::vector<std::size_t> before, after;
    bool deeper = false;
    for (const std::size_t guest : program_.guests(at)) {
      const std::size_t depth = program_.nests()[guest].depth;
      deeper = deeper || depth > opened;
      if (depth == opened) (guest < at ? before : after).push_back(guest);
    }
    std::string text;
    alone = alone && before.empty() && after.empty();
    for (const std::size_t guest : before) text += one(guest, opened, indent, false);
    if (deeper)
      text += loop(at, opened, indent);
    else
      text += one(at, opened, indent, alone);
    for (const std::size_t guest : after) text += one(guest, opened, indent, false);
    return text;
  }

  std::string loop(std::size_t at, std::size_t opened, int indent) {
    const Nest& nest = program_.nests()[at].nest;
    const std::string header =
        NestPrinter(nest, needs_, dialect_).header(nest.loops()[opened], indent);
    if (header.empty()) return inside(at, opened + 1, indent, false);
    return header + inside(at, opened + 1, indent + 2, true) +
           std::string(static_cast<std::size_t>(indent), ' ') + "}\n";
  }

  // A nest in a block of its own when it declares something beside others. In loops that nests
  // share items wait after each.
  std::string one(std::size_t at, std::size_t opened, int indent, bool alone) {
    const Nest& nest = program_.nests()[at].nest;
    std::string text = NestPrinter(nest, needs_, dialect_).inside(opened, indent);
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    if (!alone && !text.starts_with(margin + "for (")) {
      text = NestPrinter(nest, needs_, dialect_).inside(opened, indent + 2);
      text = margin + "{\n" + text + margin + "}\n";
    }
    return opened > 0 && nest.is_bound() ? text + margin + "BF_BARRIER;\n" : text;
  }

  const Program& program_;
  Needs& needs_;
  const emit::Dialect dialect_;
};

}  // namespace

std::string type_name(Type type, std::int64_t lanes) {
  if (lanes == 1) return type == Type::kFloat64 ? "double" : "float";
  return fmt::format("{}x{}", type == Type::kFloat64 ? "f64" : "f32", lanes);
}

std::string print(const Program& program, Needs& needs, const emit::Dialect& dialect) {
  return ProgramPrinter(program, needs, dialect).print();
}

}  // namespace bf_aot::loop
