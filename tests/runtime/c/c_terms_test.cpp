#include "bf/conv/conv_forward.h"
#include "bf/conv/conv_interval.h"
#include "bf/conv/conv_slack.h"
#include "bf/sums/intervals.h"
#include "bf/sums/row_slack.h"
#include "bf/sums/terms.h"
#include "c_support.h"

C_ROUTINE(add_centre_slack);
C_ROUTINE(clear_slack);
C_ROUTINE(common_slack);
C_ROUTINE(conv_centre);
C_ROUTINE(conv_interval);
C_ROUTINE(conv_row_slack);
C_ROUTINE(dense_row_slack);
C_ROUTINE(finish_interval);
C_ROUTINE(finish_row_slack);
C_ROUTINE(finish_slack);
C_ROUTINE(gather_centre);
C_ROUTINE(gather_interval);
C_ROUTINE(gather_row_slack);
C_ROUTINE(listed);
C_ROUTINE(max_interval);
C_ROUTINE(max_interval_groups);
C_ROUTINE(product_interval);
C_ROUTINE(same);
C_ROUTINE(source_of);
C_ROUTINE(sparse_centre);
C_ROUTINE(sparse_interval);
C_ROUTINE(sparse_row_slack);
C_ROUTINE(start_row_slack);
C_ROUTINE(start_sum);
C_ROUTINE(strided);
C_ROUTINE(write_interval);
C_ROUTINE(write_values);

namespace bf_test {
namespace {

declared::bf_sources c_sources(const RandomTerm& term) {
  return term.source.empty() ? c_same() : c_listed(term.source.data());
}

// Calls test(term) with a sparse term and one that gathers.
template <class Test>
void for_terms(Edges& edges, const Test& test) {
  const int out = edges.between(1, 30), in = edges.between(1, 30);
  test(random_sparse_term(edges, edges.kind(), out, in));
  test(random_gather_term(edges, out, in, true, edges.below(3) == 0));
}

// A convolution whose windows may lie side by side, or whose channels may be many.
RandomTerm some_conv(Edges& edges) {
  bf_aot::ConvGeometry g = random_conv(edges);
  if (edges.below(4) == 0) {
    const int window = 1 << edges.between(1, 4), outputs = edges.between(1, 8);
    g = {};
    g.in_channels = g.out_channels = g.groups = edges.between(1, 3);
    g.kernel = {1, edges.between(1, 2), window};
    g.stride = {1, edges.between(1, 2), window};
    g.out_size = {1, edges.between(1, 3), outputs};
    g.in_size = {1, edges.between(1, 6), std::int64_t{window} * outputs + edges.below(2)};
    g.dilation = {1, 1, 1};
    g.in = {0,
            g.in_count(),
            g.in_size[1] * g.in_size[2],
            {g.in_size[1] * g.in_size[2], g.in_size[2], 1}};
    g.out = {0,
             g.out_count(),
             g.out_size[1] * g.out_size[2],
             {g.out_size[1] * g.out_size[2], g.out_size[2], 1}};
  } else if (edges.below(4) == 0) {
    g.batch = g.groups = 1;
    g.in_channels = edges.between(30, 140);
    g.out_channels = edges.between(1, 9);
    g.transposed = false;
    g.in = random_layout(edges, 1, g.in_channels, g.in_size);
    g.out = random_layout(edges, 1, g.out_channels, g.out_size);
  }
  return random_conv_term(edges, edges.kind(), g);
}

TEST(CTerms, Sources) {
  const bf::Strided<5, 24, 2, 12, 3, 4, 4, 1> view;
  const declared::bf_sources c_view = c_strided(5, 24, 2, 12, 3, 4, 4, 1);
  const Ints table = {3, -1, 2};
  const declared::bf_sources listed = c_listed(table.data()), same = c_same();
  for (int i = 0; i < 48; ++i) {
    EXPECT_EQ(c_source_of(&c_view, i), bf::source_of(view, i));
    EXPECT_EQ(c_source_of(&same, i), i);
    EXPECT_EQ(c_source_of(&listed, i % 3), table[size(i % 3)]);
  }
}

TEST(CTerms, Centres) {
  for_seeds([](Edges& edges) {
    const auto compare = [&](const RandomTerm& term) {
      const Doubles centre = edges.doubles(term.in);
      const Floats radius = edges.sizes(term.in);
      const int run = edges.below(2) == 0 ? 1 : term.out;
      const Doubles bias = edges.doubles(term.out);
      Doubles made(size(term.out)), c_made(size(term.out));
      Floats out(size(term.out)), c_out(size(term.out));
      const double* const biases = edges.below(3) == 0 ? nullptr : bias.data();
      bf::start_sum(biases, term.out, run, made.data(), out.data());
      c_start_sum(biases, term.out, run, c_made.data(), c_out.data());
      const double rounding = edges.below(2) == 0 ? 1 : bf::kSumSlack;
      if (term.kind == RandomTerm::Kind::kSparse) {
        bf::sparse_centre(term.out, term.row_start.data(), term.column.data(), term.weight.data(),
                          term.residuals(), centre.data(), radius.data(), rounding, made.data(),
                          out.data());
        c_sparse_centre(term.out, term.row_start.data(), term.column.data(), term.weight.data(),
                        term.residuals(), centre.data(), radius.data(), rounding, c_made.data(),
                        c_out.data());
      } else if (term.kind == RandomTerm::Kind::kGather) {
        bf::gather_centre(term.out, term.sources(), centre.data(), radius.data(), rounding,
                          made.data(), out.data());
        c_gather_centre(term.out, c_sources(term), centre.data(), radius.data(), rounding,
                        c_made.data(), c_out.data());
      } else {
        const declared::bf_conv_shape shape = c_shape(term.shape);
        bf::conv_centre(term.shape, term.weight.data(), term.residuals(), centre.data(),
                        radius.data(), rounding, made.data(), out.data());
        c_conv_centre(&shape, term.weight.data(), term.residuals(), centre.data(), radius.data(),
                      rounding, c_made.data(), c_out.data());
      }
      EXPECT_TRUE(same_bits(c_made, made));
      EXPECT_TRUE(same_bits(c_out, out));
      Floats y(size(term.out)), c_y(size(term.out));
      bf::write_values(term.out, true, made.data(), y.data());
      c_write_values(term.out, true, made.data(), c_y.data());
      EXPECT_TRUE(same_bits(c_y, y));
    };
    for_terms(edges, compare);
    compare(some_conv(edges));
  });
}

TEST(CTerms, SlackOfLayers) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 30);
    const Doubles centre = edges.doubles(n);
    const Floats radius = edges.sizes(n);
    Doubles slack(4, 1), c_slack(4, 1), row(size(n)), c_row(size(n));
    bf::clear_slack(slack.data());
    c_clear_slack(c_slack.data());
    bf::add_centre_slack(centre.data(), radius.data(), n, 1.5, slack.data());
    c_add_centre_slack(centre.data(), radius.data(), n, 1.5, c_slack.data());
    bf::finish_slack(0x1p-50, 0.25, 0x1p-140, slack.data());
    c_finish_slack(0x1p-50, 0.25, 0x1p-140, c_slack.data());
    bf::common_slack<1>(n, slack.data(), row.data());
    c_common_slack(n, c_slack.data(), c_row.data());
    EXPECT_TRUE(same_bits(c_slack, slack));
    EXPECT_TRUE(same_bits(c_row, row));
  });
}

