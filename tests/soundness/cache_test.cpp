// Contract of verifiers with a cache: every status, what a blob may be, what the counters say.

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <limits>
#include <memory>

#include "runtime/bf.h"
#include "tests/soundness/cached.h"

namespace bf_aot::soundness {
namespace {

constexpr float kUntouched = 7777.0F;

// Two networks of one shape and specification, by several methods and sets of what is kept.
class Cache : public ::testing::Test {
 protected:
  enum Which : std::size_t {
    kBoth,
    kOther,
    kIbpMethod,
    kSameBox,
    kAnchor,
    kGeneric,
    kNone,
    kAlpha
  };

  static void SetUpTestSuite() {
    batch_ = std::make_unique<Batch>();
    add({3, 40, 17, 21, 2}, 3, Method::kCrown, Lowering::kVector, {true, true, false});
    add({3, 40, 17, 21, 2}, 4, Method::kCrown, Lowering::kVector, {true, true, false});
    add({3, 40, 17, 21, 2}, 3, Method::kIbp, Lowering::kVector, {true, true, false});
    add({3, 40, 17, 21, 2}, 3, Method::kCrown, Lowering::kVector, {true, false, false});
    add({3, 40, 17, 21, 2}, 3, Method::kCrown, Lowering::kVector, {false, true, false});
    add({3, 40, 17, 21, 2}, 3, Method::kCrown, Lowering::kGeneric, {true, true, false});
    add({3, 40, 17, 21, 2}, 3, Method::kCrown, Lowering::kVector, {});
    add({3, 40, 17, 21, 2}, 3, Method::kAlphaCrown, Lowering::kVector, {false, false, true});
    batch_->build({"g++", {"-O2"}});
  }
  static void TearDownTestSuite() { batch_.reset(); }

  static void add(const std::vector<int>& widths, std::uint64_t seed, Method method,
                  Lowering lowering, Reuse reuse) {
    const LinearSpec spec{{{1, -1}, {2, 3}, {-1, 0}}, {}, {}, {}};
    PlannerConfig config = planner_config(method, lowering, "generic");
    config.reuse = reuse;
    batch_->add(graph_with_spec(plain_net(widths, seed), spec), true, config);
  }

  static CachedVerifier open(std::size_t which) {
    CachedVerifier verifier(*batch_, which);
    EXPECT_EQ(verifier.init(), BF_OK);
    return verifier;
  }

  static FloatBox box(float centre, float radius) {
    FloatBox made;
    for (int i = 0; i < 3; ++i) {
      made.lower.push_back(centre - radius);
      made.upper.push_back(centre + radius);
    }
    return made;
  }

  static void expect_same(const Outcome& a, const Outcome& b) {
    ASSERT_EQ(a.lower.size(), b.lower.size());
    EXPECT_EQ(std::memcmp(a.lower.data(), b.lower.data(), 4 * a.lower.size()), 0);
    EXPECT_EQ(std::memcmp(a.upper.data(), b.upper.data(), 4 * a.upper.size()), 0);
  }

