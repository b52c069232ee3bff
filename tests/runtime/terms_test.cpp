// Routines of sum layers against exact rationals: centres, radii, slack, backward coefficients and
// row sums, with the number of roundings that the planner counts for them.

#include "runtime/bf/sums/terms.h"

#include <gtest/gtest.h>

#include "runtime/bf/conv/conv_forward.h"
#include "runtime/bf/conv/conv_slack.h"
#include "runtime/bf/conv/starts.h"
#include "runtime/bf/core/relax.h"
#include "runtime/bf/sums/backward.h"
#include "runtime/bf/sums/row_slack.h"
#include "terms_random.h"

namespace bf_test {
namespace {

using Kind = RandomTerm::Kind;

void add_forward(const RandomTerm& term, const std::vector<double>& c, const std::vector<float>& r,
                 double rounding, std::vector<double>& centre, std::vector<float>& radius) {
  switch (term.kind) {
    case Kind::kConv:
      return bf::conv_centre(term.shape, term.weight.data(), term.residuals(), c.data(), r.data(),
                             rounding, centre.data(), radius.data());
    case Kind::kSparse:
      return bf::sparse_centre(term.out, term.row_start.data(), term.column.data(),
                               term.weight.data(), term.residuals(), c.data(), r.data(), rounding,
                               centre.data(), radius.data());
    case Kind::kGather:
      return bf::gather_centre(term.out, term.sources(), c.data(), r.data(), rounding,
                               centre.data(), radius.data());
  }
}

// A sum of one to three terms: the first is a convolution every other time.
std::vector<RandomTerm> random_sum(Random& random, Numbers kind) {
  std::vector<RandomTerm> terms;
  if (random.below(2) == 0)
    terms.push_back(random_conv_term(random, kind));
  else
    terms.push_back(random_term(random, kind, random.between(1, 60)));
  const int out = terms.front().out;
  for (int more = random.between(0, 2); more > 0; --more)
    terms.push_back(random_term(random, kind, out));
  return terms;
}

TEST(Terms, CentresAndRadii) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const std::vector<RandomTerm> terms = random_sum(random, kind);
    const auto out = static_cast<std::size_t>(terms[0].out);
    const std::vector<double> bias = random.centres(terms[0].out, kind);
    std::vector<double> centre(out, 7);
    std::vector<float> radius(out, 7);
    bf::start_sum(seed % 7 == 0 ? nullptr : bias.data(), terms[0].out, 1, centre.data(),
                  radius.data());
    std::vector<mpq_class> exact_centre(out), size(out), exact_radius(out);
    for (std::size_t i = 0; i < out && seed % 7 != 0; ++i) {
      exact_centre[i] = exact(bias[i]);
      size[i] = abs(exact_centre[i]);
    }
    double slack[bf::kSlack];
    bf::clear_slack(slack);
    int roundings = 3;
    double row_norm_sum = 0;
    for (const RandomTerm& term : terms) {
      const std::vector<double> c = random.centres(term.in, kind);
      const std::vector<float> r = random.radii(term.in, kind);
      add_forward(term, c, r, bf::kSumSlack, centre, radius);
      std::vector<mpq_class> norms(out);
      for (const RandomTerm::Product& p : term.products) {
        const mpq_class w = exact(p.weight) + exact(p.residual);
        exact_centre[p.out] += w * exact(c[p.in]);
        size[p.out] += abs(w * exact(c[p.in]));
        exact_radius[p.out] += abs(exact(p.weight)) * exact(r[p.in]);
        norms[p.out] += abs(w);
      }
      const double row_norm =
          std::max_element(norms.begin(), norms.end())->get_d() * (1 + 0x1p-40) + 0x1p-1000;
      bf::add_centre_slack(c.data(), r.data(), term.in, row_norm, slack);
      roundings += term.most(false) + 1;
      row_norm_sum += row_norm;
    }
    bf::finish_slack(gamma_double(roundings), 1 + 0x1p20, 0x1p-147 * (row_norm_sum + 1), slack);
    for (std::size_t i = 0; i < out; ++i) {
      const mpq_class miss = abs(exact(centre[i]) - exact_centre[i]);
      EXPECT_LE(miss, exact(gamma_double(roundings)) * size[i] + exact(roundings * 0x1p-1074)) << i;
      EXPECT_LE(miss, exact(slack[0])) << i;
      EXPECT_GE(exact(static_cast<double>(radius[i])), exact_radius[i]) << i;
      EXPECT_LE(exact(static_cast<double>(radius[i])),
                exact_radius[i] * exact(1 + 0x1p-21) + exact(0x1p-146))
          << i;
    }
  }
}

