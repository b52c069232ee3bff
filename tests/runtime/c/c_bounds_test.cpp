#include "bf/contract/spans.h"
#include "bf/core/bounds.h"
#include "bf/core/relax.h"
#include "bf/functions/bind_near.h"
#include "c_support.h"

C_ROUTINE(next_up);
C_ROUTINE(next_down);
C_ROUTINE(next_up_float);
C_ROUTINE(next_down_float);
C_ROUTINE(add_up);
C_ROUTINE(add_down);
C_ROUTINE(sub_up);
C_ROUTINE(sub_down);
C_ROUTINE(mul_up);
C_ROUTINE(mul_down);
C_ROUTINE(div_up);
C_ROUTINE(div_down);
C_ROUTINE(exact_sum_up);
C_ROUTINE(exact_sum_down);
C_ROUTINE(float_up);
C_ROUTINE(float_down);
C_ROUTINE(float_environment_ok);
C_ROUTINE(overlap);
C_ROUTINE(check_box);
C_ROUTINE(check_box_within);
C_ROUTINE(check_workspace);
C_ROUTINE(bind_float);
C_ROUTINE(bind_double);
C_ROUTINE(bind_near);
C_ROUTINE(centre_slack);
C_ROUTINE(interval_around);
C_ROUTINE(magnitudes);
C_ROUTINE(interval_of_neurons);
C_ROUTINE(list_unstable);
C_ROUTINE(list_live_double);
C_ROUTINE(list_live_float);
C_ROUTINE(pad_list);
C_ROUTINE(start_rows);
C_ROUTINE(tighten_rows);
C_ROUTINE(keep_coefficients);
C_ROUTINE(keep_ranges);
C_ROUTINE(write_bounds);
C_ROUTINE(relax);
C_ROUTINE(relax_at_points);
C_ROUTINE(relax_box);

namespace bf_test {
namespace {

TEST(CRounding, OfDoubles) {
  for_seeds(
      [](Edges& edges) {
        const double a = edges.doubles(1)[0], b = edges.doubles(1)[0];
        EXPECT_TRUE(same_bits(c_next_up(a), bf::next_up(a)));
        EXPECT_TRUE(same_bits(c_next_down(a), bf::next_down(a)));
        EXPECT_TRUE(same_bits(c_add_up(a, b), bf::add_up(a, b)));
        EXPECT_TRUE(same_bits(c_add_down(a, b), bf::add_down(a, b)));
        EXPECT_TRUE(same_bits(c_sub_up(a, b), bf::sub_up(a, b)));
        EXPECT_TRUE(same_bits(c_sub_down(a, b), bf::sub_down(a, b)));
        EXPECT_TRUE(same_bits(c_mul_up(a, b), bf::mul_up(a, b)));
        EXPECT_TRUE(same_bits(c_mul_down(a, b), bf::mul_down(a, b)));
        EXPECT_TRUE(same_bits(c_div_up(a, b), bf::div_up(a, b)));
        EXPECT_TRUE(same_bits(c_div_down(a, b), bf::div_down(a, b)));
        EXPECT_TRUE(same_bits(c_exact_sum_up(a, b), bf::exact_sum_up(a, b)));
        EXPECT_TRUE(same_bits(c_exact_sum_down(a, b), bf::exact_sum_down(a, b)));
      },
      20000);
}

TEST(CRounding, OfFloats) {
  for_seeds(
      [](Edges& edges) {
        const float x = edges.floats(1)[0];
        const double y = edges.doubles(1)[0];
        EXPECT_TRUE(same_bits(c_next_up_float(x), bf::next_up(x)));
        EXPECT_TRUE(same_bits(c_next_down_float(x), bf::next_down(x)));
        EXPECT_TRUE(same_bits(c_float_up(y), bf::float_up(y)));
        EXPECT_TRUE(same_bits(c_float_down(y), bf::float_down(y)));
      },
      20000);
}

TEST(CChecks, OfBoxes) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(0, 4);
    Floats lower = edges.floats(n), upper = edges.floats(n);
    for (std::size_t i = 0; i < size(n); ++i)
      if (edges.below(4) > 0 && lower[i] > upper[i]) std::swap(lower[i], upper[i]);
    const float reach = edges.sizes(1)[0];
    EXPECT_EQ(c_check_box(lower.data(), upper.data(), n),
              bf::check_box(lower.data(), upper.data(), n));
    EXPECT_EQ(c_check_box_within(lower.data(), upper.data(), n, reach),
              bf::check_box(lower.data(), upper.data(), n, reach));
  });
}

