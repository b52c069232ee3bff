#include "planner/network/ball_norms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"
#include "planner/network/error_terms.h"

// Upper bounds of Euclid's norm of linear maps. Proofs: docs/proofs/balls.md, "Norms".

namespace bf_aot {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kNoNorm = std::numeric_limits<double>::infinity();
// A matrix of Gram takes so many products at most, all of a map's together; beyond, sums of
// magnitudes bound the norm.
constexpr double kMostProducts = 0x1p31;
constexpr double kMostGram = 1024;  // rows of one

double root_up(double square) {
  return up(std::sqrt(square));
}

float to_float_up(double x) {
  const auto near = static_cast<float>(x);
  return static_cast<double>(near) >= x
             ? near
             : std::nextafter(near, std::numeric_limits<float>::infinity());
}

// Real numbers in rows.
struct RealMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> at;

  RealMatrix(std::size_t r, std::size_t c) : rows(r), columns(c), at(r * c) {}
  double* row(std::size_t i) { return at.data() + i * columns; }
  const double* row(std::size_t i) const { return at.data() + i * columns; }
};

// At most (n + 2) roundings of a sum of n squares.
double squares_up(std::span<const double> numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return up(sum * (1 + gamma_double(static_cast<int>(numbers.size()) + 2)) + 0x1p-1000);
}

// In the order that vectors have.
double dot(const double* a, const double* b, std::size_t n) {
  std::array<double, 8> part = {};
  std::size_t k = 0;
  for (; k + part.size() <= n; k += part.size())
    for (std::size_t s = 0; s < part.size(); ++s) part[s] += a[k + s] * b[k + s];
  for (; k < n; ++k) part[0] += a[k] * b[k];
  double sum = 0;
  for (const double each : part) sum += each;
  return sum;
}

// The products of all rows with each other.
RealMatrix gram_of(const RealMatrix& m) {
  RealMatrix gram(m.rows, m.rows);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      gram.row(i)[j] = gram.row(j)[i] = dot(m.row(i), m.row(j), m.columns);
  return gram;
}

// About the largest eigenvalue, by powers.
double estimate(const RealMatrix& gram) {
  std::vector<double> x(gram.rows, 1), y(gram.rows);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 0.5 * std::sin(static_cast<double>(i) * 1.7);  // no vector that symmetry singles out
  double value = 0;
  constexpr int kSteps = 64;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = dot(x.data(), gram.row(i), x.size());
    const double length = std::sqrt(dot(y.data(), y.data(), y.size()));
    if (!(length > 0)) return 0;
    const double before = value;
    value = length;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = y[i] / length;
    if (step > 4 && std::fabs(value - before) < 0x1p-12 * value) break;
  }
  return value;
}

// Whether Cholesky's factorisation of s I - G comes to its end: then no eigenvalue of G is above s
// by more than the roundings that limit_of() counts.
bool is_below(const RealMatrix& gram, double s) {
  const std::size_t n = gram.rows;
  RealMatrix lower(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double own = i == j ? s - gram.row(i)[i] : -gram.row(i)[j];
      const double rest = own - dot(lower.row(i), lower.row(j), j);
      if (i == j && !(rest > 0)) return false;
      lower.row(i)[j] = i == j ? std::sqrt(rest) : rest / lower.row(j)[j];
    }
  return true;
}

// The limits that are tried, from an estimate on.
template <typename Holds>
double first_limit(double about, const Holds& holds) {
  double more = 0x1p-10;
  for (int tries = 0; tries < 12; ++tries, more *= 2) {
    const double limit = up(about * (1 + more));
    if (holds(limit)) return limit;
  }
  return kNoNorm;
}

// Of |M|^2, where s was found for the computed matrix of Gram of M. squares: at least the sum of
// all squares of M.
double limit_of(double s, const RealMatrix& m, double squares) {
  const auto n = static_cast<int>(m.rows);
  const double products = gamma_double(static_cast<int>(m.columns) + 8) * squares;
  const double factor = 2 * gamma_double(2 * n + 8) * (n * s + squares);
  return up(up(s + products) + up(up(factor) + kUnit * up(s + squares)));
}

// The rows and columns of a matrix exchanged, where it has fewer columns.
RealMatrix flat(RealMatrix m) {
  if (m.rows <= m.columns) return m;
  RealMatrix other(m.columns, m.rows);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t j = 0; j < m.columns; ++j) other.row(j)[i] = m.row(i)[j];
  return other;
}

