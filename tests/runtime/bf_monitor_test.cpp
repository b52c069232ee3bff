// The switch beside a verifier against a model of its contract, and its boxes against rationals.
#include "runtime/monitor/bf_monitor.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

constexpr bf_monitor_settings kAtOnce = {4, 1, 4, 0, 0};

bf_monitor begun(const bf_monitor_settings& settings) {
  bf_monitor monitor;
  EXPECT_EQ(bf_monitor_init(&monitor, &settings), BF_OK);
  return monitor;
}

// The contract of bf_monitor_step(), of all answers so far.
class Model {
 public:
  explicit Model(const bf_monitor_settings& settings) : settings_(settings) {}

  bf_monitor_mode step(bf_monitor_answer answer) {
    answers_.push_back(answer);
    int proven = 0;
    for (std::size_t i = 0; i < settings_.window && i < answers_.size(); ++i)
      proven += answers_[answers_.size() - 1 - i] == BF_MONITOR_PROVEN;
    const bool falls = answer == BF_MONITOR_REFUSED || answer == BF_MONITOR_LATE || requested ||
                       settings_.window - proven >= settings_.falls_at;
    if (learned_ && falls) {
      learned_ = false, periods_ = 0;
      latched = latched || (settings_.most_falls > 0 && ++falls_ >= settings_.most_falls);
    } else if (!learned_ && !falls && !latched && answer == BF_MONITOR_PROVEN &&
               proven >= settings_.returns_at && periods_ >= settings_.least_steps) {
      learned_ = true, periods_ = 0;
    }
    ++periods_;
    return learned_ ? BF_MONITOR_LEARNED : BF_MONITOR_FALL_BACK;
  }

  void release() {
    requested = latched = false;
    falls_ = 0;
  }

  bool requested = false, latched = false;

 private:
  bf_monitor_settings settings_;
  std::vector<bf_monitor_answer> answers_;
  bool learned_ = false;
  int falls_ = 0, periods_ = 0;
};

TEST(Monitor, DoesWhatItsContractSays) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  int learned = 0, latched = 0;
  for (int run = 0; run < 2000; ++run) {
    bf_monitor_settings settings;
    settings.window = static_cast<std::uint8_t>(1 + below(run % 2 == 0 ? 4 : 32));
    settings.falls_at = static_cast<std::uint8_t>(1 + below(settings.window));
    settings.returns_at = static_cast<std::uint8_t>(settings.window - settings.falls_at + 1 +
                                                    below(settings.falls_at));
    settings.least_steps = static_cast<std::uint16_t>(below(4));
    settings.most_falls = static_cast<std::uint16_t>(below(4));
    bf_monitor monitor = begun(settings);
    Model model(settings);
    const unsigned doubt = 2 + below(20);
    for (int step = 0; step < 200; ++step) {
      auto answer = BF_MONITOR_PROVEN;
      if (below(doubt) == 0) answer = static_cast<bf_monitor_answer>(1 + below(3));
      if (below(80) == 0) {
        model.requested = true;
        bf_monitor_request(&monitor);
        EXPECT_EQ(bf_monitor_controls(&monitor), BF_MONITOR_FALL_BACK);
      } else if (below(20) == 0) {
        model.release();
        bf_monitor_release(&monitor);
      }
      const bf_monitor_mode mode = bf_monitor_step(&monitor, answer);
      ASSERT_EQ(mode, model.step(answer)) << "run " << run << ", step " << step;
      ASSERT_EQ(monitor.latched != 0, model.latched);
      learned += mode == BF_MONITOR_LEARNED;
      latched += model.latched;
    }
  }
  EXPECT_GT(learned, 1000);
  EXPECT_GT(latched, 1000);
}

TEST(Monitor, BeginsWithTheFallBack) {
  bf_monitor monitor = begun(kAtOnce);
  EXPECT_EQ(bf_monitor_controls(&monitor), BF_MONITOR_FALL_BACK);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_PROVEN), BF_MONITOR_FALL_BACK);
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_PROVEN), BF_MONITOR_LEARNED);
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_UNKNOWN), BF_MONITOR_FALL_BACK);
}

TEST(Monitor, FallsBackWhenAnAnswerIsLate) {
  bf_monitor monitor = begun({1, 1, 1, 0, 0});
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_PROVEN), BF_MONITOR_LEARNED);
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_LATE), BF_MONITOR_FALL_BACK);
  EXPECT_EQ(monitor.counts[BF_MONITOR_LATE], 1u);
  EXPECT_EQ(bf_monitor_step(nullptr, BF_MONITOR_PROVEN), BF_MONITOR_FALL_BACK);
  EXPECT_EQ(bf_monitor_controls(nullptr), BF_MONITOR_FALL_BACK);
}

