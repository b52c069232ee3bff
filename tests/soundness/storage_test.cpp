// Bounds do not depend on where buffers lie, nor on what dead memory holds: with and without shared
// bytes, written in place or not, and with every buffer overwritten before it is first written and
// after its last use, they are the same to the bit. Graphs are random: dense, convolutional,
// products, maxima, functions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include "aot/emit/interface/emit.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/soundness/batch.h"

namespace bf_aot::soundness {
namespace {

using ::bf_aot::testing::Numbers;

struct Variant {
  const char* name;
  std::vector<std::string> disabled_passes;
  std::optional<unsigned char> poison;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = {
      {"as planned", {}, {}},
      {"poisoned with 0xaa", {}, static_cast<unsigned char>(0xaa)},
      {"poisoned with 0x7f", {}, static_cast<unsigned char>(0x7f)},
      {"one range per buffer", {"share-storage"}, {}},
      {"nothing in place", {"reuse-in-place"}, {}},
      {"neither, poisoned", {"share-storage", "reuse-in-place"}, static_cast<unsigned char>(0xaa)},
  };
  return list;
}

class StorageVariants : public ::testing::TestWithParam<Method> {
 protected:
  static constexpr int kNets = 8;

  // The number of the graph's first variant in the batch, or nothing where the planner refuses it.
  void add(const Graph& graph, int row_tile) {
    const std::size_t first = batch_.size();
    try {
      for (const Variant& variant : variants()) {
        PlannerConfig config = planner_config(GetParam(), Lowering::kGeneric, "generic");
        config.row_tile = row_tile;
        config.disabled_passes = variant.disabled_passes;
        batch_.add(graph, false, config, {variant.poison});
      }
    } catch (const CompileError&) {
      ASSERT_EQ(batch_.size(), first);
      return;
    }
    first_.push_back(first);
  }

  FloatBox random_box(int inputs) {
    std::uniform_real_distribution<float> unit(-1, 1);
    const float radius = std::ldexp(1.0F, testing::pick(random_, -8, 0));
    FloatBox box;
    for (int i = 0; i < inputs; ++i) {
      const float centre = unit(random_);
      box.lower.push_back(centre - radius);
      box.upper.push_back(centre + radius);
    }
    return box;
  }

  std::mt19937_64 random_{20261120};
  std::vector<std::size_t> first_;  // in the batch, of each graph
  Batch batch_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_P(StorageVariants, BoundsAreTheSameToTheBit) {
  while (first_.size() < kNets) {
    Graph graph = testing::random_graph(random_, Numbers::kFloats, testing::pick(random_, 4, 14));
    try {
      normalise(graph);
    } catch (const CompileError&) {
      continue;
    }
    add(graph, 2 * testing::pick(random_, 1, 3));  // so that rows take several rounds
  }
  batch_.build({"g++", {"-O1"}});
  int shared = 0, in_place = 0;
  for (const std::size_t first : first_) {
    const Plan& plan = batch_.plan(first);
    shared += plan.arena_bytes() < batch_.plan(first + 3).arena_bytes() ? 1 : 0;
    for (const Buffer& buffer : plan.entries[0].buffers) in_place += buffer.values > 1 ? 1 : 0;
    for (int k = 0; k < 4; ++k) {
      const FloatBox box = random_box(plan.input_count);
      const Outcome expected = batch_.run(first, box, 0x00);
      for (std::size_t v = 0; v < variants().size(); ++v) {
        for (const unsigned char byte : {0x00, 0xaa, 0xff}) {
          const Outcome outcome = batch_.run(first + v, box, byte);
          EXPECT_EQ(outcome.status, expected.status);
          EXPECT_TRUE(same_bits(outcome.lower, expected.lower) &&
                      same_bits(outcome.upper, expected.upper))
              << variants()[v].name << ", workspace of " << static_cast<int>(byte);
        }
      }
    }
  }
  EXPECT_GT(shared, kNets / 2);
  EXPECT_GT(in_place, kNets / 2);
}

// ---- The printed code alone: the places of its buffers and where each is named.

struct Printed {
  std::int64_t begin = 0, end = 0;  // bytes of the workspace
  std::size_t first = 0, last = 0;  // statements
};

// An entry point's text from its first declaration on, and the numbers of its statements. Loops
// over rows repeat: what is named before a loop and in it is in use until the loop ends.
class PrintedEntry {
 public:
  explicit PrintedEntry(const std::string& text) : text_(text) {
    read_declarations();
    for (const auto& [name, unused] : buffers_) follow(name);
  }

