#include <cmath>
#include <limits>

#include "aot/emit/kernels/kernels.h"
#include "frontend/diagnostic.h"

// Forward kernels: lanes are outputs, the weights are read once, in order.

namespace bf_aot::emit {
namespace {

using loop::Axis;
using loop::ExprPtr;
using loop::Let;
using loop::Nest;
using loop::Store;
using loop::Sum;
using loop::Type;

constexpr double kMax = std::numeric_limits<float>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::int64_t padded_out(const Kernel& kernel) {
  return (kernel.out + kernel.panel - 1) / kernel.panel * kernel.panel;
}

// Outputs begin .. end - 1: axis o counts from begin. All of them, or, when lanes are boxes, those
// whose register tiles are full and those that are left over.
struct Range {
  std::int64_t begin = 0, end = 0;
};

loop::Index at(loop::Index index, std::int64_t constant) {
  index.constant += constant;
  return index;
}

// Element (o, i) of a table [out / panel][in][panel]. A range that does not begin with a panel lies
// in one.
loop::Index table_index(const Kernel& kernel, const Range& range) {
  const std::int64_t inside = range.begin % kernel.panel;
  return at(loop::axis("i", kernel.panel) + loop::axis("o") +
                loop::floor("o", kernel.panel, kernel.in - 1),
            (range.begin - inside) * kernel.in + inside);
}

// Number i of a tensor: of the box, or of each of the boxes.
loop::Index element(const Kernel& kernel, const char* axis) {
  if (kernel.boxes == 1) return loop::axis(axis);
  return loop::axis(axis, kernel.boxes) + loop::axis("b");
}

loop::Index output(const Kernel& kernel, const Range& range) {
  return at(element(kernel, "o"), range.begin * kernel.boxes);
}

std::vector<Axis> axes(const Kernel& kernel, const Range& range) {
  std::vector<Axis> made = {{"o", 0, range.end - range.begin, false}, {"i", 0, kernel.in, true}};
  if (kernel.live_in) made.back() = listed(made.back(), "live_in");
  if (kernel.boxes > 1) made.push_back({"b", 0, kernel.boxes, false});
  return made;
}

std::vector<Range> ranges(const Kernel& kernel) {
  if (kernel.boxes == 1) return {{0, padded_out(kernel)}};
  const std::int64_t full = kernel.out / kernel.schedule.columns * kernel.schedule.columns;
  std::vector<Range> made;
  if (full > 0) made.push_back({0, full});
  if (full < kernel.out) made.push_back({full, kernel.out});
  return made;
}

Store store(const Kernel& kernel, const Range& range, const std::string& buffer, ExprPtr value) {
  Store made{buffer, output(kernel, range), std::move(value), {}};
  if (kernel.head && kernel.boxes == 1) made.within = {{loop::axis("o"), 0, kernel.out}};
  return made;
}

// A register tile of `columns` outputs, each of all boxes.
Nest schedule_boxes(const Kernel& kernel, Nest nest, int lanes) {
  const int columns = kernel.schedule.columns;
  nest.split("o", columns, "tile");
  nest.split("tile", kernel.panel / columns, "panel");
  nest.split("i", kernel.schedule.chunk, "chunk");
  nest.split("b", lanes, "v");
  nest.reorder({"panel", "tile", "chunk", "i", "o", "v", "b"});
  nest.unroll("o");
  nest.unroll("v");
  nest.vectorize("b");
  nest.cache_write("chunk");
  if (kernel.schedule.unroll > 1) nest.unroll("i", kernel.schedule.unroll);
  return nest;
}

// Each item of a device's group has outputs of its own.
Nest deal_outputs(const Kernel& kernel, Nest nest) {
  nest.split("i", kernel.schedule.chunk, "chunk");
  nest.reorder({"o", "chunk", "i"});
  nest.bind("o", 1, kernel.schedule.items);
  nest.cache_write("chunk");
  return nest;
}

// Panels of outputs, in groups of `vectors` vectors of floats: the register tile; for each, chunks
// of inputs.
Nest schedule(const Kernel& kernel, Nest nest, int lanes) {
  if (kernel.boxes > 1) return schedule_boxes(kernel, std::move(nest), lanes);
  if (kernel.schedule.items > 1) return deal_outputs(kernel, std::move(nest));
  nest.split("o", lanes, "v");
  const int group = kernel.schedule.vectors * kernel.schedule.lanes;
  const bool whole = group == kernel.panel;
  if (!whole) nest.split("v", group / lanes, "group");
  nest.split(whole ? "v" : "group", whole ? kernel.panel / lanes : kernel.panel / group, "panel");
  nest.split("i", kernel.schedule.chunk, "chunk");
  if (whole)
    nest.reorder({"panel", "chunk", "i", "v", "o"});
  else
    nest.reorder({"panel", "group", "chunk", "i", "v", "o"});
  nest.unroll("v");
  if (kernel.rolled) nest.roll("v");
  if (lanes > 1) nest.vectorize("o");
  nest.cache_write("chunk");
  if (kernel.schedule.unroll > 1) nest.unroll("i", kernel.schedule.unroll);
  return nest;
}

// Adds the prefetching of weights, where the schedule has it, to the nest that reads them first.
Nest asking_ahead(const Kernel& kernel, Nest nest) {
  if (kernel.prefetch > 0) nest.prefetch("weight", kernel.prefetch);
  return nest;
}

// Adds the list's parameter, which comes last.
void add_list(const Kernel& kernel, KernelNests& made) {
  if (kernel.live_in) made.parameters.emplace_back("const std::int32_t* BF_RESTRICT live_in");
}

std::string named(const char* what, const Range& range) {
  return range.begin == 0 ? what : std::string(what) + "_rest";
}

ExprPtr number(double value) {
  return loop::literal(value);
}

}  // namespace

namespace {

// Ends a nest of a head: writes bounds for the caller. Where the spread is NaN or infinite, as it
// is where z is, the bounds are infinite and claim nothing.
void end_in_bounds(const Kernel& kernel, const Range& range, loop::Expression& what) {
  using loop::local;
  const ExprPtr z = local("z");
  const ExprPtr spread = local("spread");
  const ExprPtr finite = local("finite", Type::kMask);
  what.epilogue.emplace_back(Let{"finite", loop::less_equal(spread, number(kMax))});
  what.epilogue.emplace_back(Let{"low", loop::select(finite, z - spread, number(-kInf))});
  what.epilogue.emplace_back(Let{"high", loop::select(finite, z + spread, number(kInf))});
  ExprPtr low = local("low");
  ExprPtr high = local("high");
  if (kernel.relu) {
    low = loop::max(low, number(0));
    high = loop::max(high, number(0));
  }
  what.epilogue.emplace_back(store(kernel, range, "lower", low));
  what.epilogue.emplace_back(store(kernel, range, "upper", high));
}

// Ends a nest of a hidden layer: writes a centre and a radius. Readers claim nothing where a radius
// is NaN or infinite, and a ReLU passes NaN on.
void end_in_activations(const Kernel& kernel, const Range& range, loop::Expression& what) {
  using loop::local;
  const ExprPtr z = local("z");
  const ExprPtr spread = local("spread");
  what.epilogue.emplace_back(Let{"low", z - spread});
  what.epilogue.emplace_back(Let{"high", z + spread});
  ExprPtr low = local("low");
  ExprPtr high = local("high");
  if (kernel.relu) {
    what.epilogue.emplace_back(Let{"active_low", loop::max(number(0), low)});
    what.epilogue.emplace_back(Let{"active_high", loop::max(number(0), high)});
    low = local("active_low");
    high = local("active_high");
  }
  const ExprPtr centre = local("new_centre");
  const ExprPtr size = kernel.relu ? centre : loop::abs(centre);
  what.epilogue.emplace_back(Let{"new_centre", number(0.5) * (low + high)});
  what.epilogue.emplace_back(Let{"width", high - low});
  what.epilogue.emplace_back(store(kernel, range, "out_centre", centre));
  what.epilogue.emplace_back(
      store(kernel, range, "out_radius",
            local("width") * number(0.5 * (1 + 0x1p-22)) + size * loop::scalar("gamma")));
}

// Proofs: docs/proofs/interval-pass.md.
loop::Expression interval_affine(const Kernel& kernel, const Range& range) {
  using loop::local;
  loop::Expression what;
  what.axes = axes(kernel, range);
  what.body = {Let{"w", loop::load("weight", table_index(kernel, range))},
               Let{"c", loop::load("centre", element(kernel, "i"))},
               Let{"r", loop::load("radius", element(kernel, "i"))}};
  what.sums = {Sum{"mid", local("w") * local("c"), "", {}, false},
               Sum{"rad", loop::abs(local("w")) * local("r"), "", {}, false}};
  const ExprPtr z = local("z");
  const ExprPtr spread = local("spread");
  what.epilogue = {
      Let{"z", local("mid") + loop::load("bias", at(loop::axis("o"), range.begin))},
      Let{"spread", loop::abs(z) * loop::scalar("relative") +
                        (local("rad") * loop::scalar("inflate") + loop::scalar("absolute"))}};
  if (kernel.head)
    end_in_bounds(kernel, range, what);
  else
    end_in_activations(kernel, range, what);
  return what;
}

}  // namespace

KernelNests interval_affine_nests(const Kernel& kernel) {
  KernelNests made;
  made.parameters = {"const float* BF_RESTRICT weight",
                     "const float* BF_RESTRICT bias",
                     "const float* BF_RESTRICT centre",
                     "const float* BF_RESTRICT radius",
                     "float inflate",
                     "float relative",
                     "float absolute"};
  if (kernel.head) {
    made.parameters.insert(made.parameters.end(),
                           {"float* BF_RESTRICT lower", "float* BF_RESTRICT upper"});
    made.formula = "lower <= W a + b <= upper for |a - centre| <= radius";
  } else {
    made.parameters.insert(made.parameters.end(), {"float gamma", "float* BF_RESTRICT out_centre",
                                                   "float* BF_RESTRICT out_radius"});
    made.formula = "centre and radius of W a + b for |a - centre| <= radius";
  }
  if (kernel.relu) made.formula += ", after ReLU";
  add_list(kernel, made);
  for (const Range& range : ranges(kernel)) {
    Nest nest = schedule(kernel, Nest(interval_affine(kernel, range)), kernel.schedule.lanes);
    if (kernel.boxes == 1) nest.keep("w");
    made.program.add(named("interval", range), asking_ahead(kernel, std::move(nest)));
  }
  return made;
}

KernelNests evaluate_affine_nests(const Kernel& kernel) {
  using loop::local;
  const Range all = ranges(kernel).front();
  loop::Expression what;
  what.axes = axes(kernel, all);
  what.body = {Let{"w", loop::load("weight", table_index(kernel, all))},
               Let{"a", loop::load("x", loop::axis("i"))}};
  what.sums = {Sum{"sum", local("w") * local("a"), "", {}, false}};
  ExprPtr value = local("sum") + loop::load("bias", loop::axis("o"));
  if (kernel.relu) value = loop::max(value, number(0));
  what.epilogue = {store(kernel, all, "y", value)};
  KernelNests made;
  made.parameters = {"const float* BF_RESTRICT weight", "const float* BF_RESTRICT bias",
                     "const float* BF_RESTRICT x", "float* BF_RESTRICT y"};
  made.formula = kernel.relu ? "y = relu(W x + b)" : "y = W x + b";
  Nest nest = schedule(kernel, Nest(std::move(what)), kernel.schedule.lanes);
  made.program.add("values", asking_ahead(kernel, std::move(nest)));
  return made;
}

namespace {

loop::Expression radius_of(const Kernel& kernel, const Range& range) {
  using loop::local;
  loop::Expression radius;
  radius.axes = axes(kernel, range);
  radius.body = {Let{"w", loop::load("weight", table_index(kernel, range))},
                 Let{"r", loop::load("radius", element(kernel, "i"))}};
  radius.sums = {Sum{"rad", loop::abs(local("w")) * local("r"), "", {}, false}};
  radius.epilogue = {store(kernel, range, "out_radius", local("rad"))};
  return radius;
}

loop::Expression centre_of(const Kernel& kernel, const Range& range) {
  using loop::local;
  loop::Expression centre;
  centre.axes = axes(kernel, range);
  ExprPtr weight = loop::to_double(loop::load("weight", table_index(kernel, range)));
  if (kernel.residual)
    weight = weight + loop::to_double(loop::load("residual", table_index(kernel, range)));
  centre.body = {Let{"w", weight},
                 Let{"c", loop::load("centre", element(kernel, "i"), Type::kFloat64)}};
  const ExprPtr w = local("w", Type::kFloat64);
  centre.sums = {Sum{"mid", w * local("c", Type::kFloat64), "", {}, false}};
  const ExprPtr bias = loop::load("bias", at(loop::axis("o"), range.begin), Type::kFloat64);
  centre.epilogue = {store(kernel, range, "out_centre", local("mid", Type::kFloat64) + bias)};
  return centre;
}

}  // namespace

// Two nests per panel: the radius in float, the centre in double on vectors of half as many lanes.
KernelNests centre_affine_nests(const Kernel& kernel) {
  KernelNests made;
  made.parameters = {"const float* BF_RESTRICT weight"};
  if (kernel.residual) made.parameters.emplace_back("const float* BF_RESTRICT residual");
  made.parameters.insert(made.parameters.end(),
                         {"const double* BF_RESTRICT bias", "const double* BF_RESTRICT centre",
                          "const float* BF_RESTRICT radius", "double* BF_RESTRICT out_centre",
                          "float* BF_RESTRICT out_radius"});
  add_list(kernel, made);
  const int lanes = kernel.schedule.lanes;
  for (const Range& range : ranges(kernel)) {
    const std::string radius = named("radius", range);
    const std::string centre = named("centre", range);
    Nest nest = schedule(kernel, Nest(radius_of(kernel, range)), lanes);
    made.program.add(radius, asking_ahead(kernel, std::move(nest)));
    made.program.add(centre,
                     schedule(kernel, Nest(centre_of(kernel, range)), lanes > 1 ? lanes / 2 : 1));
    if (kernel.boxes == 1 && kernel.schedule.items == 1)
      made.program.compute_at(radius, centre, "panel");
  }
  made.formula = "out_centre = W centre + b in double, out_radius = |W| radius";
  return made;
}

}  // namespace bf_aot::emit