TEST(Terms, ChannelsShareTheirBias) {
  const double bias[] = {1, -2.5};
  double centre[6];
  float radius[6] = {9, 9, 9, 9, 9, 9};
  bf::start_sum(bias, 6, 3, centre, radius);
  EXPECT_EQ(std::vector<double>(centre, centre + 6),
            (std::vector<double>{1, 1, 1, -2.5, -2.5, -2.5}));
  EXPECT_EQ(std::vector<float>(radius, radius + 6), std::vector<float>(6, 0));
}

// Sums on a grid stay as they are: quantised networks count on it.
TEST(Terms, ExactSumsAreNotWidened) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<RandomTerm> terms = random_sum(random, Numbers::kIntegers);
    const auto out = static_cast<std::size_t>(terms[0].out);
    std::vector<double> centre(out), expected_centre(out);
    std::vector<float> radius(out);
    std::vector<double> expected(out);
    bf::start_sum(nullptr, terms[0].out, 1, centre.data(), radius.data());
    for (const RandomTerm& term : terms) {
      if (!term.residual.empty()) continue;
      const std::vector<double> c = random.centres(term.in, Numbers::kIntegers);
      const std::vector<float> r = random.radii(term.in, Numbers::kIntegers);
      add_forward(term, c, r, 1, centre, radius);
      for (const RandomTerm::Product& p : term.products) {
        expected_centre[p.out] += p.weight * c[p.in];
        expected[p.out] += std::abs(p.weight) * static_cast<double>(r[p.in]);
      }
    }
    EXPECT_EQ(centre, expected_centre);
    EXPECT_EQ(std::vector<double>(radius.begin(), radius.end()), expected);
  }
}

// A single product keeps its radius, and a radius of zero stays zero.
TEST(Terms, CopiesAreExact) {
  const std::vector<std::int32_t> source = {1, -1, 0};
  const double c[2] = {0.1, -0.3};
  const float r[2] = {0.7F, 0.0F};
  double centre[3];
  float radius[3];
  bf::start_sum(nullptr, 3, 1, centre, radius);
  bf::gather_centre(3, source.data(), c, r, bf::kSumSlack, centre, radius);
  EXPECT_EQ(centre[0], -0.3);
  EXPECT_EQ(centre[1], 0);
  EXPECT_EQ(centre[2], 0.1);
  EXPECT_EQ(radius[0], 0.0F);
  EXPECT_EQ(radius[1], 0.0F);
  EXPECT_EQ(radius[2], 0.7F);
}

// A view reads what a table of the same sources says: a transposed box of a larger tensor.
TEST(Terms, ViewsReadWhatTablesSay) {
  const bf::Strided<5, 60, 3, 2, 4, -1, 5, 12> view;
  std::vector<std::int32_t> source;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c)
        for (int d = 0; d < 5; ++d) source.push_back(5 + 60 * a + 2 * b - c + 12 * d);
  for (int i = 0; i < static_cast<int>(source.size()); ++i)
    ASSERT_EQ(bf::source_of(view, i), source[static_cast<std::size_t>(i)]) << i;
  const int n = static_cast<int>(source.size()), in = 128;
  std::vector<float> coefficients(static_cast<std::size_t>(n) * 4), by_table(in * 4),
      by_view(in * 4);
  for (std::size_t i = 0; i < coefficients.size(); ++i) coefficients[i] = static_cast<float>(i % 7);
  bf::gather_backward<4>(n, source.data(), in, coefficients.data(), false, by_table.data());
  bf::gather_backward<4>(n, view, in, coefficients.data(), false, by_view.data());
  EXPECT_EQ(by_table, by_view);
}

TEST(Terms, InfiniteRadiiStayInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::int32_t row_start[3] = {0, 1, 2};
  const std::int32_t column[2] = {0, 1};
  const float weight[2] = {0, 2};
  const double c[2] = {0, 0};
  const float r[2] = {infinity, infinity};
  double centre[2];
  float radius[2];
  bf::start_sum(nullptr, 2, 1, centre, radius);
  bf::sparse_centre(2, row_start, column, weight, nullptr, c, r, 1, centre, radius);
  EXPECT_EQ(radius[0], infinity);  // 0 * inf: nothing is known
  EXPECT_EQ(radius[1], infinity);
  double slack[bf::kSlack];
  bf::clear_slack(slack);
  bf::add_centre_slack(c, r, 2, 2, slack);
  EXPECT_EQ(slack[1], std::numeric_limits<double>::infinity());
}

// ---- backward

// Windows of a convolution's outputs and inputs; of other terms the whole tensors.
struct Windows {
  bf::Window from = {}, to = {};
};

bf::Window random_window(Random& random, const int (&size)[3]) {
  bf::Window window = {};
  for (int d = 0; d < 3; ++d) {
    window.begin[d] = random.below(size[d]);
    window.end[d] = random.between(window.begin[d] + 1, size[d]);
  }
  return window;
}

// Whether an element of an image is in a window.
std::vector<bool> inside(const bf::ImageStrides& image, int batch, int channels,
                         const bf::Window& window, int count) {
  std::vector<bool> made(static_cast<std::size_t>(count), false);
  int p[3] = {0, 0, 0};
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < channels; ++c)
      for (p[0] = window.begin[0]; p[0] < window.end[0]; ++p[0])
        for (p[1] = window.begin[1]; p[1] < window.end[1]; ++p[1])
          for (p[2] = window.begin[2]; p[2] < window.end[2]; ++p[2])
            made[static_cast<std::size_t>(bf::element(image, n, c, p))] = true;
  return made;
}

template <int kRows>
void go_back(const RandomTerm& term, bool wide, const Windows& windows,
             const std::vector<float>& from, bool add, std::vector<float>& to) {
  switch (term.kind) {
    case Kind::kConv:
      if (wide)
        return bf::conv_backward<kRows, true>(term.shape, term.weight.data(), from.data(),
                                              windows.from, add, to.data(), windows.to);
      return bf::conv_backward<kRows, false>(term.shape, term.weight.data(), from.data(),
                                             windows.from, add, to.data(), windows.to);
    case Kind::kSparse:
      return bf::sparse_backward<kRows>(term.out, term.row_start.data(), term.column.data(),
                                        term.weight.data(), term.in, from.data(), add, to.data());
    case Kind::kGather:
      return bf::gather_backward<kRows>(term.out, term.sources(), term.in, from.data(), add,
                                        to.data());
  }
}

// Roundings of a sum of `entries` products: a chain of at most 64, then a sum over chains. How the
// products of a convolution are cut into chains is bounded by their number.
int depth_of(const RandomTerm& term, int entries, bool add) {
  return entries + (term.kind == Kind::kConv ? 2 : 1) + (add ? 1 : 0);
}

