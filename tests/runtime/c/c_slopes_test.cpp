#include "bf/functions/mixtures.h"
#include "bf/sums/mixed_planes.h"
#include "bf/sums/slopes.h"
#include "c_support.h"
#include "c_table.h"
#include "tests/runtime/functions_oracle.h"

C_ROUTINE(begin_ascent);
C_ROUTINE(clear_moments);
C_ROUTINE(conv_values);
C_ROUTINE(corner_values);
C_ROUTINE(dense_values);
C_ROUTINE(gather_values);
C_ROUTINE(line_values);
C_ROUTINE(listed);
C_ROUTINE(mixed_maxima);
C_ROUTINE(mixed_maxima_backward);
C_ROUTINE(mixed_planes);
C_ROUTINE(mixed_planes_backward);
C_ROUTINE(next_step);
C_ROUTINE(relax_free_rows);
C_ROUTINE(relax_knots);
C_ROUTINE(relax_mixtures);
C_ROUTINE(relax_slopes);
C_ROUTINE(same);
C_ROUTINE(sparse_values);
C_ROUTINE(start_shares);
C_ROUTINE(start_slopes);
C_ROUTINE(step_maxima);
C_ROUTINE(step_planes);
C_ROUTINE(step_shares);
C_ROUTINE(step_slopes);

namespace bf_test {
namespace {

constexpr bf::RelaxErrors kErrors = {0x1p-19, 0x1p-48, 0x1p-24, 0x1p-24, 0x1p-19, 1 + 0x1p-18};
constexpr declared::bf_relax_errors kCErrors = {0x1p-19, 0x1p-48, 0x1p-24,
                                                0x1p-24, 0x1p-19, 1 + 0x1p-18};
constexpr bf::PlaneErrors kPlaneErrors = {0x1p-18, 0x1p-19};
constexpr declared::bf_plane_errors kCPlaneErrors = {0x1p-18, 0x1p-19};

// Numbers that two routines are given, and what each makes of them.
template <class T>
struct Twice {
  std::vector<T> made, c_made;
  explicit Twice(std::vector<T> before) : made(before), c_made(std::move(before)) {}
};
template <class T>
void expect_same(const Twice<T>& twice) {
  EXPECT_TRUE(same_bits(twice.c_made, twice.made));
}

Floats shares(Edges& edges, int n) {
  Floats made(size(n));
  for (float& x : made) {
    const int which = edges.below(5);
    x = which == 0   ? 0.0F
        : which == 1 ? 1.0F
        : which == 2 ? static_cast<float>(edges.below(17)) / 16
        : which == 3 ? static_cast<float>(std::ldexp(edges.unit(), -140))
                     : static_cast<float>(edges.unit());
  }
  return made;
}

// Choices of rows with their moments, and what steps of both languages are told.
struct Choices {
  Twice<float> choice, mean, square, values;
  bf::SlopeAscent ascent;
  declared::bf_slope_ascent c_ascent = c_begin_ascent();

  Choices(Edges& edges, int choices, int elements)
      : choice(shares(edges, choices)),
        mean(edges.floats(choices)),
        square(edges.sizes(choices)),
        values(edges.floats(elements)) {}

  void next() {
    ascent.next();
    c_next_step(&c_ascent);
    EXPECT_TRUE(same_bits(c_ascent.factor, ascent.factor));
  }

