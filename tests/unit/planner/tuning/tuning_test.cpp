#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/tuning/boosted_trees.h"
#include "planner/tuning/dealt_tile.h"
#include "planner/tuning/features.h"
#include "planner/tuning/schedule_search.h"
#include "planner/tuning/schedule_space.h"
#include "planner/tuning/tuner.h"
#include "runtime/bf/contract/tiles.h"
#include "tests/paths.h"
#include "tests/unit/frontend/graph/graph_builder.h"

// Schedules by measurement, without measuring: a machine that computes times stands in.
namespace bf_aot {
namespace {

Plan planned(const PlannerConfig& config) {
  ImportedModel model =
      import_model(std::string(BF_SOURCE_DIR) + "/models/collision_avoidance_6x50.onnx");
  normalise(model.graph);
  return plan(model.graph, model.info, "net", false, config);
}

PlannerConfig config_of(const char* target, Method method = Method::kCrown, int batch = 1) {
  PlannerConfig config;
  config.target = find_target(target);
  config.method = method;
  config.batch = batch;
  return config;
}

std::vector<Kernel> tunable(const Plan& plan) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : plan.kernels)
    if (is_tunable(kernel)) kernels.push_back(kernel);
  return kernels;
}

Kernel kernel_of(const Plan& plan, KernelKind kind) {
  const auto found = std::ranges::find(plan.kernels, kind, &Kernel::kind);
  EXPECT_NE(found, plan.kernels.end());
  return *found;
}

TEST(DealtTile, GivesItemsRowsByPowersOfTwo) {
  EXPECT_EQ(row_items(8, 64), 8);
  EXPECT_EQ(row_items(5, 64), 4);
  EXPECT_EQ(row_items(5, 6), 2);
  EXPECT_EQ(row_items(5, 7), 1);
  EXPECT_EQ(row_items(1, 64), 1);
}

TEST(DealtTile, LoadsLittleForEachTermAndLeavesNoRows) {
  const DealtTile wide = dealt_tile(32, 256, 64), narrow = dealt_tile(10, 5, 64);
  EXPECT_EQ(wide.rows, 4);
  EXPECT_EQ(wide.columns, 4);
  EXPECT_EQ(narrow.rows, 1);
  EXPECT_EQ(narrow.columns, 1);  // each item has one sum
  for (int rows = 1; rows <= 32; ++rows)
    for (const int columns : {1, 7, 50, 784})
      for (const int items : {5, 64}) {
        const DealtTile tile = dealt_tile(rows, columns, items);
        EXPECT_EQ(rows % tile.rows, 0);
        EXPECT_LE(tile.columns, columns);
        EXPECT_LE(tile.rows * tile.columns, 20);
      }
}

TEST(DealtTile, StagesWeightsThatSeveralItemsRead) {
  EXPECT_EQ(staged_columns({4, 4}, 32, 256, 64, 64), 4 * 8);
  EXPECT_EQ(staged_columns({4, 4}, 16, 256, 64, 64), 4 * 16);
  EXPECT_EQ(staged_columns({4, 4}, 16, 50, 64, 64), 4 * 16);
  EXPECT_EQ(staged_columns({4, 4}, 4, 256, 64, 64), 0);   // each weight is one item's
  EXPECT_EQ(staged_columns({5, 4}, 10, 256, 64, 64), 0);  // 128 columns take too much memory
  EXPECT_EQ(staged_columns({5, 4}, 10, 20, 64, 64), 4 * 32);
}

// Kernels of a device sum by these tiles; a group of one item leaves tiles to its compiler.
TEST(DealtTile, IsTheSchedulesOfGroups) {
  PlannerConfig config = config_of("opencl");
  config.lowering = Lowering::kGeneric;
  config.language = Language::kOpenCl;
  for (const int items : {1, 64}) {
    config.items = items;
    for (const Kernel& kernel : planned(config).kernels) {
      if (kernel.kind != KernelKind::kBackwardAffine) continue;
      const DealtTile tile = dealt_tile(kernel.rows, kernel.in, 64);
      EXPECT_EQ(kernel.schedule.vectors, items == 1 ? kernel.rows : tile.rows);
      if (items > 1) {
        EXPECT_EQ(kernel.schedule.columns, tile.columns);
      }
      const int staged = staged_columns(tile, kernel.rows, kernel.in, kernel.schedule.chunk,
                                        kernel.schedule.items);
      EXPECT_EQ(kernel.schedule.staged, items == 1 || kernel.wide ? 0 : staged);
    }
  }
}