template <int kRows>
void check_backward(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const bool wide = seed % 3 == 0, add = seed % 2 == 0;
  const RandomTerm term = seed % 4 < 2 ? random_conv_term(random, kind)
                                       : random_term(random, kind, random.between(1, 50));
  const std::vector<float> from = random.numbers(std::int64_t{term.out} * kRows, kind);
  const std::vector<float> before = random.numbers(std::int64_t{term.in} * kRows, kind);
  std::vector<float> to = before;
  std::vector<bool> read(static_cast<std::size_t>(term.out), true);
  std::vector<bool> made(static_cast<std::size_t>(term.in), true);
  Windows windows;
  if (term.kind == Kind::kConv) {
    const bf::ConvShape& shape = term.shape;
    const bool all = seed % 5 == 0;
    windows.from = all ? bf::whole(shape.out_size) : random_window(random, shape.out_size);
    windows.to = all ? bf::whole(shape.in_size) : random_window(random, shape.in_size);
    read = inside(shape.out, shape.batch, shape.out_channels, windows.from, term.out);
    made = inside(shape.in, shape.batch, shape.in_channels, windows.to, term.in);
  }
  go_back<kRows>(term, wide, windows, from, add, to);
  std::vector<mpq_class> sum(to.size()), size(to.size());
  std::vector<int> entries(static_cast<std::size_t>(term.in), 0);
  for (std::size_t i = 0; i < to.size() && add; ++i) {
    sum[i] = exact(static_cast<double>(before[i]));
    size[i] = abs(sum[i]);
  }
  for (const RandomTerm::Product& p : term.products) {
    if (!read[p.out]) continue;
    ++entries[p.in];
    for (std::size_t r = 0; r < kRows; ++r) {
      const mpq_class product =
          exact(p.weight) * exact(static_cast<double>(from[p.out * kRows + r]));
      sum[p.in * kRows + r] += product;
      size[p.in * kRows + r] += abs(product);
    }
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!made[i / kRows]) {
      ASSERT_EQ(to[i], before[i]) << i;
      continue;
    }
    const int n = entries[i / kRows];
    const mpq_class miss = abs(exact(static_cast<double>(to[i])) - sum[i]);
    const mpq_class underflow = exact(0x1p-150) * (n + 1);
    if (kind == Numbers::kIntegers) {
      ASSERT_EQ(miss, 0) << i;
    }
    const mpq_class stored = exact(0x1p-24) * abs(sum[i]) * exact(1 + 0x1p-20);
    const mpq_class allowed = wide && term.kind == Kind::kConv
                                  ? mpq_class(exact(gamma_double(n + 2)) * size[i] + stored)
                                  : mpq_class(exact(gamma_float(depth_of(term, n, add))) * size[i]);
    ASSERT_LE(miss, allowed + underflow) << i;
  }
}

TEST(Terms, BackwardCoefficients) {
  for (unsigned seed = 0; seed < 120; ++seed) check_backward<4>(seed);
  for (unsigned seed = 120; seed < 150; ++seed) check_backward<6>(seed);
  for (unsigned seed = 150; seed < 162; ++seed) check_backward<32>(seed);
  for (unsigned seed = 162; seed < 192; ++seed) check_backward<2>(seed);
}

TEST(Terms, AddRows) {
  const std::vector<float> from = {1, 2, 3, 4};
  std::vector<float> to = {10, 20, 30, 40};
  bf::add_rows<2>(2, from.data(), to.data());
  EXPECT_EQ(to, (std::vector<float>{11, 22, 33, 44}));
}

template <int kRows>
void check_start(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const bool add = seed % 2 == 0;
  const RandomTerm term = seed % 4 < 2 ? random_conv_term(random, Numbers::kIntegers)
                                       : random_term(random, Numbers::kIntegers, 30);
  std::vector<std::int32_t> neurons;
  for (int r = 0; r < kRows / 2; ++r) neurons.push_back(random.below(term.out));
  std::vector<float> to = random.numbers(std::int64_t{term.in} * kRows, Numbers::kIntegers);
  std::vector<float> expected(to.size(), 0);
  if (add) expected = to;
  for (const RandomTerm::Product& p : term.products)
    for (std::size_t r = 0; r < kRows / 2; ++r) {
      if (neurons[r] != static_cast<std::int32_t>(p.out)) continue;
      expected[p.in * kRows + r] += static_cast<float>(p.weight);
      expected[p.in * kRows + kRows / 2 + r] -= static_cast<float>(p.weight);
    }
  switch (term.kind) {
    case Kind::kConv:
      bf::conv_start<kRows>(term.shape, term.weight.data(), neurons.data(), add, to.data());
      break;
    case Kind::kSparse:
      bf::sparse_start<kRows>(term.row_start.data(), term.column.data(), term.weight.data(),
                              term.in, neurons.data(), add, to.data());
      break;
    case Kind::kGather:
      bf::gather_start<kRows>(term.sources(), term.in, neurons.data(), add, to.data());
      break;
  }
  EXPECT_EQ(to, expected);
}

