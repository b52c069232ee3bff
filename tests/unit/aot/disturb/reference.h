#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include <string>
#include <utility>
#include <vector>

#include "aot/disturb/disturbance.h"

// What docs/guide/disturbances.md says of each disturbance, written down once more in rationals:
// sin, cos and e^x are off by less than 2^-280.

namespace bf_aot::disturb::testing {

inline mpq_class of_mpfr(int (*routine)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), const mpq_class& x,
                         bool degrees) {
  mpfr_t value, pi;
  mpfr_inits2(320, value, pi, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_q(value, x.get_mpq_t(), MPFR_RNDN);
  if (degrees) {
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_mul(value, value, pi, MPFR_RNDN);
    mpfr_div_ui(value, value, 180, MPFR_RNDN);
  }
  routine(value, value, MPFR_RNDN);
  mpq_class made;
  mpfr_get_q(made.get_mpq_t(), value);
  mpfr_clears(value, pi, static_cast<mpfr_ptr>(nullptr));
  return made;
}

struct Reference {
  Picture shape;
  std::vector<mpq_class> pixels;  // scaled
  std::vector<std::pair<Kind, mpq_class>> disturbances;
  mpq_class blur_most;  // upper end of the range of kBlur
  bool clips = false;
  mpq_class least, most;

  mpq_class pixel(std::size_t c, long y, long x) const {
    const bool inside = y >= 0 && x >= 0 && y < static_cast<long>(shape.height) &&
                        x < static_cast<long>(shape.width);
    return inside ? pixels[shape.at(c, static_cast<std::size_t>(y), static_cast<std::size_t>(x))]
                  : mpq_class(0);
  }

  // The source of pixel (y, x): the inverses of all moves, the last one first.
  void source(mpq_class& x, mpq_class& y) const {
    mpq_class half_x(shape.width - 1, 2), half_y(shape.height - 1, 2);
    half_x.canonicalize();
    half_y.canonicalize();
    x -= half_x;
    y -= half_y;
    for (auto each = disturbances.rbegin(); each != disturbances.rend(); ++each) {
      const mpq_class& by = each->second;
      const mpq_class u = x, v = y;
      switch (each->first) {
        case Kind::kRotation: {
          const mpq_class c = of_mpfr(mpfr_cos, by, true), s = of_mpfr(mpfr_sin, by, true);
          x = c * u - s * v;
          y = s * u + c * v;
          break;
        }
        case Kind::kScaling:
          x = u / by;
          y = v / by;
          break;
        case Kind::kShearing:
          x = u - by * v;
          break;
        case Kind::kTranslationX:
          x = u - by;
          break;
        case Kind::kTranslationY:
          y = v - by;
          break;
        default:
          break;
      }
    }
    x += half_x;
    y += half_y;
  }

  // All pixels, each with the weight of a tent of width 1 on each side.
  mpq_class sampled(std::size_t c, const mpq_class& x, const mpq_class& y) const {
    const auto tent = [](const mpq_class& at, std::size_t n) {
      const mpq_class weight = 1 - abs(at - mpq_class(n));
      return weight > 0 ? weight : mpq_class(0);
    };
    mpq_class sum = 0;
    for (std::size_t m = 0; m < shape.height; ++m) {
      const mpq_class row = tent(y, m);
      if (row == 0) continue;
      for (std::size_t n = 0; n < shape.width; ++n)
        sum += row * tent(x, n) * pixel(c, static_cast<long>(m), static_cast<long>(n));
    }
    return sum;
  }

  // The disturbed picture, before squares and normalisation.
  std::vector<mpq_class> disturbed() const {
    std::vector<mpq_class> made(pixels.size());
    for (std::size_t y = 0; y < shape.height; ++y)
      for (std::size_t x = 0; x < shape.width; ++x) {
        mpq_class from_x(x), from_y(y);
        source(from_x, from_y);
        for (std::size_t c = 0; c < shape.channels; ++c)
          made[shape.at(c, y, x)] = sampled(c, from_x, from_y);
      }
    for (const auto& [kind, by] : disturbances)
      if (kind == Kind::kBlur) made = blurred(made, by);
    for (const auto& [kind, by] : disturbances)
      for (mpq_class& v : made) {
        if (kind == Kind::kContrast) v *= by;
        if (kind == Kind::kBrightness) v += by;
        if (kind == Kind::kFog) v = (1 - by) * v + by * (clips ? most : mpq_class(1));
      }
    for (mpq_class& v : made)
      if (clips) v = v < least ? least : v > most ? most : v;
    return made;
  }

  std::vector<mpq_class> blurred(const std::vector<mpq_class>& values, const mpq_class& s) const {
    long reach = 0;
    while (reach < 3 * blur_most) ++reach;
    std::vector<mpq_class> weights;
    mpq_class sum = 0;
    for (long d = 0; d <= reach; ++d) {
      weights.push_back(d == 0   ? mpq_class(1)
                        : s == 0 ? mpq_class(0)
                                 : of_mpfr(mpfr_exp, mpq_class(-d * d) / (2 * s * s), false));
      sum += (d == 0 ? 1 : 2) * weights.back();
    }
    std::vector<mpq_class> made(values.size());
    for (std::size_t c = 0; c < shape.channels; ++c)
      for (long y = 0; y < static_cast<long>(shape.height); ++y)
        for (long x = 0; x < static_cast<long>(shape.width); ++x) {
          mpq_class& to =
              made[shape.at(c, static_cast<std::size_t>(y), static_cast<std::size_t>(x))];
          for (long m = 0; m < static_cast<long>(shape.height); ++m)
            for (long n = 0; n < static_cast<long>(shape.width); ++n)
              if (std::abs(m - y) <= reach && std::abs(n - x) <= reach)
                to += weights[static_cast<std::size_t>(std::abs(m - y))] *
                      weights[static_cast<std::size_t>(std::abs(n - x))] *
                      values[shape.at(c, static_cast<std::size_t>(m), static_cast<std::size_t>(n))];
          to /= sum * sum;
        }
    return made;
  }
};

}  // namespace bf_aot::disturb::testing
