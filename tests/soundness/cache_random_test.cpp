// Random sequences of calls on contexts: whatever was called before, bounds hold, equal what a
// first call gives where they must, and the counters are those of a model. The engine runs every
// network; generated code runs one in four, in each configuration others. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "tests/seed.h"
#include "tests/soundness/cached.h"
#include "tests/soundness/checks.h"
#include "tests/soundness/verifiers.h"

namespace bf_aot::soundness {
namespace {

struct Configuration {
  const char* name;
  Method method;
  Lowering lowering;
  const char* compiler;
  Reuse reuse;
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_same", Method::kIbp, Lowering::kVector, "g++", {true, false, false}},
    {"ibp_both", Method::kIbp, Lowering::kGeneric, "clang++", {true, true, false}},
    {"crown_ibp_same", Method::kCrownIbp, Lowering::kGeneric, "g++", {true, false, false}},
    {"forward_both", Method::kForward, Lowering::kVector, "g++", {true, true, false}},
    {"crown_ibp_both", Method::kCrownIbp, Lowering::kVector, "g++", {true, true, false}},
    {"crown_same", Method::kCrown, Lowering::kVector, "clang++", {true, false, false}},
    {"crown_anchor", Method::kCrown, Lowering::kVector, "g++", {false, true, false}},
    {"crown_both", Method::kCrown, Lowering::kVector, "g++", {true, true, false}},
    {"alpha", Method::kAlphaCrown, Lowering::kVector, "g++", {false, false, true}},
    {"alpha_all", Method::kAlphaCrown, Lowering::kGeneric, "clang++", {true, true, true}},
    {"crown_both_generic", Method::kCrown, Lowering::kGeneric, "clang++", {true, true, false}},
};

std::uint64_t seed() {
  return testing::seed_from_environment(20261120);
}

// Which of the configurations it is, from 0.
int turn_of(const Configuration& configuration) {
  return static_cast<int>(std::ranges::find(kConfigurations, std::string_view(configuration.name),
                                            &Configuration::name) -
                          std::begin(kConfigurations));
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}
bool same(const FloatBox& a, const FloatBox& b) {
  return same(a.lower, b.lower) && same(a.upper, b.upper);
}
bool inside(const FloatBox& a, const FloatBox& around) {
  for (std::size_t i = 0; i < a.lower.size(); ++i)
    if (a.lower[i] < around.lower[i] || a.upper[i] > around.upper[i]) return false;
  return true;
}

FloatBox box_inside(Random& random, const FloatBox& around) {
  FloatBox box = around;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    float ends[2];
    for (float& end : ends) {
      const double part = pick(random, 0, 8) / 8.0;
      end = static_cast<float>(static_cast<double>(around.lower[i]) * (1 - part) +
                               static_cast<double>(around.upper[i]) * part);
      end = std::clamp(end, around.lower[i], around.upper[i]);
    }
    box.lower[i] = std::min(ends[0], ends[1]);
    box.upper[i] = std::max(ends[0], ends[1]);
  }
  return box;
}

// What a context must know, by the rules of its documentation.
struct Model {
  std::optional<FloatBox> last, anchor;
  bool kept[2] = {false, false};
  std::optional<Outcome> anchor_outputs[2];
  bf_cache_counters counters = {};

  // Before a call; returns whether its bounds must be those of a plain call.
  bool call(const FloatBox& box, bool spec, const Reuse& reuse) {
    const bool within = anchor && inside(box, *anchor);
    ++counters.calls;
    if (reuse.ibp) {
      const bool hit = last && same(*last, box);
      if (!hit) kept[0] = kept[1] = false;
      ++(hit ? counters.hits : counters.misses);
      counters.full_hits += hit && kept[spec] ? 1 : 0;
      kept[spec] = true;
      last = box;
    }
    if (!reuse.bounds) return true;
    ++(within ? counters.anchor_hits : counters.anchor_misses);
    if (within) return false;
    anchor = box;
    anchor_outputs[0].reset();
    anchor_outputs[1].reset();
    return true;
  }

  void forget_box() {
    last.reset();
    kept[0] = kept[1] = false;
  }
};

void expect_counters(const bf_cache_counters& counted, const bf_cache_counters& expected) {
  EXPECT_EQ(counted.calls, expected.calls);
  EXPECT_EQ(counted.hits, expected.hits);
  EXPECT_EQ(counted.misses, expected.misses);
  EXPECT_EQ(counted.full_hits, expected.full_hits);
  EXPECT_EQ(counted.anchor_hits, expected.anchor_hits);
  EXPECT_EQ(counted.anchor_misses, expected.anchor_misses);
  EXPECT_EQ(counted.loads, expected.loads);
}

class RandomCalls : public ::testing::TestWithParam<Configuration> {
 protected:
  static constexpr int kNetsPerFamily = 1;
  static constexpr int kCalls = 60;

