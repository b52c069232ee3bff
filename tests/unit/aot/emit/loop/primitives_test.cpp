// Whatever primitives say of themselves that they apply: the nests compute what they computed
// before, by the interpreter and by their printed text. Small integers, so that sums are exact in
// any order.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aot/emit/loop/intrinsics.h"
#include "aot/emit/loop/program.h"
#include "runtime/bf/contract/lists.h"
#include "tests/unit/aot/emit/kernels/interpreter.h"
#include "tests/unit/aot/emit/kernels/printed.h"

namespace bf_aot::emit {
namespace {

using loop::Expression;
using loop::Let;
using loop::load;
using loop::load_within;
using loop::local;
using loop::Loop;
using loop::Nest;
using loop::Primitive;
using loop::Program;
using loop::ProgramPrimitive;
using loop::Range;
using loop::Store;
using loop::Sum;
using testing::Memory;

const std::vector<std::string> kBuffers = {"x", "y", "z", "first", "second", "third"};
const std::vector<std::string> kTables = {"table", "live", "live_in"};
constexpr std::int64_t kSize = 1024;
constexpr std::int64_t kEntries = 16;
// Of both lists; of third[k][b], those are no results whose k does not count in live_in.
constexpr std::int64_t kListed = 20, kBeside = 8;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool maybe(double chance) { return std::bernoulli_distribution(chance)(random_); }
  template <typename List>
  const auto& one_of(const List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  Program program();
  Memory memory();
  // A primitive that may or may not apply.
  Primitive primitive(const Nest& nest);
  ProgramPrimitive placement(const Program& program);

 private:
  Expression sums();
  Expression convolution();
  Expression gather();
  Expression recurrence();
  Expression listed_sums();
  Program chain();
  std::vector<testing::Number> list();
  std::string new_name() { return "n" + std::to_string(++names_); }
  Primitive of_loops(const Nest& nest);
  Primitive of_values(const Nest& nest);

  std::mt19937_64 random_;
  int names_ = 0;
};

// y[b][a] = sum of x[b][s][a] z[s] over s and the few t, maybe into a buffer that holds something.
Expression Generator::sums() {
  const std::int64_t b = between(1, 4), a = between(1, 8), s = between(1, 6), t = between(1, 3);
  const auto kept = loop::axis("b", a) + loop::axis("a");
  Expression what;
  what.axes = {{"b", 0, b, false}, {"a", 0, a, false}, {"s", 0, s, true}, {"t", 0, t, true}};
  what.body = {Let{"v", load("x", loop::axis("b", s * a) + loop::axis("s", a) + loop::axis("a"))},
               Let{"w", load("z", loop::axis("s", t) + loop::axis("t"))}};
  const bool to_buffer = maybe(0.5);
  what.sums = {Sum{"sum", local("v") * local("w"), to_buffer ? "first" : "", kept, maybe(0.5)}};
  if (to_buffer) return what;
  what.epilogue = {Let{"total", local("sum") + load("y", loop::axis("a"))},
                   Let{"positive", loop::max(local("total"), loop::literal(0))},
                   Store{"first", kept, local("positive") - local("total"), {}}};
  return what;
}

// A convolution with a border, of which the last columns are padding.
Expression Generator::convolution() {
  const std::int64_t channels = between(1, 2), height = between(1, 4), width = between(1, 6);
  const std::int64_t stride = between(1, 2), pad = between(0, 2);
  const std::int64_t rows = between(1, 3), columns = between(1, 8);
  Expression what;
  what.axes = {{"o", 0, between(1, 3), false}, {"p", 0, rows, false}, {"q", 0, columns, false},
               {"i", 0, channels, true},       {"m", 0, 3, true},     {"n", 0, 2, true}};
  const auto row = loop::axis("p", stride) + loop::axis("m") + -pad;
  const auto column = loop::axis("q", stride) + loop::axis("n") + -pad;
  const auto at = loop::axis("i", height * width) + loop::axis("p", stride * width) +
                  loop::axis("m", width) + loop::axis("q", stride) + loop::axis("n") +
                  (-pad * width - pad);
  what.body = {Let{"v", load_within("x", at, {{row, 0, height}, {column, 0, width}})},
               Let{"w", load("y", loop::axis("o", channels * 6) + loop::axis("i", 6) +
                                      loop::axis("m", 2) + loop::axis("n"))}};
  what.sums = {Sum{"sum", local("v") * local("w"), "", {}, false}};
  what.epilogue = {
      Store{"first",
            loop::axis("o", rows * columns) + loop::axis("p", columns) + loop::axis("q"),
            local("sum"),
            {{loop::axis("q"), 0, between(1, columns)}}}};
  return what;
}

// first[a][b] = x[table[a]][b], or 0 where the table says -1; a copy, or with a factor.
Expression Generator::gather() {
  const std::int64_t a = between(1, kEntries), b = between(1, 8);
  Expression what;
  what.axes = {{"a", 0, a, false}, {"b", 0, b, false}};
  const auto source = loop::lookup("table", loop::axis("a"));
  const auto to = loop::axis("a", b) + loop::axis("b");
  std::vector<Range> within = {{source, 0, kSize}};
  if (maybe(0.5)) within.push_back({loop::axis("b"), 0, between(1, b)});
  const loop::ExprPtr value =
      load_within("x", loop::lookup("table", loop::axis("a"), b) + loop::axis("b"), within);
  if (maybe(0.5))
    what.body = {Let{"v", value}, Store{"first", to, local("v") * load("y", loop::axis("b")), {}}};
  else
    what.body = {Store{"first", to, maybe(0.5) ? load("x", to) : value, {}}};
  return what;
}

// Elements that later points read or overwrite: sums along rows, or places that a table repeats.
Expression Generator::recurrence() {
  const std::int64_t a = between(1, 6), b = between(1, 8), row = between(7, 10);
  Expression what;
  what.axes = {{"a", 0, a, false}, {"b", 0, b, false}};
  const auto at = loop::axis("a", row) + loop::axis("b");
  const auto to = maybe(0.5) ? at + between(0, 2)
                             : loop::lookup("table", loop::axis("a"), 8) + loop::axis("b") + 8;
  what.body = {Let{"v", load("x", loop::axis("a", b) + loop::axis("b"))},
               Store{"first", to, local("v") + load("first", at + between(0, 2)), {}}};
  return what;
}

// third[k][b] = sum of x[j][b] y[k][j] z[j / 4] over j; k, j or both are listed.
Expression Generator::listed_sums() {
  Expression what;
  what.axes = {
      {"k", 0, kListed, false}, {"b", 0, between(1, kBeside), false}, {"j", 0, kListed, true}};
  const std::int64_t which = between(0, 2);
  if (which != 0) what.axes[0] = listed(what.axes[0], "live_in");
  if (which != 1) what.axes[2] = listed(what.axes[2], "live");
  const auto kept = loop::axis("k", kBeside) + loop::axis("b");
  what.body = {Let{"v", load("x", loop::axis("j", kBeside) + loop::axis("b"))},
               Let{"w", load("y", loop::axis("k", kListed) + loop::axis("j"))}};
  const bool to_buffer = maybe(0.5);
  what.sums = {Sum{"sum", local("v") * local("w") * load("z", loop::floor("j", 4, 1)),
                   to_buffer ? "third" : "", kept, maybe(0.5)}};
  if (!to_buffer) what.epilogue = {Store{"third", kept, local("sum"), {}}};
  return what;
}

// middle = relu(x) + y, then sums over its rows, or element by element; `middle` is the function's.
Program Generator::chain() {
  const std::int64_t a = between(1, 6), b = between(1, 8);
  const auto at = loop::axis("a", b) + loop::axis("b");
  Expression make, use;
  make.axes = {{"a", 0, a, false}, {"b", 0, b, false}};
  make.body = {Let{"v", load("x", at)},
               Store{"middle", at, loop::max(local("v"), loop::literal(0)) + load("y", at), {}}};
  const auto shifted = at + (maybe(0.2) ? 1 : 0);
  if (maybe(0.5)) {
    use.axes = make.axes;
    use.body = {Store{"first", at, load("middle", at) * load("z", loop::axis("a")), {}}};
  } else {
    use.axes = {{"b", 0, b, false}, {"a", 0, a, true}};
    use.body = {Let{"w", load("middle", at)}};
    use.sums = {Sum{"sum", local("w") * load("z", shifted), "second", loop::axis("b"), false}};
  }
  Program program;
  program.add_local({"middle", loop::Type::kFloat32, a * b});
  program.add("make", Nest(make));
  program.add("use", Nest(use));
  return program;
}

Program Generator::program() {
  const std::int64_t kind = between(0, 7);
  if (kind == 0 || kind == 5) return chain();
  Program program;
  const auto expression = [&] {
    if (kind == 7) return listed_sums();
    return kind == 1 ? convolution() : kind == 2 ? gather() : kind == 6 ? recurrence() : sums();
  };
  program.add("nest", Nest(expression()));
  return program;
}

std::vector<testing::Number> Generator::list() {
  std::vector<double> counting, others, below;
  const double share = std::uniform_real_distribution<double>(0, 1)(random_);
  for (std::int64_t i = 0; i < kListed; ++i) {
    if (i % bf::kListUnit == 0) below.push_back(static_cast<double>(counting.size()));
    (maybe(share) ? counting : others).push_back(static_cast<double>(i));
  }
  below.push_back(static_cast<double>(counting.size()));
  std::vector<testing::Number> made = {{static_cast<double>(counting.size()), 0}};
  for (const std::vector<double>& part : {counting, others, below})
    for (const double value : part) made.push_back({value, 0});
  return made;
}

Memory Generator::memory() {
  Memory memory;
  for (const std::string& name : kBuffers) {
    memory[name].resize(kSize);
    for (testing::Number& number : memory[name]) number.value = static_cast<double>(between(-4, 4));
  }
  memory["table"].resize(kEntries);
  for (testing::Number& number : memory["table"])
    number.value = static_cast<double>(between(-1, kEntries));
  memory["live"] = list();
  memory["live_in"] = list();
  return memory;
}

Primitive Generator::of_loops(const Nest& nest) {
  const std::string& name = one_of(nest.loops()).name;
  const std::string& other = one_of(nest.loops()).name;
  const std::size_t at = static_cast<std::size_t>(
      between(0, std::max<std::int64_t>(0, static_cast<std::int64_t>(nest.loops().size()) - 2)));
  const std::string& next = nest.loops()[std::min(at + 1, nest.loops().size() - 1)].name;
  switch (between(0, 9)) {
    case 0:
      return loop::Split{name, maybe(0.8) ? between(1, 4) : bf::kListUnit, new_name()};
    case 1:
      return loop::Tile{
          {nest.loops()[at].name, next}, {between(1, 4), between(1, 4)}, {new_name(), new_name()}};
    case 2:
      return loop::Fuse{nest.loops()[at].name, next, new_name()};
    case 3: {
      std::vector<std::string> order;
      for (const Loop& each : nest.loops()) order.push_back(each.name);
      std::swap(*std::ranges::find(order, name), *std::ranges::find(order, other));
      return loop::Reorder{order};
    }
    case 4:
      return loop::Unroll{nest.loops().back().name, 0};
    case 5:
      return loop::Unroll{name, static_cast<int>(between(0, 3))};
    case 6:
      return loop::Vectorize{nest.loops().back().name};
    case 7:
      return loop::Parallel{name};
    case 8:
      return loop::Roll{name};
    default:
      return loop::CacheWrite{name};
  }
}

Primitive Generator::of_values(const Nest& nest) {
  const Expression& what = nest.expression();
  const std::vector<loop::Statement>& list = maybe(0.5) ? what.body : what.epilogue;
  std::string let = "none";
  for (const loop::Statement& each : list)
    if (std::holds_alternative<Let>(each) && maybe(0.6)) let = std::get<Let>(each).name;
  switch (between(0, 3)) {
    case 0:
      return loop::Keep{let};
    case 1:
      return loop::Inline{let};
    case 2:
      return loop::Prefetch{one_of(kBuffers), between(0, 100)};
    default:
      return loop::Tensorize{nest.loops().back().name, one_of(loop::intrinsics()).name};
  }
}

Primitive Generator::primitive(const Nest& nest) {
  return maybe(0.7) ? of_loops(nest) : of_values(nest);
}

ProgramPrimitive Generator::placement(const Program& program) {
  const Program::Placed& one = one_of(program.nests());
  const Program::Placed& other = one_of(program.nests());
  switch (between(0, 3)) {
    case 0:
      return loop::ComputeAt{one.name, other.name, one_of(other.nest.loops()).name};
    case 1:
      return loop::ComputeAt{program.nests().front().name, program.nests().back().name,
                             program.nests().back().nest.loops().front().name};
    case 2:
      return loop::CacheRead{one.name, maybe(0.5) ? "x" : "y", one_of(one.nest.loops()).name,
                             new_name()};
    default:
      return loop::InlineNest{one.name, other.name};
  }
}

// What was applied, and what was refused with its reason, over all examples.
struct Counts {
  std::map<std::string, int> applied, refused;

