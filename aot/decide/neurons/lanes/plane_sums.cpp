#include "aot/decide/neurons/lanes/plane_sums.h"

#include <cmath>

#include "aot/system/clones.h"

namespace bf_aot::decide {
namespace {

// Numbers that are added up apart from each other, side by side.
typedef float FloatSums __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef double DoubleSums __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

inline const FloatSums& floats(const float* at) {
  return *reinterpret_cast<const FloatSums*>(at);
}

}  // namespace

BF_CLONES LineSums sum_lines(const PlanePair& planes, float of_row, float t) {
  FloatSums rows = {}, clauses = {};
  std::size_t k = 0;
  for (; k + kLanes <= planes.inputs; k += kLanes) {
    const FloatSums a = floats(planes.row + k), c = floats(planes.clause + k);
    const FloatSums x = of_row * a + t * c > 0 ? floats(planes.low + k) : floats(planes.high + k);
    rows += a * x;
    clauses += c * x;
  }
  LineSums made;
  for (; k < planes.inputs; ++k) {
    const float x =
        of_row * planes.row[k] + t * planes.clause[k] > 0 ? planes.low[k] : planes.high[k];
    made.row += planes.row[k] * x;
    made.clause += planes.clause[k] * x;
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    made.row += rows[i];
    made.clause += clauses[i];
  }
  return made;
}

BF_CLONES LeastSum sum_least(const PlanePair& planes, double t) {
  DoubleSums sums = {}, sizes = {};
  std::size_t k = 0;
  for (; k + kLanes <= planes.inputs; k += kLanes) {
    const DoubleSums a = __builtin_convertvector(floats(planes.row + k), DoubleSums) +
                         t * __builtin_convertvector(floats(planes.clause + k), DoubleSums);
    const DoubleSums x = a > 0 ? __builtin_convertvector(floats(planes.low + k), DoubleSums)
                               : __builtin_convertvector(floats(planes.high + k), DoubleSums);
    const DoubleSums term = a * x;
    sums += term;
    sizes += term > 0 ? term : -term;
  }
  LeastSum made;
  for (; k < planes.inputs; ++k) {
    const double a = static_cast<double>(planes.row[k]) + t * static_cast<double>(planes.clause[k]);
    const double term = a * static_cast<double>(a > 0 ? planes.low[k] : planes.high[k]);
    made.sum += term;
    made.size += std::fabs(term);
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    made.sum += sums[i];
    made.size += sizes[i];
  }
  return made;
}

}  // namespace bf_aot::decide
