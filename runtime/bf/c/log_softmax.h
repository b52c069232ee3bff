#pragma once

#include "bf/c/planes.h"

// Log-softmax, with exponentials and logarithms in double: bf/sums/log_softmax.h and
// bf/core/exponential.h in C99. Proof: docs/proofs/log-softmax.md.

#define BF_EXPONENTIAL_ERROR 0x1p-47

#define BF_MOST_EXPONENT 690.0

BF_TABLE double bf_inverse_factorials[13] = {1.0 / 479001600.0,
                                             1.0 / 39916800.0,
                                             1.0 / 3628800.0,
                                             1.0 / 362880.0,
                                             1.0 / 40320.0,
                                             1.0 / 5040.0,
                                             1.0 / 720.0,
                                             1.0 / 120.0,
                                             1.0 / 24.0,
                                             1.0 / 6.0,
                                             0.5,
                                             1.0,
                                             1.0};

// e^x up to BF_EXPONENTIAL_ERROR, |x| <= BF_MOST_EXPONENT.
BF_FUNCTION double bf_power_near(double x) {
  const double units = 0x1.8p52;
  const double rounded = x * 1.4426950408889634 + units;
  const double count = rounded - units;
  const double r = (x - count * 0x1.62e42feep-1) - count * 0x1.a39ef35793c76p-33;
  double sum = 1.0 / 6227020800.0;
  for (int i = 0; i < 13; ++i) sum = sum * r + bf_inverse_factorials[i];
  return sum * bf_of_bits((bf_bits_of(rounded) + 1023u) << 52);
}

// Bounds of e^x, x <= BF_MOST_EXPONENT; of 0 they are 1.
BF_FUNCTION double bf_e_up(double x) {
  if (x < -BF_MOST_EXPONENT) return 0x1p-990;
  return bf_is_zero(x) ? 1.0 : bf_power_near(x) * (1.0 + 2.0 * BF_EXPONENTIAL_ERROR);
}

BF_FUNCTION double bf_e_down(double x) {
  if (x < -BF_MOST_EXPONENT) return 0.0;
  return bf_is_zero(x) ? 1.0 : bf_power_near(x) * (1.0 - 2.0 * BF_EXPONENTIAL_ERROR);
}

BF_TABLE double bf_inverse_odd_numbers[10] = {1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0,
                                              1.0 / 11.0, 1.0 / 9.0,  1.0 / 7.0,  1.0 / 5.0,
                                              1.0 / 3.0,  1.0};

