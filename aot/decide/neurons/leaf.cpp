#include "aot/decide/neurons/leaf.h"

#include <algorithm>
#include <cmath>

#include "aot/decide/neurons/programs/bounded_simplex.h"

namespace bf_aot::decide {
namespace {

// The program may have this many entries, and composing the neurons' affine functions this many
// products.
constexpr double kMostEntries = 4e5, kMostProducts = 5e7;

// The neurons as affine functions of the inputs on the leaf: [inputs] coefficients and a constant
// each.
class LeafFunctions {
 public:
  LeafFunctions(const BoxNetwork& network, const std::vector<FunctionPiece>& pieces)
      : width_(network.inputs() + 1) {
    for (const auto& layer : network.layers()) {
      std::vector<double>& z = before_.emplace_back(layer.size() * width_);
      for (std::size_t j = 0; j < layer.size(); ++j) z[j * width_ + width_ - 1] = layer.bias[j];
      for (const auto& part : layer.parts)
        part.forward.for_each_product([&](std::size_t row, std::size_t column, float weight) {
          const auto factor = static_cast<double>(weight);
          if (part.source < 0) {
            z[row * width_ + column] += factor;
            return;
          }
          const double* const a =
              after_[static_cast<std::size_t>(part.source)].data() + column * width_;
          for (std::size_t k = 0; k < width_; ++k) z[row * width_ + k] += factor * a[k];
        });
      std::vector<double>& a = after_.emplace_back(z);
      std::size_t open = layer.first_open;
      for (const int place : layer.open) {
        const FunctionPiece& piece = pieces[open++];
        double* const own = a.data() + static_cast<std::size_t>(place) * width_;
        for (std::size_t k = 0; k < width_; ++k) own[k] *= piece.slope;
        own[width_ - 1] += piece.intercept;
      }
    }
  }

  const double* of(int layer, int place) const {
    return before_[static_cast<std::size_t>(layer)].data() +
           static_cast<std::size_t>(place) * width_;
  }

 private:
  const std::size_t width_;
  std::vector<std::vector<double>> before_, after_;  // z and the activation, by layer
};

double products_of(const BoxNetwork& network) {
  double count = 0;
  for (const auto& layer : network.layers())
    for (const auto& part : layer.parts) count += static_cast<double>(part.forward.products());
  return count;
}

}  // namespace

std::optional<LeafProposal> solve_leaf(const BoxNetwork& network,
                                       const std::vector<ClauseTerm>& terms,
                                       const std::vector<float>& scales, const SplitNode& leaf,
                                       const std::vector<FunctionPiece>& pieces) {
  if (network.products() > 0) return std::nullopt;  // with products the leaf is no linear program
  const std::size_t inputs = network.inputs(), splits = leaf.splits.size();
  const double rows = static_cast<double>(splits + terms.size());
  if (rows * static_cast<double>(inputs + 1) > kMostEntries ||
      products_of(network) * static_cast<double>(inputs + 1) > kMostProducts)
    return std::nullopt;
  const LeafFunctions functions(network, pieces);

  // The variables are the inputs, and v; the rows are the splits, then the terms.
  LinearProgram program;
  program.variables = inputs + 1;
  program.cost.assign(inputs + 1, 0.0);
  program.cost.back() = 1;
  program.lower.assign(network.lower().begin(), network.lower().end());
  program.upper.assign(network.upper().begin(), network.upper().end());
  const auto add = [&](const double* of, double sign, double threshold, double of_v) {
    for (std::size_t k = 0; k < inputs; ++k) program.matrix.push_back(sign * of[k]);
    program.matrix.push_back(of_v);
    program.limit.push_back(sign * (threshold - of[inputs]));
  };
  for (const NeuronSplit& split : leaf.splits) {
    const auto [layer, place] = network.place_of(split.open);
    add(functions.of(layer, place), split.positive ? -1 : 1, split.point, 0);
  }
  double most = 1;
  for (const ClauseTerm& term : terms) {
    const auto [layer, place] = network.rows()[static_cast<std::size_t>(term.row)];
    const double* const of = functions.of(layer, place);
    add(of, static_cast<double>(term.sign), term.threshold, -1);
    double reach = std::fabs(term.threshold) + std::fabs(of[inputs]);
    for (std::size_t k = 0; k < inputs; ++k)
      reach +=
          std::fabs(of[k]) * std::max(std::fabs(program.lower[k]), std::fabs(program.upper[k]));
    most = std::max(most, 2 * reach);
  }
  program.lower.push_back(-most);
  program.upper.push_back(most);

  ProgramResult solved = solve(program);
  if (solved.end == ProgramEnd::kGivenUp) return std::nullopt;
  LeafProposal made = {leaf, std::nullopt};
  std::vector<double>& multipliers = solved.multipliers;
  if (solved.end == ProgramEnd::kInfeasible) {
    // The leaf is empty. Its multipliers are scaled so that they outweigh any row; any weights will
    // do.
    double gap = 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      double sum = 0;
      for (std::size_t r = 0; r < splits; ++r)
        sum += multipliers[r] * program.matrix[r * (inputs + 1) + k];
      gap += std::min(sum * program.lower[k], sum * program.upper[k]);
    }
    for (std::size_t r = 0; r < splits; ++r) gap -= multipliers[r] * program.limit[r];
    if (!(gap > 0)) return std::nullopt;
    for (std::size_t r = 0; r < splits; ++r) multipliers[r] *= 4 * most / gap;
    for (std::size_t t = 0; t < terms.size(); ++t)
      multipliers[splits + t] = 1 / static_cast<double>(terms.size());
  } else {
    std::vector<float> x;
    for (std::size_t k = 0; k < inputs; ++k)
      x.push_back(
          std::clamp(static_cast<float>(solved.x[k]), network.lower()[k], network.upper()[k]));
    made.point = std::move(x);
  }
  for (std::size_t r = 0; r < splits; ++r) {
    const auto layer = static_cast<std::size_t>(network.place_of(leaf.splits[r].open).first);
    made.node.splits[r].multiplier =
        static_cast<float>(multipliers[r] / static_cast<double>(scales[layer]));
  }
  for (std::size_t open = 0; open < network.open(); ++open)
    if (network.is_function()[open]) {
      const auto slope = static_cast<float>(pieces[open].slope);
      const std::size_t number = 2 * network.function_of(open);
      made.node.lines[number] = made.node.lines[number + 1] = slope;
    }
  for (std::size_t t = 0; t < terms.size(); ++t)
    made.node.weights[t] = static_cast<float>(multipliers[splits + t]);
  return made;
}

}  // namespace bf_aot::decide