TEST(Monitor, KeepsTheLargestCounts) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  bf_monitor monitor = begun({1, 1, 1, 0, 5});
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_PROVEN), BF_MONITOR_LEARNED);
  monitor.counts[BF_MONITOR_UNKNOWN] = monitor.falls = kMost;
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_UNKNOWN), BF_MONITOR_FALL_BACK);
  EXPECT_EQ(monitor.counts[BF_MONITOR_UNKNOWN], kMost);
  EXPECT_EQ(monitor.falls, kMost);
  EXPECT_NE(monitor.latched, 0);
  monitor.steps_in_mode = kMost;
  EXPECT_EQ(bf_monitor_step(&monitor, BF_MONITOR_UNKNOWN), BF_MONITOR_FALL_BACK);
  EXPECT_EQ(monitor.steps_in_mode, kMost);
}

TEST(Monitor, RefusesSettingsThatContradict) {
  bf_monitor monitor = begun(kAtOnce);
  const bf_monitor_settings wrong[] = {{0, 1, 1, 0, 0}, {33, 1, 33, 0, 0}, {4, 0, 4, 0, 0},
                                       {4, 5, 4, 0, 0}, {4, 1, 5, 0, 0},   {4, 2, 2, 0, 0}};
  for (const bf_monitor_settings& settings : wrong)
    EXPECT_EQ(bf_monitor_init(&monitor, &settings), BF_BAD_COUNT);
  EXPECT_EQ(monitor.settings.window, kAtOnce.window);
  EXPECT_EQ(bf_monitor_init(nullptr, &kAtOnce), BF_NULL_ARGUMENT);
  EXPECT_EQ(bf_monitor_init(&monitor, nullptr), BF_NULL_ARGUMENT);
}

TEST(Monitor, MeasuresTimeOverTheCountersEnd) {
  const std::uint32_t begin = 0xfffffff0u;
  EXPECT_EQ(bf_monitor_in_time(BF_MONITOR_PROVEN, begin, 0x10u, 32), BF_MONITOR_PROVEN);
  EXPECT_EQ(bf_monitor_in_time(BF_MONITOR_PROVEN, begin, 0x11u, 32), BF_MONITOR_LATE);
}

// Floats of all magnitudes, and those at the ends of the range.
float any_float(std::mt19937& random) {
  for (;;) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(number)) return number;
  }
}

float near_one(std::mt19937& random) {
  return std::ldexp(static_cast<float>(static_cast<int>(random() % 20001) - 10000), -13);
}

// A box against rationals. value: exact. spread: what a conversion in float32 may be away.
void expect_inside(bf_status status, float lower, float upper, const mpq_class& value, float error,
                   float scale, float offset, const mpq_class& spread, int& boxes) {
  const mpq_class product = mpq_class(scale) * value;
  const mpq_class radius = abs(mpq_class(scale)) * error;
  const mpq_class low = product + offset - radius, high = product + offset + radius;
  const mpq_class most = std::numeric_limits<float>::max();
  if (status == BF_INFINITE_BOX) {
    const mpq_class nearly = most * mpq_class(4503599627370493, 4503599627370496) - spread;
    ASSERT_TRUE(high > nearly || low < -nearly || abs(product) > nearly);
    return;
  }
  ASSERT_EQ(status, BF_OK);
  ASSERT_LE(mpq_class(lower), low);
  ASSERT_GE(mpq_class(upper), high);
  // No wider than two floats and the margin that is stated.
  const mpq_class wide = std::max(radius, spread);
  const mpq_class margin =
      (abs(product) + wide + abs(mpq_class(offset))) / mpq_class(mpz_class(1) << 49);
  ASSERT_LE(mpq_class(std::nextafter(upper, -INFINITY)), product + offset + wide + margin);
  ASSERT_GE(mpq_class(std::nextafter(lower, INFINITY)), product + offset - wide - margin);
  ++boxes;
}

mpq_class spread_of(const mpq_class& value, float scale, float offset) {
  const mpq_class units = 3 * abs(mpq_class(scale) * value) + abs(mpq_class(offset));
  return units * mpq_class(8193, 8192) / (1 << 24) + mpq_class(0x1p-149);
}

// Expects that a box holds what controllers in float32 make of a reading.
void expect_conversions(float value, float scale, float offset, float lower, float upper) {
  const volatile float product = scale * value;
  const volatile float sum = product + offset;
  for (const float made : {static_cast<float>(sum), std::fma(scale, value, offset)}) {
    ASSERT_LE(lower, made);
    ASSERT_GE(upper, made);
  }
}

