#include <algorithm>

#include "aot/emit/kernels/kernels.h"
#include "frontend/diagnostic.h"
#include "planner/tuning/dealt_tile.h"
#include "runtime/bf/contract/tables.h"

// Backward kernels: lanes are rows, so that every sum stays within its lane.

namespace bf_aot::emit {
namespace {

using loop::Axis;
using loop::ExprPtr;
using loop::Let;
using loop::local;
using loop::Nest;
using loop::Store;
using loop::Sum;
using loop::Type;

// The box of a row, when lanes are boxes: rows are [sign][box].
loop::Index box_of_row(const Kernel& kernel) {
  return loop::axis("r") + loop::floor("r", kernel.boxes, -1);
}

// Number `axis` of what all rows share, or of what the rows of each box share.
loop::Index shared(const Kernel& kernel, const std::string& axis) {
  if (kernel.boxes == 1) return loop::axis(axis);
  return loop::axis(axis, kernel.boxes) + box_of_row(kernel);
}

loop::Index table_row(const Kernel& kernel, int row) {
  loop::Index index = shared(kernel, "j");
  index.constant = static_cast<std::int64_t>(row) * kernel.out * kernel.boxes;
  return index;
}

// Rows lie next to each other: element (neuron, row) of coefficients [neurons][rows].
loop::Index coefficient(const std::string& axis, int rows) {
  return loop::axis(axis, rows) + loop::axis("r");
}

// The layer's neurons, and those that it reads: all, or those that a list has.
Axis neurons_of(const Kernel& kernel) {
  Axis all{"j", 0, kernel.out, true};
  return kernel.live_out ? listed(std::move(all), "live") : all;
}

Axis columns_of(const Kernel& kernel) {
  Axis all{"k", 0, kernel.in, false};
  return kernel.live_in ? listed(std::move(all), "live_in") : all;
}

// Floats of a vector of rows: twice as many as doubles, where whole vectors hold the rows.
int float_lanes(const Kernel& kernel) {
  const int lanes = kernel.schedule.lanes;
  return kernel.wide && lanes > 1 && kernel.rows % (2 * lanes) == 0 ? 2 * lanes : lanes;
}

void split_rows(Nest& nest, const Kernel& kernel) {
  nest.split("r", float_lanes(kernel), "v");
}

void unroll_rows(Nest& nest, const Kernel& kernel) {
  nest.unroll("v");
  if (kernel.schedule.lanes > 1) nest.vectorize("r");
}

bool is_dealt(const Kernel& kernel) {
  return kernel.schedule.items > 1;
}

// Columns [begin, end) of a product, `tile` of them at a time.
struct Columns {
  const char* name;
  std::int64_t begin, end, tile;
};

// Each item sums a tile of rows and columns, inside loops that all items have.
void deal_product(Nest& nest, const Kernel& kernel, const std::vector<std::string>& inner,
                  std::vector<std::string> order = {}) {
  nest.split("r", kernel.schedule.vectors, "rows");
  order.insert(order.end(), {"rows", "column"});
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), {"j", "k", "r"});
  nest.reorder(order);
  nest.unroll("k");
  nest.unroll("r");
}

constexpr int kCopiesInFlight = 4;  // with more, nvcc 13 takes 162 registers for 128 (ACAS Xu)

void bind_product(Nest& nest, const Kernel& kernel) {
  const int items = row_items(kernel.rows / kernel.schedule.vectors, kernel.schedule.items);
  nest.bind("rows", 1, items);
  nest.bind("column", items, kernel.schedule.items / items);
}

// Columns whose weights go through memory of the group: those of whole tiles.
bool is_staged(const Kernel& kernel, const Columns& columns) {
  return kernel.schedule.staged > 0 && columns.begin == 0;
}

// Items copy the weights of a chunk of terms and so many columns, each those of terms of its own,
// as neighbours lie in panels; then they sum them. Sums leave for memory after each chunk.
void stage_weights(loop::Program& program, const char* name, const Kernel& kernel) {
  program.apply(loop::CacheRead{name, "weight", "block", "staged", loop::Scope::kGroup});
  bind_product(program.nest(name), kernel);
  Nest& copy = program.nest("staged");
  const int items = row_items(std::min(kernel.schedule.chunk, kernel.out), kernel.schedule.items);
  copy.reorder({"columns", "block", "j", "k"});
  copy.bind("j", 1, items);
  if (items < kernel.schedule.items) copy.bind("k", items, kernel.schedule.items / items);
  copy.unroll("k", kCopiesInFlight);
}

