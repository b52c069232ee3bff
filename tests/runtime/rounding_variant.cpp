// Compiled once per set of flags, with -DBF_VARIANT=<name>: defines bf_rounding_<name>.

#include "tests/runtime/rounding_variant.h"

#include "runtime/bf/core/rounding.h"

#define BF_CONCAT_(a, b) a##b
#define BF_CONCAT(a, b) BF_CONCAT_(a, b)
#define BF_STRING_(a) #a
#define BF_STRING(a) BF_STRING_(a)

namespace {

template <class Float, Float (*function)(Float)>
void unary(const Float* a, Float* result, size_t count) {
  for (size_t i = 0; i < count; ++i) result[i] = function(a[i]);
}

template <class Float, Float (*function)(Float, Float)>
void binary(const Float* a, const Float* b, Float* result, size_t count) {
  for (size_t i = 0; i < count; ++i) result[i] = function(a[i], b[i]);
}

template <float (*function)(double)>
void narrow(const double* a, float* result, size_t count) {
  for (size_t i = 0; i < count; ++i) result[i] = function(a[i]);
}

template <class Float>
Float polynomial_up(Float a, Float b) {
  return bf::add_up(bf::mul_up(a, b), a);
}

template <class Float>
constexpr bf_test::Primitives<Float> primitives() {
  return {unary<Float, bf::next_up>,   unary<Float, bf::next_down>, binary<Float, bf::add_up>,
          binary<Float, bf::add_down>, binary<Float, bf::sub_up>,   binary<Float, bf::sub_down>,
          binary<Float, bf::mul_up>,   binary<Float, bf::mul_down>, binary<Float, bf::div_up>,
          binary<Float, bf::div_down>, binary<Float, polynomial_up>};
}

}  // namespace

extern "C" const bf_test::RoundingVariant BF_CONCAT(bf_rounding_, BF_VARIANT);
extern "C" const bf_test::RoundingVariant BF_CONCAT(bf_rounding_, BF_VARIANT) = {
    BF_STRING(BF_VARIANT), primitives<float>(),    primitives<double>(),
    narrow<bf::float_up>,  narrow<bf::float_down>, bf::float_environment_ok};
