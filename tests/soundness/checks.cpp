#include "tests/soundness/checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace bf_aot::soundness {
namespace {

// From here on float32 products may overflow, and bounds be infinite.
constexpr double kHuge = 0x1p120;

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

void check_form(const Net& net, const FloatBox& box, const Outcome& outcome) {
  const double largest = largest_magnitude(net, box);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ASSERT_LE(outcome.lower[j], outcome.upper[j]) << "output " << j;  // also: no NaN
    if (largest < kHuge) {
      ASSERT_TRUE(std::isfinite(outcome.lower[j]) && std::isfinite(outcome.upper[j]))
          << "output " << j << " is unbounded, though no magnitude exceeds " << largest;
    }
  }
}

void check_intervals(const ExactNet& exact, const FloatBox& box, const Outcome& outcome) {
  const ExactBox interval = exact.intervals(box);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ASSERT_LE(compare(outcome.lower[j], interval.lower, j), 0)
        << "output " << j << ": " << outcome.lower[j] << " > "
        << interval.lower.rational(j).get_d();
    ASSERT_GE(compare(outcome.upper[j], interval.upper, j), 0)
        << "output " << j << ": " << outcome.upper[j] << " < "
        << interval.upper.rational(j).get_d();
  }
}

void check_point(const ExactNet& exact, const Numbers& x, const Outcome& outcome,
                 const char* what) {
  const Numbers y = exact.evaluate(x);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    ASSERT_LE(compare(outcome.lower[j], y, j), 0)
        << what << ": output " << j << " is " << y.rational(j).get_d() << ", lower bound "
        << outcome.lower[j];
    ASSERT_GE(compare(outcome.upper[j], y, j), 0)
        << what << ": output " << j << " is " << y.rational(j).get_d() << ", upper bound "
        << outcome.upper[j];
  }
}

void check_rows(const ExactNet& exact, const LinearSpec& spec, const Numbers& x,
                const Outcome& outcome, const char* what) {
  const Numbers y = exact.evaluate(x);
  for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
    mpq_class value = 0;
    for (std::size_t k = 0; k < y.values.size(); ++k)
      value += mpq_class(spec.rows[j][k]) * y.rational(k);
    const auto lower = static_cast<double>(outcome.lower[j]);
    const auto upper = static_cast<double>(outcome.upper[j]);
    ASSERT_LE(lower, upper) << "row " << j;  // also: no NaN
    ASSERT_TRUE(lower == -kInf || (lower < kInf && mpq_class(lower) <= value))
        << what << ": row " << j << " is " << value.get_d() << ", lower bound " << lower;
    ASSERT_TRUE(upper == kInf || (upper > -kInf && mpq_class(upper) >= value))
        << what << ": row " << j << " is " << value.get_d() << ", upper bound " << upper;
  }
}

}  // namespace bf_aot::soundness
