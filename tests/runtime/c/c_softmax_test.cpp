#include "bf/sums/ball_layers.h"
#include "bf/sums/balls.h"
#include "bf/sums/contraction.h"
#include "bf/sums/log_softmax.h"
#include "bf/sums/one_hot.h"
#include "c_support.h"

C_ROUTINE(ball_gain);
C_ROUTINE(ball_term);
C_ROUTINE(concretize_euclid);
C_ROUTINE(concretize_one_hot);
C_ROUTINE(concretize_sum);
C_ROUTINE(contraction_backward);
C_ROUTINE(listed);
C_ROUTINE(log_softmax_backward);
C_ROUTINE(log_softmax_values);
C_ROUTINE(meet_ball);
C_ROUTINE(relax_contraction);
C_ROUTINE(relax_log_softmax);
C_ROUTINE(take_ball_gain);

namespace bf_test {
namespace {

constexpr int kRows = 4;
constexpr bf::PlaneErrors kErrors = {0x1p-18, 0x1p-19};
constexpr declared::bf_plane_errors kCErrors = {0x1p-18, 0x1p-19};

// Results of the routines, which leave of the table what they do not write.
struct Layer {
  Floats table, radius, rows, sums;
  Doubles slack, centre;

  Layer(int tables, int n, int in)
      : table(size(tables), 3),
        radius(size(n), 3),
        rows(size(in * kRows), 0.5F),
        sums(size(2 * kRows), 0.5F),
        slack(4, 3),
        centre(size(n), 3) {}
};

void expect_same(const Layer& c_made, const Layer& made) {
  EXPECT_TRUE(same_bits(c_made.table, made.table));
  EXPECT_TRUE(same_bits(c_made.radius, made.radius));
  EXPECT_TRUE(same_bits(c_made.rows, made.rows));
  EXPECT_TRUE(same_bits(c_made.sums, made.sums));
  EXPECT_TRUE(same_bits(c_made.slack, made.slack));
  EXPECT_TRUE(same_bits(c_made.centre, made.centre));
}

TEST(CSoftmax, Layers) {
  for_seeds(
      [](Edges& edges) {
        const int groups = edges.between(1, 4), in = edges.between(9, 20);
        Ints row_start = {0}, column;
        for (int g = 0; g < groups; ++g) {
          std::vector<int> members(size(in));
          std::iota(members.begin(), members.end(), 0);
          edges.shuffle(members);
          column.insert(column.end(), members.begin(), members.begin() + edges.between(1, 9));
          row_start.push_back(static_cast<std::int32_t>(column.size()));
        }
        const int n = static_cast<int>(column.size());
        Doubles centre =
            edges.below(2) == 0 ? edges.doubles(in) : edges.centres(in, Numbers::kEven);
        if (edges.below(2) == 0)
          for (double& c : centre) c *= 40;
        const Floats radius = edges.sizes(in), from = edges.floats(n * kRows);
        const bool with_table = edges.below(3) > 0, add = edges.below(2) == 0;
        Layer made(4 * n, n, in), c_made = made;
        bf::relax_log_softmax(groups, n, row_start.data(), column.data(), centre.data(),
                              radius.data(), kErrors, made.slack.data(),
                              with_table ? made.table.data() : nullptr, made.centre.data(),
                              made.radius.data());
        c_relax_log_softmax(groups, n, row_start.data(), column.data(), centre.data(),
                            radius.data(), &kCErrors, c_made.slack.data(),
                            with_table ? c_made.table.data() : nullptr, c_made.centre.data(),
                            c_made.radius.data());
        expect_same(c_made, made);
        bf::log_softmax_backward<kRows>(groups, n, row_start.data(), column.data(),
                                        made.table.data(), in, from.data(), add, made.rows.data(),
                                        made.sums.data());
        c_log_softmax_backward(kRows, groups, n, row_start.data(), column.data(), made.table.data(),
                               in, from.data(), add, c_made.rows.data(), c_made.sums.data());
        expect_same(c_made, made);
        const Floats points = edges.floats(in * kRows);
        Floats values(from), c_values(from);
        bf::log_softmax_values<kRows>(groups, n, row_start.data(), column.data(), made.table.data(),
                                      points.data(), from.data(), values.data());
        c_log_softmax_values(kRows, groups, n, row_start.data(), column.data(), made.table.data(),
                             points.data(), from.data(), c_values.data());
        EXPECT_TRUE(same_bits(c_values, values));
      },
      400);
}

TEST(CSoftmax, Contractions) {
  for_seeds([](Edges& edges) {
    const int batch = edges.between(1, 2), m = edges.between(1, 4), n = edges.between(1, 9);
    const int k = edges.between(1, 6), in = edges.between(1, 30), out = batch * m * n;
    const RandomTerm x = random_gather_term(edges, batch * m * k, in, false, false);
    const RandomTerm y = random_gather_term(edges, batch * n * k, in, false, false);
    const Doubles centre_x = edges.doubles(in), centre_y = edges.doubles(in);
    const Floats radius_x = edges.sizes(in), radius_y = edges.sizes(in);
    const bool scores = edges.below(2) == 0;
    const Doubles centre_s = edges.doubles(in);
    const Floats radius_s = edges.sizes(in);
    std::vector<std::int32_t> score;
    for (int i = 0; i < in; ++i) score.push_back(edges.below(in + 1) - 1);
    const std::int32_t* const of_scores = scores ? score.data() : nullptr;
    const bool with_table = edges.below(3) > 0;
    const int tables = 2 * out + 4 * (batch * m * k + batch * n * k);
    Layer made(tables, out, in), c_made = made;
    Doubles scratch(size(6 * k * (n + 1) + 3 * n)), c_scratch(scratch);
    bf::relax_contraction(batch, m, n, k, x.source.data(), y.source.data(), centre_x.data(),
                          radius_x.data(), centre_y.data(), radius_y.data(), of_scores,
                          centre_s.data(), radius_s.data(), kErrors, scratch.data(),
                          made.slack.data(), with_table ? made.table.data() : nullptr,
                          made.centre.data(), made.radius.data());
    c_relax_contraction(batch, m, n, k, c_listed(x.source.data()), c_listed(y.source.data()),
                        centre_x.data(), radius_x.data(), centre_y.data(), radius_y.data(),
                        of_scores, centre_s.data(), radius_s.data(), &kCErrors, c_scratch.data(),
                        c_made.slack.data(), with_table ? c_made.table.data() : nullptr,
                        c_made.centre.data(), c_made.radius.data());
    expect_same(c_made, made);
    const Floats from = edges.floats(out * kRows), slopes = edges.floats(batch * n * k);
    const Floats radii = edges.sizes(batch * n * k), halves = edges.floats(batch * m * k);
    const bool first = edges.below(2) == 0, add = edges.below(2) == 0;
    bf::contraction_backward<kRows>(batch, m, n, k, first, x.source.data(), slopes.data(),
                                    radii.data(), halves.data(), in, from.data(), add,
                                    made.rows.data());
    c_contraction_backward(kRows, batch, m, n, k, first, c_listed(x.source.data()), slopes.data(),
                           radii.data(), halves.data(), in, from.data(), add, c_made.rows.data());
    expect_same(c_made, made);
  });
}

TEST(CSoftmax, EndsOfRows) {
  for_seeds([](Edges& edges) {
    const int width = edges.between(1, 4), inputs = width * edges.between(1, 6);
    const Floats rows = edges.floats(inputs * kRows);
    Floats radius = edges.sizes(inputs);
    for (float& r : radius)
      if (edges.below(3) == 0) r = 0;
    Floats spread(kRows), c_spread(kRows), sums = edges.floats(kRows), c_sums = sums;
    bf::concretize_euclid<kRows>(rows.data(), radius.data(), inputs, spread.data());
    c_concretize_euclid(kRows, rows.data(), radius.data(), inputs, c_spread.data());
    EXPECT_TRUE(same_bits(c_spread, spread));
    bf::concretize_sum<kRows>(rows.data(), radius.data(), inputs, spread.data());
    c_concretize_sum(kRows, rows.data(), radius.data(), inputs, c_spread.data());
    EXPECT_TRUE(same_bits(c_spread, spread));
    bf::concretize_one_hot<kRows>(rows.data(), radius.data(), inputs, width, 0x1p-40, sums.data(),
                                  spread.data());
    c_concretize_one_hot(kRows, rows.data(), radius.data(), inputs, width, 0x1p-40, c_sums.data(),
                         c_spread.data());
    EXPECT_TRUE(same_bits(c_spread, spread));
    EXPECT_TRUE(same_bits(c_sums, sums));
  });
}

TEST(CSoftmax, BallsOfLayers) {
  for_seeds([](Edges& edges) {
    const int in = edges.between(1, 20), n = edges.between(1, 70);
    const Floats radius = edges.sizes(in), norms = edges.sizes(n), table = edges.sizes(6 * n),
                 rows = edges.floats(n * kRows);
    const Doubles row = edges.doubles(n), centre = edges.doubles(n);
    Floats half(size(n)), below = edges.sizes(n), above = edges.sizes(n), gain = edges.sizes(kRows),
                          sums = edges.floats(kRows);
    Floats c_half = half, c_below = below, c_above = above, c_gain = gain, c_sums = sums;
    double reach = 0, c_reach = 0;
    const double reach_in = std::fabs(static_cast<double>(edges.number(edges.kind())));
    for (const double* from : {static_cast<const double*>(nullptr), &reach_in}) {
      const bool add = from != nullptr;
      bf::ball_term(in, radius.data(), from, 1.5, 2.5, n, norms.data(), add, &reach, half.data());
      c_ball_term(in, radius.data(), from, 1.5, 2.5, n, norms.data(), add, &c_reach, c_half.data());
      EXPECT_TRUE(same_bits(c_reach, reach));
      EXPECT_TRUE(same_bits(c_half, half));
    }
    bf::meet_ball(n, half.data(), row.data(), below.data(), above.data(), &reach);
    c_meet_ball(n, c_half.data(), row.data(), c_below.data(), c_above.data(), &c_reach);
    EXPECT_TRUE(same_bits(c_reach, reach));
    EXPECT_TRUE(same_bits(c_below, below));
    EXPECT_TRUE(same_bits(c_above, above));
    bf::ball_gain<kRows>(n, centre.data(), below.data(), above.data(), table.data(), &reach_in,
                         rows.data(), gain.data());
    c_ball_gain(kRows, n, centre.data(), below.data(), above.data(), table.data(), &reach_in,
                rows.data(), c_gain.data());
    EXPECT_TRUE(same_bits(c_gain, gain));
    bf::take_ball_gain<kRows>(gain.data(), sums.data());
    c_take_ball_gain(kRows, gain.data(), c_sums.data());
    EXPECT_TRUE(same_bits(c_sums, sums));
  });
}

}  // namespace
}  // namespace bf_test