TEST(Terms, StartsAreTheRowsOfTheWeights) {
  for (unsigned seed = 0; seed < 200; ++seed) check_start<8>(seed);
  for (unsigned seed = 200; seed < 240; ++seed) check_start<2>(seed);
}

template <int kRows>
void check_relax(unsigned seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const Numbers kind = kAllNumbers[seed % 5];
  const int n = random.between(1, 100);
  const auto count = static_cast<std::size_t>(n);
  const std::vector<float> table = random.numbers(6 * n, kind);
  const std::vector<float> before = random.numbers(std::int64_t{n} * kRows, kind);
  const std::vector<float> sums_before = random.numbers(2 * kRows, kind);
  const std::size_t offsets = seed % 2 == 0 ? 2 : 4;
  std::vector<float> a = before, sums = sums_before;
  bf::relax_rows<kRows>(n, table.data(), table.data() + offsets * count, a.data(), a.data(),
                        sums.data());
  for (std::size_t r = 0; r < kRows; ++r) {
    mpq_class offset = exact(static_cast<double>(sums_before[r])), size = abs(offset);
    for (std::size_t j = 0; j < count; ++j) {
      const float x = before[j * kRows + r];
      const std::size_t side = x < 0 ? 0 : 1;
      EXPECT_EQ(a[j * kRows + r], x * table[side * count + j]);
      const mpq_class product =
          exact(x) * exact(static_cast<double>(table[(offsets + side) * count + j]));
      offset += product;
      size += abs(product);
    }
    const mpq_class gamma = exact(gamma_float(bf::kSumChain + 2) + gamma_double(n + 2));
    const mpq_class underflow = exact(0x1p-150) * (n + 1);
    EXPECT_LE(abs(exact(static_cast<double>(sums[r])) - offset), gamma * size + underflow);
    EXPECT_EQ(sums[kRows + r], sums_before[kRows + r]);
  }
}

TEST(Terms, RelaxedRows) {
  for (unsigned seed = 0; seed < 60; ++seed) check_relax<4>(seed);
  for (unsigned seed = 60; seed < 90; ++seed) check_relax<32>(seed);
  for (unsigned seed = 90; seed < 120; ++seed) check_relax<6>(seed);
}

TEST(Terms, BoxesAloneAreThoseOfTheRelaxation) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    const int n = 50;
    const std::vector<double> centre = random.centres(n, kind);
    const std::vector<float> below = random.radii(n, kind), above = random.radii(n, kind);
    const std::vector<float> radius = random.radii(n, kind);
    for (const bool relu : {false, true}) {
      std::vector<float> table(6 * n), r1(n), r2(n);
      std::vector<double> c1(n), c2(n);
      double slack[bf::kSlack + 50] = {};
      bf::relax(n, relu, centre.data(), below.data(), above.data(), radius.data(),
                bf::RelaxErrors{}, slack, slack + bf::kSlack, table.data(), c1.data(), r1.data());
      bf::relax_box(n, relu, centre.data(), below.data(), above.data(), c2.data(), r2.data());
      EXPECT_EQ(c1, c2);
      EXPECT_EQ(r1, r2);
    }
  }
}

TEST(Terms, WriteValues) {
  const double centre[3] = {0.1, -2, 3};
  float y[3];
  bf::write_values(3, false, centre, y);
  EXPECT_EQ(y[0], 0.1F);
  EXPECT_EQ(y[1], -2);
  bf::write_values(3, true, centre, y);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 3);
}

// ---- what the centre of each row may miss: rows and inputs of all scales beside each other

constexpr double kRelative = 0x1.8p-46, kFactor = 1 + 0x1p-7, kAbsolute = 0x1p-143;

// Numbers of a layer, by boxes side by side.
struct RowLayer {
  std::vector<double> bias, slack;
  std::vector<float> radius;