  void count(bool applies, const std::string& text) {
    ++(applies ? applied : refused)[text.substr(0, text.find('('))];
  }
};

// The program with primitives applied, as it was last when it could be run.
Program rearranged(Generator& generate, Program program, Counts& counts) {
  Program complete = program;
  for (int tries = 0; tries < 40; ++tries) {
    if (generate.maybe(0.2)) {
      const ProgramPrimitive primitive = generate.placement(program);
      const loop::Reason reason = program.why_not(primitive);
      counts.count(!reason, to_string(primitive));
      if (reason) {
        EXPECT_FALSE(reason->empty());
        continue;
      }
      program.apply(primitive);
    } else {
      Nest& nest = program.nest(generate.one_of(program.nests()).name);
      const Primitive primitive = generate.primitive(nest);
      const loop::Reason reason = nest.why_not(primitive);
      counts.count(!reason, to_string(primitive));
      if (reason) {
        EXPECT_FALSE(reason->empty());
        continue;
      }
      nest.apply(primitive);
    }
    if (!program.why_incomplete()) complete = program;
  }
  return complete;
}

bool is_result(const Memory& memory, const std::string& name, std::size_t i) {
  const std::vector<testing::Number>& list = memory.at("live_in");
  const auto end = list.begin() + 1 + static_cast<std::ptrdiff_t>(list[0].value);
  const auto k = static_cast<double>(i / static_cast<std::size_t>(kBeside));
  return name != "third" || k >= static_cast<double>(kListed) ||
         std::any_of(list.begin() + 1, end, [&](const auto& entry) { return entry.value == k; });
}

void expect_same(const Memory& expected, const Memory& actual, const Program& program) {
  for (const std::string& name : kBuffers)
    for (std::size_t i = 0; i < expected.at(name).size(); ++i) {
      if (!is_result(expected, name, i)) continue;
      ASSERT_EQ(expected.at(name)[i].value, actual.at(name)[i].value) << name << "[" << i << "]\n"
                                                                      << testing::text_of(program);
    }
}

struct Example {
  Program program;
  Memory before, after;
};

std::vector<Example> make_examples(std::uint64_t seed, int count, Counts& counts) {
  Generator generate(seed);
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    Example example{generate.program(), generate.memory(), {}};
    example.after = example.before;
    interpret(example.program, example.after);
    example.program = rearranged(generate, example.program, counts);
    examples.push_back(std::move(example));
  }
  return examples;
}

TEST(Primitives, KeepWhatNestsCompute) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  RecordProperty("seed", std::to_string(used));
  Counts counts;
  for (const Example& example : make_examples(used, 2500, counts)) {
    Memory memory = example.before;
    interpret(example.program, memory);
    expect_same(example.after, memory, example.program);
    if (HasFailure()) return;
  }
  for (const char* name :
       {"split", "tile", "fuse", "reorder", "unroll", "roll", "vectorize", "parallel",
        "cache_write", "keep", "inline", "prefetch", "tensorize", "compute_at", "cache_read"}) {
    EXPECT_GT(counts.applied[name], 5) << name;
    EXPECT_GT(counts.refused[name], 20) << name;
  }
}

