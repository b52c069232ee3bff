// Random legal schedules of random nests compute what the loops in the axes' order compute: by the
// interpreter, and by their printed text, compiled. Small integers, so that sums are exact in any
// order.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "aot/emit/loop/nest.h"
#include "tests/unit/aot/emit/kernels/interpreter.h"
#include "tests/unit/aot/emit/kernels/printed.h"

namespace bf_aot::emit {
namespace {

using loop::Expression;
using loop::Index;
using loop::Let;
using loop::load;
using loop::local;
using loop::Loop;
using loop::LoopKind;
using loop::Nest;
using loop::Store;
using loop::Sum;
using testing::Interpreter;
using testing::Memory;

constexpr int kNests = 150;
const std::vector<std::string> kBuffers = {"x", "y", "z", "first", "second"};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool maybe(double chance) { return std::bernoulli_distribution(chance)(random_); }
  template <typename List>
  void shuffle(List& list) {
    std::shuffle(list.begin(), list.end(), random_);
  }

  // Sums over s and t at every (b, a); lanes may be along a.
  Expression expression();
  // The nest, or two nests that share the range of axis b, in any schedule that the rules permit.
  std::vector<Nest> schedule(const Expression& what);
  Memory memory(const Expression& what);

 private:
  void split(Nest& nest);
  void order(Nest& nest);
  void unroll(Nest& nest);
  void sum_in_parts(Nest& nest);