// The register tile of a product: `columns` times all rows or a group of `vectors` vectors.
void schedule_product(Nest& nest, const Kernel& kernel, std::vector<std::string> blocks) {
  const int lanes = kernel.schedule.lanes;
  const int group = kernel.schedule.vectors * lanes;
  std::vector<std::string> order = std::move(blocks);
  const auto columns = std::ranges::find(order, "column");
  nest.split("r", lanes, "v");
  if (group < kernel.rows) {
    nest.split("v", group / lanes, "group");
    order.insert(kernel.schedule.groups_first ? columns : columns + 1, "group");
  }
  order.insert(order.end(), {"j", "k", "v", "r"});
  nest.reorder(order);
  nest.unroll("k");
  nest.unroll("v");
  if (lanes > 1) nest.vectorize("r");
  if (kernel.schedule.unroll > 1) nest.unroll("j", kernel.schedule.unroll);
}

// Carries coefficients through the relaxation: A over a' = relu(z) becomes slope A over z, chosen
// by A's sign; the line's offset, which pays for every rounding, is summed per row.
Nest relaxation(const Kernel& kernel) {
  loop::Expression what;
  what.axes = {neurons_of(kernel), {"r", 0, kernel.rows, false}};
  const auto table = [&](int row) { return loop::load("table", table_row(kernel, row)); };
  what.body = {Let{"slope_upper", table(bf::kSlopeUpper)},
               Let{"slope_lower", table(bf::kSlopeLower)},
               Let{"offset_upper", table(kernel.wide ? bf::kWideOffsetUpper : bf::kOffsetUpper)},
               Let{"offset_lower", table(kernel.wide ? bf::kWideOffsetLower : bf::kOffsetLower)},
               Let{"a", loop::load("coefficients", coefficient("j", kernel.rows))},
               Let{"negative", loop::less(local("a"), loop::literal(0))}};
  const ExprPtr negative = local("negative", Type::kMask);
  what.body.emplace_back(
      Store{"coefficients",
            coefficient("j", kernel.rows),
            local("a") * loop::select(negative, local("slope_upper"), local("slope_lower")),
            {}});
  what.sums = {Sum{
      "offset", local("a") * loop::select(negative, local("offset_upper"), local("offset_lower")),
      "sums", loop::axis("r"), true}};
  Nest nest(std::move(what));
  nest.split("j", kernel.schedule.chunk, "block");
  if (is_dealt(kernel)) {
    nest.reorder({"r", "block", "j"});
    nest.bind("r", 1, kernel.schedule.items);
    nest.cache_write("block");
    return nest;
  }
  split_rows(nest, kernel);
  nest.reorder({"block", "j", "v", "r"});
  unroll_rows(nest, kernel);
  if (kernel.wide) nest.cache_write("block");
  return nest;
}

// The product result = W^T coefficients, in float32.
Nest product(const Kernel& kernel, const Columns& columns) {
  loop::Expression what;
  what.axes = {columns_of(kernel), neurons_of(kernel), {"r", 0, kernel.rows, false}};
  what.body = {Let{"w", loop::load("weight", loop::axis("k", kernel.panel) + loop::axis("j") +
                                                 loop::floor("j", kernel.panel, kernel.in - 1))},
               Let{"a", loop::load("coefficients", coefficient("j", kernel.rows))}};
  what.sums = {Sum{"sum", local("w") * local("a"), "result", coefficient("k", kernel.rows), false}};
  Nest nest(std::move(what));
  nest.restrict_axis("k", columns.begin, columns.end);
  nest.split("k", columns.tile, "column");
  if (is_staged(kernel, columns)) {
    nest.split("column", kernel.schedule.staged / columns.tile, "columns");
    nest.split("j", kernel.schedule.chunk, "block");
    deal_product(nest, kernel, {}, {"columns", "block"});
    return nest;
  }
  if (is_dealt(kernel)) {
    nest.split("j", kernel.schedule.chunk, "block");
    deal_product(nest, kernel, {"block"});
    bind_product(nest, kernel);
    nest.cache_write("block");
    return nest;
  }
  const bool narrow = !kernel.live_out && kernel.schedule.chunk > kernel.panel;
  if (narrow) {
    nest.split("j", kernel.panel, "panel");
    nest.split("panel", kernel.schedule.chunk / kernel.panel, "block");
  } else {
    nest.split("j", kernel.schedule.chunk, "block");
  }
  std::vector<std::string> blocks = {"block", "column"};
  if (narrow) blocks.emplace_back("panel");
  schedule_product(nest, kernel, blocks);
  // Sums leave their accumulators at the end of each block: for memory, where columns or another
  // nest or groups of rows are inside; else for outer accumulators.
  const bool all_rows = kernel.schedule.vectors * kernel.schedule.lanes >= kernel.rows;
  if (kernel.plain && columns.tile == kernel.in && all_rows) nest.cache_write("block");
  return nest;
}

