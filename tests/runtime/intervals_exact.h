#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "planner/lowering/lowering.h"
#include "planner/network/error_terms.h"
#include "terms_random.h"

// Sums of intervals against exact rationals.

namespace bf_test {

struct Sums {
  std::vector<float> centre, radius;

  explicit Sums(int out)
      : centre(static_cast<std::size_t>(out), 7), radius(static_cast<std::size_t>(out), 7) {}
};

inline bf_aot::Layer layer_of(const std::vector<RandomTerm>& terms) {
  bf_aot::Layer layer;
  layer.kind = bf_aot::LayerKind::kSum;
  for (const RandomTerm& term : terms) {
    bf_aot::Term made;
    if (term.kind == RandomTerm::Kind::kConv) made.map = bf_aot::ConvMap{term.geometry};
    if (term.kind == RandomTerm::Kind::kSparse)
      made.map = bf_aot::SparseMap{term.row_start, term.column};
    if (term.kind == RandomTerm::Kind::kGather) made.map = bf_aot::GatherMap{};
    if (!term.products.empty()) made.row_entries = term.most(false);
    layer.terms.push_back(std::move(made));
  }
  return layer;
}

// Exact sums, the centres' of magnitudes, and the number of products.
struct Exact {
  std::vector<mpq_class> centre, size, radius;
  std::vector<int> products;

  explicit Exact(std::size_t out) : centre(out), size(out), radius(out), products(out) {}

  void add(const RandomTerm& term, const std::vector<float>& c, const std::vector<float>& r) {
    for (const RandomTerm::Product& p : term.products) {
      const mpq_class value = exact(p.weight) * exact(static_cast<double>(c[p.in]));
      centre[p.out] += value;
      size[p.out] += abs(value);
      radius[p.out] += abs(exact(p.weight)) * exact(static_cast<double>(r[p.in]));
      ++products[p.out];
    }
  }
};

inline void expect_close(const Sums& sums, const Exact& truth, int depth) {
  for (std::size_t i = 0; i < sums.centre.size(); ++i) {
    const mpq_class underflow = exact(truth.products[i] * 0x1p-150);
    const mpq_class miss = abs(exact(static_cast<double>(sums.centre[i])) - truth.centre[i]);
    EXPECT_LE(miss, exact(bf_aot::gamma_float(depth)) * truth.size[i] + underflow) << i;
    const auto reach = static_cast<double>(sums.radius[i]);
    EXPECT_LE(truth.radius[i], (exact(reach) + underflow) * exact(bf_aot::inflate_float(depth)))
        << i;
    EXPECT_LE(exact(reach), truth.radius[i] * exact(1 + bf_aot::gamma_float(depth)) + underflow)
        << i;
  }
}

}  // namespace bf_test