bool is_affordable(double rows, double columns, double times = 1) {
  const double small = std::min(rows, columns), large = std::max(rows, columns);
  return small <= kMostGram && small * small * (large / 2 + small / 6) * times <= kMostProducts;
}

// At least |M| by Euclid's norm; infinite where nothing was found.
double norm_above(RealMatrix matrix) {
  const RealMatrix m = flat(std::move(matrix));
  const double squares = squares_up(m.at);
  const RealMatrix gram = gram_of(m);
  const double s = first_limit(estimate(gram), [&](double limit) { return is_below(gram, limit); });
  return std::min(root_up(squares), root_up(limit_of(s, m, squares)));
}

// Sums of magnitudes of the rows and of the columns of a map, and of the rows' squares.
struct Magnitudes {
  std::vector<double> rows, columns, squares;  // squares: of each row

  Magnitudes(std::size_t out, std::size_t in) : rows(out), columns(in), squares(out) {}
  void add(std::size_t i, std::size_t k, double weight) {
    const double size = std::fabs(weight);
    rows[i] += size;
    columns[k] += size;
    squares[i] += size * size;
  }
  // Roundings of sums that had at most n terms.
  static double paid(double sum, int n) { return up(sum * (1 + gamma_double(n + 2)) + 0x1p-1000); }
  // Schur's test: |W|^2 is at most the product of both, also of the magnitudes of W.
  double schur(int terms_of_row, int terms_of_column) const {
    const double row = paid(std::ranges::max(rows), terms_of_row);
    const double column = paid(std::ranges::max(columns), terms_of_column);
    return root_up(up(row * column));
  }
  float row_norm(std::size_t i, int terms, double relative) const {
    return to_float_up(up(root_up(paid(squares[i], terms)) * (1 + relative)));
  }
};

// ---- convolutions

// The smaller side's view of a convolution: y_p = sum of K_t x_(p stride + t dilation - pad) for
// each group, K from `from` channels to `to` channels. A transposed convolution is its transpose.
struct Symbol {
  const ConvGeometry& geometry;
  const std::vector<float>& weight;
  std::int64_t group = 0;

  std::size_t rows() const {
    return static_cast<std::size_t>(geometry.transposed ? geometry.in_group()
                                                        : geometry.out_group());
  }
  std::size_t channels() const {
    return static_cast<std::size_t>(geometry.transposed ? geometry.out_group()
                                                        : geometry.in_group());
  }
  double weight_at(std::size_t row, std::size_t channel, std::int64_t tap) const {
    const auto out = static_cast<std::int64_t>(geometry.transposed ? channel : row);
    const auto in = static_cast<std::int64_t>(geometry.transposed ? row : channel);
    const std::int64_t at =
        ((group * geometry.out_group() + out) * geometry.in_group() + in) * geometry.taps() + tap;
    return static_cast<double>(weight[static_cast<std::size_t>(at)]);
  }
};

