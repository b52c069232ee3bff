// Calls that may not take as long as their method would, and calls that are ended within a box.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

constexpr std::size_t kBoxes = 3, kInputs = 5;
const std::vector<float> kLower(kBoxes*kInputs, 0.1F), kUpper(kBoxes*kInputs, 0.3F);

Verifier make(const Options& options, const Specification& specification = {}) {
  const auto model = Model::load(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx");
  if (!model) throw std::runtime_error(model.error().text());
  auto verifier = Verifier::make(*model, options, specification);
  if (!verifier) throw std::runtime_error(verifier.error().text());
  return *verifier;
}

Bounds bounds(const Options& options, const Call& call = {}) {
  auto made = make(options).bounds(kLower, kUpper, call);
  if (!made) throw std::runtime_error(made.error().text());
  return *made;
}

void expect_same(const Bounds& one, const Bounds& other) {
  EXPECT_EQ(one.lower, other.lower);
  EXPECT_EQ(one.upper, other.upper);
  EXPECT_EQ(one.methods, other.methods);
}

TEST(LibraryTimeout, without_one_all_boxes_have_the_verifiers_method) {
  for (const Method method : {Method::kIbp, Method::kCrown, Method::kForward})
    EXPECT_EQ(bounds({.method = method}).methods, std::vector<Method>(kBoxes, method));
}

TEST(LibraryTimeout, what_is_predicted_to_take_longer_is_left_out) {
  for (const int threads : {1, 3}) {
    const Bounds cheapest = bounds({.method = Method::kIbp});
    for (const Method method :
         {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown, Method::kForward})
      expect_same(bounds({.method = method, .threads = threads}, {.timeout_seconds = 1e-9}),
                  cheapest);
  }
}

TEST(LibraryTimeout, balls_are_bounded_by_rows) {
  const Options options = {.method = Method::kCrown, .norm = Norm::kL2};
  expect_same(bounds(options, {.timeout_seconds = 1e-9}),
              bounds({.method = Method::kCrownIbp, .norm = Norm::kL2}));
}

TEST(LibraryTimeout, where_there_is_time_the_bounds_are_the_verifiers) {
  for (const int batch : {1, 8})
    for (const Method method : {Method::kIbp, Method::kCrown, Method::kAlphaCrown}) {
      const Options options = {.method = method, .batch = batch};
      expect_same(bounds(options, {.timeout_seconds = 1e6}), bounds(options));
    }
}

TEST(LibraryTimeout, rows_of_a_specification_are_bounded_so_too) {
  const Specification rows = {{1, -1, 0, 0, 0}, {0.5}};
  const auto made = make({}, rows).spec_bounds(kLower, kUpper, {.timeout_seconds = 1e-9});
  const auto ibp = make({.method = Method::kIbp}, rows).spec_bounds(kLower, kUpper);
  ASSERT_TRUE(made.ok() && ibp.ok());
  expect_same(*made, *ibp);
}

// The verifier's method begins, and is stopped in its first box: no bound of it is left.
TEST(LibraryTimeout, what_does_not_end_in_time_is_stopped) {
  constexpr double kSeconds = 0.5;
  Call call;
  call.timeout_seconds = kSeconds;
  bool begun = false;
  call.watch = [&](const Watched& at) {
    if (at.method != Method::kCrown || begun) return;
    begun = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  };
  expect_same(bounds({}, call), bounds({.method = Method::kIbp}));
}

TEST(LibraryTimeout, is_an_option) {
  const auto made = make({}).bounds(kLower, kUpper, {.timeout_seconds = -1});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "BF3501");
}

TEST(LibraryTimeout, a_stop_ends_a_call_within_its_only_box) {
  std::stop_source source;
  Call call;
  call.stop = source.get_token();
  std::vector<double> shares;
  call.watch = [&](const Watched& at) {
    shares.push_back(at.share);
    source.request_stop();
  };
  const std::span<const float> lower = std::span(kLower).first(kInputs);
  const std::span<const float> upper = std::span(kUpper).first(kInputs);
  const auto made = make({}).bounds(lower, upper, call);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "BF3506");
  EXPECT_EQ(shares, std::vector<double>{0});
}

TEST(LibraryTimeout, what_watch_throws_ends_the_call_within_its_only_box) {
  Call call;
  call.watch = [](const Watched& at) {
    if (at.share < 1) throw std::runtime_error("enough");
  };
  const std::span<const float> lower = std::span(kLower).first(kInputs);
  const std::span<const float> upper = std::span(kUpper).first(kInputs);
  const auto made = make({}).bounds(lower, upper, call);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "BF3505");
}

TEST(LibraryTimeout, predictions_are_longer_for_tighter_methods) {
  const double ibp = make({.method = Method::kIbp}).predicted_seconds();
  const double crown = make({}).predicted_seconds();
  EXPECT_GT(ibp, 0);
  EXPECT_GT(crown, 3 * ibp);
  EXPECT_GT(make({.method = Method::kAlphaCrown}).predicted_seconds(), crown);
}

}  // namespace
}  // namespace bf_aot::api
