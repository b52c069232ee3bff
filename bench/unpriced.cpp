#include "bench/unpriced.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <variant>

#include "aot/emit/kernels/kernels.h"

namespace bf_aot::bench {
namespace {

using loop::Let;
using loop::local;
using loop::Store;

// Removes prices from a kernel's expression, by the names that aot/emit/kernels gives its lets.
loop::Expression without_prices(loop::Expression what) {
  std::erase_if(what.epilogue, [](const loop::Statement& statement) {
    const auto* const let = std::get_if<Let>(&statement);
    return let != nullptr && let->name == "finite";
  });
  for (loop::Statement& statement : what.epilogue) {
    if (auto* const let = std::get_if<Let>(&statement)) {
      if (let->name == "spread") let->value = local("rad");
      if (let->name == "low") let->value = local("z") - local("spread");
      if (let->name == "high") let->value = local("z") + local("spread");
    } else if (auto& store = std::get<Store>(statement); store.buffer == "out_radius") {
      store.value = loop::literal(0.5) * local("width");
    }
  }
  return what;
}

// The program with prices removed from its nests, by the same schedule.
loop::Program without_prices(const loop::Program& program) {
  loop::Program made;
  for (const loop::Program::Placed& placed : program.nests()) {
    loop::Nest nest(without_prices(placed.nest.expression()));
    for (const loop::Primitive& primitive : placed.nest.applied()) nest.apply(primitive);
    made.add(placed.name, std::move(nest));
  }
  for (const auto& primitive : program.applied()) made.apply(primitive);
  return made;
}

}  // namespace

std::string print_unpriced(const Kernel& kernel, loop::Needs& needs) {
  const emit::KernelNests made = emit::nests_of(kernel);
  return fmt::format("BF_KERNEL {}({}) {{\n", kernel.function, fmt::join(made.parameters, ", ")) +
         loop::print(without_prices(made.program), needs) + "}\n";
}

bool has_prices(const Kernel& kernel) {
  return kernel.kind == KernelKind::kIntervalAffine;
}

}  // namespace bf_aot::bench