// ln x up to BF_EXPONENTIAL_ERROR, x > 0 finite and normal.
BF_FUNCTION double bf_log_near(double x) {
  const double root = 1.4142135623730951;
  const uint64_t bits = bf_bits_of(x);
  double exponent = bf_of_bits((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
  double m = bf_of_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > root) {
    exponent = exponent + 1.0;
    m = m * 0.5;
  }
  const double f = (m - 1.0) / (m + 1.0);
  const double s = f * f;
  double sum = 1.0 / 21.0;
  for (int i = 0; i < 10; ++i) sum = sum * s + bf_inverse_odd_numbers[i];
  return exponent * 0.6931471805599453 + 2.0 * f * sum;
}

BF_FUNCTION double bf_log_up(double x) {
  const double y = bf_log_near(x);
  return y + (y < 0.0 ? -y : y) * (2.0 * BF_EXPONENTIAL_ERROR);
}

BF_FUNCTION double bf_log_down(double x) {
  const double y = bf_log_near(x);
  return y - (y < 0.0 ? -y : y) * (2.0 * BF_EXPONENTIAL_ERROR);
}

// A group's members begin .. end - 1, of which member k is x_{column_k}.
typedef struct bf_softmax_group {
  BF_GLOBAL const int32_t* column;
  int begin;
  int end;
  BF_GLOBAL const double* centre;
  BF_GLOBAL const float* radius;
} bf_softmax_group;

BF_FUNCTION double bf_middle_of(const bf_softmax_group* g, int k) {
  return g->centre[g->column[k]];
}

BF_FUNCTION double bf_reach_of(const bf_softmax_group* g, int k) {
  return (double)g->radius[g->column[k]];
}

// A sum of as many numbers >= 0 misses at most so much, relative to itself.
BF_FUNCTION double bf_missed_of(const bf_softmax_group* g) {
  return (double)(g->end - g->begin + 4) * 0x1p-52;
}

BF_FUNCTION double bf_low_of(const bf_softmax_group* g, int k) {
  return bf_sub_down(bf_middle_of(g, k), bf_reach_of(g, k));
}

BF_FUNCTION double bf_high_of(const bf_softmax_group* g, int k) {
  return bf_add_up(bf_middle_of(g, k), bf_reach_of(g, k));
}

// Sums of powers at the ends of the members: EndPowers.
typedef struct bf_end_powers {
  double top;
  double floor;
  int at_top;
  int at_floor;
  double tops;
  double other_tops;
  double floors;
  double other_floors;
  bool finite;
} bf_end_powers;

BF_FUNCTION bf_end_powers bf_powers_at_ends(const bf_softmax_group* g) {
  bf_end_powers made = {
      -BF_INFINITY_DOUBLE, -BF_INFINITY_DOUBLE, g->begin, g->begin, 0.0, 0.0, 0.0, 0.0, true};
  for (int k = g->begin; k < g->end; ++k) {
    const double low = bf_low_of(g, k);
    const double high = bf_high_of(g, k);
    made.finite = made.finite && low >= -DBL_MAX && high <= DBL_MAX;
    if (high > made.top) {
      made.top = high;
      made.at_top = k;
    }
    if (low > made.floor) {
      made.floor = low;
      made.at_floor = k;
    }
  }
  if (!made.finite) return made;
  for (int k = g->begin; k < g->end; ++k) {
    if (k != made.at_top) made.other_tops += bf_e_up(bf_sub_up(bf_high_of(g, k), made.top));
    if (k != made.at_floor)
      made.other_floors += bf_e_down(bf_sub_down(bf_low_of(g, k), made.floor));
  }
  made.tops = (1.0 + made.other_tops) * (1.0 + bf_missed_of(g));
  made.floors = (1.0 + made.other_floors) * (1.0 - bf_missed_of(g));
  made.other_tops *= 1.0 + bf_missed_of(g);
  made.other_floors *= 1.0 - bf_missed_of(g);
  return made;
}

// The lower end of z_k, which grows with x_k and falls with the others.
BF_FUNCTION double bf_log_softmax_low(const bf_softmax_group* g, const bf_end_powers* powers,
                                      int k) {
  const double t = bf_sub_down(bf_low_of(g, k), powers->top);
  const double above =
      k == powers->at_top
          ? powers->other_tops
          : bf_sub_up(powers->tops, bf_e_down(bf_sub_down(bf_high_of(g, k), powers->top)));
  return bf_sub_down(t, bf_log_up(bf_add_up(bf_e_up(t), above)));
}

BF_FUNCTION double bf_log_softmax_high(const bf_softmax_group* g, const bf_end_powers* powers,
                                       int k) {
  const double u = bf_sub_up(bf_high_of(g, k), powers->floor);
  const double rest =
      k == powers->at_floor
          ? powers->other_floors
          : bf_sub_down(powers->floors, bf_e_up(bf_sub_up(bf_low_of(g, k), powers->floor)));
  const double below = bf_larger_double(rest, 0.0);
  const double power = bf_e_down(u <= 0.0 ? u : -u);
  const double sum =
      u <= 0.0 ? bf_add_down(power, below) : bf_add_down(1.0, bf_mul_down(below, power));
  const double logarithm = bf_log_down(sum > 0.5 ? sum : 1.0);
  const double most = u <= 0.0 ? bf_sub_up(u, logarithm) : -logarithm;
  return sum > 0.5 && most < 0.0 ? most : 0.0;
}

// The boxes of a group's z.
BF_FUNCTION void bf_log_softmax_group(const bf_softmax_group* g, const bf_end_powers* powers,
                                      BF_GLOBAL double* centre, BF_GLOBAL float* radius) {
  const bool one = g->end - g->begin == 1;
  for (int k = g->begin; k < g->end; ++k) {
    double low = powers->finite ? 0.0 : -BF_INFINITY_DOUBLE;
    double high = 0.0;
    if (powers->finite && !one) {
      low = bf_log_softmax_low(g, powers, k);
      high = bf_log_softmax_high(g, powers, k);
    }
    bf_store_box(low, high, centre + k, radius + k);
  }
}

// e^(x_k - largest) of the centre, for bf_plane_below().
BF_FUNCTION double bf_centre_power(const bf_softmax_group* g, int k, double largest) {
  return bf_power_near(bf_larger_double(bf_middle_of(g, k) - largest, -BF_MOST_EXPONENT));
}

// Writes the slopes of a plane below L; returns its value at the centre.
BF_FUNCTION double bf_plane_below(const bf_softmax_group* g, BF_GLOBAL float* slope) {
  double largest = bf_middle_of(g, g->begin);
  double sum = 0.0;
  double lost = 0.0;
  for (int k = g->begin; k < g->end; ++k) largest = bf_larger_double(bf_middle_of(g, k), largest);
  for (int k = g->begin; k < g->end; ++k) sum += bf_centre_power(g, k, largest);
  const double missed = 2.0 * BF_EXPONENTIAL_ERROR + bf_missed_of(g);
  const double missed_p = 2.0 * missed + 0x1p-42;
  for (int k = g->begin; k < g->end; ++k) {
    const double p = bf_centre_power(g, k, largest) / sum;
    slope[k] = bf_nearest_float(p);
    lost += (bf_distance_up(p, (double)slope[k]) + (missed_p * p + 0x1p-980)) * bf_reach_of(g, k);
  }
  const double logarithm = bf_log_down(sum * (1.0 - 2.0 * missed));
  return bf_sub_down(bf_add_down(largest, logarithm), lost * (1.0 + bf_missed_of(g)));
}

// A sum over members of lines above e^y: Chords.
typedef struct bf_chords {
  double at;
  double offsets;
} bf_chords;

BF_FUNCTION float bf_chord_slope(double low, double high, double reach, double at) {
  const double slope = (reach > 0.0 ? (high - low) / (2.0 * reach) : high) / at;
  if (slope < 0.0) return bf_nearest_float(0.0);
  return bf_nearest_float(slope > 1.0 ? 1.0 : slope);
}

BF_FUNCTION void bf_add_chord(double low, double high, double reach_down, double reach_up,
                              float slope, bf_chords* chords) {
  const double s = (double)slope;
  const double right = bf_sub_up(high, bf_mul_down(bf_mul_down(s, chords->at), reach_down));
  const double left = bf_add_up(low, bf_mul_up(bf_mul_up(s, chords->at), reach_up));
  chords->offsets += right > left ? right : left;
}

// ln S - sum slope_j y_j.
BF_FUNCTION double bf_value_of_chords(const bf_chords* chords, double missed) {
  return bf_add_up(bf_log_up(chords->at),
                   bf_sub_up(bf_div_up(chords->offsets * (1.0 + missed), chords->at), 1.0));
}

// The powers of a member's ends, relative to the group's top, from above.
BF_FUNCTION double bf_power_of_low(const bf_softmax_group* g, const bf_end_powers* powers, int k) {
  return bf_e_up(bf_sub_up(bf_sub_up(bf_middle_of(g, k), bf_reach_of(g, k)), powers->top));
}

BF_FUNCTION double bf_power_of_high(const bf_softmax_group* g, const bf_end_powers* powers, int k) {
  return bf_e_up(bf_sub_up(bf_high_of(g, k), powers->top));
}

// The member whose centre is the largest, p, and the powers that turn those of the others to it.
typedef struct bf_turn {
  int p;
  bool turns;
  double of_low;
  double of_high;
} bf_turn;

BF_FUNCTION bf_turn bf_turn_of(const bf_softmax_group* g, const bf_end_powers* powers) {
  bf_turn made = {g->begin, false, 1.0, 1.0};
  for (int k = g->begin; k < g->end; ++k)
    if (bf_middle_of(g, k) > bf_middle_of(g, made.p)) made.p = k;
  const double centre = bf_middle_of(g, made.p);
  const double reach = bf_reach_of(g, made.p);
  const double to_low = bf_sub_up(powers->top, bf_sub_down(centre, reach));
  const double to_high = bf_sub_up(powers->top, bf_add_down(centre, reach));
  made.turns = to_low <= 300.0;
  if (made.turns) {
    made.of_low = bf_e_up(to_low);
    made.of_high = bf_e_up(to_high);
  }
  return made;
}

// Adds the lines of member k to both planes, and writes their slopes. Returns what the turned one
// takes.
BF_FUNCTION double bf_add_chords(const bf_softmax_group* g, const bf_end_powers* powers,
                                 const bf_turn* turn, int k, bf_chords* plain, bf_chords* turned,
                                 BF_GLOBAL float* slope, BF_GLOBAL float* scratch) {
  const double low = bf_power_of_low(g, powers, k);
  const double high = bf_power_of_high(g, powers, k);
  const double reach = bf_reach_of(g, k);
  slope[k] = bf_chord_slope(low, high, reach, plain->at);
  bf_add_chord(low, high, reach, reach, slope[k], plain);
  if (k == turn->p) return 0.0;
  const double other = bf_reach_of(g, turn->p);
  const double far_low = bf_mul_up(low, turn->of_high);
  const double far_high = bf_mul_up(high, turn->of_low);
  scratch[k] = bf_chord_slope(far_low, far_high, reach + other, turned->at);
  bf_add_chord(far_low, far_high, bf_add_down(reach, other), bf_add_up(reach, other), scratch[k],
               turned);
  return (double)scratch[k];
}

// Writes the slopes of a plane above L; returns its value at the centre. scratch: room for as many
// slopes.
BF_FUNCTION double bf_plane_above(const bf_softmax_group* g, const bf_end_powers* powers,
                                  BF_GLOBAL float* slope, BF_GLOBAL float* scratch) {
  const bf_turn turn = bf_turn_of(g, powers);
  bf_chords plain = {0.0, 0.0};
  bf_chords turned = {0.0, 0.0};
  double taken = 0.0;
  for (int k = g->begin; k < g->end; ++k) {
    const double low = bf_power_of_low(g, powers, k);
    const double high = bf_power_of_high(g, powers, k);
    plain.at += 0.5 * (low + high);
    turned.at += k == turn.p ? 1.0 : 0.5 * (low * turn.of_high + high * turn.of_low);
  }
  for (int k = g->begin; k < g->end; ++k) {
    const double more = bf_add_chords(g, powers, &turn, k, &plain, &turned, slope, scratch);
    if (k != turn.p) taken += more;
  }
  turned.offsets += 1.0;
  scratch[turn.p] = bf_nearest_float(1.0 - taken);
  const double missed = bf_missed_of(g);
  const double lost =
      (bf_distance_up(1.0 - taken, (double)scratch[turn.p]) + (taken + 1.0) * missed) *
      bf_reach_of(g, turn.p);
  const double value = bf_add_up(powers->top, bf_value_of_chords(&plain, missed));
  const double other =
      bf_add_up(bf_add_up(bf_middle_of(g, turn.p), bf_value_of_chords(&turned, missed)),
                lost * (1.0 + 0x1p-50));
  if (!turn.turns || !(other < value)) return value;
  for (int k = g->begin; k < g->end; ++k) slope[k] = scratch[k];
  return other;
}

// Writes the offsets of a group of which planes are known, or which is one member.
BF_FUNCTION void bf_put_log_softmax(const bf_softmax_group* g, bool known, double least,
                                    double most, int n, const bf_plane_errors* errors,
                                    BF_GLOBAL const double* centre_out,
                                    BF_GLOBAL const float* radius_out, double shared,
                                    BF_GLOBAL float* offsets) {
  const bool one = g->end - g->begin == 1;
  for (int k = g->begin; k < g->end; ++k) {
    const double x = bf_middle_of(g, k);
    const double z = centre_out[k];
    double upper = BF_INFINITY_DOUBLE;
    double lower = -BF_INFINITY_DOUBLE;
    if (known) {
      upper = one ? 0.0 : bf_sub_up(bf_sub_up(x, least), z);
      lower = one ? 0.0 : bf_sub_down(bf_sub_down(x, most), z);
    }
    const double spread = bf_reach_of(g, k) + shared + (double)radius_out[k];
    bf_put_plane_offsets(upper, lower, errors, spread * (1.0 + bf_missed_of(g)), n, offsets + k);
  }
}

// The lines of a group's members, and their offsets with what they pay.
BF_FUNCTION void bf_log_softmax_lines(const bf_softmax_group* g, const bf_end_powers* powers, int n,
                                      const bf_plane_errors* errors,
                                      BF_GLOBAL const double* centre_out,
                                      BF_GLOBAL const float* radius_out, BF_GLOBAL float* table) {
  BF_GLOBAL float* const above = table;
  BF_GLOBAL float* const below = table + (ptrdiff_t)n;
  BF_GLOBAL float* const offsets = table + 2 * (ptrdiff_t)n;
  double least = 0.0;
  double most = 0.0;
  if (g->end - g->begin == 1) {
    above[g->begin] = 1.0f;
    below[g->begin] = 1.0f;
  } else if (powers->finite) {
    least = bf_plane_below(g, below);
    most = bf_plane_above(g, powers, above, offsets);
  }
  const bool known = powers->finite && least >= -DBL_MAX && most <= DBL_MAX;
  double shared = 0.0;
  for (int k = g->begin; k < g->end; ++k) {
    if (!known) {
      above[k] = 0.0f;
      below[k] = 0.0f;
    }
    shared += (double)bf_larger_float(above[k], below[k]) * bf_reach_of(g, k);
  }
  bf_put_log_softmax(g, known, least, most, n, errors, centre_out, radius_out, shared, offsets);
}

// table: the LogSoftmaxRows, each of n floats, or null for boxes alone, and slack is not touched.
BF_FUNCTION void bf_relax_log_softmax(int groups, int n, BF_GLOBAL const int32_t* row_start,
                                      BF_GLOBAL const int32_t* column,
                                      BF_GLOBAL const double* centre_in,
                                      BF_GLOBAL const float* radius_in,
                                      const bf_plane_errors* errors, BF_GLOBAL double* slack,
                                      BF_GLOBAL float* table, BF_GLOBAL double* centre_out,
                                      BF_GLOBAL float* radius_out) {
  BF_EACH (i, groups) {
    const bf_softmax_group g = {column, (int)row_start[i], (int)row_start[i + 1], centre_in,
                                radius_in};
    const bf_end_powers powers = bf_powers_at_ends(&g);
    bf_log_softmax_group(&g, &powers, centre_out, radius_out);
    if (table != NULL) bf_log_softmax_lines(&g, &powers, n, errors, centre_out, radius_out, table);
  }
  BF_ONCE if (table != NULL) {
    double reach = 0.0;
    for (int32_t k = row_start[0]; k < row_start[groups]; ++k)
      reach += (double)radius_in[column[k]];
    bf_put_plane_slack(n, reach, slack);
  }
}

// Row r of a group: A_k less the slopes above times the sum of the group's A > 0 and those below
// times that of A < 0.
BF_FUNCTION void bf_log_softmax_row(int rows, int n, int begin, int end,
                                    BF_GLOBAL const int32_t* column, BF_GLOBAL const float* table,
                                    BF_GLOBAL const float* from, int r, BF_GLOBAL float* to) {
  double positive = 0.0;
  double negative = 0.0;
  for (ptrdiff_t k = begin; k < end; ++k) {
    const float a = from[k * rows + r];
    positive += (double)(a < 0.0f ? 0.0f : a);
    negative += (double)(a < 0.0f ? a : 0.0f);
  }
  for (ptrdiff_t k = begin; k < end; ++k) {
    const double above = (double)table[k];
    const double below = (double)table[n + k];
    const double left = (double)from[k * rows + r] - (positive * above + negative * below);
    to[(ptrdiff_t)column[k] * rows + r] += (float)left;
  }
}

// Adds to the rows' sums, and makes their coefficients over x or, with `add`, adds to them.
BF_FUNCTION void bf_log_softmax_backward(int rows, int groups, int n,
                                         BF_GLOBAL const int32_t* row_start,
                                         BF_GLOBAL const int32_t* column,
                                         BF_GLOBAL const float* table, int in,
                                         BF_GLOBAL const float* from, bool add, BF_GLOBAL float* to,
                                         BF_GLOBAL float* sums) {
  bf_begin_rows(add, rows, in, to);
  for (int i = 0; i < groups; ++i)
    BF_EACH (r, rows)
      bf_log_softmax_row(rows, n, (int)row_start[i], (int)row_start[i + 1], column, table, from, r,
                         to);
  bf_product_rows(rows, n, table + 2 * (ptrdiff_t)n, from, sums);
}

// The values of z at the rows' points, along the planes that the rows read.
BF_FUNCTION void bf_log_softmax_values(int rows, int groups, int n,
                                       BF_GLOBAL const int32_t* row_start,
                                       BF_GLOBAL const int32_t* column,
                                       BF_GLOBAL const float* table, BF_GLOBAL const float* from,
                                       BF_GLOBAL const float* coefficients,
                                       BF_GLOBAL float* values) {
  const ptrdiff_t row = n;
  for (int i = 0; i < groups; ++i)
    BF_EACH (r, rows) {
      float above = 0.0f;
      float below = 0.0f;
      for (ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
        const float x = from[(ptrdiff_t)column[k] * rows + r];
        above += table[k] * x;
        below += table[row + k] * x;
      }
      for (ptrdiff_t k = row_start[i]; k < row_start[i + 1]; ++k) {
        const ptrdiff_t at = k * rows + r;
        const float x = from[(ptrdiff_t)column[k] * rows + r];
        values[at] = coefficients[at] < 0.0f ? x - below + table[2 * row + k]
                                             : x - above + table[3 * row + k];
      }
    }
}