  std::mt19937_64 random_;
  std::int64_t tile_ = 1;  // floor(a, tile_) is used as an index
};

std::int64_t extent(const Expression& what, const std::string& axis) {
  for (const loop::Axis& each : what.axes)
    if (each.name == axis) return each.end;
  return 1;
}

Expression Generator::expression() {
  Expression what;
  what.axes = {{"b", 0, between(1, 6), false},
               {"s", 0, between(1, 9), true},
               {"a", 0, between(1, 12), false},
               {"t", 0, between(1, 5), true}};
  const std::int64_t a = extent(what, "a");
  const std::int64_t b = extent(what, "b");
  const std::int64_t s = extent(what, "s");
  tile_ = between(1, 8);
  const Index kept = loop::axis("b", a) + loop::axis("a");
  const Index all = loop::axis("t", s * b * a) + loop::axis("s", b * a) + kept;
  // [a / tile][s][tile]
  const Index packed = loop::axis("s", tile_) + loop::axis("a") + loop::floor("a", tile_, s - 1);
  const bool to_buffers = maybe(0.6);
  what.body = {Let{"at_x", load("x", all)}, Let{"at_y", load("y", packed)},
               Let{"negative", loop::less(local("at_x"), loop::literal(0))}};
  const loop::ExprPtr chosen = loop::select(local("negative", loop::Type::kMask), local("at_y"),
                                            loop::max(local("at_x"), loop::literal(1)));
  if (maybe(0.5)) what.body.emplace_back(Store{"x", all, chosen - local("at_y"), {}});
  Index moved = kept;
  moved.constant = 3;
  what.sums = {
      Sum{"mid", local("at_x") * local("at_y"), to_buffers ? "first" : "", kept, maybe(0.5)},
      Sum{"rad", loop::abs(chosen), to_buffers ? "second" : "", moved, maybe(0.5)}};
  if (to_buffers) return what;
  what.epilogue = {Let{"total", local("mid") - load("z", loop::axis("b"))},
                   Store{"first", kept, local("total") + local("rad"), {}},
                   Store{"second", moved, -local("total"), {}}};
  if (maybe(0.5)) std::get<Store>(what.epilogue[1]).within = {{loop::axis("a"), 0, between(1, a)}};
  return what;
}

Memory Generator::memory(const Expression& what) {
  Memory memory;
  std::int64_t all = 1;
  for (const loop::Axis& axis : what.axes) all *= axis.end;
  const std::int64_t packed = (extent(what, "a") + tile_) * extent(what, "s") * 2 + tile_;
  for (const std::string& name : kBuffers) {
    auto& buffer = memory[name];
    buffer.resize(static_cast<std::size_t>(name == "y" ? packed : all + 3));
    for (testing::Number& number : buffer) number.value = static_cast<double>(between(-4, 4));
  }
  return memory;
}

void Generator::split(Nest& nest) {
  // The packed index needs a loop of its tiles.
  if (nest.axis("a").end > tile_ || maybe(0.5)) nest.split("a", tile_, "a_tile");
  if (nest.has_loop("a_tile") && tile_ % 2 == 0 && maybe(0.5)) nest.split("a", 2, "a_part");
  for (const char* axis : {"b", "s", "t"})
    if (maybe(0.5)) nest.split(axis, between(1, 5), axis + std::string("_tile"));
  if (nest.has_loop("s_tile") && maybe(0.3)) nest.split("s_tile", between(1, 3), "s_block");
}

// Kept loops that will be unrolled stand innermost.
void Generator::order(Nest& nest) {
  std::vector<std::string> names;
  for (const Loop& each : nest.loops()) names.push_back(each.name);
  shuffle(names);
  const bool leaves = !nest.expression().sums.front().buffer.empty();
  const auto reduced = [&](const std::string& name) {
    return nest.axis(nest.loop(name).axis).reduced;
  };
  if (!leaves || maybe(0.3))
    std::stable_partition(names.begin(), names.end(), std::not_fn(reduced));
  if (maybe(0.7)) {  // a register tile along a, inside the reduced loops
    const auto inside = [](const std::string& name) { return name == "a" || name == "a_part"; };
    std::stable_partition(names.begin(), names.end(), std::not_fn(inside));
    if (names.back() != "a") std::swap(names.back(), *std::ranges::find(names, "a"));
  }
  std::vector<std::string> ordered;  // outer loops first
  while (ordered.size() < names.size())
    for (const std::string& name : names) {
      const std::string& outer = nest.loop(name).outer;
      const auto placed = [&](const std::string& each) {
        return std::ranges::find(ordered, each) != ordered.end();
      };
      if (placed(name) || !(outer.empty() || placed(outer))) continue;
      ordered.push_back(name);
      break;
    }
  nest.reorder(ordered);
}

void Generator::unroll(Nest& nest) {
  const std::vector<Loop> loops = nest.loops();
  for (std::size_t i = loops.size(); i-- > 0;) {
    const Loop& each = loops[i];
    if (nest.axis(each.axis).reduced || !nest.is_exact(each) || maybe(0.2)) return;
    const std::int64_t trips = nest.trip_count(each);
    const bool lanes =
        i + 1 == loops.size() && each.name == "a" && (trips == 2 || trips == 4 || trips == 8);
    if (lanes && maybe(0.8))
      nest.vectorize(each.name);
    else
      nest.unroll(each.name);
  }
}

void Generator::sum_in_parts(Nest& nest) {
  std::string outermost;  // reduced loop inside the accumulators
  for (const Loop& each : nest.loops()) {
    const bool reduced = nest.axis(each.axis).reduced;
    if (!reduced && each.kind == LoopKind::kSerial && nest.trip_count(each) > 1) outermost.clear();
    if (reduced && outermost.empty()) outermost = each.name;
  }
  if (!outermost.empty() && maybe(0.5)) nest.cache_write(outermost);
}

std::vector<Nest> Generator::schedule(const Expression& what) {
  std::vector<Nest> nests = {Nest(what)};
  const std::int64_t b = extent(what, "b");
  if (b > 1 && maybe(0.3)) {
    const std::int64_t cut = between(1, b - 1);
    nests.push_back(nests.front());
    nests.front().restrict_axis("b", 0, cut);
    nests.back().restrict_axis("b", cut, b);
  }
  for (Nest& nest : nests) {
    const Nest plain = nest;
    do {
      nest = plain;
      split(nest);
      order(nest);
      unroll(nest);
    } while (nest.why_incomplete());
    sum_in_parts(nest);
  }
  return nests;
}

loop::Program program_of(const std::vector<Nest>& nests) {
  loop::Program program;
  for (const Nest& nest : nests) program.add("nest" + std::to_string(program.nests().size()), nest);
  return program;
}

std::string describe(const std::vector<Nest>& nests) {
  return testing::text_of(program_of(nests));
}

void expect_same(const Memory& expected, const Memory& actual, const std::string& what) {
  for (const std::string& name : kBuffers)
    for (std::size_t i = 0; i < expected.at(name).size(); ++i)
      ASSERT_EQ(expected.at(name)[i].value, actual.at(name)[i].value) << name << "[" << i << "]\n"
                                                                      << what;
}

struct Example {
  std::vector<Nest> nests;
  Memory before, after;
};

std::vector<Example> make_examples(std::uint64_t seed) {
  Generator generate(seed);
  std::vector<Example> examples;
  for (int i = 0; i < kNests; ++i) {
    const Expression what = generate.expression();
    Example example{generate.schedule(what), generate.memory(what), {}};
    example.after = example.before;
    const Nest plain(what);
    // The axes' order has reduced loops outside kept ones: straight sums need another.
    Nest straight = plain;
    straight.reorder({"b", "a", "s", "t"});
    Interpreter(straight, example.after).run();
    examples.push_back(std::move(example));
  }
  return examples;
}

TEST(RandomSchedules, ComputeTheSame) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  RecordProperty("seed", std::to_string(used));
  for (int round = 0; round < 10; ++round)
    for (const Example& example : make_examples(used + static_cast<std::uint64_t>(round))) {
      Memory memory = example.before;
      for (const Nest& nest : example.nests) Interpreter(nest, memory).run();
      expect_same(example.after, memory, describe(example.nests));
      if (HasFailure()) return;
    }
}

// The plan's error terms rest on the depths.
TEST(RandomSchedules, SumNoLongerThanTheirDepth) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  int tight = 0;
  for (const Example& example : make_examples(used)) {
    for (const Nest& nest : example.nests) {
      if (nest.expression().body.size() > 3) continue;  // sums of what is stored are longer
      Memory memory = example.before;
      Interpreter run(nest, memory);
      run.run();
      const std::int64_t depth = nest.summation_depth();
      ASSERT_LE(run.deepest(), depth) << describe({nest});
      if (run.deepest() + 1 >= depth) ++tight;
    }
  }
  EXPECT_GT(tight, 0);
}

TEST(RandomSchedules, PrintWhatTheyCompute) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  const std::vector<Example> examples = make_examples(used);
  std::vector<loop::Program> programs;
  for (const Example& each : examples) programs.push_back(program_of(each.nests));
  const testing::PrintedPrograms printed(programs, kBuffers, {});
  ASSERT_TRUE(printed.is_loaded());
  for (std::size_t i = 0; i < examples.size() && !HasFailure(); ++i) {
    Memory memory = examples[i].before;
    printed.run(i, memory);
    expect_same(examples[i].after, memory, describe(examples[i].nests));
  }
}

}  // namespace
}  // namespace bf_aot::emit
