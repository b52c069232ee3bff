#include "aot/decide/boxes/rational_program.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "aot/decide/neurons/programs/bounded_simplex.h"
#include "frontend/diagnostic.h"

namespace bf_aot::decide {
namespace {

// The simplex method's dictionary: basic_i = value_i - sum_j factor_ij free_j for variables of at
// least 0, the goal being constant + sum_j gain_j free_j. Variables are numbered.
class Dictionary {
 public:
  // Free variables have the numbers from 0 on, basic ones those behind.
  Dictionary(std::vector<std::vector<mpq_class>> factors, std::vector<mpq_class> values,
             std::size_t free)
      : factors_(std::move(factors)), values_(std::move(values)) {
    for (std::size_t j = 0; j < free; ++j) free_.push_back(j);
    for (std::size_t i = 0; i < values_.size(); ++i) basic_.push_back(free + i);
  }

  // Makes all values at least 0 by a variable that each row may take from its value, and that is
  // then brought to 0. Returns false where it cannot be.
  bool find_start() {
    std::size_t worst = 0;
    for (std::size_t i = 1; i < values_.size(); ++i)
      if (values_[i] < values_[worst]) worst = i;
    if (values_.empty() || values_[worst] >= 0) return true;
    const std::size_t slack = free_.size() + basic_.size();
    free_.push_back(slack);
    for (auto& row : factors_) row.emplace_back(-1);
    std::vector<mpq_class> gain(free_.size());
    gain.back() = -1;
    set_goal(std::move(gain));
    pivot(worst, free_.size() - 1);
    climb();
    if (goal_ < 0) return false;
    remove(slack);
    return true;
  }

  // of_free: of the variables 0, 1, ... that were free at first; others count 0.
  mpq_class largest(const std::vector<mpq_class>& of_free) {
    std::vector<mpq_class> gain(free_.size());
    goal_ = 0;
    for (std::size_t j = 0; j < free_.size(); ++j)
      if (free_[j] < of_free.size()) gain[j] = of_free[free_[j]];
    for (std::size_t i = 0; i < basic_.size(); ++i) {
      if (basic_[i] >= of_free.size() || of_free[basic_[i]] == 0) continue;
      const mpq_class& share = of_free[basic_[i]];
      goal_ += share * values_[i];
      for (std::size_t j = 0; j < gain.size(); ++j) gain[j] -= share * factors_[i][j];
    }
    gain_ = std::move(gain);
    climb();
    return goal_;
  }

  // Returns the values of the first `count` variables.
  std::vector<mpq_class> values(std::size_t count) const {
    std::vector<mpq_class> made(count);
    for (std::size_t i = 0; i < basic_.size(); ++i)
      if (basic_[i] < count) made[basic_[i]] = values_[i];
    return made;
  }

 private:
  void set_goal(std::vector<mpq_class> gain) {
    goal_ = 0;
    gain_ = std::move(gain);
  }

  // Bland's rule: of what may enter or leave, the variable of the least number does, so that no
  // dictionary comes twice. All variables are bounded, so that one can always leave.
  void climb() {
    for (;;) {
      std::size_t enters = free_.size();
      for (std::size_t j = 0; j < free_.size(); ++j)
        if (gain_[j] > 0 && (enters == free_.size() || free_[j] < free_[enters])) enters = j;
      if (enters == free_.size()) return;
      std::size_t leaves = basic_.size();
      mpq_class least;
      for (std::size_t i = 0; i < basic_.size(); ++i) {
        if (factors_[i][enters] <= 0) continue;
        const mpq_class ratio = values_[i] / factors_[i][enters];
        const bool better = leaves == basic_.size() || ratio < least ||
                            (ratio == least && basic_[i] < basic_[leaves]);
        if (!better) continue;
        leaves = i;
        least = ratio;
      }
      BF_CHECK(leaves < basic_.size());
      pivot(leaves, enters);
    }
  }

  // Solves row r for its free variable s.
  void pivot(std::size_t r, std::size_t s) {
    std::vector<mpq_class>& row = factors_[r];
    const mpq_class by = row[s];
    row[s] = 1;
    for (mpq_class& factor : row) factor /= by;
    values_[r] /= by;
    for (std::size_t i = 0; i < factors_.size(); ++i)
      if (i != r) substitute(r, s, factors_[i], values_[i], -1);
    substitute(r, s, gain_, goal_, 1);
    std::swap(basic_[r], free_[s]);
  }

  // Puts row r in place of variable s into a form value - sum factor_j free_j (sign -1), or into
  // the goal, value + sum factor_j free_j.
  void substitute(std::size_t r, std::size_t s, std::vector<mpq_class>& factors, mpq_class& value,
                  int sign) {
    const mpq_class share = factors[s];
    if (share == 0) return;
    factors[s] = 0;
    for (std::size_t j = 0; j < factors.size(); ++j) factors[j] -= share * factors_[r][j];
    value += sign * share * values_[r];
  }