TEST(ScheduleSpace, HoldsLegalSchedulesOnceAndTheDefaultFirst) {
  for (const char* target : {"generic", "x86-64", "x86-64-v3", "x86-64-v4"})
    for (const int batch : {1, 32})
      for (const Kernel& kernel : tunable(planned(config_of(target, Method::kCrown, batch)))) {
        const std::vector<Schedule> space = legal_schedules(kernel, find_target(target));
        ASSERT_FALSE(space.empty());
        EXPECT_EQ(space.front(), kernel.schedule);
        std::set<std::string> texts;
        for (const Schedule& schedule : space) {
          EXPECT_EQ(why_illegal(kernel, schedule), "") << kernel.key << ": " << to_text(schedule);
          EXPECT_TRUE(texts.insert(to_text(schedule)).second) << to_text(schedule);
        }
        if (kernel.in > 8) {
          EXPECT_GE(space.size(), 4U) << kernel.key;
        }
      }
}

TEST(ScheduleSpace, RefusesWhatNoKernelCanHave) {
  const Plan plan = planned(config_of("x86-64-v4"));
  const Kernel backward = kernel_of(plan, KernelKind::kBackwardAffine);
  const Kernel forward = kernel_of(plan, KernelKind::kCentreAffine);
  const auto refused = [](const Kernel& kernel, auto change) {
    Schedule schedule = kernel.schedule;
    change(schedule);
    return why_illegal(kernel, schedule) != "";
  };
  for (const Kernel& kernel : {backward, forward}) {
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.lanes = 8; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.vectors = 0; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.vectors = 3; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.columns = 0; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.columns = 1 << 20; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.chunk = 0; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.chunk = 1 << 20; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.unroll = 3; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.unroll = -1; }));
    EXPECT_TRUE(refused(kernel, [](Schedule& s) { s.groups_first = true; }));
  }
  EXPECT_TRUE(refused(backward, [](Schedule& s) { s.chunk = 7; }));  // no panels
  EXPECT_TRUE(refused(forward, [](Schedule& s) { s.columns = 2; }));
}

// The error terms are those of the rules' chains: no schedule has longer ones.
TEST(ScheduleSpace, KeepsRoundingChainsShort) {
  Kernel kernel =
      kernel_of(planned(config_of("x86-64-v4", Method::kIbp)), KernelKind::kIntervalAffine);
  kernel.in = 256;
  kernel.schedule.chunk = 32;
  kernel.depth = 32 + 8 + 1;
  Schedule other = kernel.schedule;
  other.chunk = 16;  // 16 + 16 + 1
  EXPECT_EQ(why_illegal(kernel, other), "");
  other.chunk = 256;
  EXPECT_NE(why_illegal(kernel, other).find("chains of 258 roundings"), std::string::npos);
}

TEST(ScheduleSpace, OfConvolutionsHoldsTilesThatFitTheRegisters) {
  Kernel kernel;
  kernel.kind = KernelKind::kTermBackward;
  kernel.map = "conv";
  EXPECT_FALSE(is_tunable(kernel));  // no geometry: not of a convolution
  kernel.geometry = "6x8x8_32x4x4_k3x3_s2x2";
  kernel.rows = 32;
  kernel.channels = 6;
  kernel.schedule = {16, 2, 6, 0, false, 1, 2, 6};
  ASSERT_TRUE(is_tunable(kernel));
  const std::vector<Schedule> space = legal_schedules(kernel, find_target("x86-64-v4"));
  EXPECT_EQ(space.front(), kernel.schedule);
  EXPECT_GT(space.size(), 8U);
  for (const Schedule& schedule : space) {
    EXPECT_EQ(why_illegal(kernel, schedule), "") << to_text(schedule);
    EXPECT_LE(schedule.columns, 6);
    EXPECT_LT(schedule.columns * schedule.pixels * 2, 32);
  }
  const auto refused = [&](auto change) {
    Schedule schedule = space.back();
    change(schedule);
    return why_illegal(kernel, schedule) != "";
  };
  EXPECT_TRUE(refused([](Schedule& s) { s.columns = 8; }));  // of 6
  EXPECT_TRUE(refused([](Schedule& s) { s.columns = 5; }));  // the routine has no such step
  EXPECT_TRUE(refused([](Schedule& s) { s.pixels = -1; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.last_columns = 0; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.last_columns = 7; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.pixels = 1 << 20; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.vectors = 1; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.unroll = 2; }));
  kernel.schedule.lanes = 1;
  EXPECT_FALSE(is_tunable(kernel));  // scalar code has tiles of one
}

