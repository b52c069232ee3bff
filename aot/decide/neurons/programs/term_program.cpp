#include "aot/decide/neurons/programs/term_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bf_aot::decide {
namespace {

// Numbers of a program's matrix, at most.
constexpr std::size_t kMostNumbers = 20'000;

bool all_finite(const std::vector<float>& weights) {
  return std::ranges::all_of(weights, [](float weight) { return std::isfinite(weight); });
}

}  // namespace

TermProgram::TermProgram(const BoxNetwork& network, NodeLanes& lanes, const SplitNode& node)
    : network_(network), terms_(node.weights.size()) {
  is_weighed_ = lanes.nodes.is_weighed;
  if (std::ranges::find(is_weighed_, false) == is_weighed_.end() ||
      (terms_ + 1) * (network.inputs() + 1) > kMostNumbers)
    return;
  useful_ = true;
  program_.variables = network.inputs();
  program_.lower.assign(network.lower().begin(), network.lower().end());
  program_.upper.assign(network.upper().begin(), network.upper().end());
  program_.cost.assign(network.inputs(), 0);
  // A term by itself: conditions of splits belong to the clause's sum.
  SplitNode alone = node;
  for (NeuronSplit& split : alone.splits) split.multiplier = 0;
  for (std::size_t first = 0; first < terms_; first += kLanes) {
    const std::size_t count = std::min(kLanes, terms_ - first);
    for (std::size_t p = 0; p < kLanes; ++p) {
      std::ranges::fill(alone.weights, 0.0F);
      alone.weights[first + std::min(p, count - 1)] = 1;
      lanes.nodes.load(p, alone);
    }
    lanes.nodes.in_use = count;
    lanes.proposal.bound();
    for (std::size_t p = 0; p < count; ++p) add(lanes.proposal.plane(p));
  }
  for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
  lanes.nodes.in_use = 1;
  lanes.proposal.bound();
  add(lanes.proposal.plane(0));
}

void TermProgram::add(const InputPlane& plane) {
  for (const float factor : plane.coefficients)
    program_.matrix.push_back(static_cast<double>(factor));
  program_.limit.push_back(-static_cast<double>(plane.constant));
}

// The least v with plane <= v for all terms, or plane <= 0 of those that are not weighed, has these
// weights for its multipliers.
std::optional<std::vector<float>> TermProgram::best_weights() const {
  const std::size_t inputs = network_.inputs();
  LinearProgram program;
  program.variables = inputs + 1;
  program.cost.assign(inputs, 0);
  program.cost.push_back(1);
  program.lower = program_.lower;
  program.upper = program_.upper;
  double most = 1;
  for (std::size_t t = 0; t < terms_; ++t) {
    double reach = std::fabs(program_.limit[t]);
    for (std::size_t k = 0; k < inputs; ++k) {
      const double factor = program_.matrix[t * inputs + k];
      program.matrix.push_back(factor);
      reach +=
          std::fabs(factor) * std::max(std::fabs(program.lower[k]), std::fabs(program.upper[k]));
    }
    program.matrix.push_back(is_weighed_[t] ? -1 : 0);
    program.limit.push_back(program_.limit[t]);
    most = std::max(most, 2 * reach);
  }
  program.lower.push_back(-most);
  program.upper.push_back(most);
  ProgramResult solved = solve(program);
  if (solved.end == ProgramEnd::kGivenUp) return std::nullopt;
  double weighed = 0, all = 0;
  for (std::size_t t = 0; t < terms_; ++t) {
    all += solved.multipliers[t];
    if (is_weighed_[t]) weighed += solved.multipliers[t];
  }
  // Where conditions on inputs exclude each other, any part of the others will do.
  const double sum = weighed > 0 ? weighed : all;
  std::vector<float> made;
  for (std::size_t t = 0; t < terms_; ++t)
    made.push_back(static_cast<float>(solved.multipliers[t] / sum));
  if (!all_finite(made)) return std::nullopt;
  return made;
}

std::optional<TermMultipliers> TermProgram::best_multipliers(const InputPlane& row) const {
  LinearProgram program = program_;
  program.cost.assign(row.coefficients.begin(), row.coefficients.end());
  const ProgramResult solved = solve(program);
  if (solved.end != ProgramEnd::kOptimal) return std::nullopt;
  TermMultipliers made;
  for (std::size_t t = 0; t < terms_; ++t)
    made.terms.push_back(static_cast<float>(solved.multipliers[t]));
  made.clause = static_cast<float>(solved.multipliers[terms_]);
  if (!all_finite(made.terms) || !std::isfinite(made.clause)) return std::nullopt;
  return made;
}

}  // namespace bf_aot::decide
