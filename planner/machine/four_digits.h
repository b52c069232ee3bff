#pragma once

namespace bf_aot {

// x rounded to four digits, the same on every machine and in every locale of the process:
// measurements and predictions have no more.
double four_digits(double x);

}  // namespace bf_aot