// A tap's places in all three dimensions.
Extent places_of(const ConvGeometry& g, std::int64_t tap) {
  return {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
}

constexpr int kMostBits = 11;
// At most 26 roundings of a level are added to those of the level before.
constexpr double kAngleError = 0x1p-44;

// cos and sin of 2 pi k / 2^bits for k < 2^bits, bits <= kMostBits, each off by kAngleError at
// most: halves of angles by roots, and sums of angles.
std::vector<std::pair<double, double>> circle(int bits) {
  std::vector<std::pair<double, double>> all = {{1, 0}};
  for (int level = 1; level <= bits; ++level) {
    // The angle 2 pi / 2^level.
    std::pair<double, double> step = {-1, 0};
    for (int l = 2; l <= level; ++l) {
      if (l == 2)
        step = {0, 1};
      else {
        const double c = std::sqrt((1 + step.first) / 2);
        step = {c, step.second / (2 * c)};
      }
    }
    std::vector<std::pair<double, double>> finer;
    for (const auto& [c, s] : all) {
      finer.emplace_back(c, s);
      finer.emplace_back(c * step.first - s * step.second, s * step.first + c * step.second);
    }
    all = std::move(finer);
  }
  return all;
}

// The grid of a dimension of the symbol: points, as a power of two, and what the largest value on
// the grid is raised by to bound all angles. degree: of the symbol's products with itself.
struct Grid {
  int bits = 0;
  double factor = 1;

  // So many points for each degree, or up to twice as many.
  Grid(std::int64_t degree, std::int64_t points_each) {
    if (degree == 0) return;
    while ((std::int64_t{1} << bits) < points_each * degree) ++bits;
    // 1 / cos^2(pi degree / 2 N), with cos x >= 1 - x^2 / 2.
    const double x =
        3.1415927 * static_cast<double>(degree) / static_cast<double>(std::int64_t{2} << bits);
    const double c = 1 - x * x / 2;
    factor = up(up(1 / (c * c)));
  }
  std::int64_t points() const { return std::int64_t{1} << bits; }
};

// At least the norm of a group's convolution over all of the plane, so that every image's is less.
class ConvolutionNorm {
 public:
  explicit ConvolutionNorm(const Symbol& symbol) : symbol_(symbol), g_(symbol.geometry) {
    residues_ = static_cast<std::size_t>(g_.stride[0] * g_.stride[1] * g_.stride[2]);
    for (std::size_t d = 0; d < 3; ++d)
      degree_[d] = (g_.kernel[d] - 1) * g_.dilation[d] / g_.stride[d];
  }

  // On the finest grid that is affordable.
  double above() const {
    const double rows = 2.0 * static_cast<double>(symbol_.rows());
    const double columns = 2.0 * static_cast<double>(symbol_.channels() * residues_);
    for (const int points_each : {16, 8, 4}) {
      const std::array<Grid, 3> grid = {Grid(degree_[0], points_each),
                                        Grid(degree_[1], points_each),
                                        Grid(degree_[2], points_each)};
      double points = static_cast<double>(g_.groups);
      bool small = true;
      for (const Grid& each : grid) {
        points *= static_cast<double>(each.points());
        small = small && each.bits <= kMostBits;
      }
      if (small && is_affordable(rows, columns, points / 2)) return on(grid);
    }
    return patches();
  }

 private:
  double on(const std::array<Grid, 3>& grid) const {
    double square = 0;
    for (std::int64_t x = 0; x < grid[0].points(); ++x)
      for (std::int64_t y = 0; y < grid[1].points(); ++y)
        for (std::int64_t z = 0; z < grid[2].points(); ++z) {
          if (!is_first_of_pair(grid, {x, y, z})) continue;
          const double norm = norm_above(at(grid, {x, y, z}));
          square = std::max(square, up(norm * norm));
        }
    for (const Grid& each : grid) square = up(square * each.factor);
    return root_up(square);
  }

  // The symbol at the negative angles is the conjugate, of the same norm.
  static bool is_first_of_pair(const std::array<Grid, 3>& grid, const Extent& at) {
    Extent other = {};
    for (std::size_t d = 0; d < 3; ++d) other[d] = (grid[d].points() - at[d]) % grid[d].points();
    return at <= other;
  }

  // The symbol, with its imaginary part, as a real matrix of twice the size.
  RealMatrix at(const std::array<Grid, 3>& grid, const Extent& angle) const {
    const std::size_t rows = symbol_.rows(), channels = symbol_.channels();
    const std::size_t columns = channels * residues_;
    RealMatrix made(2 * rows, 2 * columns);
    double missed = 0;  // of all entries, by Frobenius' norm
    for (std::int64_t tap = 0; tap < g_.taps(); ++tap) {
      const Extent place = places_of(g_, tap);
      std::pair<double, double> turn = {1, 0};
      std::int64_t residue = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t offset = place[d] * g_.dilation[d];
        residue = residue * g_.stride[d] + offset % g_.stride[d];
        const std::int64_t shift = offset / g_.stride[d];
        const auto& [c, s] =
            angles(grid[d].bits)[static_cast<std::size_t>(shift * angle[d] % grid[d].points())];
        turn = {turn.first * c - turn.second * s, turn.second * c + turn.first * s};
      }
      double squares = 0;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < channels; ++k) {
          const double w = symbol_.weight_at(i, k, tap);
          const std::size_t column = k * residues_ + static_cast<std::size_t>(residue);
          const double re = w * turn.first, im = w * turn.second;
          made.row(i)[column] += re;
          made.row(i)[columns + column] -= im;
          made.row(rows + i)[column] += im;
          made.row(rows + i)[columns + column] += re;
          squares += w * w;
        }
      missed = up(missed + up(std::sqrt(squares) * (1 + 0x1p-20)));
    }
    slack_ = up(missed * (8 * kAngleError + static_cast<double>(g_.taps()) * 0x1p-50));
    return made;
  }

  static const std::vector<std::pair<double, double>>& angles(int bits) {
    static const auto all = [] {
      std::array<std::vector<std::pair<double, double>>, kMostBits + 1> made;
      for (int b = 0; b <= kMostBits; ++b) made[static_cast<std::size_t>(b)] = circle(b);
      return made;
    }();
    return all.at(static_cast<std::size_t>(bits));
  }

  double norm_above(RealMatrix matrix) const {
    const double slack = slack_;
    return up(bf_aot::norm_above(std::move(matrix)) + slack);
  }

  // Each output reads a patch of the input, and an input lies in a number of patches.
  double patches() const {
    const auto taps = static_cast<std::size_t>(g_.taps());
    double often = 1;
    for (std::size_t d = 0; d < 3; ++d)
      often *= static_cast<double>((g_.kernel[d] + g_.stride[d] - 1) / g_.stride[d]);
    // With dilation an element may be a tap of more patches, but of no more than there are taps.
    for (std::size_t d = 0; d < 3; ++d)
      if (g_.dilation[d] > 1) often = static_cast<double>(taps);
    RealMatrix m(symbol_.rows(), symbol_.channels() * taps);
    for (std::size_t i = 0; i < m.rows; ++i)
      for (std::size_t k = 0; k < symbol_.channels(); ++k)
        for (std::size_t t = 0; t < taps; ++t)
          m.row(i)[k * taps + t] = symbol_.weight_at(i, k, static_cast<std::int64_t>(t));
    if (!is_affordable(static_cast<double>(m.rows), static_cast<double>(m.columns))) return kNoNorm;
    return up(bf_aot::norm_above(std::move(m)) * root_up(often));
  }

  const Symbol& symbol_;
  const ConvGeometry& g_;
  std::size_t residues_ = 1;
  Extent degree_ = {0, 0, 0};
  mutable double slack_ = 0;  // of the symbol that at() made last
};