// Where each group has one channel, a tile takes groups.
TEST(ScheduleSpace, OfDepthwiseConvolutionsHasTilesOfGroups) {
  const auto planned_for = [](std::int64_t channels, std::int64_t groups) {
    ConvGeometry g;
    g.in_channels = g.out_channels = channels;
    g.groups = groups;
    g.in_size = g.out_size = {1, 4, 4};
    g.kernel = {1, 3, 3};
    g.pad = {0, 1, 1};
    g.in = g.out = dense_layout(channels, g.in_size);
    const std::int64_t group = channels / groups;
    testing::Builder b({channels, 4, 4});
    const auto weights = [](std::int64_t n) {
      return std::vector<double>(static_cast<std::size_t>(n), 1.0);
    };
    const Conv conv = {g, testing::constant({channels, group, 9}, weights(channels * group * 9)),
                       testing::constant({channels}, weights(channels))};
    const std::vector<std::int64_t> shape = {channels, 4, 4};
    const ValueId first = b.relu(b.add(conv, {b.x()}, shape));
    return kernel_of(
        plan(b.outputs({b.add(conv, {first}, shape)}), {}, "net", false, config_of("x86-64-v4")),
        KernelKind::kTermBackward);
  };
  EXPECT_EQ(planned_for(5, 5).channels, 5);
  EXPECT_EQ(planned_for(20, 20).channels, 20);
  EXPECT_EQ(planned_for(20, 10).channels, 2);
  EXPECT_EQ(planned_for(4, 1).channels, 4);
  EXPECT_EQ(planned_for(20, 20).schedule.pixels, 2);
  EXPECT_LE(planned_for(20, 10).schedule.columns, 2);
}

TEST(ConvRowTile, FillsTheRegisters) {
  const auto tile = [](int bytes, int sums, int channels, bool depthwise) {
    const bf::ConvRowTile made = bf::conv_row_tile(bytes, sums, channels, depthwise);
    return std::array{made.columns, made.pixels, made.last_columns};
  };
  EXPECT_EQ(tile(64, 1, 32, false), (std::array{8, 3, 8}));  // 24 accumulators
  EXPECT_EQ(tile(64, 1, 3, false), (std::array{6, 4, 8}));
  EXPECT_EQ(tile(64, 4, 32, false), (std::array{6, 1, 6}));
  EXPECT_EQ(tile(32, 2, 32, false), (std::array{6, 1, 6}));  // 12
  EXPECT_EQ(tile(64, 2, 32, true), (std::array{4, 2, 8}));   // 16 of 24
  EXPECT_EQ(tile(4, 8, 32, false), (std::array{1, 1, 1}));
}

TEST(Features, TellSchedulesApart) {
  const Target target = find_target("x86-64-v4");
  const Kernel kernel = kernel_of(planned(config_of("x86-64-v4")), KernelKind::kBackwardAffine);
  std::set<std::vector<double>> seen;
  const std::vector<Schedule> space = legal_schedules(kernel, target);
  for (const Schedule& schedule : space) {
    const Features features = features_of(kernel, schedule, target);
    for (std::size_t i = 0; i < kFeatures; ++i)
      EXPECT_TRUE(std::isfinite(features[i])) << kFeatureNames[i];
    seen.insert({features.begin(), features.end()});
    EXPECT_GT(analytic_cost(kernel, schedule, target), 0);
  }
  EXPECT_EQ(seen.size(), space.size());
}

