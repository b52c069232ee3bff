#include "planner/network/ball_norms.h"

#include <fmt/format.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/graph/conv_loops.h"

// Norms of linear maps against exact products with the vectors that they stretch most.
namespace bf_aot::of_norms {
namespace {

struct Product {
  std::size_t out, in;
  float weight;
};
using Products = std::vector<Product>;

std::vector<double> times(const Products& map, const std::vector<double>& x, std::size_t out,
                          bool transposed) {
  std::vector<double> y(out);
  for (const Product& e : map)
    y[transposed ? e.in : e.out] += static_cast<double>(e.weight) * x[transposed ? e.out : e.in];
  return y;
}

// About the vector that the map stretches most.
std::vector<double> most_stretched(const Products& map, std::size_t in, std::size_t out,
                                   std::mt19937_64& random) {
  std::vector<double> x(in);
  for (double& each : x) each = std::ldexp(static_cast<double>(random() % 1000), -10) - 0.5;
  for (int step = 0; step < 60; ++step) {
    x = times(map, times(map, x, out, false), in, true);
    double length = 0;
    for (const double each : x) length = std::max(length, std::fabs(each));
    if (!(length > 0)) return x;
    for (double& each : x) each /= length;
  }
  return x;
}

// |W x|^2 / |x|^2, exactly; and every |(W x)_j| beside the bound of its row.
mpq_class stretch(const Products& map, const std::vector<double>& x, const BallNorms& norms) {
  std::vector<mpq_class> y(norms.rows.size());
  for (const Product& e : map) y[e.out] += mpq_class(e.weight) * mpq_class(x[e.in]);
  mpq_class made, given;
  for (const double each : x) given += mpq_class(each) * mpq_class(each);
  for (std::size_t j = 0; j < y.size(); ++j) {
    const mpq_class square = y[j] * y[j];
    EXPECT_LE(square, mpq_class(norms.rows[j]) * mpq_class(norms.rows[j]) * given);
    made += square;
  }
  return given == 0 ? mpq_class(0) : mpq_class(made / given);
}

float number(std::mt19937_64& random) {
  return std::ldexp(static_cast<float>(random() % 4001) - 2000, -11);
}

// Returns the share of the bound that the map reaches.
double check(const Products& map, std::size_t in, const BallNorms& norms, std::mt19937_64& random) {
  EXPECT_TRUE(std::isfinite(norms.norm));
  double reached = 0;
  for (int tries = 0; tries < 2; ++tries) {
    const std::vector<double> x = most_stretched(map, in, norms.rows.size(), random);
    const mpq_class square = stretch(map, x, norms);
    EXPECT_LE(square, mpq_class(norms.norm) * mpq_class(norms.norm));
    reached = std::max(reached, std::sqrt(square.get_d()) / norms.norm);
  }
  return reached;
}

TEST(BallNorms, OfDenseLayersAreReached) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    Layer layer;
    layer.in = 1 + static_cast<int>(random() % 60);
    layer.out = 1 + static_cast<int>(random() % 60);
    Products map;
    for (int i = 0; i < layer.out; ++i)
      for (int k = 0; k < layer.in; ++k) {
        layer.weight.push_back(number(random));
        map.push_back(
            {static_cast<std::size_t>(i), static_cast<std::size_t>(k), layer.weight.back()});
      }
    const double reached = check(map, static_cast<std::size_t>(layer.in), norms_of(layer), random);
    EXPECT_GT(reached, 0.99) << layer.in << " " << layer.out;  // a norm 1 % less is found out
  }
}

TEST(BallNorms, OfUncertainWeightsHoldAtTheirEnds) {
  std::mt19937_64 random(2);
  Layer layer;
  layer.in = 7;
  layer.out = 5;
  layer.errors.weight_relative = 0.25;
  Products map;
  for (std::size_t i = 0; i < 35; ++i) {
    layer.weight.push_back(number(random));
    map.push_back({i / 7, i % 7, layer.weight.back() * (i % 2 == 0 ? 1.25F : 0.75F)});
  }
  check(map, 7, norms_of(layer), random);
}

