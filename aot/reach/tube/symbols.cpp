#include "aot/reach/tube/symbols.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bf_aot::reach {
namespace {

// The slopes of all forms over symbols that are given up: [row][symbol].
using Slopes = std::vector<std::vector<double>>;

// A square matrix, [row][column], whose columns are a basis.
using Basis = std::vector<std::vector<double>>;

// One rotation of Jacobi's method, in rows and columns p and q of a symmetric matrix, and in the
// columns of the basis.
void rotate(Basis& matrix, Basis& basis, std::size_t p, std::size_t q) {
  if (matrix[p][q] == 0) return;
  const double theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
  const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::hypot(theta, 1.0));
  const double c = 1 / std::hypot(t, 1.0), s = t * c;
  const std::size_t n = matrix.size();
  for (std::size_t k = 0; k < n; ++k) {
    const double a = matrix[k][p], b = matrix[k][q];
    matrix[k][p] = c * a - s * b;
    matrix[k][q] = s * a + c * b;
  }
  for (std::size_t k = 0; k < n; ++k) {
    const double a = matrix[p][k], b = matrix[q][k];
    matrix[p][k] = c * a - s * b;
    matrix[q][k] = s * a + c * b;
  }
  for (std::size_t k = 0; k < n; ++k) {
    const double a = basis[k][p], b = basis[k][q];
    basis[k][p] = c * a - s * b;
    basis[k][q] = s * a + c * b;
  }
}

// About the principal axes of the rows, each row in the unit of its own size: eigenvectors of D D^T
// by Jacobi's method. What it finds need not be exact, see enclose().
Basis principal_axes(const Slopes& rows, const std::vector<double>& unit) {
  constexpr int kSweeps = 12;
  const std::size_t n = rows.size();
  Basis matrix(n, std::vector<double>(n, 0)), basis = matrix;
  for (std::size_t i = 0; i < n; ++i) {
    basis[i][i] = 1;
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < rows[i].size(); ++k)
        matrix[i][j] += rows[i][k] / unit[i] * (rows[j][k] / unit[j]);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) rotate(matrix, basis, p, q);
  return basis;
}

// A parallelotope that holds what the symbols that are given up may be: rows = axes z + rest, z in
// [-1, 1]^n, |rest| <= rest.
struct Parallelotope {
  Basis axes;
  std::vector<double> rest;
};

// For Y = B^T D, whatever it is rounded to, D e = B (Y e) + (D - B Y) e for e in [-1, 1]^k: Y e is
// in the box of the sums of |Y|'s rows, and the second term is at most what rounding left, which
// ranges enclose.
Parallelotope enclose(const Slopes& rows, const std::vector<double>& unit, const Basis& basis) {
  const std::size_t n = rows.size(), count = rows.front().size();
  Parallelotope made{Basis(n, std::vector<double>(n, 0)), std::vector<double>(n, 0)};
  std::vector<double> sums(n, 0);
  std::vector<std::vector<Range>> left(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < count; ++k) left[i].push_back({rows[i][k], rows[i][k]});
  for (std::size_t axis = 0; axis < n; ++axis)
    for (std::size_t k = 0; k < count; ++k) {
      double y = 0;
      for (std::size_t i = 0; i < n; ++i) y += basis[i][axis] * (rows[i][k] / unit[i]);
      sums[axis] = bf::next_up(sums[axis] + std::fabs(y));
      for (std::size_t i = 0; i < n; ++i) {
        const double at = basis[i][axis] * unit[i];
        left[i][k] = left[i][k] - Range{at, at} * Range{y, y};
      }
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t axis = 0; axis < n; ++axis) {
      const double at = basis[i][axis] * unit[i];
      made.axes[i][axis] = at * sums[axis];
      // at e sums = (at sums) e, but for the product's rounding.
      made.rest[i] += magnitude(Range{at, at} * Range{sums[axis], sums[axis]} -
                                Range{made.axes[i][axis], made.axes[i][axis]});
    }
    for (const Range& each : left[i]) made.rest[i] += magnitude(each);
    made.rest[i] *= 1 + static_cast<double>(n + count + 2) * 0x1p-52;
  }
  return made;
}

// Sizes of the rows, by which axes of rows of unlike sizes are found.
std::vector<double> sizes_of(const Slopes& rows) {
  std::vector<double> made;
  for (const std::vector<double>& row : rows) {
    double size = 0;
    for (const double each : row) size += std::fabs(each);
    made.push_back(size > 0 ? size : 1);
  }
  return made;
}

// Takes the slopes over symbols that are not kept out of a form.
std::vector<double> take_slopes(Form& form, const bool* kept, std::size_t count) {
  std::vector<double> slope, taken;
  for (std::size_t k = 0; k < count; ++k) (kept[k] ? slope : taken).push_back(form.slope_of(k));
  form.slope = std::move(slope);
  return taken;
}

bool all_zero(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double x) { return x == 0; });
}

}  // namespace

void Symbols::make_room(const std::vector<std::vector<Form>*>& forms, std::size_t left) {
  std::vector<bf::loops::FormGroup<Form>> groups;
  for (std::vector<Form>* const some : forms) groups.push_back({some->data(), some->size()});
  if (reduction_ == Reduction::kBox)
    of_.make_room(groups.data(), groups.size(), left);
  else if (of_.in_use() > left)
    make_room_along_axes(groups, left);
}

void Symbols::make_room_along_axes(const std::vector<bf::loops::FormGroup<Form>>& groups,
                                   std::size_t left) {
  const std::size_t count = of_.in_use();
  const std::size_t keep = of_.choose_kept(groups.data(), groups.size(), left);
  Slopes taken;
  std::vector<Form*> changed;
  for (const bf::loops::FormGroup<Form>& group : groups)
    for (std::size_t i = 0; i < group.count; ++i) {
      std::vector<double> slopes = take_slopes(group.first[i], kept_.get(), count);
      if (all_zero(slopes)) continue;
      taken.push_back(std::move(slopes));
      changed.push_back(group.first + i);
    }
  of_.set_in_use(keep + changed.size());
  if (taken.empty()) return;
  const std::vector<double> unit = sizes_of(taken);
  const Parallelotope room = enclose(taken, unit, principal_axes(taken, unit));
  for (std::size_t i = 0; i < changed.size(); ++i) {
    changed[i]->slope.resize(keep, 0);
    for (const double at : room.axes[i]) changed[i]->slope.push_back(at);
    changed[i]->radius = bf::next_up(changed[i]->radius + room.rest[i]);
  }
}

}  // namespace bf_aot::reach