TEST(Features, CountLoadsOfARegisterTile) {
  const Target target = find_target("x86-64-v4");
  Kernel kernel = kernel_of(planned(config_of("x86-64-v4")), KernelKind::kBackwardAffine);
  kernel.wide = false;
  Schedule tile = kernel.schedule;
  tile.columns = 10;
  tile.vectors = 2;
  const Features features = features_of(kernel, tile, target);
  EXPECT_DOUBLE_EQ(features[1], 12.0 / 20.0);  // loads per multiply-add
  EXPECT_DOUBLE_EQ(features[6], 20);           // accumulators
  Schedule narrow = tile;
  narrow.columns = 1;  // one chain per vector: nothing hides the latency
  EXPECT_GT(analytic_cost(kernel, narrow, target), 2 * analytic_cost(kernel, tile, target));
}

TEST(BoostedTrees, LearnAFunctionBetterThanItsMean) {
  SearchRandom random(5);
  const auto function = [](const std::vector<double>& x) {
    return 3 * x[0] + (x[1] > 0.5 ? 2 : 0) * x[2] + std::abs(x[0] - x[2]);
  };
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (int i = 0; i < 300; ++i) {
    rows.push_back({random.uniform(), random.uniform(), random.uniform(), random.uniform()});
    targets.push_back(function(rows.back()));
  }
  const BoostedTrees model({rows.begin(), rows.begin() + 200},
                           {targets.begin(), targets.begin() + 200});
  double mean = 0, squares = 0, errors = 0;
  for (int i = 0; i < 200; ++i) mean += targets[static_cast<std::size_t>(i)] / 200;
  for (std::size_t i = 200; i < 300; ++i) {  // that it has not seen
    squares += std::pow(targets[i] - mean, 2);
    errors += std::pow(targets[i] - model.predict(rows[i]), 2);
  }
  EXPECT_LT(errors, 0.1 * squares);
}

TEST(BoostedTrees, SurviveSamplesWithoutDifferences) {
  EXPECT_EQ(BoostedTrees({{1, 2}}, {7}).predict({0, 0}), 7);
  EXPECT_EQ(BoostedTrees({{1, 2}, {1, 2}, {1, 2}, {1, 2}}, {1, 2, 3, 4}).predict({1, 2}), 2.5);
}

// ---- Searching

// Times that a formula makes, with one optimum.
class FormulaMachine : public TuningMachine {
 public:
  explicit FormulaMachine(const Target& target) : target_(target) {}

  double seconds(const Kernel& kernel, const Schedule& s) const {
    double cost = analytic_cost(kernel, s, target_);
    cost *= 1 + 0.1 * std::abs(s.columns - 9) + 0.05 * std::abs(std::log2(s.unroll) - 1);
    return 1e-9 * cost;
  }
  Schedule optimum(const Kernel& kernel) const {
    return std::ranges::min(legal_schedules(kernel, target_), {},
                            [&](const Schedule& s) { return seconds(kernel, s); });
  }

  std::vector<Measurement> measure(const Kernel& kernel,
                                   const std::vector<Schedule>& schedules) override {
    std::vector<Measurement> made;
    for (const Schedule& schedule : schedules) {
      Measurement one;
      const double time = seconds(kernel, schedule), own = seconds(kernel, kernel.schedule);
      one.seconds = {time, time};
      one.default_seconds = {own, own};
      one.samples = 3;
      if (broken_ && broken_(schedule)) one = Measurement{{}, {}, 0, "it is wrong"};
      made.push_back(one);
      measured.push_back(to_text(schedule));
      if (on_measure_) on_measure_();
    }
    return made;
  }
  Confirmation confirm(const Kernel& kernel, const Schedule& schedule) override {
    Confirmation made;
    const double time = seconds(kernel, schedule), own = seconds(kernel, kernel.schedule);
    made.seconds = {time, time};
    made.default_seconds = {own, own};
    made.samples = 9;
    made.ratio = time / own;
    made.noise = noise;
    ++confirmed;
    return made;
  }
  void record(TuningRecord record) override { records.push_back(std::move(record)); }
  bool is_over() override { return over; }

  std::vector<std::string> measured;
  std::vector<TuningRecord> records;
  int confirmed = 0;
  bool over = false;
  double noise = 0.01;
  std::function<bool(const Schedule&)> broken_;
  std::function<void()> on_measure_;

 private:
  const Target& target_;
};

class Tuner : public ::testing::Test {
 protected:
  TuningOutcome tune(FormulaMachine& machine, const TuningLimits& limits,
                     const std::vector<TuningRecord>& log = {}) {
    return tune_kernel(kernel_, target_, limits, log, {}, machine);
  }
  std::size_t space() const { return legal_schedules(kernel_, target_).size(); }