void expect_box(float value, float error, float scale, float offset, int& boxes) {
  float lower = 0, upper = 0;
  const bf_status status = bf_monitor_box(&value, &error, &scale, &offset, 1, &lower, &upper);
  expect_inside(status, lower, upper, value, error, scale, offset, spread_of(value, scale, offset),
                boxes);
  if (status == BF_OK) expect_conversions(value, scale, offset, lower, upper);
}

void expect_plain_box(float value, float error, int& boxes) {
  float lower = 0, upper = 0;
  const bf_status status = bf_monitor_box(&value, &error, nullptr, nullptr, 1, &lower, &upper);
  expect_inside(status, lower, upper, value, error, 1, 0, 0, boxes);
}

void expect_box_of_code(std::int32_t code, float error, float scale, float offset, int& boxes) {
  float lower = 0, upper = 0;
  const bf_status status =
      bf_monitor_box_of_codes(&code, &error, &scale, &offset, 1, &lower, &upper);
  expect_inside(status, lower, upper, code, error, scale, offset, spread_of(code, scale, offset),
                boxes);
  if (status == BF_OK) expect_conversions(static_cast<float>(code), scale, offset, lower, upper);
}

TEST(Monitor, RoundsBoxesOutward) {
  std::mt19937 random(11);
  int boxes = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto draw = [&] { return i % 2 == 0 ? any_float(random) : near_one(random); };
    const float value = draw(), error = i % 3 == 0 ? 0 : std::fabs(draw());
    const float scale = draw(), offset = draw();
    expect_box(value, error, scale, offset, boxes);
    expect_plain_box(value, error, boxes);
    const auto code = static_cast<std::int32_t>(random());
    expect_box_of_code(code >> (random() % 32), error, scale, offset, boxes);
    if (HasFatalFailure()) FAIL() << value << " " << error << " " << scale << " " << offset;
  }
  EXPECT_GT(boxes, 150000);
}

TEST(Monitor, TakesOneAndZeroWhereNothingIsGiven) {
  const float value = 1.5f, error = 0.25f;
  float lower = 0, upper = 0;
  EXPECT_EQ(bf_monitor_box(&value, &error, nullptr, nullptr, 1, &lower, &upper), BF_OK);
  EXPECT_LE(lower, 1.25f);
  EXPECT_GT(lower, 1.2499f);
  EXPECT_GE(upper, 1.75f);
}

TEST(Monitor, RefusesReadingsThatAreNoNumbers) {
  const float one = 1, infinite = INFINITY, most = std::numeric_limits<float>::max();
  const float none = std::numeric_limits<float>::quiet_NaN(), negative = -1;
  float lower = 0, upper = 0;
  const auto box = [&](const float& value, const float& error, const float* scale) {
    return bf_monitor_box(&value, &error, scale, nullptr, 1, &lower, &upper);
  };
  EXPECT_EQ(box(none, one, nullptr), BF_NAN_INPUT);
  EXPECT_EQ(box(one, none, nullptr), BF_NAN_INPUT);
  EXPECT_EQ(box(infinite, one, nullptr), BF_INFINITE_BOX);
  EXPECT_EQ(box(one, negative, nullptr), BF_EMPTY_BOX);
  EXPECT_EQ(box(most, most, nullptr), BF_INFINITE_BOX);
  EXPECT_EQ(box(most, one, &most), BF_INFINITE_BOX);
  EXPECT_EQ(bf_monitor_box(nullptr, &one, nullptr, nullptr, 1, &lower, &upper), BF_NULL_ARGUMENT);
  const std::int32_t code = 1 << 20;
  const auto box_of_code = [&](const float* error, const float* scale) {
    return bf_monitor_box_of_codes(&code, error, scale, nullptr, 1, &lower, &upper);
  };
  EXPECT_EQ(box_of_code(&negative, nullptr), BF_EMPTY_BOX);
  EXPECT_EQ(box_of_code(&one, &none), BF_NAN_INPUT);
  EXPECT_EQ(box_of_code(&one, &most), BF_INFINITE_BOX);
  EXPECT_EQ(box_of_code(nullptr, nullptr), BF_NULL_ARGUMENT);
}

// The code rounds up to a float whose product with the scale overflows in a controller, though the
// exact product is below the largest float.
TEST(Monitor, RefusesCodesWhoseProductOverflowsInFloats) {
  const std::int32_t code = 1175643981;
  const float none = 0, scale = 0x1.d39ef8p+97f, offset = -0x1p127f;
  ASSERT_TRUE(std::isinf(scale * static_cast<float>(code)));
  ASSERT_LT(static_cast<double>(scale) * code, std::numeric_limits<float>::max());
  float lower = 0, upper = 0;
  EXPECT_EQ(bf_monitor_box_of_codes(&code, &none, &scale, &offset, 1, &lower, &upper),
            BF_INFINITE_BOX);
}

}  // namespace