ConvGeometry geometry_of(std::mt19937_64& random, bool small) {
  const auto between = [&](int low, int high) {
    return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  ConvGeometry g;
  g.batch = between(1, 2);
  g.groups = between(1, 3) == 1 ? 2 : 1;
  g.in_channels = g.groups * between(1, 4);
  g.out_channels = g.groups * between(1, 4);
  g.transposed = between(0, 2) == 0;
  for (std::size_t d = between(0, 2) == 0 ? 0 : 1; d < 3; ++d) {
    g.in_size[d] = small ? between(1, 5) : between(6, 9);
    g.out_size[d] = small ? between(1, 5) : between(6, 9);
    g.kernel[d] = between(1, 4);
    g.stride[d] = between(1, 3);
    g.dilation[d] = between(1, 2);
    g.pad[d] = between(0, 2);
  }
  g.in = dense_layout(g.in_channels, g.in_size);
  g.out = dense_layout(g.out_channels, g.out_size);
  return g;
}

TEST(BallNorms, OfConvolutionsHold) {
  std::mt19937_64 random(3);
  double least = 1;
  for (int round = 0; round < 40; ++round) {
    const ConvGeometry g = geometry_of(random, round % 2 == 0);
    SCOPED_TRACE(fmt::format("round {}", round));
    Term term;
    term.in = static_cast<int>(g.in_count());
    term.map = ConvMap{g};
    for (std::int64_t i = 0; i < g.out_channels * g.in_group() * g.taps(); ++i)
      term.weight.push_back(number(random));
    Products map;
    for_each_product(g, [&](std::int64_t i, std::int64_t w, std::int64_t k) {
      map.push_back({static_cast<std::size_t>(i), static_cast<std::size_t>(k),
                     term.weight[static_cast<std::size_t>(w)]});
    });
    const BallNorms norms = norms_of(term, static_cast<int>(g.out_count()), 0);
    const double reached = check(map, static_cast<std::size_t>(g.in_count()), norms, random);
    if (!map.empty() && std::min(g.in_count(), g.out_count()) <= 200)
      least = std::min(least, reached);
  }
  EXPECT_GT(least, 0.97);  // small images have matrices of their own
}

// The image is so large that its matrix is not made: its norm is the symbol's on a grid, raised.
TEST(BallNorms, OfLargeConvolutionsAreNearlyReached) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 4; ++round) {
    ConvGeometry g;
    g.in_channels = 3;
    g.out_channels = 4;
    g.in_size = g.out_size = {1, 40, 40};
    g.kernel = {1, 3, 3};
    g.pad = {0, 1, 1};
    if (round % 2 == 1) {
      g.stride = {1, 2, 2};
      g.kernel = {1, 4, 4};
      g.out_size = {1, 20, 20};
      g.transposed = round == 3;
      if (g.transposed) std::swap(g.in_size, g.out_size);
    }
    g.in = dense_layout(g.in_channels, g.in_size);
    g.out = dense_layout(g.out_channels, g.out_size);
    Term term;
    term.in = static_cast<int>(g.in_count());
    term.map = ConvMap{g};
    for (std::int64_t i = 0; i < g.out_channels * g.in_channels * g.taps(); ++i)
      term.weight.push_back(number(random));
    Products map;
    for_each_product(g, [&](std::int64_t i, std::int64_t w, std::int64_t k) {
      map.push_back({static_cast<std::size_t>(i), static_cast<std::size_t>(k),
                     term.weight[static_cast<std::size_t>(w)]});
    });
    const BallNorms norms = norms_of(term, static_cast<int>(g.out_count()), 0);
    EXPECT_GT(check(map, static_cast<std::size_t>(g.in_count()), norms, random), 0.93) << round;
  }
}

