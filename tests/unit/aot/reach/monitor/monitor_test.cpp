#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "aot/build/library.h"
#include "aot/reach/monitor/monitor_text.h"
#include "aot/reach/search/demands.h"
#include "aot/reach/tube/flow.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "tests/seed.h"
#include "tests/support/loops.h"
#include "tests/support/model_text.h"

namespace bf_aot::reach {
namespace {

using test::PlantWriter;
using Random = std::mt19937_64;

constexpr std::size_t kPeriods = 6, kStates = 2;

// As the monitors' headers have it.
struct Result {
  bf_uint32 safe_periods, open_requirement;
  unsigned char proven[kPeriods];
  double lower[(kPeriods + 1) * kStates], upper[(kPeriods + 1) * kStates];
};

Question asked(Loop loop) {
  loop.period = mpq_class(1, 10);
  loop.steps = kPeriods;
  loop.initial = {{-0.5, -0.5}, {0.5, 0.5}};
  const std::size_t controls = loop.controller ? 1 : 0;
  Question question{std::move(loop), {}};
  for (std::size_t i = 0; i < kStates; ++i)
    question.requirements.push_back(
        {Requirement::Kind::kAlways, 0, 1,
         test::linear_condition(test::between(i, -0.6, 0.55), kStates, controls), "always"});
  return question;
}

// x0' = x1 + e^-x0 / 10 + v / 8, x1' = w - 2 sin x0 + x0^3 cos(x1) / (2 + x1^2).
Loop smooth_loop() {
  PlantWriter plant;
  const auto x = plant.input("x", 2), v = plant.input("v", 1), w = plant.input("w", 1);
  const auto decay = plant.times(0.1, plant.apply(FunctionKind::kExp, plant.times(-1, x[0])));
  const auto cube = plant.apply(Function{FunctionKind::kPower, 3}, x[0]);
  const auto bend = plant.divide(plant.multiply(cube, plant.apply(FunctionKind::kCos, x[1])),
                                 plant.add(plant.constant(2), plant.multiply(x[1], x[1])));
  const auto pull = plant.times(2, plant.apply(FunctionKind::kSin, x[0]));
  Loop loop;
  loop.plant =
      test::part_of(plant.finish({plant.add(plant.add(x[1], decay), plant.times(0.125, v[0])),
                                  plant.add(plant.subtract(w[0], pull), bend)}));
  loop.disturbances = {{"v", {{-0.5}, {0.5}}, Disturbance::Changes::kNever},
                       {"w", {{-0.0625}, {0.0625}}}};
  return loop;
}

// x0 + h (|x1| - x0), x1 + h (max(x0, 0) / x' - w x1), with x' = 3 + x0.
Loop kinked_loop() {
  PlantWriter plant;
  const auto x = plant.input("x", 2), w = plant.input("w", 1);
  const auto rise = plant.divide(plant.relu(x[0]), plant.add(plant.constant(3), x[0]));
  Loop loop;
  loop.kind = PlantKind::kEuler;
  loop.substeps = 3;
  loop.plant =
      test::part_of(plant.finish({plant.subtract(plant.apply(FunctionKind::kAbs, x[1]), x[0]),
                                  plant.subtract(rise, plant.multiply(w[0], x[1]))}));
  loop.disturbances = {{"w", {{0.5}, {1.5}}}};
  return loop;
}

Graph controller() {
  return test::dense_network({{{{1, 0.5}, {-1, -0.5}}, {0, 0}}, {{{-1.5, 1.5}}, {0}}});
}

// An unstable pendulum that ReLUs hold.
Loop controlled_loop() {
  PlantWriter plant;
  const auto x = plant.input("x", 2), u = plant.input("u", 1);
  Loop loop;
  loop.plant = test::part_of(
      plant.finish({x[1], plant.add(plant.apply(FunctionKind::kSin, x[0]), plant.times(2, u[0]))}));
  loop.controller = test::part_of(controller());
  return loop;
}

// A whole step: a network of ReLUs.
Loop network_loop() {
  Loop loop;
  loop.kind = PlantKind::kDiscrete;
  loop.plant = test::part_of(test::dense_network(
      {{{{1, 0.5}, {-1, 1}}, {0, 0.125}}, {{{0.75, -0.5}, {0.25, 0.5}}, {0, 0}}}));
  return loop;
}

MonitorSettings settings_of() {
  MonitorSettings settings;
  settings.stem = "watch";
  settings.compile.planner.target = find_target("generic");
  settings.compile.planner.lowering = Lowering::kGeneric;
  return settings;
}

// A monitor, compiled and loaded.
class Loaded {
 public:
  explicit Loaded(const Question& question) : plan(plan_monitor(question, settings_of())) {
    const std::vector<emit::EmittedFile> files = monitor_files(plan, question);
    for (const emit::EmittedFile& file : files)
      system::write_file(folder_.path() / ("watch" + file.suffix), file.bytes);
    const build::CompilerOptions compiler{"",
                                          {"-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
                                           "-Wshadow", "-Werror", "-O1", "-ffp-contract=off"}};
    build::build_shared(build::find_toolchain(compiler, find_target("generic")), folder_.path(),
                        "watch", files);
    library_ = dlopen((folder_.path() / "watch.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    look_ = reinterpret_cast<Look*>(dlsym(library_, "watch_look_ahead"));
  }
  ~Loaded() { dlclose(library_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  Result look(const Box& box) const {
    std::vector<double> workspace(plan.sizes.bytes() / 8);
    Result result;
    EXPECT_EQ(
        look_(box.lower.data(), box.upper.data(), &result, workspace.data(), plan.sizes.bytes()),
        BF_OK);
    return result;
  }

  const MonitorPlan plan;

 private:
  using Look = bf_status(const double*, const double*, Result*, void*, std::size_t);
  test::TempFolder folder_;
  void* library_ = nullptr;
  Look* look_ = nullptr;
};

// What this program finds of the same plan.
class Expected : public SegmentVisitor {
 public:
  explicit Expected(const Question& question) : question_(question) {
    for (Range& each : ranges) each = {INFINITY, -INFINITY};
    proven.fill(1);
  }

  bool visit(const Segment& segment, const std::vector<Form>& initial) override {
    for (std::size_t i = 0; i < kStates; ++i) {
      Range& range = ranges[segment.period * kStates + i];
      range = hull(range, range_of(segment.state[i]));
    }
    for (const Requirement& each : question_.requirements)
      if (!holds(each.must.formula, values_of(each.must, segment, initial)))
        proven[std::min(segment.period, kPeriods - 1)] = 0;
    return true;
  }

  void end(const std::optional<FlowEnd>& ended) {
    if (!ended) return;
    for (std::size_t p = ended->period; p < kPeriods; ++p) proven[p] = 0;
    for (std::size_t i = ended->period * kStates; i < ranges.size(); ++i) ranges[i] = kEverything;
  }

  std::array<Range, (kPeriods + 1) * kStates> ranges;
  std::array<unsigned char, kPeriods> proven;

 private:
  const Question& question_;
};

Box random_box(Random& random) {
  std::uniform_real_distribution<double> at(-0.5, 0.5), size(0, 0.2);
  Box box;
  for (std::size_t i = 0; i < kStates; ++i) {
    box.lower.push_back(at(random));
    box.upper.push_back(box.lower.back() + (random() % 4 == 0 ? 0 : size(random)));
  }
  return box;
}

// Calls check(result, expected) for random boxes of which some are safe, and some are not.
template <class Check>
void compare(const Question& question, const Check& check) {
  const Loaded monitor(question);
  build::CompileOptions here;
  here.planner.target = find_target("host");
  here.planner.lowering = Lowering::kPrebuilt;
  const Flow flow(question.loop, monitor.plan.flow, here, {});
  Random random(testing::seed_from_environment(7));
  std::size_t safe = 0;
  constexpr std::size_t kBoxes = 60;
  for (std::size_t k = 0; k < kBoxes; ++k) {
    const Box box = random_box(random);
    const Result result = monitor.look(box);
    Expected expected(question);
    expected.end(flow.run(box, expected));
    check(result, expected);
    std::size_t count = 0;
    while (count < kPeriods && result.proven[count] != 0) ++count;
    EXPECT_EQ(result.safe_periods, count);
    EXPECT_EQ(result.open_requirement == 2, count == kPeriods);
    safe += count == kPeriods ? 1 : 0;
  }
  EXPECT_GT(safe, 0U);
  EXPECT_LT(safe, kBoxes);
}

void expect_same_bits(const Result& result, const Expected& expected) {
  for (std::size_t i = 0; i < expected.ranges.size(); ++i) {
    EXPECT_EQ(result.lower[i], expected.ranges[i].low) << i;
    EXPECT_EQ(result.upper[i], expected.ranges[i].high) << i;
  }
  for (std::size_t p = 0; p < kPeriods; ++p) EXPECT_EQ(result.proven[p], expected.proven[p]);
}

TEST(Monitor, HasTheSameTubesOfSmoothPlants) {
  compare(asked(smooth_loop()), expect_same_bits);
}

TEST(Monitor, HasTheSameTubesOfPlantsWithKinks) {
  compare(asked(kinked_loop()), expect_same_bits);
}

// The verifiers of the network are another program here than on the device: their last bits differ.
void expect_alike(const Result& result, const Expected& expected) {
  for (std::size_t i = 0; i < expected.ranges.size(); ++i) {
    EXPECT_NEAR(result.lower[i], expected.ranges[i].low, 1e-5) << i;
    EXPECT_NEAR(result.upper[i], expected.ranges[i].high, 1e-5) << i;
  }
}

TEST(Monitor, HasTheTubesOfControlledPlants) {
  compare(asked(controlled_loop()), expect_alike);
}

TEST(Monitor, HasTheTubesOfNetworksThatAreTheStep) {
  compare(asked(network_loop()), expect_alike);
}

TEST(Monitor, IsTheSameTextEachTime) {
  const Question question = asked(controlled_loop());
  const auto text = [&] {
    std::string made;
    for (const emit::EmittedFile& file :
         monitor_files(plan_monitor(question, settings_of()), question))
      made += file.suffix + file.bytes;
    return made;
  };
  EXPECT_EQ(text(), text());
}

void expect_refused(const Question& question, const std::string& why) {
  try {
    (void)plan_monitor(question, settings_of());
    ADD_FAILURE() << "no error: " << why;
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF3630");
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(Monitor, RefusesWhatItCannotDo) {
  Question question = asked(smooth_loop());
  question.requirements[0].kind = Requirement::Kind::kAt;
  expect_refused(question, "times since the start");
  question.requirements.clear();
  expect_refused(question, "nothing to monitor");

  PlantWriter plant;
  const auto x = plant.input("x", 2);
  Loop loop;
  loop.plant = test::part_of(plant.finish({plant.apply(FunctionKind::kAtan, x[1]), x[0]}));
  expect_refused(asked(std::move(loop)), "atan");

  loop = controlled_loop();
  loop.delayed = true;
  loop.first_control = {Bounded{0, 0}};
  expect_refused(asked(std::move(loop)), "delay");
}

}  // namespace
}  // namespace bf_aot::reach