  // Some radii are far above the layer's slack, some are below, some are 0 and NaN.
  RowLayer(Random& random, int n, int boxes, Numbers kind) {
    bias = random.centres(n, kind);
    for (double& b : bias) b *= std::ldexp(1, random.between(-40, 40));
    slack.assign(static_cast<std::size_t>((bf::kSlack + n) * boxes), 7);
    for (int b = 0; b < boxes; ++b)
      slack[static_cast<std::size_t>(b)] = std::ldexp(1 + random.unit(), random.between(-40, 40));
    for (int i = 0; i < n * boxes; ++i)
      radius.push_back(random.below(5) == 0 ? 0
                                            : static_cast<float>(std::ldexp(
                                                  1 + random.unit(), random.between(-60, 80))));
    if (random.below(3) == 0) radius[0] = std::numeric_limits<float>::quiet_NaN();
  }
};

// sums: the exact ones of |w| |c| of each row and box.
void expect_rows(const RowLayer& before, const std::vector<double>& slack,
                 const std::vector<mpq_class>& sums, int boxes) {
  const auto lanes = static_cast<std::size_t>(boxes);
  std::vector<int> open(lanes, 0);
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const double common = before.slack[at % lanes];
    const double made = slack[bf::kSlack * lanes + at];
    const bool small = common <= bf::kSmallSlack * static_cast<double>(before.radius[at]);
    const mpq_class size = sums[at] + exact(kFactor) * abs(exact(before.bias[at / lanes]));
    const mpq_class least = exact(kRelative) * size + exact(kAbsolute);
    if (!small) ++open[at % lanes];
    if (small || least >= exact(common)) {
      EXPECT_EQ(made, common) << at;
      continue;
    }
    EXPECT_GE(exact(made), least) << at;
    EXPECT_LE(exact(made), least * exact(1 + 0x1p-18)) << at;
  }
  for (std::size_t b = 0; b < lanes; ++b) {
    EXPECT_EQ(slack[bf::kOpenRows * lanes + b], open[b]);
    EXPECT_EQ(slack[b], before.slack[b]) << "the layer's own";
  }
}

std::vector<double> mixed_inputs(Random& random, int n, Numbers kind) {
  std::vector<double> made = random.centres(n, kind);
  for (double& c : made) c *= std::ldexp(1, random.between(0, 1) * random.between(-50, 100));
  return made;
}

void add_slack(const RandomTerm& term, const std::vector<double>& c, double* slack) {
  switch (term.kind) {
    case Kind::kConv:
      return bf::conv_row_slack(term.shape, term.weight.data(), c.data(), slack,
                                slack + bf::kSlack);
    case Kind::kSparse:
      return bf::sparse_row_slack(term.out, term.row_start.data(), term.column.data(),
                                  term.weight.data(), c.data(), slack, slack + bf::kSlack);
    case Kind::kGather:
      return bf::gather_row_slack(term.out, term.sources(), c.data(), slack, slack + bf::kSlack);
  }
}

TEST(RowSlack, OfSums) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    std::vector<RandomTerm> terms;
    if (random.below(2) == 0) terms.push_back(random_conv_term(random, kind));
    const int n = terms.empty() ? random.between(1, 40) : terms[0].out;
    for (int more = random.between(terms.empty() ? 1 : 0, 2); more > 0; --more)
      terms.push_back(random_term(random, kind, n));
    RowLayer layer(random, n, 1, kind);
    const int run = n % 3 == 0 ? 3 : 1;
    const bool biases = random.below(4) > 0;
    std::vector<double> shared;
    for (std::size_t i = 0; i < layer.bias.size(); ++i) {
      layer.bias[i] =
          biases ? layer.bias[i / static_cast<std::size_t>(run) * static_cast<std::size_t>(run)]
                 : 0;
      if (i % static_cast<std::size_t>(run) == 0) shared.push_back(layer.bias[i]);
    }
    std::vector<double> slack = layer.slack;
    bf::start_row_slack<1>(biases ? shared.data() : nullptr, n, run, layer.radius.data(), kFactor,
                           slack.data(), slack.data() + bf::kSlack);
    std::vector<mpq_class> sums(static_cast<std::size_t>(n));
    for (const RandomTerm& term : terms) {
      const std::vector<double> c = mixed_inputs(random, term.in, kind);
      for (const RandomTerm::Product& p : term.products)
        sums[p.out] += abs(exact(p.weight) * exact(c[p.in]));
      add_slack(term, c, slack.data());
    }
    bf::finish_row_slack<1>(n, kRelative, kAbsolute, slack.data(), slack.data() + bf::kSlack);
    expect_rows(layer, slack, sums, 1);
  }
}

