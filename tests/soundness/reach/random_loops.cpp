#include "tests/soundness/reach/random_loops.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "aot/reach/search/simulate.h"
#include "tests/support/loops.h"

namespace bf_aot::soundness {
namespace {

using reach::Loop;
using reach::PlantKind;
using test::PlantWriter;

// A product, quotient or function of elements of the state.
ValueId random_term(Random& random, PlantWriter& plant, const std::vector<ValueId>& x,
                    bool rational) {
  const ValueId a = x[below(random, x.size())], b = x[below(random, x.size())];
  switch (below(random, rational ? 4 : 18)) {
    case 0:
      return plant.multiply(a, b);
    case 1:
      return plant.divide(a, plant.add(plant.constant(1.5), plant.multiply(b, b)));
    case 2:
      return plant.multiply(a, plant.multiply(a, b));
    case 3:
      return a;
    case 4:
      return plant.divide(b, plant.add(plant.constant(2.5), plant.apply(FunctionKind::kSin, a)));
    case 5:
      return plant.apply(FunctionKind::kSin, a);
    case 6:
      return plant.multiply(b, plant.apply(FunctionKind::kCos, a));
    case 7:
      return plant.apply(FunctionKind::kTanh, plant.add(a, b));
    case 8:
      return plant.apply(FunctionKind::kExp, plant.times(-0.5, a));
    case 9:
      return plant.apply(FunctionKind::kSqrt,
                         plant.add(plant.constant(1.25), plant.multiply(a, a)));
    case 10:
      return plant.apply(FunctionKind::kAtan, plant.subtract(a, b));
    case 11:
      return plant.apply(FunctionKind::kSigmoid, a);
    case 12:
      return plant.apply(FunctionKind::kLog, plant.add(plant.constant(1.5), plant.multiply(a, b)));
    case 13:
      return plant.apply(FunctionKind::kTan, plant.times(0.25, a));
    case 14:
      return plant.apply(FunctionKind::kSinh, plant.times(0.5, b));
    case 15:
      return plant.apply(FunctionKind::kCosh, plant.times(0.5, b));
    case 16:
      return plant.apply(Function{FunctionKind::kPower, below(random, 2) == 0 ? 3.0 : 4.0}, a);
    case 17:
      return plant.apply(FunctionKind::kReciprocal,
                         plant.add(plant.constant(2), plant.apply(FunctionKind::kCos, a)));
  }
  return a;
}

Graph random_plant(Random& random, const Shape& shape, std::int64_t states, std::int64_t controls,
                   const std::vector<reach::Disturbance>& disturbances) {
  PlantWriter plant;
  const std::vector<ValueId> x = plant.input("x", states);
  const std::vector<ValueId> u = controls > 0 ? plant.input("u", controls) : x;
  std::vector<ValueId> others = u;
  for (const reach::Disturbance& w : disturbances)
    for (const ValueId id : plant.input(w.name, static_cast<std::int64_t>(w.box.lower.size())))
      others.push_back(id);
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ValueId sum = plant.times(shape.kind == PlantKind::kDiscrete ? 0.5 : -0.75, x[i]);
    for (std::size_t k = 0; k < 2; ++k)
      sum = plant.add(sum, plant.times(in_range(random, -0.6, 0.6),
                                       random_term(random, plant, x, shape.rational)));
    const ValueId other = others[below(random, others.size())];
    outputs.push_back(plant.add(sum, plant.times(in_range(random, -0.5, 0.5), other)));
  }
  // Each disturbance is felt.
  for (std::size_t k = u.size(); k < others.size(); ++k)
    outputs[k % outputs.size()] = plant.add(outputs[k % outputs.size()], others[k]);
  return plant.finish(outputs);
}

}  // namespace

test::DenseLayer random_layer(Random& random, std::size_t inputs, std::size_t outputs) {
  test::DenseLayer made;
  const bool floats = below(random, 4) > 0;
  const auto number = [&](double size) {
    const double x = in_range(random, -size, size);
    return floats ? static_cast<float>(x) : x;
  };
  for (std::size_t i = 0; i < outputs; ++i) {
    made.weight.emplace_back();
    for (std::size_t k = 0; k < inputs; ++k) made.weight.back().push_back(number(0.8));
    made.bias.push_back(number(0.3));
  }
  return made;
}

build::CompileOptions host_options() {
  build::CompileOptions made;
  made.planner.method = Method::kCrown;
  made.planner.lowering = Lowering::kPrebuilt;
  made.planner.target = find_target("host");
  return made;
}

double in_range(Random& random, double low, double high) {
  return low + (high - low) * reach::random_share(random);
}

Loop random_loop(Random& random, const Shape& shape) {
  Loop loop;
  loop.kind = shape.kind;
  const std::size_t states = 2 + below(random, 3), controls = below(random, 3);
  for (std::size_t d = 0; d < below(random, 3); ++d) {
    const double size = in_range(random, 0, 0.1);
    loop.disturbances.push_back({fmt::format("w{}", d),
                                 {{-size}, {size / 2}},
                                 static_cast<reach::Disturbance::Changes>(below(random, 3))});
  }
  loop.plant = test::part_of(random_plant(random, shape, static_cast<std::int64_t>(states),
                                          static_cast<std::int64_t>(controls), loop.disturbances));
  if (controls > 0) {
    const Op hidden = shape.rational || below(random, 2) == 0 ? Op(Relu{})
                      : below(random, 2) == 0                 ? Op(Unary{{FunctionKind::kTanh}})
                                                              : Op(Unary{{FunctionKind::kSigmoid}});
    const std::size_t seen = below(random, 4) == 0 ? states + 1 : states;
    if (seen > states)
      loop.observer = test::part_of(test::dense_network({random_layer(random, states, seen)}));
    loop.controller = test::part_of(test::dense_network(
        {random_layer(random, seen, 8), random_layer(random, 8, controls)}, hidden));
    loop.delayed = below(random, 3) == 0;
    for (std::size_t i = 0; loop.delayed && i < controls; ++i)
      loop.first_control.push_back({in_range(random, -0.3, 0.3), 0});
  }
  // Rational numbers become longer by each step.
  loop.steps = 2 + below(random, shape.rational ? 2 : 5);
  loop.substeps = 1 + below(random, 2);
  loop.period = loop.kind == PlantKind::kDiscrete
                    ? mpq_class(static_cast<unsigned long>(loop.substeps))
                    : mpq_class(static_cast<unsigned long>(1 + below(random, 4)), 10);
  loop.period.canonicalize();
  // Points, thin boxes and wide ones.
  const double width =
      below(random, 4) == 0 ? 0 : std::exp2(-static_cast<double>(below(random, 24)));
  for (std::size_t i = 0; i < states; ++i) {
    const double low = in_range(random, -0.6, 0.6);
    loop.initial.lower.push_back(low);
    loop.initial.upper.push_back(low + width * reach::random_share(random));
  }
  return loop;
}

}  // namespace bf_aot::soundness