  void expect_alike() const {
    for (const Twice<float>* each : {&choice, &mean, &square, &values}) expect_same(*each);
  }
};

// Calls test(edges, rows) for several numbers of rows, which are constants of C++.
template <class Test>
void for_rows(const Test& test) {
  for_seeds(
      [&](Edges& edges) {
        test(edges, std::integral_constant<int, 2>());
        test(edges, std::integral_constant<int, 4>());
        test(edges, std::integral_constant<int, 10>());
      },
      60);
}

TEST(CSlopes, Tables) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 30);
    const Doubles centre = edges.doubles(n), row = edges.doubles(n), out = edges.doubles(n);
    const Floats below = edges.sizes(n), above = edges.sizes(n), radius = edges.sizes(n);
    const Floats of_radius = edges.sizes(n);
    Floats table = edges.floats(6 * n);
    for (int j = 0; j < n; ++j) {
      if (edges.below(4) > 0) table[size(j)] = edges.below(3) == 0 ? 1 : 0.25F;
      if (edges.below(4) > 0) table[size(n + j)] = static_cast<float>(edges.below(2));
    }
    Twice<float> slopes(Floats(size(8 * n)));
    bf::relax_slopes(n, centre.data(), below.data(), above.data(), radius.data(), kErrors,
                     row.data(), table.data(), out.data(), of_radius.data(), slopes.made.data());
    c_relax_slopes(n, centre.data(), below.data(), above.data(), radius.data(), &kCErrors,
                   row.data(), table.data(), out.data(), of_radius.data(), slopes.c_made.data());
    expect_same(slopes);
  });
}

TEST(CSlopes, Rows) {
  for_rows([](Edges& edges, auto number) {
    constexpr int kRows = decltype(number)::value;
    const int n = edges.between(1, 40);
    Floats slopes = edges.floats(8 * n);
    for (int j = 0; j < n; ++j)
      if (edges.below(2) == 0) slopes[size(n + j)] = -1;
    Choices made(edges, n * kRows, n * kRows);
    bf::start_slopes<kRows>(n, slopes.data(), made.values.made.data());
    c_start_slopes(kRows, n, slopes.data(), made.values.c_made.data());
    expect_same(made.values);
    const Floats from = edges.floats(n * kRows);
    const float* const offsets = slopes.data() + size(n * (edges.below(2) == 0 ? 2 : 5));
    Twice<float> to(edges.floats(n * kRows)), sums(edges.floats(2 * kRows));
    bf::relax_free_rows<kRows>(n, slopes.data(), offsets, made.choice.made.data(), from.data(),
                               to.made.data(), sums.made.data());
    c_relax_free_rows(kRows, n, slopes.data(), offsets, made.choice.made.data(), from.data(),
                      to.c_made.data(), sums.c_made.data());
    expect_same(to);
    expect_same(sums);
    for (int step = 0; step < 3; ++step) {
      made.next();
      bf::step_slopes<kRows>(n, slopes.data(), made.ascent, from.data(), made.choice.made.data(),
                             made.mean.made.data(), made.square.made.data(),
                             made.values.made.data());
      c_step_slopes(kRows, n, slopes.data(), &made.c_ascent, from.data(), made.choice.c_made.data(),
                    made.mean.c_made.data(), made.square.c_made.data(), made.values.c_made.data());
      made.expect_alike();
    }
    bf::clear_moments<kRows>(n, made.mean.made.data(), made.square.made.data());
    c_clear_moments(kRows, n, made.mean.c_made.data(), made.square.c_made.data());
    made.expect_alike();
  });
}

TEST(CSlopes, ValuesOfDenseLayers) {
  for_rows([](Edges& edges, auto number) {
    constexpr int kRows = decltype(number)::value;
    const int in = edges.between(1, 20), out = edges.between(1, 40), panel = edges.between(1, 16);
    const Floats weight = edges.floats((out + panel - 1) / panel * panel * in);
    const Floats radius = edges.sizes(in), coefficients = edges.floats(in * kRows);
    Twice<float> from(edges.floats(in * kRows)), to(edges.floats(out * kRows));
    bf::corner_values<kRows>(in, radius.data(), coefficients.data(), from.made.data());
    c_corner_values(kRows, in, radius.data(), coefficients.data(), from.c_made.data());
    expect_same(from);
    bf::dense_values<kRows>(weight.data(), in, out, panel, from.made.data(), to.made.data());
    c_dense_values(kRows, weight.data(), in, out, panel, from.made.data(), to.c_made.data());
    expect_same(to);
    const Floats table = edges.floats(6 * out), of_lines = edges.floats(out * kRows);
    bf::line_values<kRows>(out, table.data(), of_lines.data(), to.made.data());
    c_line_values(kRows, out, table.data(), of_lines.data(), to.c_made.data());
    expect_same(to);
  });
}