TEST(CChecks, OfWorkspaces) {
  alignas(16) char memory[64] = {};
  EXPECT_TRUE(c_float_environment_ok());
  for (const std::size_t offset : {0U, 4U})
    for (const std::size_t bytes : {0U, 16U, 32U})
      for (const std::size_t needed : {0U, 16U, 17U})
        for (const std::size_t align : {4U, 16U})
          EXPECT_EQ(c_check_workspace(memory + offset, bytes, needed, align),
                    bf::check_workspace(memory + offset, bytes, needed, align));
  EXPECT_EQ(c_check_workspace(nullptr, 0, 0, 16), BF_OK);
  EXPECT_EQ(c_check_workspace(nullptr, 99, 16, 16), BF_NULL_ARGUMENT);
}

TEST(CChecks, OfOverlaps) {
  const char memory[64] = {};
  for_seeds([&](Edges& edges) {
    bf::Span spans[3];
    declared::bf_span c_spans[3];
    for (int i = 0; i < 3; ++i) {
      spans[i] = {memory + edges.below(48), static_cast<std::size_t>(edges.below(16))};
      c_spans[i] = {spans[i].begin, spans[i].bytes};
    }
    for (int written = 0; written <= 3; ++written)
      EXPECT_EQ(c_overlap(c_spans, 3, written), bf::overlap(spans, 3, written));
  });
}

TEST(CBounds, OfTheBox) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 40);
    Floats lower = edges.floats(n), upper = edges.floats(n);
    for (std::size_t i = 0; i < size(n); ++i)
      if (lower[i] > upper[i] || edges.below(8) == 0) std::swap(lower[i], upper[i]);
    Floats centre(size(n)), radius(size(n)), c_centre(size(n)), c_radius(size(n));
    bf::bind_box(lower.data(), upper.data(), n, 0x1p-20F, centre.data(), radius.data());
    c_bind_float(lower.data(), upper.data(), n, 0x1p-20F, c_centre.data(), c_radius.data());
    EXPECT_TRUE(same_bits(c_centre, centre));
    EXPECT_TRUE(same_bits(c_radius, radius));
    Doubles middle(size(n)), c_middle(size(n));
    bf::bind_box(lower.data(), upper.data(), n, middle.data(), radius.data());
    c_bind_double(lower.data(), upper.data(), n, c_middle.data(), c_radius.data());
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_radius, radius));
    bf::bind_near_box(lower.data(), upper.data(), n, middle.data(), radius.data());
    c_bind_near(lower.data(), upper.data(), n, c_middle.data(), c_radius.data());
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_radius, radius));
  });
}

TEST(CBounds, AroundCentres) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 40);
    const Doubles centre = edges.doubles(n), row = edges.doubles(n);
    const Floats radius = edges.sizes(n);
    const double constant = 0x1p-30 * edges.unit();
    Doubles slack(4), c_slack(4);
    const float* const given = edges.below(4) == 0 ? nullptr : radius.data();
    bf::centre_slack(centre.data(), given, n, constant, 3, 0.5, 0x1p-60, slack.data());
    c_centre_slack(centre.data(), given, n, constant, 3, 0.5, 0x1p-60, c_slack.data());
    EXPECT_TRUE(same_bits(c_slack, slack));
    Floats below(size(n)), above(size(n)), c_below(size(n)), c_above(size(n));
    bf::interval_around(radius.data(), n, 1 + constant, row.data(), below.data(), above.data());
    c_interval_around(radius.data(), n, 1 + constant, row.data(), c_below.data(), c_above.data());
    EXPECT_TRUE(same_bits(c_below, below));
    EXPECT_TRUE(same_bits(c_above, above));
    Floats sizes(size(n)), c_sizes(size(n)), own = radius, c_own = radius;
    bf::magnitudes(centre.data(), n, sizes.data());
    c_magnitudes(centre.data(), n, c_sizes.data());
    EXPECT_TRUE(same_bits(c_sizes, sizes));
    bf::interval_of_neurons(sizes.data(), n, 1.5, constant, 0x1p-90, 8, own.data(), below.data(),
                            above.data());
    c_interval_of_neurons(sizes.data(), n, 1.5, constant, 0x1p-90, 8, c_own.data(), c_below.data(),
                          c_above.data());
    EXPECT_TRUE(same_bits(c_own, own));
    EXPECT_TRUE(same_bits(c_below, below));
    EXPECT_TRUE(same_bits(c_above, above));
  });
}

