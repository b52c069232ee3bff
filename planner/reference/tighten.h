#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "planner/reference/rows.h"
#include "planner/reference/slopes.h"

// Backward rows of the reference machine, from the neurons to tighter bounds.
namespace bf_aot::reference {

// Rows that choose slopes do so in double; rationals keep the relaxation's, which are as sound.
template <typename Scalar, typename Memory>
void tighten(const Plan& plan, const BackwardRows& step, const Interval<Scalar>& box,
             const std::vector<Eigen::Index>& chosen, MapCache<Scalar>& maps, const Memory& memory,
             Interval<Scalar>& bounds) {
  for_each_tile(plan, chosen, [&](const std::vector<Eigen::Index>& some) {
    if constexpr (std::is_same_v<Scalar, double>)
      if (step.iterations > 0) return optimise_tile(plan, step, box, some, maps, memory, bounds);
    RowSet<Scalar> rows = rows_of<Scalar>(plan, step, some, maps, memory, nullptr);
    keep_tighter<Scalar>(some, concretize(rows, box, plan), bounds);
  });
}

// `most` of the neurons, evenly spread.
inline std::vector<Eigen::Index> spread(const std::vector<Eigen::Index>& chosen, std::size_t most) {
  std::vector<Eigen::Index> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(chosen[i * chosen.size() / most]);
  return some;
}

// Does what tighten() does, with at most `most` rows of each sign. Where that is not all of them,
// the result is an estimate and no bound: every other neuron's interval shrinks at both ends by the
// same share as that of its nearest neighbour below with rows.
template <typename Scalar, typename Memory>
void tighten(const Plan& plan, const BackwardRows& step, const Interval<Scalar>& box,
             const std::vector<Eigen::Index>& chosen, std::size_t most, MapCache<Scalar>& maps,
             const Memory& memory, Interval<Scalar>& bounds) {
  if (chosen.size() <= most) return tighten(plan, step, box, chosen, maps, memory, bounds);
  const std::vector<Eigen::Index> some = spread(chosen, most);
  const Interval<Scalar> before = bounds;
  tighten(plan, step, box, some, maps, memory, bounds);
  std::size_t at = 0;
  for (const Eigen::Index j : chosen) {
    if (at + 1 < some.size() && some[at + 1] <= j) ++at;
    const Eigen::Index model = some[at];
    if (j == model || !before.is_finite(model) || !before.is_finite(j)) continue;
    const Scalar width = before.upper(model) - before.lower(model);
    if (!(width > 0)) continue;
    const Scalar scale = Scalar((before.upper(j) - before.lower(j)) / width);
    bounds.lower(j) += Scalar((bounds.lower(model) - before.lower(model)) * scale);
    bounds.upper(j) -= Scalar((before.upper(model) - bounds.upper(model)) * scale);
  }
}

}  // namespace bf_aot::reference