  const Target target_ = find_target("x86-64-v4");
  const Kernel kernel_ = narrow_kernel();

 private:
  static Kernel narrow_kernel() {
    Kernel kernel = kernel_of(planned(config_of("x86-64-v4")), KernelKind::kBackwardAffine);
    kernel.wide = false;
    kernel.schedule.columns = 12;
    return kernel;
  }
};

TEST_F(Tuner, AnnealingFindsTheOptimumInAFewTrials) {
  FormulaMachine machine(target_);
  const Schedule best = machine.optimum(kernel_);
  ASSERT_GT(space(), 60U);
  TuningLimits limits;
  limits.trials = 40;
  const TuningOutcome outcome = tune(machine, limits);
  EXPECT_EQ(to_text(outcome.schedule), to_text(best));
  EXPECT_FALSE(outcome.is_default);
  EXPECT_EQ(outcome.trials, 40);
  EXPECT_LT(outcome.result.ratio, 1);
  EXPECT_TRUE(std::ranges::is_sorted(outcome.curve, std::greater<>()));
}

TEST_F(Tuner, RandomSearchOfTheWholeSpaceFindsItToo) {
  FormulaMachine machine(target_);
  TuningLimits limits;
  limits.strategy = SearchStrategy::kRandom;
  limits.trials = 1 << 16;
  const TuningOutcome outcome = tune(machine, limits);
  EXPECT_EQ(to_text(outcome.schedule), to_text(machine.optimum(kernel_)));
  EXPECT_EQ(machine.measured.size(), space() - 1);  // each but the default, once
  EXPECT_EQ(std::set(machine.measured.begin(), machine.measured.end()).size(), space() - 1);
}

TEST_F(Tuner, TheModelAloneMeasuresNothingButItsFavourite) {
  FormulaMachine teacher(target_);
  TuningLimits limits;
  limits.trials = 60;
  limits.strategy = SearchStrategy::kRandom;
  tune(teacher, limits);
  FormulaMachine machine(target_);
  limits.strategy = SearchStrategy::kModel;
  const std::vector<CostSample> others = cost_samples(teacher.records, {kernel_}, target_);
  ASSERT_EQ(others.size(), 60U);
  const TuningOutcome outcome = tune_kernel(kernel_, target_, limits, {}, others, machine);
  EXPECT_EQ(machine.measured.size(), 0U);
  EXPECT_EQ(machine.confirmed, 1);
  EXPECT_FALSE(outcome.is_default);
  EXPECT_LT(outcome.result.ratio, 0.99);
}

TEST_F(Tuner, EqualSeedsSearchAlike) {
  for (const SearchStrategy strategy : {SearchStrategy::kRandom, SearchStrategy::kAnnealing}) {
    TuningLimits limits;
    limits.strategy = strategy;
    limits.trials = 24;
    FormulaMachine first(target_), second(target_), third(target_);
    tune(first, limits);
    tune(second, limits);
    EXPECT_EQ(first.measured, second.measured);
    limits.seed = 2;
    tune(third, limits);
    EXPECT_NE(first.measured, third.measured);
  }
}

TEST_F(Tuner, KeepsTheDefaultWhereNothingIsFasterThanTheNoise) {
  FormulaMachine machine(target_);
  machine.noise = 0.9;
  const TuningOutcome outcome = tune(machine, {});
  EXPECT_TRUE(outcome.is_default);
  EXPECT_EQ(outcome.schedule, kernel_.schedule);
  ASSERT_EQ(machine.records.back().kind, RecordKind::kResult);
  EXPECT_TRUE(machine.records.back().is_default);
  EXPECT_EQ(machine.records.back().ratio, 1);
}

TEST_F(Tuner, NeverUsesAScheduleThatFails) {
  FormulaMachine machine(target_);
  const Schedule best = machine.optimum(kernel_);
  ASSERT_NE(best.columns, kernel_.schedule.columns);
  machine.broken_ = [&](const Schedule& s) { return s.columns == best.columns; };
  TuningLimits limits;
  limits.trials = 1 << 16;
  const TuningOutcome outcome = tune(machine, limits);
  EXPECT_NE(outcome.schedule.columns, best.columns);
  EXPECT_GT(outcome.failed, 0);
  EXPECT_EQ(std::ranges::count_if(machine.records,
                                  [](const TuningRecord& r) { return !r.error.empty(); }),
            outcome.failed);
}

