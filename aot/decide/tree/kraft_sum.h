#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

namespace bf_aot::decide::tree {

// The sum of 2^-depth over leaves of a binary tree, kept exactly. It is 1 when the leaves are all
// those of the tree, and below 1 while any is missing.
class KraftSum {
 public:
  // Adds `count` leaves of this depth, at most kMostDepth.
  void add(std::uint32_t depth, std::uint64_t count = 1);
  void add(const KraftSum& other);

  mpq_class value() const;
  double approximate() const { return value().get_d(); }
  bool is_one() const { return value() == 1; }
  bool is_zero() const { return counts_.empty(); }

  // The number of leaves by depth. The last is not 0.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::uint64_t leaves() const;

  bool operator==(const KraftSum&) const = default;

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace bf_aot::decide::tree