TEST(CSlopes, ValuesOfTerms) {
  for_rows([](Edges& edges, auto number) {
    constexpr int kRows = decltype(number)::value;
    const bool add = edges.below(2) == 0;
    const bf::ConvShape shape = shape_of(random_conv(edges));
    const declared::bf_conv_shape c_of_shape = c_shape(shape);
    const int outputs = bf::elements(shape.batch, shape.out_channels, shape.out_size);
    const Floats of_conv =
        edges.floats(kRows * bf::elements(shape.batch, shape.in_channels, shape.in_size));
    const Floats kernel = edges.floats(shape.out_channels * bf::in_group(shape) * bf::taps(shape));
    Twice<float> made(edges.floats(outputs * kRows));
    bf::conv_values<kRows>(shape, kernel.data(), of_conv.data(), add, made.made.data());
    c_conv_values(kRows, &c_of_shape, kernel.data(), of_conv.data(), add, made.c_made.data());
    expect_same(made);

    const RandomTerm sparse =
        random_sparse_term(edges, edges.kind(), edges.between(1, 20), edges.between(1, 20));
    const Floats from = edges.floats(sparse.in * kRows);
    Twice<float> rows(edges.floats(sparse.out * kRows));
    bf::sparse_values<kRows>(sparse.out, sparse.row_start.data(), sparse.column.data(),
                             sparse.weight.data(), from.data(), add, rows.made.data());
    c_sparse_values(kRows, sparse.out, sparse.row_start.data(), sparse.column.data(),
                    sparse.weight.data(), from.data(), add, rows.c_made.data());
    expect_same(rows);

    const RandomTerm gather = random_gather_term(edges, edges.between(1, 20), edges.between(1, 20),
                                                 true, edges.below(3) == 0);
    const Floats read = edges.floats(gather.in * kRows);
    Twice<float> read_rows(edges.floats(gather.out * kRows));
    bf::gather_values<kRows>(gather.out, gather.sources(), read.data(), add, read_rows.made.data());
    c_gather_values(kRows, gather.out,
                    gather.source.empty() ? c_same() : c_listed(gather.source.data()), read.data(),
                    add, read_rows.c_made.data());
    expect_same(read_rows);
  });
}

void compare_mixtures(Edges& edges, const bf::FunctionView& f, const CTable& table,
                      const std::vector<double>& special) {
  constexpr int kCount = 12, kRows = 4, kAll = kCount * kRows;
  const Neurons z(edges, kCount, special);
  const Doubles row(kCount, 0x1p-40), out = edges.doubles(kCount);
  const Floats of_radius = edges.sizes(kCount);
  Twice<float> knots(Floats(size(kCount * bf::kKnotNumbers)));
  bf::relax_knots(kCount, f, z.centre.data(), z.below.data(), z.above.data(), z.radius.data(),
                  kErrors, row.data(), out.data(), of_radius.data(), knots.made.data());
  c_relax_knots(kCount, &table.view, z.centre.data(), z.below.data(), z.above.data(),
                z.radius.data(), &kCErrors, row.data(), out.data(), of_radius.data(),
                knots.c_made.data());
  expect_same(knots);
  Choices made(edges, kAll, kAll);
  const Floats from = edges.floats(kAll);
  Twice<float> to(edges.floats(kAll)), sums(edges.floats(2 * kRows));
  for (const int offsets : {bf::kKnotOffsetUpper, bf::kKnotWideUpper}) {
    bf::relax_mixtures<kRows>(kCount, knots.made.data(), offsets, made.choice.made.data(),
                              from.data(), to.made.data(), sums.made.data());
    c_relax_mixtures(kRows, kCount, knots.made.data(), offsets, made.choice.made.data(),
                     from.data(), to.c_made.data(), sums.c_made.data());
    expect_same(to);
    expect_same(sums);
  }
  made.next();
  bf::step_shares<kRows>(kCount, knots.made.data(), made.ascent, from.data(),
                         made.choice.made.data(), made.mean.made.data(), made.square.made.data(),
                         made.values.made.data());
  c_step_shares(kRows, kCount, knots.made.data(), &made.c_ascent, from.data(),
                made.choice.c_made.data(), made.mean.c_made.data(), made.square.c_made.data(),
                made.values.c_made.data());
  made.expect_alike();
  bf::start_shares<kRows>(kCount, made.choice.made.data());
  c_start_shares(kRows, kCount, made.choice.c_made.data());
  made.expect_alike();
}

