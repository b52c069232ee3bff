#pragma once

#include <mpfr.h>

#include <utility>
#include <vector>

#include "frontend/functions/function.h"
#include "planner/functions/function_table.h"
#include "runtime/bf/functions/functions.h"
#include "runtime/bf/functions/relax_functions.h"

namespace bf_test {

// Functions in 400 bits, written down once more: the oracle shares nothing with the tables.
class Number {
 public:
  explicit Number(double x = 0) {
    mpfr_init2(value_, 400);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  Number(const Number& other) : Number() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Number& operator=(const Number& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Number() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }

 private:
  mpfr_t value_;
};

// f(x) up to 2^-300 relatively, and exactly for steps and lines; NaN outside of the domain.
Number exact_value(const bf_aot::Function& function, double x);

// Where f has no value at an end x of [low, high], but is defined next to it inside: the sign of
// its limit, which is infinite. Else 0.
int infinite_limit(const bf_aot::Function& function, double x, double low, double high);

// Whether y >= f (side 1) or y <= f (side -1) for the exact sum y of products of doubles,
// sum_i first_i second_i, up to the error of `f` (none where `exact`).
bool holds(const std::vector<std::pair<double, double>>& products, const Number& f, bool exact,
           int side);

// A planner's table as the runtime sees it.
class Held {
 public:
  explicit Held(const bf_aot::Function& function);
  const bf::FunctionView& view() const { return view_; }
  const bf_aot::FunctionTable& table() const { return table_; }

 private:
  bf_aot::FunctionTable table_;
  std::vector<bf::FunctionRun> runs_;
  bf::FunctionView view_;
};

// Each function, with some parameters.
std::vector<bf_aot::Function> functions_to_test();

// Points worth a test: kinks, ends of runs, borders of cells, extremes, and their neighbours.
std::vector<double> special_points(const bf_aot::FunctionTable& table);

}  // namespace bf_test
