#include "bf/conv/conv_live.h"
#include "bf/conv/starts.h"
#include "bf/sums/backward.h"
#include "bf/sums/planes.h"
#include "bf/sums/row_windows.h"
#include "c_support.h"

C_ROUTINE(add_live);
C_ROUTINE(add_window);
C_ROUTINE(by_pixels);
C_ROUTINE(clear_live);
C_ROUTINE(clear_window);
C_ROUTINE(concretize_window);
C_ROUTINE(conv_backward);
C_ROUTINE(conv_backward_live);
C_ROUTINE(conv_spread);
C_ROUTINE(conv_spread_live);
C_ROUTINE(conv_start);
C_ROUTINE(gather_backward);
C_ROUTINE(gather_start);
C_ROUTINE(identity_start);
C_ROUTINE(image_made);
C_ROUTINE(list_chosen);
C_ROUTINE(list_image_all);
C_ROUTINE(list_image_unstable);
C_ROUTINE(list_live_pixels);
C_ROUTINE(listed);
C_ROUTINE(max_backward);
C_ROUTINE(product_backward);
C_ROUTINE(product_rows);
C_ROUTINE(read_window);
C_ROUTINE(relax_max);
C_ROUTINE(relax_pixels);
C_ROUTINE(relax_product);
C_ROUTINE(relax_rows);
C_ROUTINE(relax_window);
C_ROUTINE(same);
C_ROUTINE(sparse_backward);
C_ROUTINE(sparse_start);
C_ROUTINE(spread_window);
C_ROUTINE(unite);
C_ROUTINE(whole);
C_ROUTINE(window_of);

