#include "aot/decide/neurons/programs/bounded_simplex.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bf_aot::decide {
namespace {

// Pivots and violations up to these are taken for 0. Results are proven elsewhere, so that an error
// here costs a proof at most.
constexpr double kPivot = 1e-9, kViolation = 1e-9;

// The variables are the program's, then the rows' slacks b - A x >= 0. Each basic variable is
// constant + sum entry * nonbasic variable.
class Dictionary {
 public:
  explicit Dictionary(const LinearProgram& program)
      : n_(program.variables), m_(program.rows()), lower_(program.lower), upper_(program.upper) {
    lower_.resize(n_ + m_, 0);
    upper_.resize(n_ + m_, std::numeric_limits<double>::infinity());
    cost_ = program.cost;
    for (std::size_t j = 0; j < n_; ++j) {
      nonbasic_.push_back(j);
      at_upper_.push_back(cost_[j] < 0);
    }
    for (std::size_t i = 0; i < m_; ++i) {
      basic_.push_back(n_ + i);
      constant_.push_back(program.limit[i]);
      for (std::size_t j = 0; j < n_; ++j) entries_.push_back(-program.matrix[i * n_ + j]);
    }
  }

  ProgramResult run() {
    const std::size_t most = 50 + 20 * (n_ + m_);
    for (std::size_t round = 0; round < most; ++round) {
      const std::size_t row = leaving();
      if (row == m_) return optimal();
      const bool up = value(row) < lower_[basic_[row]];  // it has to rise
      const std::size_t column = entering(row, up);
      if (column == n_) return infeasible(row, up);
      pivot(row, column, up);
    }
    return {};
  }

 private:
  double& entry(std::size_t row, std::size_t column) { return entries_[row * n_ + column]; }
  double entry(std::size_t row, std::size_t column) const { return entries_[row * n_ + column]; }

  double end_of(std::size_t column) const {
    return at_upper_[column] ? upper_[nonbasic_[column]] : lower_[nonbasic_[column]];
  }

  double value(std::size_t row) const {
    double sum = constant_[row];
    for (std::size_t j = 0; j < n_; ++j)
      if (entry(row, j) != 0) sum += entry(row, j) * end_of(j);
    return sum;
  }

  // The row of the basic variable that is farthest beyond an end; m_: none is beyond.
  std::size_t leaving() const {
    std::size_t found = m_;
    double worst = kViolation;
    for (std::size_t i = 0; i < m_; ++i) {
      const double x = value(i);
      const double beyond = std::max(lower_[basic_[i]] - x, x - upper_[basic_[i]]);
      if (beyond > worst * (1 + std::fabs(x))) {
        worst = beyond / (1 + std::fabs(x));
        found = i;
      }
    }
    return found;
  }

  // The column of the nonbasic variable that enters the basis so that all reduced costs keep their
  // signs; n_: none can move the row in this direction.
  std::size_t entering(std::size_t row, bool up) const {
    std::size_t found = n_;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < n_; ++j) {
      const double slope = (up ? 1 : -1) * entry(row, j);
      if (!(at_upper_[j] ? slope < -kPivot : slope > kPivot)) continue;
      const double ratio = std::fabs(cost_[j]) / std::fabs(slope);
      if (ratio < least || (ratio == least && std::fabs(slope) > std::fabs(entry(row, found)))) {
        least = ratio;
        found = j;
      }
    }
    return found;
  }

  void pivot(std::size_t row, std::size_t column, bool up) {
    const double by = entry(row, column);
    // The row basic = constant + .. + by entering is solved for entering = (basic - constant - ..)
    // / by.
    for (std::size_t j = 0; j < n_; ++j) entry(row, j) = j == column ? 1 / by : -entry(row, j) / by;
    constant_[row] = -constant_[row] / by;
    for (std::size_t i = 0; i < m_; ++i) {
      const double factor = entry(i, column);
      if (i == row || factor == 0) continue;
      constant_[i] += factor * constant_[row];
      for (std::size_t j = 0; j < n_; ++j)
        entry(i, j) = j == column ? factor * entry(row, j) : entry(i, j) + factor * entry(row, j);
    }
    const double factor = cost_[column];
    for (std::size_t j = 0; j < n_; ++j)
      cost_[j] = j == column ? factor * entry(row, j) : cost_[j] + factor * entry(row, j);
    std::swap(basic_[row], nonbasic_[column]);
    at_upper_[column] = !up;
  }

  ProgramResult optimal() const {
    ProgramResult result = {ProgramEnd::kOptimal, std::vector<double>(n_), std::vector<double>(m_)};
    for (std::size_t j = 0; j < n_; ++j) {
      if (nonbasic_[j] < n_)
        result.x[nonbasic_[j]] = end_of(j);
      else
        result.multipliers[nonbasic_[j] - n_] = std::max(0.0, cost_[j]);
    }
    for (std::size_t i = 0; i < m_; ++i)
      if (basic_[i] < n_)
        result.x[basic_[i]] = std::clamp(value(i), lower_[basic_[i]], upper_[basic_[i]]);
    return result;
  }

  // The multipliers for a row that cannot reach its end: they give a sum of slacks that is below 0
  // on the box.
  ProgramResult infeasible(std::size_t row, bool up) const {
    ProgramResult result = {ProgramEnd::kInfeasible, {}, std::vector<double>(m_)};
    const double sign = up ? 1 : -1;
    if (basic_[row] >= n_) result.multipliers[basic_[row] - n_] = 1;
    for (std::size_t j = 0; j < n_; ++j)
      if (nonbasic_[j] >= n_)
        result.multipliers[nonbasic_[j] - n_] = std::max(0.0, -sign * entry(row, j));
    return result;
  }

  const std::size_t n_, m_;
  std::vector<double> lower_, upper_, cost_;
  std::vector<std::size_t> nonbasic_, basic_;
  std::vector<bool> at_upper_;  // whether each nonbasic variable is at its upper end
  std::vector<double> constant_, entries_;
};

}  // namespace

ProgramResult solve(const LinearProgram& program) {
  return Dictionary(program).run();
}

}  // namespace bf_aot::decide
