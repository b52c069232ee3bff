#include <algorithm>

#include "aot/emit/kernels/kernels.h"

// Forward lines: a layer's weights times columns of lines; lanes are outputs, or boxes.

namespace bf_aot::emit {
namespace {

using loop::Axis;
using loop::Index;
using loop::Let;
using loop::local;
using loop::Nest;
using loop::Store;
using loop::Sum;

// Outputs and lines that whole register tiles cover, or that are left over.
struct Part {
  std::int64_t begin = 0, end = 0, tile = 1;
  bool rest = false;
};

std::vector<Part> parts(std::int64_t count, std::int64_t tile) {
  const std::int64_t full = count / tile * tile;
  std::vector<Part> made;
  if (full > 0) made.push_back({0, full, tile, false});
  if (full < count) made.push_back({full, count, count - full, true});
  return made;
}

// Neurons of a row of the result.
std::int64_t out_count(const Kernel& kernel) {
  if (kernel.boxes > 1) return kernel.out;
  return (kernel.out + kernel.panel - 1) / kernel.panel * kernel.panel;
}

// Element (c, neuron) of rows of `count` neurons, of each box.
Index element(const Kernel& kernel, const Index& neuron, std::int64_t count, bool lines) {
  Index index = neuron;
  if (lines) index = index + loop::axis("c", count * kernel.boxes);
  return kernel.boxes > 1 ? index + loop::axis("b") : index;
}

// Element (o, i) of a table [out / panel][in][panel], where axis o counts from `begin`: the first
// of a panel, or of what is left of one.
Index table_index(const Kernel& kernel, std::int64_t begin) {
  const std::int64_t inside = begin % kernel.panel;
  return loop::axis("i", kernel.panel) + loop::axis("o") +
         loop::floor("o", kernel.panel, kernel.in - 1) + ((begin - inside) * kernel.in + inside);
}

loop::Expression product(const Kernel& kernel, const Part& outputs, bool lines) {
  loop::Expression what;
  what.axes = {{"o", 0, outputs.end - outputs.begin, false}, {"i", 0, kernel.in, true}};
  if (lines) what.axes.push_back({"c", 0, kernel.lines, false});
  if (kernel.boxes > 1) what.axes.push_back({"b", 0, kernel.boxes, false});
  const Index from = element(kernel, loop::axis("i", kernel.boxes), kernel.in, lines);
  const Index to = element(kernel, loop::axis("o", kernel.boxes) + outputs.begin * kernel.boxes,
                           out_count(kernel), lines);
  what.body = {Let{"w", loop::load("weight", table_index(kernel, outputs.begin))},
               Let{"m", loop::load(lines ? "lines" : "spread", from)}};
  what.sums = {
      Sum{"sum", (lines ? local("w") : loop::abs(local("w"))) * local("m"), "", {}, false}};
  what.epilogue = {Store{lines ? "out_lines" : "out_spread", to, local("sum"), {}}};
  return what;
}

// A register tile of outputs.tile outputs, or vectors of them, times lines.tile lines.
Nest scheduled(const Kernel& kernel, const Part& outputs, const Part* lines) {
  Nest nest(product(kernel, outputs, lines != nullptr));
  const bool boxes = kernel.boxes > 1;
  const std::int64_t lanes = kernel.schedule.lanes;
  if (lines != nullptr) nest.restrict_axis("c", lines->begin, lines->end);
  std::vector<std::string> order = {"panel", "chunk", "i"};
  if (boxes) {
    nest.split("o", outputs.tile, "tile");
    nest.split("tile", kernel.panel / outputs.tile, "panel");
    nest.split("b", lanes, "v");
    order = {"panel", "tile", "chunk", "i", "o"};
  } else {
    nest.split("o", lanes, "v");
    nest.split("v", outputs.tile, "panel");
  }
  nest.split("i", kernel.schedule.chunk, "chunk");
  if (lines != nullptr) {
    nest.split("c", lines->tile, "column");
    // Lines of all boxes fit the first cache if they are few, as the weights of one panel do: they
    // stay there.
    order.insert(boxes ? order.begin() : std::ranges::find(order, "chunk"), "column");
    order.emplace_back("c");
  }
  order.emplace_back("v");
  order.emplace_back(boxes ? "b" : "o");
  nest.reorder(order);
  if (boxes) nest.unroll("o");
  if (lines != nullptr) nest.unroll("c");
  nest.unroll("v");
  if (lanes > 1) nest.vectorize(boxes ? "b" : "o");
  nest.cache_write("chunk");
  return nest;
}

}  // namespace

KernelNests forward_lines_nests(const Kernel& kernel) {
  KernelNests made;
  made.parameters = {"const float* BF_RESTRICT weight", "const float* BF_RESTRICT lines",
                     "const float* BF_RESTRICT spread", "float* BF_RESTRICT out_lines",
                     "float* BF_RESTRICT out_spread"};
  made.formula = "out_lines = W lines, out_spread = |W| spread";
  // Panels are whole tiles of vectors when lanes are outputs.
  const std::int64_t tile = kernel.schedule.vectors;
  const auto named = [](std::string what, const Part& outputs, bool rest_of_lines) {
    if (outputs.rest) what += "_rest";
    return rest_of_lines ? what + "_columns" : what;
  };
  const std::int64_t count = out_count(kernel);
  const auto tiles = [&](std::int64_t size) {
    return kernel.boxes > 1 ? parts(count, size) : std::vector<Part>{{0, count, size, false}};
  };
  for (const Part& some : tiles(tile))
    for (const Part& lines : parts(kernel.lines, kernel.schedule.columns))
      made.program.add(named("lines", some, lines.rest), scheduled(kernel, some, &lines));
  // One column: twice the outputs hide the latency of its sums.
  const bool twice = kernel.boxes > 1 && kernel.panel % (2 * tile) == 0;
  for (const Part& some : tiles(twice ? 2 * tile : tile))
    made.program.add(named("spread", some, false), scheduled(kernel, some, nullptr));
  return made;
}

}  // namespace bf_aot::emit