template <int kBoxes>
void check_dense() {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Numbers kind = kAllNumbers[seed % 5];
    constexpr int kPanels[] = {1, 4, 8, 16};
    const int n = random.between(1, 40), in = random.between(1, 20);
    const int panel = kPanels[random.below(4)];
    const RowLayer layer(random, n, kBoxes, kind);
    const std::vector<float> weight =
        random.numbers(std::int64_t{in} * ((n + panel - 1) / panel * panel), kind);
    const std::vector<double> c = mixed_inputs(random, in * kBoxes, kind);
    std::vector<double> slack = layer.slack;
    double* const row = slack.data() + std::ptrdiff_t{bf::kSlack} * kBoxes;
    bf::start_row_slack<kBoxes>(layer.bias.data(), n, 1, layer.radius.data(), kFactor, slack.data(),
                                row);
    bf::dense_row_slack<kBoxes>(weight.data(), in, panel, c.data(), n, slack.data(), row);
    bf::finish_row_slack<kBoxes>(n, kRelative, kAbsolute, slack.data(), row);
    std::vector<mpq_class> sums(static_cast<std::size_t>(n * kBoxes));
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < in; ++k)
        for (int b = 0; b < kBoxes; ++b) {
          const auto w = weight[static_cast<std::size_t>(bf::weight_of(j, in, panel) +
                                                         std::ptrdiff_t{k} * panel)];
          sums[static_cast<std::size_t>(j * kBoxes + b)] += abs(
              exact(static_cast<double>(w)) * exact(c[static_cast<std::size_t>(k * kBoxes + b)]));
        }
    expect_rows(layer, slack, sums, kBoxes);
  }
}

TEST(RowSlack, OfDenseLayers) {
  check_dense<1>();
}

#if defined(__SSE2__) || defined(__ARM_NEON)
TEST(RowSlack, OfBoxesInLanes) {
  check_dense<4>();
  check_dense<16>();
}
#endif

// An input whose weight is 0 costs nothing, however large it is.
TEST(RowSlack, ZeroWeightsCostNothing) {
  const float weight[] = {0, 1}, radius[] = {0};  // [in][panel of 1]
  const double centre[] = {5.7e19, 1e-30}, bias[] = {0};
  double slack[bf::kSlack] = {5.7e19}, row[1];
  bf::start_row_slack<1>(bias, 1, 1, radius, 1, slack, row);
  bf::dense_row_slack<1>(weight, 2, 1, centre, 1, slack, row);
  bf::finish_row_slack<1>(1, 0x1p-50, 0, slack, row);
  EXPECT_GT(row[0], 1e-46);
  EXPECT_LT(row[0], 1e-44);
}

// What is infinite stays so, in its own row.
TEST(RowSlack, OverflowStaysInItsRow) {
  const std::int32_t row_start[] = {0, 1, 2}, column[] = {0, 1};
  const float weight[] = {1e30F, 1}, radius[] = {0, 0};
  const double centre[] = {1e300, 1};
  double slack[bf::kSlack] = {std::numeric_limits<double>::infinity()}, row[2];
  bf::start_row_slack<1>(nullptr, 2, 1, radius, 1, slack, row);
  bf::sparse_row_slack(2, row_start, column, weight, centre, slack, row);
  bf::finish_row_slack<1>(2, 0x1p-50, 0x1p-147, slack, row);
  EXPECT_EQ(row[0], std::numeric_limits<double>::infinity());
  EXPECT_LT(row[1], 0x1.01p-50);
  bf::common_slack<1>(2, slack, row);
  EXPECT_EQ(row[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(slack[bf::kOpenRows], 0);
}

}  // namespace
}  // namespace bf_test