TEST(CTerms, SlackOfRows) {
  for_seeds([](Edges& edges) {
    const auto compare = [&](int out, int in, const auto& add, const auto& c_add) {
      // Centres are finite: what is NaN may have either sign, which opens a row or does not.
      const Doubles centre = edges.centres(in, edges.kind());
      const Doubles bias = edges.centres(out, edges.kind());
      const Floats radius = edges.sizes(out);
      const double* const biases = edges.below(3) == 0 ? nullptr : bias.data();
      const int run = edges.below(2) == 0 ? 1 : out;
      Doubles slack = {edges.doubles(1)[0], 0, 0, 0}, c_slack = slack;
      Doubles row(size(out)), c_row(size(out));
      bf::start_row_slack<1>(biases, out, run, radius.data(), 1.25, slack.data(), row.data());
      c_start_row_slack(biases, out, run, radius.data(), 1.25, c_slack.data(), c_row.data());
      EXPECT_TRUE(same_bits(c_row, row));
      add(centre.data(), slack.data(), row.data());
      c_add(centre.data(), c_slack.data(), c_row.data());
      EXPECT_TRUE(same_bits(c_row, row));
      bf::finish_row_slack<1>(out, 0x1p-50, 0x1p-140, slack.data(), row.data());
      c_finish_row_slack(out, 0x1p-50, 0x1p-140, c_slack.data(), c_row.data());
      EXPECT_TRUE(same_bits(c_row, row));
      EXPECT_TRUE(same_bits(c_slack, slack));
    };
    using To = double*;
    using From = const double*;
    const int panel = 1 << edges.below(5), in = edges.between(1, 20), out = edges.between(1, 30);
    const Floats weight = edges.numbers((out + panel - 1) / panel * panel * in, edges.kind());
    compare(
        out, in,
        [&](From centre, From slack, To row) {
          bf::dense_row_slack<1>(weight.data(), in, panel, centre, out, slack, row);
        },
        [&](From centre, From slack, To row) {
          c_dense_row_slack(weight.data(), in, panel, centre, out, slack, row);
        });
    const RandomTerm conv = some_conv(edges);
    const declared::bf_conv_shape shape = c_shape(conv.shape);
    compare(
        conv.out, conv.in,
        [&](From centre, From slack, To row) {
          bf::conv_row_slack(conv.shape, conv.weight.data(), centre, slack, row);
        },
        [&](From centre, From slack, To row) {
          c_conv_row_slack(&shape, conv.weight.data(), centre, slack, row);
        });
    for_terms(edges, [&](const RandomTerm& term) {
      const bool sparse = term.kind == RandomTerm::Kind::kSparse;
      compare(
          term.out, term.in,
          [&](From centre, From slack, To row) {
            if (sparse)
              bf::sparse_row_slack(term.out, term.row_start.data(), term.column.data(),
                                   term.weight.data(), centre, slack, row);
            else
              bf::gather_row_slack(term.out, term.sources(), centre, slack, row);
          },
          [&](From centre, From slack, To row) {
            if (sparse)
              c_sparse_row_slack(term.out, term.row_start.data(), term.column.data(),
                                 term.weight.data(), centre, slack, row);
            else
              c_gather_row_slack(term.out, c_sources(term), centre, slack, row);
          });
    });
  });
}

