#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "frontend/graph/conv_loops.h"
#include "runtime/bf/sums/terms.h"

// Random terms and numbers for the tests of runtime/{terms,backward,starts,planes}.h, and the
// constants that the planner would give them.

namespace bf_test {

inline mpq_class exact(double x) {
  return mpq_class(x);
}

// n u / (1 - n u), rounded up; see docs/proofs/error-terms.md.
inline double gamma_float(int n) {
  return n * 0x1p-24 / (1 - n * 0x1p-24) * (1 + 0x1p-50);
}
inline double gamma_double(int n) {
  return n * 0x1p-53 * (1 + 0x1p-30);
}

enum class Numbers : std::uint8_t { kEven, kIntegers, kSpread, kTiny, kCancelling };
constexpr Numbers kAllNumbers[] = {Numbers::kEven, Numbers::kIntegers, Numbers::kSpread,
                                   Numbers::kTiny, Numbers::kCancelling};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  double unit() { return std::ldexp(static_cast<double>(engine_() >> 11U), -53); }

  float number(Numbers kind) {
    const double x = 2 * unit() - 1;
    switch (kind) {
      case Numbers::kEven:
        return static_cast<float>(x);
      case Numbers::kIntegers:
        return static_cast<float>(between(-8, 8));
      case Numbers::kSpread:
        return static_cast<float>(std::ldexp(x, between(-60, 20)));
      case Numbers::kTiny:
        return static_cast<float>(std::ldexp(x, between(-149, -60)));
      case Numbers::kCancelling:
        return static_cast<float>((below(2) == 0 ? 1 : -1) * (1 + 0x1p-10 * x));
    }
    return 0;
  }

  std::vector<float> numbers(std::int64_t count, Numbers kind) {
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& x : made) x = below(12) == 0 ? 0.0F : number(kind);
    return made;
  }

  std::vector<float> radii(std::int64_t count, Numbers kind) {
    std::vector<float> made = numbers(count, kind);
    for (float& x : made) x = std::abs(x);
    return made;
  }

  // Doubles that use all of their bits.
  std::vector<double> centres(std::int64_t count, Numbers kind) {
    std::vector<double> made;
    for (const float x : numbers(count, kind))
      made.push_back(kind == Numbers::kIntegers ? x : x * (1 + 0x1p-40 * unit()));
    return made;
  }

  void shuffle(std::vector<int>& list) { std::shuffle(list.begin(), list.end(), engine_); }

 private:
  std::mt19937_64 engine_;
};

// Dense strides in a random order of the dimensions, some of them backwards.
inline bf_aot::ImageLayout random_layout(Random& random, std::int64_t batch, std::int64_t channels,
                                         const bf_aot::Extent& size) {
  bf_aot::ImageLayout image;
  std::int64_t* const strides[5] = {&image.batch, &image.channel, &image.spatial[0],
                                    &image.spatial[1], &image.spatial[2]};
  const std::int64_t sizes[5] = {batch, channels, size[0], size[1], size[2]};
  std::vector<int> order = {4, 3, 2, 1, 0};
  if (random.below(2) == 0) random.shuffle(order);
  std::int64_t stride = 1;
  for (const int d : order) {
    *strides[d] = stride;
    if (random.below(10) == 0) {
      image.offset += stride * (sizes[d] - 1);
      *strides[d] = -stride;
    }
    stride *= sizes[d];
  }
  return image;
}

inline bf_aot::ConvGeometry random_conv(Random& random) {
  bf_aot::ConvGeometry g;
  g.batch = random.between(1, 2);
  g.groups = random.below(3) == 0 ? random.between(2, 3) : 1;
  g.in_channels = g.groups * random.between(1, 6);
  g.out_channels =
      g.groups * (random.below(4) == 0 ? random.between(20, 70) : random.between(1, 5));
  g.transposed = random.below(3) == 0;
  for (std::size_t d = random.below(3) == 0 ? 0 : 1; d < 3; ++d) {
    g.in_size[d] = random.between(1, 5);
    g.out_size[d] = random.between(1, 5);
    g.kernel[d] = random.between(1, 3);
    g.stride[d] = random.between(1, 3);
    g.dilation[d] = random.between(1, 2);
    g.pad[d] = random.between(0, 2);
  }
  if (random.below(8) == 0) {  // a row longer than a strip
    g.batch = g.groups = 1;
    g.in_channels = g.out_channels = 2;
    g.in_size[2] = 75;
    g.out_size[2] = random.between(60, 80);
    g.stride[2] = 1;
  }
  g.in = random_layout(random, g.batch, g.in_channels, g.in_size);
  g.out = random_layout(random, g.batch, g.out_channels, g.out_size);
  return g;
}

inline bf::ConvShape shape_of(const bf_aot::ConvGeometry& g) {
  bf::ConvShape s{};
  const auto n = [](std::int64_t x) { return static_cast<int>(x); };
  s.batch = n(g.batch);
  s.groups = n(g.groups);
  s.in_channels = n(g.in_channels);
  s.out_channels = n(g.out_channels);
  s.transposed = g.transposed;
  s.in = {n(g.in.offset), n(g.in.batch), n(g.in.channel), {}};
  s.out = {n(g.out.offset), n(g.out.batch), n(g.out.channel), {}};
  for (std::size_t d = 0; d < 3; ++d) {
    s.in_size[d] = n(g.in_size[d]);
    s.out_size[d] = n(g.out_size[d]);
    s.kernel[d] = n(g.kernel[d]);
    s.stride[d] = n(g.stride[d]);
    s.dilation[d] = n(g.dilation[d]);
    s.pad[d] = n(g.pad[d]);
    s.in.spatial[d] = n(g.in.spatial[d]);
    s.out.spatial[d] = n(g.out.spatial[d]);
  }
  return s;
}

