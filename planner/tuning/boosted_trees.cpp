#include "planner/tuning/boosted_trees.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "frontend/diagnostic.h"

namespace bf_aot {

// Grows one tree on the residuals of all samples.
class TreeGrower {
 public:
  TreeGrower(const std::vector<std::vector<double>>& rows, const std::vector<double>& residuals,
             const BoostedTrees::Options& options)
      : rows_(rows), residuals_(residuals), options_(options) {}

  BoostedTrees::Tree grow() {
    std::vector<std::size_t> all(rows_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    add(std::move(all), options_.depth);
    return std::move(tree_);
  }

 private:
  struct Split {
    std::size_t feature = 0;
    double threshold = 0;
    double gain = 0;
  };

  double sum(const std::vector<std::size_t>& samples) const {
    double total = 0;
    for (const std::size_t i : samples) total += residuals_[i];
    return total;
  }

  // Squared errors fall by  left^2 / n_left + right^2 / n_right - all^2 / n,  the sums' squares.
  void try_feature(std::vector<std::size_t> samples, std::size_t feature,
                   std::optional<Split>& best) const {
    std::ranges::stable_sort(samples, {}, [&](std::size_t i) { return rows_[i][feature]; });
    const double total = sum(samples);
    const auto count = static_cast<double>(samples.size());
    double left = 0;
    for (std::size_t n = 1; n < samples.size(); ++n) {
      left += residuals_[samples[n - 1]];
      const double below = rows_[samples[n - 1]][feature], above = rows_[samples[n]][feature];
      if (below == above || n < options_.least || samples.size() - n < options_.least) continue;
      const auto some = static_cast<double>(n);
      const double right = total - left;
      const double gain =
          left * left / some + right * right / (count - some) - total * total / count;
      if (gain > (best ? best->gain : 1e-12)) best = Split{feature, (below + above) / 2, gain};
    }
  }

  int add(std::vector<std::size_t> samples, int depth) {
    const int at = static_cast<int>(tree_.size());
    tree_.push_back({});
    tree_.back().value = sum(samples) / static_cast<double>(samples.size());
    std::optional<Split> best;
    if (depth > 0)
      for (std::size_t f = 0; f < rows_.front().size(); ++f) try_feature(samples, f, best);
    if (!best) return at;
    const auto middle = std::stable_partition(samples.begin(), samples.end(), [&](std::size_t i) {
      return rows_[i][best->feature] < best->threshold;
    });
    if (middle == samples.begin() || middle == samples.end()) return at;  // the mean rounded
    const int left = add({samples.begin(), middle}, depth - 1);
    const int right = add({middle, samples.end()}, depth - 1);
    BoostedTrees::Node& node = tree_[static_cast<std::size_t>(at)];
    node.feature = best->feature;
    node.threshold = best->threshold;
    node.left = left;
    node.right = right;
    return at;
  }

  const std::vector<std::vector<double>>& rows_;
  const std::vector<double>& residuals_;
  const BoostedTrees::Options& options_;
  BoostedTrees::Tree tree_;
};

BoostedTrees::BoostedTrees(const std::vector<std::vector<double>>& rows,
                           const std::vector<double>& targets, const Options& options)
    : shrinkage_(options.shrinkage) {
  BF_CHECK(!rows.empty() && rows.size() == targets.size());
  mean_ = std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(rows.size());
  std::vector<double> residuals = targets;
  for (double& each : residuals) each -= mean_;
  for (int i = 0; i < options.trees; ++i) {
    trees_.push_back(TreeGrower(rows, residuals, options).grow());
    if (trees_.back().size() == 1) break;  // nothing is left to explain
    for (std::size_t s = 0; s < rows.size(); ++s)
      residuals[s] -= shrinkage_ * answer(trees_.back(), rows[s]);
  }
}

double BoostedTrees::answer(const Tree& tree, const std::vector<double>& row) {
  std::size_t at = 0;
  while (tree[at].left >= 0)
    at = static_cast<std::size_t>(row[tree[at].feature] < tree[at].threshold ? tree[at].left
                                                                             : tree[at].right);
  return tree[at].value;
}

double BoostedTrees::predict(const std::vector<double>& row) const {
  double sum = mean_;
  for (const Tree& tree : trees_) sum += shrinkage_ * answer(tree, row);
  return sum;
}

}  // namespace bf_aot