namespace bf_test {
namespace {

constexpr int kRows = 4;

template <class To, class From>
To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return std::bit_cast<To>(from);
}

declared::bf_window c_of(const bf::Window& window) {
  return as<declared::bf_window>(window);
}
declared::bf_image c_of(const bf::Image& image) {
  return as<declared::bf_image>(image);
}
declared::bf_image_strides c_of(const bf::ImageStrides& at) {
  return as<declared::bf_image_strides>(at);
}

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

Ints some_neurons(Edges& edges, int n) {
  Ints made(kRows / 2);
  for (int& neuron : made) neuron = edges.below(n);
  return made;
}

TEST(CRows, OfSparseTerms) {
  for_seeds([](Edges& edges) {
    const RandomTerm term =
        random_sparse_term(edges, edges.kind(), edges.between(1, 20), edges.between(1, 20));
    const Floats from = edges.floats(term.out * kRows);
    const bool add = edges.below(2) == 0;
    Twice<float> rows(edges.floats(term.in * kRows));
    bf::sparse_backward<kRows>(term.out, term.row_start.data(), term.column.data(),
                               term.weight.data(), term.in, from.data(), add, rows.made.data());
    c_sparse_backward(kRows, term.out, term.row_start.data(), term.column.data(),
                      term.weight.data(), term.in, from.data(), add, rows.c_made.data());
    expect_same(rows);
    const Ints neurons = some_neurons(edges, term.out);
    bf::sparse_start<kRows>(term.row_start.data(), term.column.data(), term.weight.data(), term.in,
                            neurons.data(), add, rows.made.data());
    c_sparse_start(kRows, term.row_start.data(), term.column.data(), term.weight.data(), term.in,
                   neurons.data(), add, rows.c_made.data());
    expect_same(rows);
  });
}

TEST(CRows, OfGathers) {
  for_seeds([](Edges& edges) {
    const RandomTerm term = random_gather_term(edges, edges.between(1, 20), edges.between(1, 20),
                                               true, edges.below(3) == 0);
    const declared::bf_sources source =
        term.source.empty() ? c_same() : c_listed(term.source.data());
    const Floats from = edges.floats(term.out * kRows);
    const bool add = edges.below(2) == 0;
    Twice<float> rows(edges.floats(term.in * kRows));
    bf::gather_backward<kRows>(term.out, term.sources(), term.in, from.data(), add,
                               rows.made.data());
    c_gather_backward(kRows, term.out, source, term.in, from.data(), add, rows.c_made.data());
    expect_same(rows);
    const Ints neurons = some_neurons(edges, term.out);
    bf::gather_start<kRows>(term.sources(), term.in, neurons.data(), add, rows.made.data());
    c_gather_start(kRows, source, term.in, neurons.data(), add, rows.c_made.data());
    expect_same(rows);
  });
}

TEST(CRows, Relaxed) {
  for_seeds([](Edges& edges) {
    const int n = edges.between(1, 40);
    const Floats table = edges.floats(6 * n);
    const float* const offsets = table.data() + 2 * n * edges.between(1, 2);
    Twice<float> rows(edges.floats(n * kRows)), sums(edges.floats(2 * kRows));
    bf::relax_rows<kRows>(n, table.data(), offsets, rows.made.data(), rows.made.data(),
                          sums.made.data());
    c_relax_rows(kRows, n, table.data(), offsets, rows.c_made.data(), rows.c_made.data(),
                 sums.c_made.data());
    expect_same(rows);
    expect_same(sums);
  });
}

TEST(CRows, OfProducts) {
  for_seeds([](Edges& edges) {
    const int in = edges.between(1, 12), n = edges.between(1, 20);
    const RandomTerm x = random_gather_term(edges, n, in, false, false);
    const RandomTerm y = random_gather_term(edges, n, in, false, false);
    const Doubles centre_x = edges.doubles(in), centre_y = edges.doubles(in);
    const Floats radius_x = edges.sizes(in), radius_y = edges.sizes(in);
    const double most = edges.below(2) == 0 ? 0 : 1;
    const bf::PlaneErrors errors = {0x1p-18, 0x1p-19};
    const declared::bf_plane_errors c_errors = {0x1p-18, 0x1p-19};
    const bool with_table = edges.below(3) > 0;
    Twice<float> table(edges.floats(8 * n)), radius(edges.floats(n));
    Twice<double> slack(edges.doubles(4)), centre(edges.doubles(n));
    bf::relax_product(n, x.source.data(), y.source.data(), centre_x.data(), radius_x.data(),
                      centre_y.data(), radius_y.data(), most, errors, slack.made.data(),
                      with_table ? table.made.data() : nullptr, centre.made.data(),
                      radius.made.data());
    c_relax_product(n, c_listed(x.source.data()), c_listed(y.source.data()), centre_x.data(),
                    radius_x.data(), centre_y.data(), radius_y.data(), most, &c_errors,
                    slack.c_made.data(), with_table ? table.c_made.data() : nullptr,
                    centre.c_made.data(), radius.c_made.data());
    expect_same(table);
    expect_same(radius);
    expect_same(slack);
    expect_same(centre);
    const Floats from = edges.floats(n * kRows);
    Twice<float> sums(edges.floats(2 * kRows)), rows(edges.floats(in * kRows));
    bf::product_rows<kRows>(n, table.made.data() + 6 * n, from.data(), sums.made.data());
    c_product_rows(kRows, n, table.made.data() + 6 * n, from.data(), sums.c_made.data());
    expect_same(sums);
    const bool add = edges.below(2) == 0;
    bf::product_backward<kRows>(n, x.source.data(), table.made.data() + 2 * n, in, from.data(), add,
                                rows.made.data());
    c_product_backward(kRows, n, c_listed(x.source.data()), table.made.data() + 2 * n, in,
                       from.data(), add, rows.c_made.data());
    expect_same(rows);
  });
}

// Candidates whose ends are not below the least double: among smaller ones vectors may choose
// another of two that round to the same.
TEST(CRows, OfMaxima) {
  for_seeds([](Edges& edges) {
    const int in = edges.between(1, 20), n = edges.between(1, 20), alike = edges.between(0, 4);
    Ints row_start = {0}, column;
    for (int i = 0; i < n; ++i) {
      for (int k = alike > 0 ? alike : edges.between(1, 5); k > 0; --k)
        column.push_back(edges.below(in));
      row_start.push_back(static_cast<std::int32_t>(column.size()));
    }
    const Doubles centre_in = edges.centres(in, edges.kind());
    const Floats radius_in = edges.sizes(in);
    const bf::PlaneErrors errors = {0x1p-18, 0x1p-19};
    const declared::bf_plane_errors c_errors = {0x1p-18, 0x1p-19};
    const bool with_table = edges.below(3) > 0;
    Twice<float> table(edges.floats(3 * n)), radius(edges.floats(n));
    Twice<double> slack(edges.doubles(4)), centre(edges.doubles(n));
    Twice<std::int32_t> choice(Ints(size(n), 0));
    bf::relax_max(n, row_start.data(), column.data(), centre_in.data(), radius_in.data(), errors,
                  slack.made.data(), with_table ? table.made.data() : nullptr, choice.made.data(),
                  centre.made.data(), radius.made.data());
    c_relax_max(n, row_start.data(), column.data(), centre_in.data(), radius_in.data(), &c_errors,
                slack.c_made.data(), with_table ? table.c_made.data() : nullptr,
                choice.c_made.data(), centre.c_made.data(), radius.c_made.data());
    expect_same(table);
    expect_same(radius);
    expect_same(slack);
    expect_same(centre);
    expect_same(choice);
    const Floats from = edges.floats(n * kRows);
    Twice<float> sums(edges.floats(2 * kRows)), rows(edges.floats(in * kRows));
    const bool add = edges.below(2) == 0;
    bf::max_backward<kRows>(n, table.made.data(), choice.made.data(), in, from.data(), add,
                            rows.made.data(), sums.made.data());
    c_max_backward(kRows, n, table.made.data(), choice.made.data(), in, from.data(), add,
                   rows.c_made.data(), sums.c_made.data());
    expect_same(rows);
    expect_same(sums);
  });
}

// ---- images

bf::Window some_window(Edges& edges, const int (&size)[3]) {
  bf::Window window = {};
  for (int d = 0; d < 3; ++d) {
    window.begin[d] = edges.below(size[d]);
    window.end[d] = edges.between(window.begin[d] + 1, size[d]);
  }
  return window;
}

bf::Image inputs_of(const bf::ConvShape& shape) {
  bf::Image made = {shape.batch, shape.in_channels, {}, shape.in};
  std::copy(std::begin(shape.in_size), std::end(shape.in_size), made.size);
  return made;
}

int elements_of(const bf::Image& image) {
  return bf::elements(image.batch, image.channels, image.size);
}

// The list of a layer of which a share is live.
Ints live_list(Edges& edges, const bf::Image& image) {
  const int n = elements_of(image);
  Floats radius = edges.sizes(n);
  const int share = edges.between(1, 9);
  for (float& r : radius)
    if (edges.below(8) >= share) r = 0;
  Ints list(size(1 + n + n / image.channels + bf::kListRoom), 0);
  bf::list_live(image, n, radius.data(), list.data());
  return list;
}

// An image with elements in any order, its coefficients, and a window.
struct Pixels {
  bf::Image image;
  int n;
  bf::Window window;
  bool elements;  // coefficients lie as the elements do, else pixel by pixel
  bf::ImageStrides rows;

