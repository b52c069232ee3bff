#include "aot/decide/tree/kraft_sum.h"

#include <numeric>

#include "aot/decide/tree/node.h"
#include "frontend/diagnostic.h"

namespace bf_aot::decide::tree {

void KraftSum::add(std::uint32_t depth, std::uint64_t count) {
  BF_CHECK(depth <= kMostDepth);
  if (count == 0) return;
  if (counts_.size() <= depth) counts_.resize(depth + 1);
  BF_CHECK(counts_[depth] + count > counts_[depth]);
  counts_[depth] += count;
}

void KraftSum::add(const KraftSum& other) {
  for (std::size_t depth = 0; depth < other.counts_.size(); ++depth)
    add(static_cast<std::uint32_t>(depth), other.counts_[depth]);
}

// The sum is counted in units of the deepest leaf, which are divided once.
mpq_class KraftSum::value() const {
  if (counts_.empty()) return 0;
  static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));
  mpz_class units = 0;
  std::size_t unit = 0;  // the depth of the leaves that units counts in
  for (std::size_t depth = 0; depth < counts_.size(); ++depth) {
    if (counts_[depth] == 0) continue;
    units <<= depth - unit;
    units += static_cast<unsigned long>(counts_[depth]);
    unit = depth;
  }
  mpq_class sum(units, mpz_class(1) << (counts_.size() - 1));
  sum.canonicalize();
  return sum;
}

std::uint64_t KraftSum::leaves() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

}  // namespace bf_aot::decide::tree