TEST(CBounds, Lists) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 40);
    const Doubles centre = edges.doubles(n);
    const Floats below = edges.sizes(n), above = edges.sizes(n), middle = edges.floats(n);
    Ints list(size(n) + 8, -1), c_list(size(n) + 8, -1);
    const int count = bf::list_unstable(centre.data(), below.data(), above.data(), n, list.data());
    EXPECT_EQ(c_list_unstable(centre.data(), below.data(), above.data(), n, c_list.data()), count);
    list.resize(size(count));
    c_list.resize(size(count));
    EXPECT_TRUE(same_bits(c_list, list));
    list.resize(size(n) + 8);
    c_list.resize(size(n) + 8);
    bf::pad_list(list.data(), count, 4);
    c_pad_list(c_list.data(), count, 4);
    EXPECT_TRUE(same_bits(c_list, list));
    Floats radius = below;
    for (float& x : radius)
      if (edges.below(2) == 0) x = 0;
    Ints live(size(2 + n + (n + 7) / 8)), c_live(live.size());
    bf::list_live(middle.data(), radius.data(), n, live.data());
    c_list_live_float(middle.data(), radius.data(), n, c_live.data());
    EXPECT_TRUE(same_bits(c_live, live));
    bf::list_live(centre.data(), radius.data(), n, live.data());
    c_list_live_double(centre.data(), radius.data(), n, c_live.data());
    EXPECT_TRUE(same_bits(c_live, live));
  });
}

TEST(CBounds, Rows) {
  for_seeds([](Edges& edges) {
    constexpr int kPairs = 4;
    const int n = edges.between(1, 20), in = edges.between(1, 12), panel = 1 << edges.below(4);
    const Floats weight = edges.floats((n + panel - 1) / panel * panel * in);
    Ints neurons(kPairs);
    for (int& neuron : neurons) neuron = edges.below(n);
    Ints live(size(2 + in + (in + 7) / 8));
    Floats inputs = edges.floats(in);
    bf::list_live(inputs.data(), inputs.data(), in, live.data());
    const std::int32_t* const list = edges.below(2) == 0 ? nullptr : live.data();
    Floats rows(size(in * 2 * kPairs), 7), c_rows = rows;
    bf::start_rows<kPairs>(weight.data(), in, panel, neurons.data(), rows.data(), list);
    c_start_rows(kPairs, weight.data(), in, panel, neurons.data(), c_rows.data(), list);
    EXPECT_TRUE(same_bits(c_rows, rows));

    const Floats sums = edges.floats(4 * kPairs), radius = edges.sizes(n);
    const Doubles row = edges.doubles(n);
    const double relative = edges.below(2) == 0 ? 0 : 0x1p-20;
    const bf::RowErrors errors = {1 + 0x1p-20, relative, 1 + 0x1p-19, 0x1p-100, row.data()};
    const declared::bf_row_errors c_errors = {1 + 0x1p-20, relative, 1 + 0x1p-19, 0x1p-100,
                                              row.data()};
    Floats below = edges.floats(n), above = edges.floats(n);
    Floats c_below = below, c_above = above;
    const int count = edges.between(1, kPairs);
    bf::tighten_rows(neurons.data(), count, kPairs, sums.data(), errors, radius.data(),
                     below.data(), above.data());
    c_tighten_rows(neurons.data(), count, kPairs, sums.data(), &c_errors, radius.data(),
                   c_below.data(), c_above.data());
    EXPECT_TRUE(same_bits(c_below, below));
    EXPECT_TRUE(same_bits(c_above, above));

    const int ends = edges.between(1, 6), position = edges.between(0, 3);
    const Floats over_box = edges.floats(ends * 2 * kPairs);
    const Doubles centre = edges.doubles(n);
    Floats lines(size((position + n) * 2 * (ends + 1)), 7), c_lines = lines;
    bf::keep_coefficients(neurons.data(), count, kPairs, ends, over_box.data(), sums.data(), errors,
                          radius.data(), centre.data(), position, lines.data());
    c_keep_coefficients(neurons.data(), count, kPairs, ends, over_box.data(), sums.data(),
                        &c_errors, radius.data(), centre.data(), position, c_lines.data());
    EXPECT_TRUE(same_bits(c_lines, lines));
  });
}