TEST_F(Tuner, GoesOnWhereALogEnds) {
  TuningLimits limits;
  limits.trials = 32;
  FormulaMachine first(target_);
  first.on_measure_ = [&] { first.over = first.measured.size() >= 16; };
  const TuningOutcome half = tune(first, limits);
  EXPECT_FALSE(half.confirmed);
  ASSERT_EQ(first.records.size(), 16U);

  FormulaMachine second(target_);
  const TuningOutcome whole = tune(second, limits, first.records);
  EXPECT_TRUE(whole.confirmed);
  EXPECT_EQ(second.measured.size(), 16U);
  for (const std::string& text : second.measured)
    EXPECT_EQ(std::ranges::count(first.measured, text), 0) << text;

  std::vector<TuningRecord> log = first.records;
  log.insert(log.end(), second.records.begin(), second.records.end());
  FormulaMachine third(target_);
  const TuningOutcome known = tune(third, limits, log);
  EXPECT_TRUE(known.known);
  EXPECT_EQ(known.schedule, whole.schedule);
  EXPECT_EQ(third.measured.size(), 0U);
  EXPECT_EQ(third.confirmed, 0);
  EXPECT_TRUE(third.records.empty());
}

// ---- The log

TuningRecord result_of(const std::string& key, double ratio, bool is_default = false) {
  TuningRecord record;
  record.kind = RecordKind::kResult;
  record.key = key + "/x86-64-v4";
  record.target = "x86-64-v4";
  record.machine = "a \"machine\"\n";
  record.compiler = "gcc";
  record.schedule = {16, 2, 9, 64, true, 4, 3};
  record.seconds = {1.25e-6, 1.5e-6};
  record.default_seconds = {2e-6, 2.5e-6};
  record.samples = 96;
  record.ratio = ratio;
  record.noise = 0.01;
  record.candidates = 40;
  record.is_default = is_default;
  record.seed = 18446744073709551615U;
  record.version = "0.1.0";
  return record;
}

TEST(TuningLog, ReadsWhatItWrites) {
  const TuningRecord result = result_of("k", 0.75);
  TuningRecord trial = result_of("k", 0);
  trial.kind = RecordKind::kTrial;
  trial.ratio = trial.noise = trial.candidates = 0;
  trial.error = "differs";
  const std::string text = to_line(result) + "\n  \n" + to_line(trial);
  EXPECT_EQ(std::ranges::count(to_line(result), '\n'), 1);
  EXPECT_EQ(parse_tuning_log(text, "log"), (std::vector<TuningRecord>{result, trial}));
  EXPECT_EQ(to_line(parse_tuning_log(to_line(result), "log").front()), to_line(result));
}

TEST(TuningLog, TakesTheBestResultOfEachKeyOfMergedLogs) {
  TuningRecord trial = result_of("a", 0.1);
  trial.kind = RecordKind::kTrial;
  TuningRecord wrong = result_of("a", 0.2);
  wrong.error = "differs";
  const auto best = best_results({result_of("b", 0.9), result_of("a", 1, true), trial, wrong,
                                  result_of("a", 0.8), result_of("a", 0.85)});
  ASSERT_EQ(best.size(), 2U);
  EXPECT_EQ(best[0].key, "a/x86-64-v4");
  EXPECT_FALSE(best[0].is_default);
  EXPECT_EQ(best[1].key, "b/x86-64-v4");
  EXPECT_EQ(best_results({result_of("a", 1, true)}).front().is_default, true);
}

std::string complaint(const std::string& text) {
  try {
    parse_tuning_log(text, "some.tuning");
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics().front().code, "BF3010");
    return error.what();
  }
  return "";
}

