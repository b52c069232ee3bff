#include "runtime/bf/loops/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/seed.h"

namespace bf_aot::reach {
namespace {

using namespace bf::loops;
using Routine = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// |computed - exact|, by 300 bits; over |exact| where it is asked for.
double distance(Routine routine, double x, double computed, bool relative) {
  mpfr_t exact, difference;
  mpfr_inits2(300, exact, difference, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_d(exact, x, MPFR_RNDN);
  routine(exact, exact, MPFR_RNDN);
  mpfr_sub_d(difference, exact, computed, MPFR_RNDN);
  if (relative) mpfr_div(difference, difference, exact, MPFR_RNDN);
  const double made = std::fabs(mpfr_get_d(difference, MPFR_RNDA));
  mpfr_clears(exact, difference, static_cast<mpfr_ptr>(nullptr));
  return made;
}

// Random numbers of all magnitudes up to the largest, and doubles around multiples of `step`, where
// reductions change their integer and cancel most.
std::vector<double> arguments(double largest, double step) {
  std::mt19937_64 random(testing::seed_from_environment(5));
  std::uniform_real_distribution<double> share(-1, 1);
  std::vector<double> made = {0, -0.0, largest, -largest, 0x1p-1074, 0x1p-1022, 0x1p-30};
  const int rounds = 8000 * testing::rounds_from_environment();
  for (int i = 0; i < rounds; ++i) {
    made.push_back(largest * share(random));
    made.push_back(largest * share(random) * std::exp2(-static_cast<double>(random() % 60)));
    const double multiple = step * std::nearbyint(largest / step * share(random));
    made.push_back(multiple);
    for (const double to : {-INFINITY, INFINITY}) {
      double near = multiple;
      for (int k = 0; k < 3; ++k) made.push_back(near = std::nextafter(near, to));
    }
  }
  std::erase_if(made, [&](double x) { return std::fabs(x) > largest; });
  return made;
}

constexpr double kQuarterTurn = 0x1.921fb54442d18p-1;  // pi / 4
constexpr double kHalfLog = 0x1.62e42fefa39efp-2;      // ln 2 / 2

TEST(Elementary, WavesAreAsNearAsProven) {
  for (const double x : arguments(kMostWave, kQuarterTurn)) {
    ASSERT_LE(distance(mpfr_sin, x, sine(x), false), kWaveError) << x;
    ASSERT_LE(distance(mpfr_cos, x, cosine(x), false), kWaveError) << x;
  }
}

TEST(Elementary, PowersOfEAreAsNearAsProven) {
  for (const double x : arguments(kMostPower, kHalfLog))
    ASSERT_LE(distance(mpfr_exp, x, power_of_e(x), true), kPowerError) << x;
}

}  // namespace
}  // namespace bf_aot::reach