// Centres and radii of outputs.
struct Pass {
  Floats centre, radius;
  explicit Pass(int n) : centre(size(n), 0.5F), radius(size(n), 0.25F) {}
};

void expect_same(const Pass& c_made, const Pass& made) {
  EXPECT_TRUE(same_bits(c_made.centre, made.centre));
  EXPECT_TRUE(same_bits(c_made.radius, made.radius));
}

TEST(CIntervals, OfTerms) {
  for_seeds([](Edges& edges) {
    for (const bool add : {false, true}) {
      for_terms(edges, [&](const RandomTerm& term) {
        const Floats centre = edges.floats(term.in), radius = edges.sizes(term.in);
        Pass made(term.out), c_made(term.out);
        if (term.kind == RandomTerm::Kind::kSparse) {
          const auto routine = add ? &bf::sparse_interval<true> : &bf::sparse_interval<false>;
          routine(term.out, term.row_start.data(), term.column.data(), term.weight.data(),
                  centre.data(), radius.data(), made.centre.data(), made.radius.data());
          c_sparse_interval(add, term.out, term.row_start.data(), term.column.data(),
                            term.weight.data(), centre.data(), radius.data(), c_made.centre.data(),
                            c_made.radius.data());
        } else {
          const auto routine = add ? &bf::gather_interval<true, const std::int32_t*>
                                   : &bf::gather_interval<false, const std::int32_t*>;
          routine(term.out, term.sources(), centre.data(), radius.data(), made.centre.data(),
                  made.radius.data());
          c_gather_interval(add, term.out, c_sources(term), centre.data(), radius.data(),
                            c_made.centre.data(), c_made.radius.data());
        }
        expect_same(c_made, made);
      });
    }
  });
}

TEST(CIntervals, OfConvolutions) {
  for_seeds([](Edges& edges) {
    const RandomTerm term = some_conv(edges);
    const Floats centre = edges.floats(term.in), radius = edges.sizes(term.in);
    const declared::bf_conv_shape shape = c_shape(term.shape);
    Pass made(term.out), c_made(term.out);
    const bool add = edges.below(2) == 0;
    const auto routine =
        add ? &bf::conv_interval<true, bf::ConvShape> : &bf::conv_interval<false, bf::ConvShape>;
    routine(term.shape, term.weight.data(), centre.data(), radius.data(), made.centre.data(),
            made.radius.data());
    c_conv_interval(add, &shape, term.weight.data(), centre.data(), radius.data(),
                    c_made.centre.data(), c_made.radius.data());
    expect_same(c_made, made);
  });
}