// ---- terms

struct NormOfMap {
  const Term& term;
  int out;
  double relative;

  BallNorms finish(double norm, const Magnitudes& sums, int row, int column) const {
    const double schur = sums.schur(row, column);
    BallNorms made{up(std::min(norm, schur) + up(relative * schur)), {}};
    for (std::size_t i = 0; i < sums.squares.size(); ++i)
      made.rows.push_back(sums.row_norm(i, row, relative));
    return made;
  }

  // Sums of whole channels: zeros around the image only leave some of it out.
  BallNorms operator()(const ConvMap& map) const {
    const ConvGeometry& g = map.geometry;
    Magnitudes sums(static_cast<std::size_t>(g.out_channels),
                    static_cast<std::size_t>(g.in_channels));
    std::size_t at = 0;
    for (std::int64_t o = 0; o < g.out_channels; ++o)
      for (std::int64_t i = 0; i < g.in_group(); ++i)
        for (std::int64_t tap = 0; tap < g.taps(); ++tap)
          sums.add(static_cast<std::size_t>(o),
                   static_cast<std::size_t>(o / g.out_group() * g.in_group() + i),
                   static_cast<double>(term.weight[at++]));
    double norm = of_image(g);
    if (norm == kNoNorm) {
      norm = 0;
      for (std::int64_t group = 0; group < g.groups; ++group)
        norm = std::max(norm, ConvolutionNorm({g, term.weight, group}).above());
    }
    const auto most = static_cast<int>(std::max(g.in_group(), g.out_group()) * g.taps());
    BallNorms made = finish(norm, sums, most, most);
    const std::vector<float> channels = std::move(made.rows);
    made.rows.resize(static_cast<std::size_t>(out));
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t o = 0; o < g.out_channels; ++o)
        for (std::int64_t x = 0; x < g.out_size[0]; ++x)
          for (std::int64_t y = 0; y < g.out_size[1]; ++y)
            for (std::int64_t z = 0; z < g.out_size[2]; ++z)
              made.rows[static_cast<std::size_t>(g.out.at(n, o, {x, y, z}))] =
                  channels[static_cast<std::size_t>(o)];
    return made;
  }

  // Returns the norm of a small image with the zeros around it; infinity for a large one.
  double of_image(const ConvGeometry& g) const {
    const double in = term.in, made = out;
    if (!is_affordable(made, in, 16) || in * made > 0x1p23) return kNoNorm;
    RealMatrix matrix(static_cast<std::size_t>(out), static_cast<std::size_t>(term.in));
    for_each_product(g, [&](std::int64_t i, std::int64_t w, std::int64_t k) {
      matrix.row(static_cast<std::size_t>(i))[k] +=
          static_cast<double>(term.weight[static_cast<std::size_t>(w)]);
    });
    return norm_above(std::move(matrix));
  }

  BallNorms operator()(const SparseMap& map) const {
    Magnitudes sums(static_cast<std::size_t>(out), static_cast<std::size_t>(term.in));
    for (std::size_t i = 0; i + 1 < map.row_start.size(); ++i)
      for (std::int32_t k = map.row_start[i]; k < map.row_start[i + 1]; ++k) {
        const auto entry = static_cast<std::size_t>(k);
        sums.add(i, static_cast<std::size_t>(map.column[entry]),
                 static_cast<double>(term.weight[entry]));
      }
    return finish(kNoNorm, sums, term.row_entries, term.column_entries);
  }

  BallNorms operator()(const GatherMap& map) const {
    Magnitudes sums(static_cast<std::size_t>(out), static_cast<std::size_t>(term.in));
    for (std::size_t i = 0; i < sums.rows.size(); ++i) {
      const std::int64_t source =
          map.source.empty() ? static_cast<std::int64_t>(i) : std::int64_t{map.source[i]};
      if (source >= 0) sums.add(i, static_cast<std::size_t>(source), 1);
    }
    return finish(kNoNorm, sums, 1, out);
  }
};

}  // namespace