  // Takes a variable that is 0 out of the dictionary.
  void remove(std::size_t variable) {
    for (std::size_t i = 0; i < basic_.size(); ++i) {
      if (basic_[i] != variable) continue;
      std::size_t s = 0;
      while (s < free_.size() && factors_[i][s] == 0) ++s;
      if (s == free_.size()) {  // the row says 0 = 0
        factors_.erase(factors_.begin() + static_cast<std::ptrdiff_t>(i));
        values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
        basic_.erase(basic_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
      pivot(i, s);
      break;
    }
    for (std::size_t j = 0; j < free_.size(); ++j) {
      if (free_[j] != variable) continue;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(j));
      gain_.erase(gain_.begin() + static_cast<std::ptrdiff_t>(j));
      for (auto& row : factors_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(j));
      return;
    }
  }

  std::vector<std::vector<mpq_class>> factors_;
  std::vector<mpq_class> values_;
  std::vector<std::size_t> basic_, free_;
  std::vector<mpq_class> gain_;
  mpq_class goal_;
};

// The largest t with row + t <= limit for all rows, each divided by its scale; t lies in [-1, 1].
LinearProgram program_of_room(const RationalProgram& program, const std::vector<double>& scales) {
  const std::size_t n = program.lower.size();
  LinearProgram made;
  made.variables = n + 1;
  made.cost.assign(n, 0);
  made.cost.push_back(-1);
  for (std::size_t k = 0; k < n; ++k) {
    made.lower.push_back(program.lower[k].get_d());
    made.upper.push_back(program.upper[k].get_d());
  }
  made.lower.push_back(-1);
  made.upper.push_back(1);
  for (std::size_t r = 0; r < scales.size(); ++r) {
    for (const mpq_class& factor : program.rows[r].factors)
      made.matrix.push_back(factor.get_d() / scales[r]);
    made.matrix.push_back(1);
    made.limit.push_back(program.rows[r].limit.get_d() / scales[r]);
  }
  return made;
}

// Returns true if the rows' sum with these multipliers >= 0 is above its limit on all of the box.
bool excludes(const RationalProgram& program, const std::vector<double>& multipliers,
              const std::vector<double>& scales) {
  constexpr double kLeast = 1e-12;  // smaller multipliers are left out, as any may be
  std::vector<mpq_class> sum(program.lower.size());
  mpq_class least = 0;
  for (std::size_t r = 0; r < multipliers.size(); ++r) {
    if (!(multipliers[r] > kLeast) || !std::isfinite(multipliers[r])) continue;
    const mpq_class times(multipliers[r] / scales[r]);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += times * program.rows[r].factors[k];
    least -= times * program.rows[r].limit;
  }
  for (std::size_t k = 0; k < sum.size(); ++k)
    least += sum[k] * (sum[k] > 0 ? program.lower[k] : program.upper[k]);
  return least > 0;
}

}  // namespace

Room room_of(const RationalProgram& program) {
  constexpr double kRoom = 1e-9;  // of the rows' scales; less may be rounding, and is left open
  std::vector<double> scales;
  for (const RationalProgram::Row& row : program.rows) {
    double scale = 0;
    for (std::size_t k = 0; k < row.factors.size(); ++k)
      scale += std::fabs(row.factors[k].get_d()) *
               mpq_class(program.upper[k] - program.lower[k]).get_d();
    scales.push_back(std::isnormal(scale) ? scale : 1);
  }
  const ProgramResult solved = solve(program_of_room(program, scales));
  if (solved.end == ProgramEnd::kGivenUp) return Room::kOpen;
  if (solved.end == ProgramEnd::kOptimal && solved.x.back() > kRoom) return Room::kSome;
  return excludes(program, solved.multipliers, scales) ? Room::kNone : Room::kOpen;
}

// The dictionary's variables are x - lower; a row of its own keeps each below upper - lower.
std::optional<RationalOptimum> maximise(const RationalProgram& program) {
  const std::size_t n = program.lower.size();
  std::vector<std::vector<mpq_class>> factors;
  std::vector<mpq_class> values;
  for (std::size_t k = 0; k < n; ++k) {
    factors.emplace_back(n)[k] = 1;
    values.push_back(program.upper[k] - program.lower[k]);
  }
  for (const RationalProgram::Row& row : program.rows) {
    factors.push_back(row.factors);
    mpq_class& value = values.emplace_back(row.limit);
    for (std::size_t k = 0; k < n; ++k) value -= row.factors[k] * program.lower[k];
  }
  Dictionary dictionary(std::move(factors), std::move(values), n);
  if (!dictionary.find_start()) return std::nullopt;
  RationalOptimum made{dictionary.largest(program.objective), {}};
  made.x = dictionary.values(n);
  for (std::size_t k = 0; k < n; ++k) {
    made.value += program.objective[k] * program.lower[k];
    made.x[k] += program.lower[k];
  }
  return made;
}

std::optional<mpq_class> largest_value(const RationalProgram& program) {
  std::optional<RationalOptimum> made = maximise(program);
  if (!made) return std::nullopt;
  return std::move(made->value);
}

}  // namespace bf_aot::decide