TEST(CIntervals, Products) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 30), in = edges.between(1, 20);
    const RandomTerm x = random_gather_term(edges, n, in, false, false);
    const RandomTerm y = random_gather_term(edges, n, in, false, false);
    const Floats centre_x = edges.floats(in), centre_y = edges.floats(in);
    const Floats radius_x = edges.sizes(in), radius_y = edges.sizes(in);
    Pass made(n), c_made(n);
    bf::product_interval(n, x.sources(), y.sources(), centre_x.data(), radius_x.data(),
                         centre_y.data(), radius_y.data(), 0x1p-20F, 0x1p-19F, made.centre.data(),
                         made.radius.data());
    c_product_interval(n, c_sources(x), c_sources(y), centre_x.data(), radius_x.data(),
                       centre_y.data(), radius_y.data(), 0x1p-20F, 0x1p-19F, c_made.centre.data(),
                       c_made.radius.data());
    expect_same(c_made, made);
  });
}

TEST(CIntervals, Ends) {
  for_seeds([](Edges& edges) {
    const int run = edges.between(1, 5), n = run * edges.between(1, 8);
    const bf::IntervalErrors errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
    const declared::bf_interval_errors c_errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
    const Floats bias = edges.floats(n);
    const float* const biases = edges.below(3) == 0 ? nullptr : bias.data();
    const bool relu = edges.below(2) == 0;
    Pass made(n);
    made.centre = edges.floats(n);
    made.radius = edges.sizes(n);
    Pass c_made = made, bounds(n), c_bounds(n);
    bf::write_interval(n, relu, biases, run, errors, made.centre.data(), made.radius.data(),
                       bounds.centre.data(), bounds.radius.data());
    c_write_interval(n, relu, biases, run, &c_errors, made.centre.data(), made.radius.data(),
                     c_bounds.centre.data(), c_bounds.radius.data());
    expect_same(c_bounds, bounds);
    bf::finish_interval(n, relu, biases, run, errors, 0x1p-20F, made.centre.data(),
                        made.radius.data());
    c_finish_interval(n, relu, biases, run, &c_errors, 0x1p-20F, c_made.centre.data(),
                      c_made.radius.data());
    expect_same(c_made, made);
  });
}

TEST(CIntervals, Maxima) {
  for_seeds([](Edges& edges) {
    const int in = edges.between(1, 30), rows = edges.between(1, 12);
    Ints row_start = {0}, column;
    for (int i = 0; i < rows; ++i) {
      for (int k = edges.between(1, 5); k > 0; --k) column.push_back(edges.below(in));
      row_start.push_back(static_cast<std::int32_t>(column.size()));
    }
    const bf::IntervalErrors errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
    const declared::bf_interval_errors c_errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
    const Floats centre = edges.floats(in), radius = edges.sizes(in);
    Pass made(rows), c_made(rows);
    bf::max_interval(rows, row_start.data(), column.data(), centre.data(), radius.data(), errors,
                     made.centre.data(), made.radius.data());
    c_max_interval(rows, row_start.data(), column.data(), centre.data(), radius.data(), &c_errors,
                   c_made.centre.data(), c_made.radius.data());
    expect_same(c_made, made);
  });
}

// 2 x 2 of 6 x 7 in two channels, 3 x 3 with steps of two, and 2 x 4.
constexpr bf::MaxGroups kGroups[] = {
    {0, {1, 2, 3, 3}, {84, 42, 14, 2}, {1, 1, 2, 2}, {0, 0, 7, 1}},
    {0, {1, 2, 2, 3}, {84, 42, 14, 2}, {1, 1, 3, 3}, {0, 0, 7, 1}},
    {1, {1, 1, 6, 1}, {84, 42, 7, 4}, {1, 2, 1, 4}, {0, 42, 7, 1}}};

template <int kIndex>
void compare_groups(Edges& edges) {
  constexpr static bf::MaxGroups kOf = kGroups[kIndex];
  declared::bf_max_groups groups;
  std::memcpy(&groups, &kOf, sizeof groups);
  const int n = kOf.count[0] * kOf.count[1] * kOf.count[2] * kOf.count[3];
  const bf::IntervalErrors errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
  const declared::bf_interval_errors c_errors = {1 + 0x1p-18F, 0x1p-22F, 0x1p-100F};
  const Floats centre = edges.floats(84), radius = edges.sizes(84);
  Pass made(n), c_made(n);
  bf::max_interval<kOf>(centre.data(), radius.data(), errors, made.centre.data(),
                        made.radius.data());
  c_max_interval_groups(&groups, centre.data(), radius.data(), &c_errors, c_made.centre.data(),
                        c_made.radius.data());
  expect_same(c_made, made);
}

TEST(CIntervals, MaximaOfGroups) {
  for_seeds([](Edges& edges) {
    compare_groups<0>(edges);
    compare_groups<1>(edges);
    compare_groups<2>(edges);
  });
}

}  // namespace
}  // namespace bf_test