// One term of a sum, as what its routine reads and as a list of products.
struct RandomTerm {
  enum class Kind : std::uint8_t { kConv, kSparse, kGather } kind = Kind::kConv;
  struct Product {
    std::size_t out, in;
    double weight, residual;
  };
  int out = 0, in = 0;
  bf::ConvShape shape{};
  bf_aot::ConvGeometry geometry;  // the same
  std::vector<std::int32_t> row_start, column, source;
  std::vector<float> weight, residual;
  std::vector<Product> products;

  const float* residuals() const { return residual.empty() ? nullptr : residual.data(); }
  const std::int32_t* sources() const { return source.empty() ? nullptr : source.data(); }

  // Most products in an output, or that read an input.
  int most(bool of_inputs) const {
    std::vector<int> count(static_cast<std::size_t>(of_inputs ? in : out), 0);
    for (const Product& p : products) ++count[of_inputs ? p.in : p.out];
    return *std::max_element(count.begin(), count.end());
  }
};

inline std::vector<float> some_residuals(Random& random, const std::vector<float>& weight) {
  std::vector<float> made;
  if (random.below(2) == 0) return made;
  for (const float w : weight) made.push_back(w * static_cast<float>(0x1p-25 * random.unit()));
  return made;
}

// Weights [out][in of the group][tap] as routines read them.
inline std::vector<float> packed(const bf::ConvShape& shape, const std::vector<float>& weight) {
  std::vector<float> made(weight.size());
  const int group = bf::in_group(shape), taps = bf::taps(shape);
  std::size_t next = 0;
  for (int o = 0; o < shape.out_channels && !weight.empty(); ++o)
    for (int i = 0; i < group; ++i)
      for (int t = 0; t < taps; ++t)
        made[static_cast<std::size_t>(bf::weight_place(shape, o, i, t))] = weight[next++];
  return made;
}

inline RandomTerm random_conv_term(Random& random, Numbers kind, const bf_aot::ConvGeometry& g) {
  RandomTerm term;
  term.out = static_cast<int>(g.out_count());
  term.in = static_cast<int>(g.in_count());
  term.shape = shape_of(g);
  term.geometry = g;
  term.weight = random.numbers(g.out_channels * g.in_group() * g.taps(), kind);
  term.residual = some_residuals(random, term.weight);
  for_each_product(g, [&](std::int64_t out, std::int64_t w, std::int64_t in) {
    const auto i = static_cast<std::size_t>(w);
    term.products.push_back({static_cast<std::size_t>(out), static_cast<std::size_t>(in),
                             term.weight[i], term.residual.empty() ? 0 : term.residual[i]});
  });
  term.weight = packed(term.shape, term.weight);
  term.residual = packed(term.shape, term.residual);
  return term;
}
inline RandomTerm random_conv_term(Random& random, Numbers kind) {
  return random_conv_term(random, kind, random_conv(random));
}

inline RandomTerm random_sparse_term(Random& random, Numbers kind, int out, int in) {
  RandomTerm term;
  term.kind = RandomTerm::Kind::kSparse;
  term.out = out;
  term.in = in;
  term.row_start = {0};
  for (int i = 0; i < out; ++i) {
    for (int k = 0; k < in; ++k)
      if (random.below(3) == 0) term.column.push_back(k);
    term.row_start.push_back(static_cast<std::int32_t>(term.column.size()));
  }
  term.weight = random.numbers(static_cast<std::int64_t>(term.column.size()), kind);
  term.residual = some_residuals(random, term.weight);
  for (std::size_t i = 0; i < static_cast<std::size_t>(out); ++i)
    for (auto k = static_cast<std::size_t>(term.row_start[i]);
         k < static_cast<std::size_t>(term.row_start[i + 1]); ++k)
      term.products.push_back({i, static_cast<std::size_t>(term.column[k]), term.weight[k],
                               term.residual.empty() ? 0 : term.residual[k]});
  return term;
}

// holes: some outputs read nothing. identity: no list at all, as many inputs as outputs.
inline RandomTerm random_gather_term(Random& random, int out, int in, bool holes, bool identity) {
  RandomTerm term;
  term.kind = RandomTerm::Kind::kGather;
  term.out = out;
  term.in = identity ? out : in;
  for (int i = 0; i < out; ++i) {
    const int source = identity ? i : random.between(holes ? -1 : 0, in - 1);
    if (!identity) term.source.push_back(source);
    if (source >= 0)
      term.products.push_back(
          {static_cast<std::size_t>(i), static_cast<std::size_t>(source), 1, 0});
  }
  return term;
}

inline RandomTerm random_term(Random& random, Numbers kind, int out) {
  const int in = random.between(1, 40);
  if (random.below(2) == 0) return random_sparse_term(random, kind, out, in);
  return random_gather_term(random, out, in, true, random.below(3) == 0);
}

}  // namespace bf_test