  const std::map<std::string, Printed>& buffers() const { return buffers_; }

 private:
  void read_declarations() {
    static const std::regex declaration(
        R"((double|float|std::int32_t)\* const (\w+) =\s+at<[\w:]+>\(workspace, (\d+)\);\s+// \[(\d+)\])");
    for (auto it = std::sregex_iterator(text_.begin(), text_.end(), declaration);
         it != std::sregex_iterator(); ++it) {
      const std::int64_t offset = std::stoll((*it)[3]);
      const std::int64_t size = (*it)[1] == "double" ? 8 : 4;
      buffers_[(*it)[2]] = {offset, offset + size * std::stoll((*it)[4]), 0, 0};
      body_ = static_cast<std::size_t>(it->position() + it->length());
    }
  }

  // Statements and blocks that have ended before `at`.
  std::size_t statement(std::size_t at) const {
    std::size_t count = 0;
    for (std::size_t i = body_; i < at; ++i)
      count += text_[i] == ';' || text_.compare(i, 2, "}\n") == 0 ? 1 : 0;
    return count;
  }

  void follow(const std::string& name) {
    Printed& buffer = buffers_[name];
    bool named = false;
    const std::regex word("\\b" + name + "\\b");
    for (auto it = std::sregex_iterator(text_.begin() + static_cast<std::ptrdiff_t>(body_),
                                        text_.end(), word);
         it != std::sregex_iterator(); ++it) {
      const std::size_t at = body_ + static_cast<std::size_t>(it->position());
      if (!named) buffer.first = statement(at);
      named = true;
      buffer.last = statement(at);
      const std::size_t loop = text_.rfind("    for (int first = 0;", at);
      const std::size_t end = loop == std::string::npos ? loop : text_.find("\n    }\n", loop);
      if (end != std::string::npos && at < end && buffer.first < statement(loop))
        buffer.last = statement(end);
    }
    EXPECT_TRUE(named) << name;
  }

  const std::string text_;
  std::size_t body_ = 0;
  std::map<std::string, Printed> buffers_;
};

TEST_P(StorageVariants, PrintedPlacesDoNotOverlap) {
  int checked = 0, pairs = 0;
  while (checked < 4 * kNets) {
    Graph graph = testing::random_graph(random_, Numbers::kFloats, testing::pick(random_, 4, 14));
    std::string text;
    std::int64_t arena = 0;
    try {
      normalise(graph);
      ModelInfo info;
      info.sha256 = std::string(64, '0');
      const auto lowered = lower(std::make_shared<const Plan>(bf_aot::plan(
          graph, info, "net", false, planner_config(GetParam(), Lowering::kGeneric, "generic"))));
      text = emit::emit_source(*lowered, "net");
      arena = lowered->plan().arena_bytes();
    } catch (const CompileError&) {
      continue;
    }
    ++checked;
    const std::size_t begin = text.find("bf_status net_bounds(");
    text.resize(text.find("\n}\n", begin));
    const PrintedEntry entry(text.substr(begin));
    for (const auto& [a_name, a] : entry.buffers()) {
      EXPECT_LE(a.end, arena) << a_name;
      for (const auto& [b_name, b] : entry.buffers()) {
        if (a_name >= b_name || a.end <= b.begin || b.end <= a.begin) continue;
        ++pairs;
        EXPECT_TRUE(a.last < b.first || b.last < a.first)
            << a_name << " and " << b_name << " share bytes in\n"
            << text.substr(begin);
      }
    }
  }
  EXPECT_GT(pairs, kNets);  // bytes are shared indeed
}

INSTANTIATE_TEST_SUITE_P(Methods, StorageVariants,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown),
                         [](const auto& test) { return test_name(to_string(test.param)); });

}  // namespace
}  // namespace bf_aot::soundness