  static std::unique_ptr<Batch> batch_;
};

std::unique_ptr<Batch> Cache::batch_;

TEST_F(Cache, NothingIsThereUnlessAskedFor) {
  EXPECT_EQ(batch_->plan(kNone).context.bytes, 0);
  EXPECT_TRUE(batch_->plan(kNone).cache.empty());
  for (const char* suffix : {"_bounds_cached", "_spec_bounds_cached", "_context_init",
                             "_cache_counters", "_context_save", "_context_load"}) {
    EXPECT_FALSE(batch_->has_symbol(kNone, suffix)) << suffix;
    EXPECT_TRUE(batch_->has_symbol(kBoth, suffix)) << suffix;
  }
  EXPECT_TRUE(batch_->has_symbol(kSameBox, "_spec_bounds_cached"));
  EXPECT_FALSE(batch_->has_symbol(kSameBox, "_context_save")) << "nothing is persistent";
}

TEST_F(Cache, ContextsAreChecked) {
  for (const std::size_t which : {kBoth, kSameBox, kAnchor}) {
    CachedVerifier verifier(*batch_, which);
    const std::size_t bytes = verifier.context_bytes();
    const auto align = static_cast<std::size_t>(verifier.plan().config.target.align);
    const auto init = reinterpret_cast<Init>(batch_->symbol(which, "_context_init"));
    EXPECT_EQ(init(nullptr, bytes), BF_NULL_ARGUMENT);
    for (const std::size_t less : {std::size_t{0}, std::size_t{1}, bytes - 1})
      EXPECT_EQ(init(verifier.context(), less), BF_CONTEXT_TOO_SMALL);
    for (std::size_t shift = 1; shift < align; ++shift)
      EXPECT_EQ(init(static_cast<unsigned char*>(verifier.context()) + shift, bytes),
                BF_CONTEXT_MISALIGNED);
    EXPECT_EQ(verifier.bounds(box(0, 1)).status, BF_CONTEXT_FOREIGN) << "not initialised";
    EXPECT_EQ(verifier.init(), BF_OK);
    EXPECT_EQ(verifier.bounds(box(0, 1)).status, BF_OK);
  }
}

TEST_F(Cache, ContextsOfOtherVerifiersAreForeign) {
  CachedVerifier verifier = open(kBoth);
  ASSERT_EQ(verifier.bounds(box(0, 1)).status, BF_OK);
  for (const std::size_t other : {kOther, kIbpMethod, kSameBox, kAnchor, kGeneric}) {
    std::vector<unsigned char> room(1 << 20);
    CachedVerifier foreign(*batch_, other);
    std::memcpy(foreign.context(), verifier.context(),
                std::min(foreign.context_bytes(), verifier.context_bytes()));
    const Outcome outcome = foreign.bounds(box(0, 1));
    EXPECT_EQ(outcome.status, BF_CONTEXT_FOREIGN) << other;
    for (const float x : outcome.lower) EXPECT_EQ(x, 12345.0F);
  }
}

// Each bad argument of a cached call has its status, writes nothing, and leaves what is kept.
TEST_F(Cache, BadCallsChangeNothing) {
  for (const char* suffix : {"_bounds_cached", "_spec_bounds_cached"}) {
    CachedVerifier verifier = open(kBoth);
    const auto function = reinterpret_cast<Cached>(batch_->symbol(kBoth, suffix));
    const auto bytes = static_cast<std::size_t>(verifier.plan().arena_bytes());
    Arena arena(bytes, 64);
    FloatBox good = box(0, 1);
    float low[3], high[3];
    ASSERT_EQ(function(verifier.context(), verifier.context_bytes(), good.lower.data(),
                       good.upper.data(), low, high, arena.data(), bytes),
              BF_OK);
    const CachedVerifier before = verifier.copy();
    const auto expect = [&](bf_status expected, void* context, std::size_t room, const float* lower,
                            const float* upper, float* out, void* workspace, std::size_t size) {
      std::fill_n(low, 3, kUntouched);
      EXPECT_EQ(function(context, room, lower, upper, out, high, workspace, size), expected);
      EXPECT_EQ(low[0], kUntouched);
    };
    void* const context = verifier.context();
    const std::size_t room = verifier.context_bytes();
    float* const lower = good.lower.data();
    float* const upper = good.upper.data();
    expect(BF_NULL_ARGUMENT, nullptr, room, lower, upper, low, arena.data(), bytes);
    expect(BF_NULL_ARGUMENT, context, room, nullptr, upper, low, arena.data(), bytes);
    expect(BF_NULL_ARGUMENT, context, room, lower, upper, nullptr, arena.data(), bytes);
    expect(BF_NULL_ARGUMENT, context, room, lower, upper, low, nullptr, bytes);
    expect(BF_CONTEXT_TOO_SMALL, context, room - 1, lower, upper, low, arena.data(), bytes);
    expect(BF_WORKSPACE_TOO_SMALL, context, room, lower, upper, low, arena.data(), bytes - 1);
    good.lower[1] = 2;
    expect(BF_EMPTY_BOX, context, room, lower, upper, low, arena.data(), bytes);
    good.lower[1] = std::numeric_limits<float>::quiet_NaN();
    expect(BF_NAN_INPUT, context, room, lower, upper, low, arena.data(), bytes);
    good.lower[1] = -std::numeric_limits<float>::infinity();
    expect(BF_INFINITE_BOX, context, room, lower, upper, low, arena.data(), bytes);
    std::fesetround(FE_UPWARD);
    good.lower[1] = 0;
    const bf_status rounding =
        function(context, room, lower, upper, low, high, arena.data(), bytes);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(rounding, BF_FLOAT_ENVIRONMENT);
    EXPECT_EQ(std::memcmp(context, CachedVerifier(before).context(), room), 0);
  }
}

TEST_F(Cache, CountersAreChecked) {
  CachedVerifier verifier = open(kBoth);
  const auto counters = reinterpret_cast<Counters>(batch_->symbol(kBoth, "_cache_counters"));
  bf_cache_counters counted;
  EXPECT_EQ(counters(verifier.context(), verifier.context_bytes(), nullptr), BF_NULL_ARGUMENT);
  EXPECT_EQ(counters(nullptr, verifier.context_bytes(), &counted), BF_NULL_ARGUMENT);
  EXPECT_EQ(counters(verifier.context(), 3, &counted), BF_CONTEXT_TOO_SMALL);
  std::memset(verifier.context(), 0, verifier.context_bytes());
  EXPECT_EQ(counters(verifier.context(), verifier.context_bytes(), &counted), BF_CONTEXT_FOREIGN);
}

TEST_F(Cache, CountersTellWhatWasUsed) {
  CachedVerifier verifier = open(kBoth);
  const FloatBox wide = box(0, 1), narrow = box(0.125F, 0.25F);
  (void)verifier.bounds(wide);         // miss; the anchor
  (void)verifier.spec_bounds(wide);    // hit
  (void)verifier.spec_bounds(wide);    // all of it
  (void)verifier.spec_bounds(narrow);  // miss, inside
  (void)verifier.bounds(narrow);       // hit
  (void)verifier.bounds(box(0, 2));    // miss, outside
  const bf_cache_counters counted = verifier.counters();
  EXPECT_EQ(counted.calls, 6U);
  EXPECT_EQ(counted.hits, 3U);
  EXPECT_EQ(counted.misses, 3U);
  EXPECT_EQ(counted.full_hits, 1U);
  EXPECT_EQ(counted.anchor_hits, 4U);
  EXPECT_EQ(counted.anchor_misses, 2U);
  EXPECT_EQ(counted.loads, 0U);
}

// The same box again: the forward pass is not there any more to be made. Its workspace is poisoned,
// so bits tell.
TEST_F(Cache, TheSameBoxGivesTheSameBits) {
  for (const std::size_t which : {kBoth, kIbpMethod, kSameBox, kGeneric}) {
    CachedVerifier verifier = open(which);
    for (const float radius : {1.0F, 0.5F, 2.0F}) {
      const FloatBox one = box(0.25F, radius);
      const Outcome first = verifier.bounds(one);
      const Outcome rows = verifier.spec_bounds(one);
      expect_same(verifier.bounds(one), first);
      expect_same(verifier.spec_bounds(one), rows);
      if (which != kSameBox) continue;
      expect_same(first, verifier.plain(false, one));
      expect_same(rows, verifier.plain(true, one));
    }
  }
}

// A bit less in one coordinate is another box.
TEST_F(Cache, NoHitForABoxThatDiffersByOneBit) {
  CachedVerifier verifier = open(kSameBox);
  FloatBox one = box(0, 1);
  one.lower[2] = 0.0F;
  (void)verifier.bounds(one);
  for (int i = 0; i < 3; ++i) {
    FloatBox other = one;
    float& end = i < 2 ? other.upper[static_cast<std::size_t>(i)] : other.lower[2];
    end = i < 2 ? std::nextafter(end, 0.0F) : -0.0F;
    expect_same(verifier.bounds(other), verifier.plain(false, other));
  }
  EXPECT_EQ(verifier.counters().hits, 0U);
}

TEST_F(Cache, BoundsAreNeverLooserThanTheAnchors) {
  CachedVerifier verifier = open(kAnchor);
  const Outcome around = verifier.bounds(box(0, 1));
  expect_same(around, verifier.plain(false, box(0, 1)));
  for (const float radius : {0.9F, 0.5F, 0.1F}) {
    const Outcome inside = verifier.bounds(box(0.05F, radius));
    for (std::size_t j = 0; j < inside.lower.size(); ++j) {
      EXPECT_GE(inside.lower[j], around.lower[j]);
      EXPECT_LE(inside.upper[j], around.upper[j]);
    }
  }
  EXPECT_EQ(verifier.counters().anchor_hits, 3U);
  EXPECT_GT(verifier.counters().intersections, 0U);
}

// A call begins where the one before ended, so that its bounds get better on one box; each entry
// point has slopes of its own. A blob carries them.
TEST_F(Cache, SlopesGoOnFromCallToCall) {
  CachedVerifier verifier = open(kAlpha);
  const FloatBox one = box(0.25F, 1);
  const Outcome first = verifier.bounds(one);
  expect_same(first, verifier.plain(false, one));
  Outcome last;
  for (int i = 0; i < 8; ++i) last = verifier.bounds(one);
  double before = 0, after = 0;
  for (std::size_t j = 0; j < first.lower.size(); ++j) {
    before += static_cast<double>(first.upper[j]) - static_cast<double>(first.lower[j]);
    after += static_cast<double>(last.upper[j]) - static_cast<double>(last.lower[j]);
  }
  EXPECT_LT(after, before);
  EXPECT_EQ(verifier.counters().warm_starts, 8U);
  expect_same(verifier.spec_bounds(one), verifier.plain(true, one));
  EXPECT_EQ(verifier.counters().warm_starts, 8U);
  CachedVerifier other(*batch_, kAlpha);
  ASSERT_EQ(other.load(verifier.save()), BF_OK);
  expect_same(other.bounds(one), verifier.bounds(one));
  EXPECT_EQ(other.counters().warm_starts, 1U);
}

TEST_F(Cache, ABlobBringsTheAnchorBack) {
  CachedVerifier verifier = open(kBoth);
  const FloatBox inside = box(0.125F, 0.5F);
  (void)verifier.spec_bounds(box(0, 1));
  const std::vector<unsigned char> blob = verifier.save();
  const Outcome expected = verifier.spec_bounds(inside);
  CachedVerifier other(*batch_, kBoth);  // not initialised
  ASSERT_EQ(other.load(blob), BF_OK);
  expect_same(other.spec_bounds(inside), expected);
  EXPECT_EQ(other.counters().anchor_hits, 1U);
  EXPECT_EQ(other.counters().loads, 1U);
  EXPECT_EQ(other.counters().intersections, verifier.counters().intersections);
}

TEST_F(Cache, AnEmptyContextMakesAnEmptyBlob) {
  CachedVerifier verifier = open(kBoth), other = open(kBoth);
  (void)other.bounds(box(0, 1));
  ASSERT_EQ(other.load(verifier.save()), BF_OK);
  expect_same(other.bounds(box(0, 0.5F)), other.plain(false, box(0, 0.5F)));
  EXPECT_EQ(other.counters().anchor_misses, 1U);
}

TEST_F(Cache, SaveChecksItsArguments) {
  CachedVerifier verifier = open(kBoth);
  const auto save = reinterpret_cast<Save>(batch_->symbol(kBoth, "_context_save"));
  std::vector<unsigned char> blob(verifier.blob_bytes(), 9);
  void* const context = verifier.context();
  const std::size_t bytes = verifier.context_bytes();
  EXPECT_EQ(save(context, bytes, nullptr, blob.size()), BF_NULL_ARGUMENT);
  EXPECT_EQ(save(nullptr, bytes, blob.data(), blob.size()), BF_NULL_ARGUMENT);
  EXPECT_EQ(save(context, bytes - 1, blob.data(), blob.size()), BF_CONTEXT_TOO_SMALL);
  EXPECT_EQ(save(context, bytes, blob.data(), blob.size() - 1), BF_BLOB_TOO_SMALL);
  std::memset(context, 0, bytes);
  EXPECT_EQ(save(context, bytes, blob.data(), blob.size()), BF_CONTEXT_FOREIGN);
  EXPECT_EQ(blob, std::vector<unsigned char>(verifier.blob_bytes(), 9));
}

// After a refused load the context is there and empty.
void expect_refused(CachedVerifier& verifier, const std::vector<unsigned char>& blob,
                    std::initializer_list<bf_status> expected) {
  const bf_status status = verifier.load(blob);
  EXPECT_TRUE(std::count(expected.begin(), expected.end(), status) == 1) << bf_status_text(status);
  const bf_cache_counters counted = verifier.counters();
  EXPECT_EQ(counted.calls + counted.loads, 0U);
}

TEST_F(Cache, ForeignStaleAndShortBlobsAreRefused) {
  CachedVerifier verifier = open(kBoth);
  (void)verifier.bounds(box(0, 1));
  const std::vector<unsigned char> blob = verifier.save();
  // Equal shapes, methods, options, but other weights (the same model for the file's sake); another
  // method; other options; another target.
  for (const std::size_t which : {kOther, kIbpMethod, kAnchor, kGeneric}) {
    CachedVerifier other = open(which);
    std::vector<unsigned char> padded = blob;
    padded.resize(std::max(blob.size(), other.blob_bytes()));
    (void)other.bounds(box(0, 1));
    expect_refused(other, padded, {BF_BLOB_STALE});
    const FloatBox inside = box(0, 0.5F);
    expect_same(other.bounds(inside), other.plain(false, inside));
  }
  std::vector<unsigned char> shorter(blob.begin(), blob.end() - 1);
  expect_refused(verifier, shorter, {BF_BLOB_TOO_SMALL});
  expect_refused(verifier, {}, {BF_BLOB_TOO_SMALL, BF_NULL_ARGUMENT});
  expect_refused(verifier, std::vector<unsigned char>(blob.size()), {BF_BLOB_FOREIGN});
  const auto load = reinterpret_cast<Load>(batch_->symbol(kBoth, "_context_load"));
  EXPECT_EQ(load(verifier.context(), verifier.context_bytes(), nullptr, blob.size()),
            BF_NULL_ARGUMENT);
  EXPECT_EQ(load(verifier.context(), 5, blob.data(), blob.size()), BF_CONTEXT_TOO_SMALL);
  EXPECT_EQ(load(nullptr, verifier.context_bytes(), blob.data(), blob.size()), BF_NULL_ARGUMENT);
  EXPECT_EQ(verifier.load(blob), BF_OK);
}

TEST_F(Cache, EveryFlippedBitIsRefused) {
  CachedVerifier verifier = open(kBoth);
  (void)verifier.bounds(box(0, 1));
  std::vector<unsigned char> blob = verifier.save();
  for (std::size_t i = 0; i < 8 * blob.size(); ++i) {
    blob[i / 8] ^= static_cast<unsigned char>(1U << i % 8);
    const bf_status status = verifier.load(blob);
    ASSERT_TRUE(status == BF_BLOB_CORRUPT || status == BF_BLOB_FOREIGN || status == BF_BLOB_STALE)
        << "bit " << i << ": " << bf_status_text(status);
    blob[i / 8] ^= static_cast<unsigned char>(1U << i % 8);
  }
  EXPECT_EQ(verifier.load(blob), BF_OK);
}

TEST_F(Cache, MutatedBlobsAreRefused) {
  CachedVerifier verifier = open(kAnchor);
  (void)verifier.bounds(box(0, 1));
  const std::vector<unsigned char> blob = verifier.save();
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    std::vector<unsigned char> bad = blob;
    const std::size_t at = random() % bad.size();
    const std::size_t end = std::min(bad.size(), at + 1 + random() % 40);
    for (std::size_t k = at; k < end; ++k)
      bad[k] = static_cast<unsigned char>(i % 2 == 0 ? random() : bad[random() % bad.size()]);
    if (bad == blob) continue;
    EXPECT_NE(verifier.load(bad), BF_OK);
  }
}

}  // namespace
}  // namespace bf_aot::soundness