  explicit Pixels(Edges& edges)
      : image(inputs_of(shape_of(random_conv(edges)))),
        n(elements_of(image)),
        window(some_window(edges, image.size)),
        elements(edges.below(2) == 0),
        rows(elements ? image.at : bf::by_pixels(image)) {}
};

TEST(CWindows, Places) {
  for_seeds([](Edges& edges) {
    const bf::ConvShape shape = shape_of(random_conv(edges));
    const declared::bf_conv_shape c_of_shape = c_shape(shape);
    const bf::Image image = bf::image_made(shape);
    const declared::bf_image c_image = c_image_made(&c_of_shape);
    const auto same = [](const auto& a, const auto& b) {
      return std::memcmp(&a, &b, sizeof a) == 0;
    };
    EXPECT_TRUE(same(c_image, image));
    EXPECT_TRUE(same(c_by_pixels(c_image), bf::by_pixels(image)));
    EXPECT_TRUE(same(c_whole(shape.out_size), bf::whole(shape.out_size)));
    const bf::Window a = some_window(edges, shape.out_size), b = some_window(edges, shape.out_size);
    EXPECT_TRUE(same(c_unite(c_of(a), c_of(b)), bf::unite(a, b)));
    EXPECT_TRUE(same(c_read_window(&c_of_shape, c_of(a)), bf::read_window(shape, a)));
    const Ints neurons = some_neurons(edges, elements_of(image));
    EXPECT_TRUE(
        same(c_window_of(c_image, neurons.data(), 2), bf::window_of(image, neurons.data(), 2)));
  });
}

TEST(CWindows, Lists) {
  for_seeds([](Edges& edges) {
    const Pixels at(edges);
    const int n = at.n;
    Twice<std::int32_t> list(Ints(size(1 + n + n / at.image.channels + bf::kListRoom), 0));
    EXPECT_EQ(c_list_image_all(c_of(at.image), list.c_made.data()),
              bf::list_image(
                  at.image, [](int) { return true; }, list.made.data()));
    expect_same(list);
    const Doubles centre = edges.doubles(n);
    const Floats below = edges.sizes(n), above = edges.sizes(n);
    EXPECT_EQ(
        c_list_image_unstable(c_of(at.image), centre.data(), below.data(), above.data(),
                              list.c_made.data()),
        bf::list_image(
            at.image,
            [&](int j) { return bf::is_unstable(centre.data(), below.data(), above.data(), j); },
            list.made.data()));
    expect_same(list);
    Floats radius = below;
    const int share = edges.between(1, 9);
    for (float& r : radius)
      if (edges.below(8) >= share) r = 0;
    bf::list_live(at.image, n, radius.data(), list.made.data());
    c_list_live_pixels(c_of(at.image), n, radius.data(), list.c_made.data());
    expect_same(list);
    Ints choice(size(edges.between(1, n)));
    for (int& chosen : choice) chosen = edges.below(n);
    const int count = static_cast<int>(choice.size());
    bf::list_chosen(at.image, n, radius.data(), count, choice.data(), list.made.data());
    c_list_chosen(c_of(at.image), n, radius.data(), count, choice.data(), list.c_made.data());
    expect_same(list);
  });
}

TEST(CWindows, Rows) {
  for_seeds([](Edges& edges) {
    const Pixels at(edges);
    const int n = at.n;
    const declared::bf_image image = c_of(at.image);
    const declared::bf_window window = c_of(at.window);
    const Ints live = live_list(edges, at.image);
    const Floats from = edges.floats(n * kRows);
    Twice<float> rows(edges.floats(n * kRows)), sums(edges.floats(2 * kRows));
    bf::clear_live<kRows>(at.image, at.rows, at.window, bf::LivePixels{live.data()},
                          rows.made.data());
    c_clear_live(kRows, image, c_of(at.rows), window, live.data(), rows.c_made.data());
    expect_same(rows);
    bf::add_live<kRows>(at.image, at.rows, at.window, bf::LivePixels{live.data()}, from.data(),
                        rows.made.data());
    c_add_live(kRows, image, c_of(at.rows), window, live.data(), from.data(), rows.c_made.data());
    expect_same(rows);
    bf::add_window<kRows>(at.image, at.window, from.data(), rows.made.data());
    c_add_window(kRows, image, window, from.data(), rows.c_made.data());
    expect_same(rows);
    bf::spread_window<kRows>(at.image, at.window, from.data(), rows.made.data());
    c_spread_window(kRows, image, window, from.data(), rows.c_made.data());
    expect_same(rows);
    const Ints neurons = some_neurons(edges, n);
    bf::identity_start<kRows>(at.image, neurons.data(), rows.made.data());
    c_identity_start(kRows, image, neurons.data(), rows.c_made.data());
    expect_same(rows);
    const Floats radius = edges.sizes(n);
    bf::concretize_window<kRows>(at.image, at.window, rows.made.data(), radius.data(),
                                 sums.made.data() + kRows);
    c_concretize_window(kRows, image, window, rows.c_made.data(), radius.data(),
                        sums.c_made.data() + kRows);
    expect_same(sums);
    bf::clear_window<kRows>(at.image, at.window, rows.made.data());
    c_clear_window(kRows, image, window, rows.c_made.data());
    expect_same(rows);
  });
}

TEST(CWindows, Relaxed) {
  for_seeds([](Edges& edges) {
    const Pixels at(edges);
    const Ints live = live_list(edges, at.image);
    const Floats table = edges.floats(6 * at.n);
    const float* const offsets = table.data() + 2 * at.n * edges.between(1, 2);
    Twice<float> rows(edges.floats(at.n * kRows)), sums(edges.floats(2 * kRows));
    const bool zeros = edges.below(2) == 0;
    bf::relax_pixels<kRows>(at.image, at.rows, at.window, at.n, table.data(), offsets,
                            bf::LivePixels{live.data()}, zeros, rows.made.data(), rows.made.data(),
                            sums.made.data());
    c_relax_pixels(kRows, c_of(at.image), c_of(at.rows), c_of(at.window), at.n, table.data(),
                   offsets, live.data(), zeros, rows.c_made.data(), rows.c_made.data(),
                   sums.c_made.data());
    expect_same(rows);
    expect_same(sums);
    bf::relax_window<kRows>(at.image, at.window, at.n, table.data(), offsets, rows.made.data(),
                            rows.made.data(), sums.made.data());
    c_relax_window(kRows, c_of(at.image), c_of(at.window), at.n, table.data(), offsets,
                   rows.c_made.data(), rows.c_made.data(), sums.c_made.data());
    expect_same(rows);
    expect_same(sums);
  });
}

template <bool kWide>
void compare_backward(Edges& edges, const RandomTerm& term) {
  const bf::ConvShape& shape = term.shape;
  const declared::bf_conv_shape c_of_shape = c_shape(shape);
  const float* const weight = term.weight.data();
  const bf::Window made = some_window(edges, shape.out_size);
  const bf::Window read = some_window(edges, shape.in_size);
  const Floats from = edges.floats(term.out * kRows), radius = edges.sizes(term.in);
  const bool add = edges.below(2) == 0;
  Twice<float> rows(edges.floats(term.in * kRows)), spread(edges.floats(kRows));
  bf::conv_backward<kRows, kWide>(shape, weight, from.data(), made, add, rows.made.data(), read);
  c_conv_backward(kRows, kWide, &c_of_shape, weight, from.data(), c_of(made), add,
                  rows.c_made.data(), c_of(read));
  expect_same(rows);
  bf::conv_spread<kRows, kWide>(shape, weight, from.data(), made, shape.in, radius.data(),
                                spread.made.data(), read);
  c_conv_spread(kRows, kWide, &c_of_shape, weight, from.data(), c_of(made), c_of(shape.in),
                radius.data(), spread.c_made.data(), c_of(read));
  expect_same(spread);
  const bool depthwise = bf::is_depthwise(shape);
  if (shape.groups > 1 && !depthwise) return;
  const Ints targets = live_list(edges, inputs_of(shape));
  if (depthwise) {
    bf::conv_backward_live<kRows, kWide>(shape, weight, from.data(), bf::AllLive{}, made, add,
                                         rows.made.data(), bf::LivePixels{targets.data()}, read);
    c_conv_backward_live(kRows, kWide, &c_of_shape, weight, from.data(), nullptr, c_of(made), add,
                         rows.c_made.data(), targets.data(), c_of(read));
    return expect_same(rows);
  }
  const Ints sources = live_list(edges, bf::image_made(shape));
  const bf::LivePixels live = {sources.data()};
  bf::conv_backward_live<kRows, kWide>(shape, weight, from.data(), live, made, add,
                                       rows.made.data(), bf::LivePixels{targets.data()}, read);
  c_conv_backward_live(kRows, kWide, &c_of_shape, weight, from.data(), sources.data(), c_of(made),
                       add, rows.c_made.data(), targets.data(), c_of(read));
  expect_same(rows);
  bf::conv_backward_live<kRows, kWide>(shape, weight, from.data(), live, made, add,
                                       rows.made.data(), bf::AllLive{}, read);
  c_conv_backward_live(kRows, kWide, &c_of_shape, weight, from.data(), sources.data(), c_of(made),
                       add, rows.c_made.data(), nullptr, c_of(read));
  expect_same(rows);
  bf::conv_spread_live<kRows, kWide>(shape, weight, from.data(), live, made, shape.in,
                                     radius.data(), spread.made.data(), read);
  c_conv_spread_live(kRows, kWide, &c_of_shape, weight, from.data(), sources.data(), c_of(made),
                     c_of(shape.in), radius.data(), spread.c_made.data(), c_of(read));
  expect_same(spread);
}

// Products of an input may make several chains.
bf_aot::ConvGeometry conv_of_chains(Edges& edges) {
  bf_aot::ConvGeometry g = random_conv(edges);
  if (edges.below(2) == 0) return g;
  g.batch = g.groups = 1;
  g.in_channels = edges.between(1, 9);
  g.out_channels = edges.between(20, 140);
  g.in = random_layout(edges, 1, g.in_channels, g.in_size);
  g.out = random_layout(edges, 1, g.out_channels, g.out_size);
  return g;
}

TEST(CWindows, Convolutions) {
  for_seeds(
      [](Edges& edges) {
        const RandomTerm term = random_conv_term(edges, edges.kind(), conv_of_chains(edges));
        if (edges.below(2) == 0)
          compare_backward<false>(edges, term);
        else
          compare_backward<true>(edges, term);
        const declared::bf_conv_shape shape = c_shape(term.shape);
        const Ints neurons = some_neurons(edges, term.out);
        const bool add = edges.below(2) == 0;
        Twice<float> rows(edges.floats(term.in * kRows));
        bf::conv_start<kRows>(term.shape, term.weight.data(), neurons.data(), add,
                              rows.made.data());
        c_conv_start(kRows, &shape, term.weight.data(), neurons.data(), add, rows.c_made.data());
        expect_same(rows);
      },
      300);
}

}  // namespace
}  // namespace bf_test