TEST(BallNorms, OfSparseAndGatheredTermsHold) {
  std::mt19937_64 random(5);
  Term pooled;
  pooled.in = 8;
  SparseMap sparse;
  for (std::int32_t i = 0; i <= 4; ++i) sparse.row_start.push_back(2 * i);
  for (std::int32_t k = 0; k < 8; ++k) sparse.column.push_back(k);
  pooled.map = sparse;
  pooled.weight.assign(8, 0.5F);
  pooled.row_entries = 2;
  pooled.column_entries = 1;
  Products map;
  for (std::size_t k = 0; k < 8; ++k) map.push_back({k / 2, k, 0.5F});
  EXPECT_GT(check(map, 8, norms_of(pooled, 4, 0), random), 0.999);

  Term gathered;
  gathered.in = 3;
  gathered.map = GatherMap{{2, -1, 2, 0}, {}};
  const Products copies = {{0, 2, 1}, {2, 2, 1}, {3, 0, 1}};
  EXPECT_GT(check(copies, 3, norms_of(gathered, 4, 0), random), 0.999);
  gathered.map = GatherMap{};
  const Products same = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}};
  EXPECT_GT(check(same, 3, norms_of(gathered, 3, 0), random), 0.999);
}

// A map differs from another one in any number that its norms are computed of.
TEST(BallNorms, AreFoundOnceForEachMap) {
  std::mt19937_64 random(6);
  KnownNorms known;
  Layer dense;
  dense.in = 12;
  dense.out = 6;
  for (int i = 0; i < 72; ++i) dense.weight.push_back(number(random));
  Layer uncertain = dense, other = dense, turned = dense;
  uncertain.errors.weight_relative = 0x1p-10;
  other.weight[71] += 1;
  std::swap(turned.in, turned.out);
  for (int time = 0; time < 2; ++time) {
    for (const Layer& each : {dense, uncertain, other, turned})
      EXPECT_EQ(known.of(each), norms_of(each));
    EXPECT_EQ(known.size(), 4U);
  }

  ConvGeometry g;
  g.in_channels = 2;
  g.out_channels = 3;
  g.in_size = g.out_size = {1, 5, 5};
  g.kernel = {1, 3, 3};
  g.pad = {0, 1, 1};
  g.in = dense_layout(g.in_channels, g.in_size);
  g.out = dense_layout(g.out_channels, g.out_size);
  Term term;
  term.in = static_cast<int>(g.in_count());
  term.map = ConvMap{g};
  for (int i = 0; i < 54; ++i) term.weight.push_back(number(random));
  Term beyond = term, stretched = term;
  beyond.input = LayerId{3};  // what makes its input is no part of the map
  g.pad = {0, 2, 2};
  g.dilation = {1, 2, 2};
  stretched.map = ConvMap{g};
  const int out = static_cast<int>(g.out_count());
  for (const Term& each : {term, beyond, stretched})
    EXPECT_EQ(known.of(each, out, 0), norms_of(each, out, 0));
  EXPECT_EQ(known.size(), 6U);
  EXPECT_EQ(known.of(term, out, 0x1p-10), norms_of(term, out, 0x1p-10));
  EXPECT_EQ(known.size(), 7U);
}

std::vector<Layer> dense_layers(std::size_t count, std::mt19937_64& random) {
  Layer dense;
  dense.in = dense.out = 32;
  dense.weight.resize(1024);
  std::vector<Layer> made(count, dense);
  for (Layer& each : made)
    for (float& weight : each.weight) weight = number(random);
  return made;
}

TEST(BallNorms, AreKeptAsFarAsThereIsRoom) {
  std::mt19937_64 random(7);
  const std::vector<Layer> layers = dense_layers(5, random);
  KnownNorms none(4096), three(3 * 4096 + 3 * 1024);  // one has 4096 bytes of weights
  for (int time = 0; time < 2; ++time)
    for (const Layer& each : layers) {
      EXPECT_EQ(none.of(each), norms_of(each));
      EXPECT_EQ(three.of(each), norms_of(each));
      EXPECT_EQ(none.size(), 0U);
      EXPECT_LE(three.size(), 3U);
    }
  EXPECT_EQ(three.size(), 3U);
}

TEST(BallNorms, AreFoundByThreads) {
  std::mt19937_64 random(8);
  const std::vector<Layer> layers = dense_layers(8, random);
  std::vector<BallNorms> expected;
  for (const Layer& each : layers) expected.push_back(norms_of(each));
  KnownNorms known(6 * 4096);  // not all are kept
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 16; ++i) {
          const std::size_t at = (i + t) % layers.size();
          wrong[t] += known.of(layers[at]) == expected[at] ? 0 : 1;
        }
      });
  }
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace bf_aot::of_norms
