#pragma once

#include <cstddef>
#include <vector>

namespace bf_aot {

// Gradient-boosted regression trees for squared errors (Friedman 2001): small trees, each fitted to
// what those before it leave, its answers shrunk. Deterministic.
class BoostedTrees {
 public:
  struct Options {
    int trees = 80;
    int depth = 4;
    double shrinkage = 0.15;
    std::size_t least = 2;  // samples in a leaf
  };

  // rows: one per sample, all of one length; as many targets, all finite.
  BoostedTrees(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets,
               const Options& options);
  BoostedTrees(const std::vector<std::vector<double>>& rows, const std::vector<double>& targets)
      : BoostedTrees(rows, targets, Options()) {}

  double predict(const std::vector<double>& row) const;

 private:
  struct Node {
    std::size_t feature = 0;
    double threshold = 0;  // below: left
    double value = 0;      // of a leaf
    int left = -1, right = -1;
  };
  using Tree = std::vector<Node>;

  static double answer(const Tree& tree, const std::vector<double>& row);

  double mean_ = 0;
  double shrinkage_ = 0;
  std::vector<Tree> trees_;

  friend class TreeGrower;
};

}  // namespace bf_aot