TEST(CSlopes, MixturesOfLines) {
  for (const bf_aot::Function& function : functions_to_test()) {
    const Held held(function);
    const std::vector<double> special = special_points(held.table());
    SCOPED_TRACE(to_string(function));
    const CTable table(held.view());
    for_seeds([&](Edges& edges) { compare_mixtures(edges, held.view(), table, special); }, 6);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CSlopes, MixturesOfPlanes) {
  for_rows([](Edges& edges, auto number) {
    constexpr int kRows = decltype(number)::value;
    const bool has_box = edges.below(2) == 0, sums = edges.below(2) == 0;
    const int batch = edges.between(1, 2), m = has_box ? 1 : edges.between(1, 4);
    const int n = has_box ? 1 : edges.between(1, 5), k = has_box ? 1 : edges.between(1, 6);
    const int in = edges.between(1, 30), out = batch * m * n;
    const RandomTerm x = random_gather_term(edges, batch * m * k, in, false, false);
    const RandomTerm y = random_gather_term(edges, batch * n * k, in, false, false);
    const Floats radius_x = edges.sizes(in), radius_y = edges.sizes(in);
    const Floats offsets = edges.floats(2 * out), over_x = edges.floats(batch * n * k);
    const Floats over_y = edges.floats(batch * m * k);
    Twice<float> planes(Floats(size(2 * out + batch * (n + m) * k)));
    bf::mixed_planes(batch, m, n, k, has_box, sums, x.source.data(), y.source.data(),
                     radius_x.data(), radius_y.data(), offsets.data(), over_x.data(), over_y.data(),
                     kPlaneErrors, planes.made.data());
    c_mixed_planes(batch, m, n, k, has_box, sums, c_listed(x.source.data()),
                   c_listed(y.source.data()), radius_x.data(), radius_y.data(), offsets.data(),
                   over_x.data(), over_y.data(), &kCPlaneErrors, planes.c_made.data());
    expect_same(planes);
    Choices made(edges, out * kRows, out * kRows);
    const Floats from = edges.floats(out * kRows);
    const bool first = edges.below(2) == 0, add = edges.below(2) == 0;
    const RandomTerm& own = first ? x : y;
    const Floats& slopes = first ? over_x : over_y;
    const Floats radii = edges.sizes(batch * (first ? n : m) * k);
    Twice<float> rows(edges.floats(in * kRows));
    bf::mixed_planes_backward<kRows>(
        batch, first ? m : n, first ? n : m, k, first, own.source.data(), slopes.data(),
        radii.data(), made.choice.made.data(), in, from.data(), add, rows.made.data());
    c_mixed_planes_backward(kRows, batch, first ? m : n, first ? n : m, k, first,
                            c_listed(own.source.data()), slopes.data(), radii.data(),
                            made.choice.made.data(), in, from.data(), add, rows.c_made.data());
    expect_same(rows);
    const Floats dx = edges.floats(in * kRows), dy = edges.floats(in * kRows);
    made.next();
    bf::step_planes<kRows>(batch, m, n, k, x.source.data(), y.source.data(), over_x.data(),
                           over_y.data(), planes.made.data(), made.ascent, dx.data(), dy.data(),
                           from.data(), made.choice.made.data(), made.mean.made.data(),
                           made.square.made.data(), made.values.made.data());
    c_step_planes(kRows, batch, m, n, k, c_listed(x.source.data()), c_listed(y.source.data()),
                  over_x.data(), over_y.data(), planes.made.data(), &made.c_ascent, dx.data(),
                  dy.data(), from.data(), made.choice.c_made.data(), made.mean.c_made.data(),
                  made.square.c_made.data(), made.values.c_made.data());
    made.expect_alike();
  });
}

TEST(CSlopes, PartsOfMaxima) {
  for_rows([](Edges& edges, auto number) {
    constexpr int kRows = decltype(number)::value;
    const int in = edges.between(6, 20), n = edges.between(1, 12);
    Ints row_start = {0}, column, choice;
    for (int i = 0; i < n; ++i) {
      std::vector<int> members(size(in));
      std::iota(members.begin(), members.end(), 0);
      edges.shuffle(members);
      column.insert(column.end(), members.begin(), members.begin() + edges.between(1, 6));
      choice.push_back(
          column[size(edges.between(row_start.back(), static_cast<int>(column.size()) - 1))]);
      row_start.push_back(static_cast<std::int32_t>(column.size()));
    }
    const int all = static_cast<int>(column.size());
    const Doubles centre = edges.doubles(in), out = edges.doubles(n);
    const Floats radius = edges.sizes(in), of_radius = edges.sizes(n);
    Twice<float> candidates(Floats(size(all), 7));
    bf::mixed_maxima(n, row_start.data(), column.data(), centre.data(), radius.data(), out.data(),
                     of_radius.data(), kPlaneErrors, candidates.made.data());
    c_mixed_maxima(n, row_start.data(), column.data(), centre.data(), radius.data(), out.data(),
                   of_radius.data(), &kCPlaneErrors, candidates.c_made.data());
    expect_same(candidates);
    Floats table = edges.floats(3 * n);
    for (int i = 0; i < n; ++i) table[size(2 * n + i)] = static_cast<float>(edges.below(2));
    Choices made(edges, all * kRows, n * kRows);
    const Floats from = edges.floats(n * kRows), values = edges.floats(in * kRows);
    const bool add = edges.below(2) == 0;
    Twice<float> rows(edges.floats(in * kRows)), sums(edges.floats(2 * kRows));
    bf::mixed_maxima_backward<kRows>(n, row_start.data(), column.data(), table.data(),
                                     choice.data(), candidates.made.data(), made.choice.made.data(),
                                     in, from.data(), add, rows.made.data(), sums.made.data());
    c_mixed_maxima_backward(kRows, n, row_start.data(), column.data(), table.data(), choice.data(),
                            candidates.made.data(), made.choice.made.data(), in, from.data(), add,
                            rows.c_made.data(), sums.c_made.data());
    expect_same(rows);
    expect_same(sums);
    made.next();
    bf::step_maxima<kRows>(n, row_start.data(), column.data(), table.data(), choice.data(),
                           candidates.made.data(), made.ascent, values.data(), from.data(),
                           made.choice.made.data(), made.mean.made.data(), made.square.made.data(),
                           made.values.made.data());
    c_step_maxima(kRows, n, row_start.data(), column.data(), table.data(), choice.data(),
                  candidates.made.data(), &made.c_ascent, values.data(), from.data(),
                  made.choice.c_made.data(), made.mean.c_made.data(), made.square.c_made.data(),
                  made.values.c_made.data());
    made.expect_alike();
  });
}

}  // namespace
}  // namespace bf_test
