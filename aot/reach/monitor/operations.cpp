#include "aot/reach/monitor/operations.h"

#include <vector>

#include "aot/reach/numbers/taylor.h"
#include "runtime/bf/loops/step.h"

namespace bf_aot::reach {
namespace {

// Prices of operations on numbers: each costs so many operations, and so many for each slope of a
// form. They are read off runtime/bf/loops/, and rounded up.
struct Prices {
  std::uint64_t add, multiply, square, divide, piece, function, exact;
};
constexpr Prices kRanges = {20, 40, 30, 40, 10, 600, 40};
constexpr Prices kForms = {60, 200, 300, 2800, 600, 2500, 80};
constexpr Prices kSlopes = {5, 20, 26, 84, 40, 60, 6};
constexpr std::uint64_t kRangeOfForm = 20, kRangeOfSlope = 4;

Prices of_forms(std::size_t slopes) {
  const auto price = [slopes](std::uint64_t fixed, std::uint64_t each) {
    return fixed + each * slopes;
  };
  return {price(kForms.add, kSlopes.add),       price(kForms.multiply, kSlopes.multiply),
          price(kForms.square, kSlopes.square), price(kForms.divide, kSlopes.divide),
          price(kForms.piece, kSlopes.piece),   price(kForms.function, kSlopes.function),
          price(kForms.exact, kSlopes.exact)};
}

// An arithmetic whose numbers are nothing, and that adds up prices.
struct Counted {};
thread_local Prices prices;
thread_local std::uint64_t counted;

struct Counting {
  static Counted pay(std::uint64_t price) {
    counted += price;
    return {};
  }
  template <class Constant>
  static Counted constant(const Constant&) {
    return {};
  }
  static Counted number(double) { return {}; }
  static Counted add(Counted, Counted) { return pay(prices.add); }
  static Counted subtract(Counted, Counted) { return pay(prices.add); }
  static Counted multiply(Counted, Counted) { return pay(prices.multiply); }
  static Counted square(Counted) { return pay(prices.square); }
  static Counted divide(Counted, Counted) { return pay(prices.divide); }
  static Counted relu(Counted) { return pay(prices.piece); }
  static Counted larger(Counted, Counted) { return pay(prices.piece + 2 * prices.add); }
  static Counted apply(const Function&, Counted) { return pay(prices.function); }
  template <class Constant>
  static Counted scaled(Counted, const Constant&) {
    return pay(prices.exact);
  }
  static Counted times(Counted, double) { return pay(prices.exact); }
  static Counted over(Counted, double) { return pay(prices.exact); }
};

template <class Work>
std::uint64_t cost(const Prices& of, const Work& work) {
  prices = of;
  counted = 0;
  work();
  return counted;
}

std::uint64_t cost_of_program(const Prices& of, const ScalarProgram& program) {
  return cost(of, [&] {
    const std::vector<Counted> inputs(program.inputs);
    std::vector<Counted> made(program.steps.size());
    bf::loops::run_program<Counting>(ProgramView(program), inputs.data(), made.data());
  });
}

std::uint64_t cost_of_series(const Prices& of, const MonitorPlan& plan, std::size_t order) {
  return cost(of, [&] {
    const ProgramView view(*plan.plant);
    const std::vector<Counted> state(plan.sizes.states), held(plan.sizes.held());
    std::vector<Counted> numbers(plan.sizes.series * (order + 1));
    bf::loops::TaylorSeries<Counting, Counted, ProgramView> series(
        view, plan.places, plan.sizes.states, state.data(), held.data(), numbers.data(), order + 1);
    while (series.order() < order) series.extend();
  });
}

class Counter {
 public:
  Counter(const MonitorPlan& plan)
      : plan_(plan),
        slopes_(plan.sizes.all_symbols + 1),
        forms_(of_forms(slopes_)),
        range_(kRangeOfForm + kRangeOfSlope * slopes_) {}

  std::uint64_t count() const {
    const std::uint64_t instants = plan_.periods * plan_.flow.substeps + 1;
    return instants * visit() + plan_.periods * (room() + network()) +
           plan_.periods * plan_.flow.substeps * step();
  }

 private:
  std::uint64_t states() const { return plan_.sizes.states; }

  // A piece: ranges of its states, and the requirements.
  std::uint64_t visit() const {
    std::uint64_t made = states() * (range_ + 4);
    for (const MonitorCondition& each : plan_.conditions)
      made += cost_of_program(forms_, each.values) + comparisons(each.formula) * range_;
    return made;
  }

  static std::uint64_t comparisons(const Formula& formula) {
    std::uint64_t made = formula.kind == Formula::Kind::kCompare ? 1 : 0;
    for (const Formula& part : formula.parts) made += comparisons(part);
    return made;
  }

  // The symbols that are kept, the largest first, and what becomes of the others.
  std::uint64_t room() const {
    return slopes_ * slopes_ + 4 * slopes_ * (2 * states() + plan_.sizes.held()) + 100;
  }

  // The box of the forms, and forms of the outputs.
  std::uint64_t network() const {
    const std::uint64_t inputs = plan_.sizes.network_inputs;
    return inputs * (8 * slopes_ + 60) + 4 * inputs * slopes_ +
           plan_.sizes.network_outputs * (24 * (slopes_ + inputs) + 2 * range_ + 120);
  }

  std::uint64_t step() const {
    if (plan_.kind == PlantKind::kContinuous) return continuous_step() + visit();
    if (!plan_.plant) return room() + network();
    return cost_of_program(forms_, *plan_.plant) + states() * (forms_.exact + forms_.add);
  }

  std::uint64_t continuous_step() const {
    const std::uint64_t order = plan_.flow.order;
    const std::uint64_t tries = bf::loops::kTries + bf::loops::kRefinements;
    std::uint64_t made = tries * (cost_of_program(kRanges, *plan_.plant) + 100 * states());
    made += (states() + plan_.sizes.held()) * range_;
    made += cost_of_series(forms_, plan_, order) + cost_of_series(kRanges, plan_, order + 1);
    made += states() * (order * (forms_.exact + forms_.multiply + 2 * forms_.add) + 2 * forms_.add +
                        2 * range_ + 200);
    return made + 40 * (order + 1);
  }

  const MonitorPlan& plan_;
  std::uint64_t slopes_;
  Prices forms_;
  std::uint64_t range_;
};

}  // namespace

std::uint64_t operations_of(const MonitorPlan& plan) {
  return Counter(plan).count();
}

}  // namespace bf_aot::reach