// The product result = W^T coefficients with sums in double over all neurons, rounded to float32
// once.
Nest wide_product(const Kernel& kernel, const Columns& columns) {
  loop::Expression what;
  what.axes = {columns_of(kernel), neurons_of(kernel), {"r", 0, kernel.rows, false}};
  what.body = {
      Let{"w",
          loop::to_double(loop::load("weight", loop::axis("k", kernel.panel) + loop::axis("j") +
                                                   loop::floor("j", kernel.panel, kernel.in - 1)))},
      Let{"a", loop::to_double(loop::load("coefficients", coefficient("j", kernel.rows)))}};
  what.sums = {Sum{"sum", local("w", Type::kFloat64) * local("a", Type::kFloat64), "", {}, false}};
  what.epilogue = {Store{
      "result", coefficient("k", kernel.rows), loop::to_float(local("sum", Type::kFloat64)), {}}};
  Nest nest(std::move(what));
  nest.restrict_axis("k", columns.begin, columns.end);
  nest.split("k", columns.tile, "column");
  if (is_dealt(kernel)) {
    deal_product(nest, kernel, {});
    bind_product(nest, kernel);
    return nest;
  }
  nest.split("j", kernel.panel, "panel");
  schedule_product(nest, kernel, {"column", "panel"});
  return nest;
}

}  // namespace

KernelNests backward_affine_nests(const Kernel& kernel) {
  KernelNests made;
  if (kernel.plain) {
    made.parameters = {"const float* BF_RESTRICT weight", "const float* BF_RESTRICT coefficients",
                       "float* BF_RESTRICT result"};
    made.formula = "coefficients over z -> result over a";
  } else {
    made.parameters = {"const float* BF_RESTRICT weight", "const float* BF_RESTRICT table",
                       "float* BF_RESTRICT coefficients", "float* BF_RESTRICT sums",
                       "float* BF_RESTRICT result"};
    if (kernel.live_in) made.parameters.emplace_back("const std::int32_t* BF_RESTRICT live_in");
    if (kernel.live_out) made.parameters.emplace_back("const std::int32_t* BF_RESTRICT live");
    made.formula = "coefficients over relu(z) -> slopes x coefficients over z -> result over a";
    made.program.add("relaxation", relaxation(kernel));
  }
  const std::int64_t tile = kernel.schedule.columns;
  const std::int64_t main = kernel.in / tile * tile;
  const auto add = [&](const Columns& columns) {
    made.program.add(columns.name,
                     kernel.wide ? wide_product(kernel, columns) : product(kernel, columns));
    if (is_staged(kernel, columns)) stage_weights(made.program, columns.name, kernel);
    if (!kernel.wide && !kernel.live_in && columns.begin > 0 && !is_dealt(kernel))
      made.program.compute_at(columns.name, "product", "block");
  };
  add({"product", 0, main, tile});
  // The relaxation of a block runs just before its product, while its coefficients are in cache.
  if (!kernel.plain && !kernel.wide && !is_dealt(kernel))
    made.program.compute_at("relaxation", "product", "block");
  if (main < kernel.in) add({"remainder", main, kernel.in, kernel.in - main});
  return made;
}

KernelNests concretize_nests(const Kernel& kernel) {
  loop::Expression what;
  what.axes = {{"k", 0, kernel.in, true}, {"r", 0, kernel.rows, false}};
  what.body = {Let{"radius_k", loop::load("radius", shared(kernel, "k"))},
               Let{"a", loop::load("coefficients", coefficient("k", kernel.rows))}};
  what.sums = {
      Sum{"sum", loop::abs(local("a")) * local("radius_k"), "spread", loop::axis("r"), false}};
  Nest nest(std::move(what));
  if (is_dealt(kernel)) {
    nest.reorder({"r", "k"});
    nest.bind("r", 1, kernel.schedule.items);
  } else {
    split_rows(nest, kernel);
    nest.reorder({"k", "v", "r"});
    unroll_rows(nest, kernel);
  }
  KernelNests made;
  made.parameters = {"const float* BF_RESTRICT coefficients", "const float* BF_RESTRICT radius",
                     "float* BF_RESTRICT spread"};
  made.formula = "spread = sum_k |coefficients_k| radius_k";
  made.program.add("spread", std::move(nest));
  return made;
}

}  // namespace bf_aot::emit