TEST(Primitives, PrintWhatNestsCompute) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  Counts counts;
  const std::vector<Example> examples = make_examples(used, 200, counts);
  std::vector<Program> programs;
  for (const Example& each : examples) programs.push_back(each.program);
  const testing::PrintedPrograms printed(programs, kBuffers, kTables);
  ASSERT_TRUE(printed.is_loaded());
  for (std::size_t i = 0; i < examples.size() && !HasFailure(); ++i) {
    Memory memory = examples[i].before;
    printed.run(i, memory);
    expect_same(examples[i].after, memory, examples[i].program);
  }
}

// The plan's error terms rest on the depths.
TEST(Primitives, KnowTheLongestSum) {
  const std::uint64_t used = testing::test_seed();
  SCOPED_TRACE("BF_TEST_SEED=" + std::to_string(used));
  Counts counts;
  for (const Example& example : make_examples(used, 300, counts)) {
    if (example.program.nests().size() != 1) continue;
    Memory memory = example.before;
    const Nest& nest = example.program.nests().front().nest;
    if (nest.expression().sums.empty()) continue;
    testing::Interpreter run(nest, memory);
    run.run();
    ASSERT_LE(run.deepest(), nest.summation_depth()) << testing::text_of(example.program);
  }
}

}  // namespace
}  // namespace bf_aot::emit