  void SetUp() override {
    std::string name = GetParam().name + std::to_string(seed());
    std::seed_seq sequence(name.begin(), name.end());
    random_.seed(sequence);
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    PlannerConfig config =
        planner_config(GetParam().method, GetParam().lowering,
                       GetParam().lowering == Lowering::kVector ? "host" : "generic");
    config.reuse = GetParam().reuse;
    config.iterations = 4;
    not_compiled_ = why_not_compiled(GetParam().compiler, config.target);
    for (int family = 0; family < kFamilies; ++family)
      for (int i = 0; i < kNetsPerFamily; ++i) {
        nets_.push_back(random_net(random_, static_cast<Family>(family)));
        specs_.push_back(random_spec(random_, nets_.back().outputs()));
        const Graph graph = graph_with_spec(nets_.back(), specs_.back());
        verifiers_.add(graph, true, config);
        if (family % 4 == turn_of(GetParam()) % 4 && not_compiled_.empty())
          verifiers_.add_compiled(graph, true, config);
      }
    verifiers_.build({GetParam().compiler, {"-O1"}});
  }

  FloatBox choose_box(const std::vector<FloatBox>& earlier, const Model& model, int inputs) {
    switch (pick(random_, 0, 6)) {
      case 0:
      case 1:
        if (!earlier.empty()) return earlier.back();
        break;
      case 2:
        if (!earlier.empty()) return earlier[random_() % earlier.size()];
        break;
      case 3:
      case 4:
        if (model.anchor) return box_inside(random_, *model.anchor);
        break;
      case 5:
        if (!earlier.empty()) {
          FloatBox box = earlier.back();
          float& end = box.lower[random_() % box.lower.size()];
          if (end > -1e30F) end = std::nextafter(end, -std::numeric_limits<float>::infinity());
          return box;
        }
        break;
      default:
        break;
    }
    return random_box(random_, inputs, pick(random_, 0, kBoxKinds - 1));
  }

  void check_calls(const Subject& subject, std::size_t net);
  void check_points(const ExactNet& exact, std::size_t net, bool spec, const FloatBox& box,
                    const Outcome& outcome);
  void check_call(CachedVerifier& verifier, Model& model, const ExactNet& exact, std::size_t net,
                  const FloatBox& box);
  void check_state(CachedVerifier& verifier, Model& model, std::size_t net);