TEST(TuningLog, NamesTheLineThatIsNoRecord) {
  const std::string good = to_line(result_of("k", 0.75));
  EXPECT_NE(complaint(R"({"key": "other", )" + good.substr(1)).find("'key' appears twice"),
            std::string::npos);
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return complaint(good + line.replace(at, from.size(), to));
  };
  const std::pair<std::string, std::string> cases[] = {
      {"{\"schema\"", "\"schema\""},
      {"\"schema\":1", "\"schema\":2"},
      {"\"schema\":1", "\"schema\":\"1\""},
      {"\"record\":\"result\"", "\"record\":\"winner\""},
      {"\"lanes\":16", "\"lanes\":-16"},
      {"\"lanes\":16", "\"lanes\":1.5"},
      {"\"lanes\":16", "\"lanes\":99999999999999999999"},
      {"\"lanes\":16,", ""},
      {"\"groups_first\":true", "\"groups_first\":1"},
      {"\"ratio\":0.75", "\"ratio\":-1"},
      {"\"ratio\":0.75", "\"ratio\":1e999"},
      {"\"ratio\":0.75", "\"ratio\":null"},
      {"\"target\":\"x86-64-v4\"", "\"target\":\"cortex-m4\""},
      {"\"seconds\":{", "\"seconds\":1,\"s\":{"},
      {"\"error\":\"\"", "\"error\":[]"},
  };
  for (const auto& [from, to] : cases) {
    const std::string text = broken(from, to);
    EXPECT_NE(text.find("some.tuning: line 2"), std::string::npos) << to << ": " << text;
  }
  EXPECT_NE(complaint("[1]\n").find("line 1"), std::string::npos);
  EXPECT_NE(complaint(std::string(70000, '[')).find("70000 bytes"), std::string::npos);
  EXPECT_NE(complaint(good.substr(0, good.size() / 2)), "");
  EXPECT_EQ(complaint(""), "");
}

// ---- What the planner makes of it

TEST(TunedLowering, TakesResultsAndSaysSo) {
  PlannerConfig config = config_of("x86-64-v4");
  const Plan rules = planned(config);
  const Kernel kernel = kernel_of(rules, KernelKind::kCentreAffine);
  TunedSchedule tuned;
  tuned.key = kernel.key;
  tuned.target = "x86-64-v4";
  tuned.schedule = legal_schedules(kernel, config.target).back();
  tuned.seconds = 1.25e-6;
  tuned.default_seconds = 2.5e-6;
  config.tuned = {tuned};
  EXPECT_EQ(planned(config).kernels, rules.kernels);  // lowering vector reads no results

  config.lowering = Lowering::kTuned;
  const Plan plan = planned(config);
  const Kernel made = *std::ranges::find(plan.kernels, kernel.key, &Kernel::key);
  EXPECT_EQ(made.schedule, tuned.schedule);
  EXPECT_EQ(made.strategy, Lowering::kTuned);
  EXPECT_EQ(made.depth, kernel.depth);
  EXPECT_EQ(made.reason, "tuned: " + to_text(tuned.schedule) + ", measured 1.25 us against 2.5");
  for (const Kernel& each : plan.kernels) {
    if (!is_tunable(each) || each.key == kernel.key) continue;
    EXPECT_EQ(each.strategy, Lowering::kVector);
    EXPECT_NE(each.reason.find("the tuning log has no result"), std::string::npos);
  }
}

TEST(TunedLowering, RefusesSchedulesThatDoNotFit) {
  PlannerConfig config = config_of("x86-64-v4");
  const Kernel kernel = kernel_of(planned(config), KernelKind::kBackwardAffine);
  config.lowering = Lowering::kTuned;
  for (const Schedule& hostile :
       {Schedule{16, 1, 0, 0, false, 1},
        Schedule{16, 1 << 24, 1 << 24, 1 << 24, true, 1 << 24, 1 << 24},
        Schedule{0, 0, 0, 0, false, 0}, Schedule{4, 1, 1, 64, false, 1}}) {
    TunedSchedule tuned;
    tuned.key = kernel.key;
    tuned.schedule = hostile;
    config.tuned = {tuned};
    const Plan plan = planned(config);
    const Kernel made = *std::ranges::find(plan.kernels, kernel.key, &Kernel::key);
    EXPECT_EQ(made.schedule, kernel.schedule);
    EXPECT_EQ(made.strategy, Lowering::kVector);
    EXPECT_EQ(std::ranges::count_if(plan.rejected,
                                    [&](const Rejected& each) {
                                      return each.slot == "lowering" &&
                                             each.candidate.starts_with(kernel.key);
                                    }),
              1);
  }
}

}  // namespace
}  // namespace bf_aot