BallNorms norms_of(const Term& term, int out, double relative) {
  return std::visit(NormOfMap{term, out, relative}, term.map);
}

BallNorms norms_of(const Layer& dense) {
  BF_CHECK(dense.kind == LayerKind::kDense);
  const auto out = static_cast<std::size_t>(dense.out), in = static_cast<std::size_t>(dense.in);
  Magnitudes sums(out, in);
  for (std::size_t i = 0; i < out; ++i)
    for (std::size_t k = 0; k < in; ++k)
      sums.add(i, k, static_cast<double>(dense.weight[i * in + k]));
  double norm = kNoNorm;
  if (is_affordable(static_cast<double>(out), static_cast<double>(in))) {
    RealMatrix matrix(out, in);
    std::ranges::copy(dense.weight, matrix.at.begin());
    norm = norm_above(std::move(matrix));
  }
  const double relative = dense.errors.weight_relative;
  const double schur = sums.schur(dense.in, dense.out);
  BallNorms made{up(std::min(norm, schur) + up(relative * schur)), {}};
  for (std::size_t i = 0; i < out; ++i) made.rows.push_back(sums.row_norm(i, dense.in, relative));
  return made;
}

std::size_t KnownNorms::Known::bytes() const {
  return sizeof(Known) + sizeof(float) * (map.weight.size() + static_cast<std::size_t>(map.out));
}

// Returns the map's entry, which is kept where there is room for it.
std::shared_ptr<KnownNorms::Known> KnownNorms::entry_of(Map map) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      known_, [&](const std::shared_ptr<Known>& each) { return each->map == map; });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  auto made = std::make_shared<Known>(std::move(map));
  if (made->bytes() > most_bytes_) return made;
  for (; bytes_ > most_bytes_ - made->bytes(); known_.pop_back()) bytes_ -= known_.back()->bytes();
  known_.push_front(made);
  bytes_ += made->bytes();
  return made;
}

template <class Find>
BallNorms KnownNorms::known(Map map, const Find& find) {
  const std::shared_ptr<Known> entry = entry_of(std::move(map));
  const std::scoped_lock lock(entry->mutex);
  if (!entry->norms) entry->norms = find();
  return *entry->norms;
}

BallNorms KnownNorms::of(const Term& term, int out, double relative) {
  const auto find = [&] { return norms_of(term, out, relative); };
  const auto* const conv = std::get_if<ConvMap>(&term.map);
  return conv == nullptr ? find() : known({*conv, term.in, out, relative, term.weight}, find);
}

BallNorms KnownNorms::of(const Layer& dense) {
  const auto find = [&] { return norms_of(dense); };
  if (!is_affordable(dense.out, dense.in)) return find();
  return known({{}, dense.in, dense.out, dense.errors.weight_relative, dense.weight}, find);
}

std::size_t KnownNorms::size() const {
  const std::scoped_lock lock(mutex_);
  return known_.size();
}

void bound_norms(Plan& plan, KnownNorms* shared) {
  if (plan.config.norm == Norm::kLargest) return;
  KnownNorms own;
  KnownNorms& norms = shared == nullptr ? own : *shared;
  for (Layer& layer : plan.layers) {
    if (layer.kind == LayerKind::kDense) layer.ball = norms.of(layer);
    if (layer.kind != LayerKind::kSum) continue;
    for (Term& term : layer.terms)
      term.ball = norms.of(term, layer.out, layer.errors.weight_relative);
  }
}

}  // namespace bf_aot