  Random random_;
  std::vector<Net> nets_;
  std::vector<LinearSpec> specs_;
  Verifiers verifiers_;
  std::string not_compiled_;  // why
  int checked_ = 0;
  std::uint64_t hits_ = 0, inside_anchor_ = 0, intersections_ = 0, warm_ = 0;
};

// Exact outputs, or rows, at points of the box lie within the bounds.
void RandomCalls::check_points(const ExactNet& exact, std::size_t net, bool spec,
                               const FloatBox& box, const Outcome& outcome) {
  for (int i = 0; i < 3; ++i) {
    const Numbers x = i == 0   ? centre_of(box)
                      : i == 1 ? corner_of(box, random_())
                               : point_of(box, random_);
    if (spec) {
      ASSERT_NO_FATAL_FAILURE(check_rows(exact, specs_[net], x, outcome, "point"));
    } else {
      ASSERT_NO_FATAL_FAILURE(check_point(exact, x, outcome, "point"));
    }
    checked_ += static_cast<int>(outcome.lower.size());
  }
}

void RandomCalls::check_call(CachedVerifier& verifier, Model& model, const ExactNet& exact,
                             std::size_t net, const FloatBox& box) {
  const bool spec = pick(random_, 0, 1) == 1;
  const bool hit = GetParam().reuse.ibp && model.last && same(*model.last, box);
  const bool plain = model.call(box, spec, GetParam().reuse);
  const Outcome outcome = spec ? verifier.spec_bounds(box) : verifier.bounds(box);
  ASSERT_EQ(outcome.status, BF_OK);
  // Slopes go on from call to call, so that bounds depend on the calls before.
  // A hit on the anchor's own box is what was made for it, with or without the other entry's
  // bounds.
  if (!GetParam().reuse.alpha && (plain || (hit && !GetParam().reuse.bounds))) {
    const Outcome expected = verifier.plain(spec, box);
    ASSERT_TRUE(same(outcome.lower, expected.lower) && same(outcome.upper, expected.upper));
  }
  if (model.anchor) {
    std::optional<Outcome>& around = model.anchor_outputs[spec];
    if (around)
      for (std::size_t j = 0; j < outcome.lower.size(); ++j) {
        ASSERT_GE(outcome.lower[j], around->lower[j]);
        ASSERT_LE(outcome.upper[j], around->upper[j]);
      }
    else if (same(box, *model.anchor))
      around = outcome;
  }
  check_points(exact, net, spec, box, outcome);
}

// Saves, loads, copies, spoils.
void RandomCalls::check_state(CachedVerifier& verifier, Model& model, std::size_t net) {
  switch (pick(random_, 0, 3)) {
    case 0: {
      ASSERT_EQ(verifier.load(verifier.save()), BF_OK);
      model.forget_box();
      model.counters = {};
      model.counters.loads = 1;
      break;
    }
    case 1: {  // another network's, or one with a changed byte
      std::vector<unsigned char> blob = verifier.save();
      if (pick(random_, 0, 1) == 0) {
        const Subject next = verifiers_.subjects((net + 1) % nets_.size()).front();
        CachedVerifier other(*next.plan, next.callee);
        ASSERT_EQ(other.init(), BF_OK);
        blob = other.save();
        blob.resize(std::max(blob.size(), verifier.blob_bytes()));
      } else {
        blob[random_() % blob.size()] ^= 0x10;
      }
      ASSERT_NE(verifier.load(blob), BF_OK);
      model = {};
      break;
    }
    case 2:
      ASSERT_EQ(verifier.init(), BF_OK);
      model = {};
      break;
    default: {  // a copy goes on as the original does
      CachedVerifier copy = verifier.copy();
      const FloatBox box = random_box(random_, nets_[net].inputs(), pick(random_, 0, 8));
      CachedVerifier original = verifier.copy();
      const Outcome a = copy.bounds(box), b = original.bounds(box);
      ASSERT_TRUE(same(a.lower, b.lower) && same(a.upper, b.upper));
      break;
    }
  }
}

void RandomCalls::check_calls(const Subject& subject, std::size_t net) {
  const ExactNet exact(nets_[net]);
  CachedVerifier verifier(*subject.plan, subject.callee);
  ASSERT_EQ(verifier.init(), BF_OK);
  Model model;
  std::vector<FloatBox> earlier;
  for (int i = 0; i < kCalls; ++i) {
    SCOPED_TRACE(fmt::format("call {}", i));
    if (GetParam().reuse.bounds && pick(random_, 0, 9) == 0) {
      const std::uint64_t before = verifier.counters().intersections;
      ASSERT_NO_FATAL_FAILURE(check_state(verifier, model, net));
      intersections_ += before;
    }
    earlier.push_back(choose_box(earlier, model, nets_[net].inputs()));
    ASSERT_NO_FATAL_FAILURE(check_call(verifier, model, exact, net, earlier.back()));
    ASSERT_NO_FATAL_FAILURE(expect_counters(verifier.counters(), model.counters));
  }
  hits_ += model.counters.hits;
  inside_anchor_ += model.counters.anchor_hits;
  warm_ += verifier.counters().warm_starts;
  intersections_ += verifier.counters().intersections;
}

TEST_P(RandomCalls, BoundsHoldWhateverWasCalledBefore) {
  for (const bool compiled : {true, false}) {
    hits_ = inside_anchor_ = intersections_ = warm_ = 0;
    for (std::size_t net = 0; net < nets_.size(); ++net)
      for (const Subject& subject : verifiers_.subjects(net)) {
        if (subject.compiled != compiled) continue;
        SCOPED_TRACE(
            fmt::format("BF_SEED={}, net {} ({}), {}", seed(), net, nets_[net].label, subject.by));
        ASSERT_NO_FATAL_FAILURE(check_calls(subject, net));
      }
  }
  // By the engine.
  std::printf("%d rows checked, %d hits, %d calls inside an anchor, %d intersections\n", checked_,
              static_cast<int>(hits_), static_cast<int>(inside_anchor_),
              static_cast<int>(intersections_));
  const bool anchored = GetParam().reuse.bounds;
  EXPECT_EQ(warm_ > 20, GetParam().reuse.alpha) << warm_;
  if (GetParam().reuse.ibp) {
    EXPECT_GT(hits_, 20U);
  }
  if (anchored) {
    EXPECT_GT(inside_anchor_, 20U);
  }
  if (anchored && GetParam().method == Method::kCrown) {
    EXPECT_GT(intersections_, 0U);
  }
  if (!not_compiled_.empty()) GTEST_SKIP() << "by the engine alone: " << not_compiled_;
  EXPECT_GE(4 * verifiers_.count_compiled(), nets_.size());
}

INSTANTIATE_TEST_SUITE_P(Configurations, RandomCalls, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