TEST(CBounds, Results) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 20);
    const Doubles centre = edges.doubles(n);
    const Floats below = edges.floats(n), above = edges.floats(n);
    Floats made(size(2 * n)), c_made(size(2 * n));
    const bool relu = edges.below(2) == 0;
    bf::write_bounds(n, relu, centre.data(), below.data(), above.data(), made.data(),
                     made.data() + n);
    c_write_bounds(n, relu, centre.data(), below.data(), above.data(), c_made.data(),
                   c_made.data() + n);
    EXPECT_TRUE(same_bits(c_made, made));
    bf::keep_ranges(n, centre.data(), below.data(), above.data(), 0, n, made.data());
    c_keep_ranges(n, centre.data(), below.data(), above.data(), 0, n, c_made.data());
    EXPECT_TRUE(same_bits(c_made, made));
  });
}

TEST(CRelax, OfReluAndIdentity) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 40);
    const Doubles centre = edges.doubles(n), row = edges.doubles(n);
    Floats below = edges.floats(n), above = edges.floats(n);
    const Floats radius = edges.sizes(n);
    for (std::size_t j = 0; j < size(n); ++j)
      if (edges.below(3) == 0) above[j] = below[j] = std::fabs(below[j]);
    const bool relu = edges.below(4) > 0, table = edges.below(4) > 0;
    const bf::RelaxErrors errors = {0x1p-19, 0x1p-48, 0x1p-24, 0x1p-24, 0x1p-19, 1 + 0x1p-18};
    const declared::bf_relax_errors c_errors = {0x1p-19, 0x1p-48, 0x1p-24,
                                                0x1p-24, 0x1p-19, 1 + 0x1p-18};
    Floats made(size(6 * n)), c_made(size(6 * n)), out(size(n)), c_out(size(n));
    Doubles slack = {0x1p-30, 3, 0, 0}, c_slack = slack, middle(size(n)), c_middle(size(n));
    const double* const rows = edges.below(4) == 0 ? nullptr : row.data();
    bf::relax(n, relu, centre.data(), below.data(), above.data(), radius.data(), errors,
              slack.data(), rows, table ? made.data() : nullptr, middle.data(), out.data());
    c_relax(n, relu, centre.data(), below.data(), above.data(), radius.data(), &c_errors,
            c_slack.data(), rows, table ? c_made.data() : nullptr, c_middle.data(), c_out.data());
    EXPECT_TRUE(same_bits(c_made, made));
    EXPECT_TRUE(same_bits(c_slack, slack));
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_out, out));
    bf::relax_at_points(n, relu, centre.data(), below.data(), above.data(), radius.data(), errors,
                        slack.data(), rows, table ? made.data() : nullptr, middle.data(),
                        out.data());
    c_relax_at_points(n, relu, centre.data(), below.data(), above.data(), radius.data(), &c_errors,
                      c_slack.data(), rows, table ? c_made.data() : nullptr, c_middle.data(),
                      c_out.data());
    EXPECT_TRUE(same_bits(c_made, made));
    EXPECT_TRUE(same_bits(c_slack, slack));
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_out, out));
    bf::relax_box(n, relu, centre.data(), below.data(), above.data(), middle.data(), out.data());
    c_relax_box(n, relu, centre.data(), below.data(), above.data(), c_middle.data(), c_out.data());
    EXPECT_TRUE(same_bits(c_middle, middle));
    EXPECT_TRUE(same_bits(c_out, out));
  });
}

}  // namespace
}  // namespace bf_test
