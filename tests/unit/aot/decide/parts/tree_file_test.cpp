#include "aot/decide/parts/tree_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/tree/tree_search.h"
#include "frontend/diagnostic.h"
#include "tests/unit/aot/decide/tree/made_tree.h"

namespace bf_aot::decide {
namespace {

using nlohmann::ordered_json;

TreeFile sample() {
  TreeFile file;
  file.question = {{{"/m.onnx", std::string(64, 'a')}},
                   "/p.vnnlib",
                   std::string(64, 'b'),
                   std::string(64, 'c'),
                   {{"y"}, {"e"}, {{"e", {1, 4}}}},
                   "real",
                   false};
  file.state.nodes = 5;
  file.state.points = 7;
  file.state.roots.resize(2);
  file.state.roots[0].closed.add(1);
  file.state.roots[0].stuck.add(2);
  file.state.roots[1].closed.add(0);
  file.state.open = {{0, 2, {std::byte{0x00}, std::byte{0xff}}}};
  return file;
}

std::string complaint(const std::function<void()>& body) {
  try {
    body();
  } catch (const CompileError& error) {
    return error.diagnostics()[0].code + " " + error.diagnostics()[0].where + ": " +
           error.diagnostics()[0].message;
  }
  return "none";
}

// What is said of the sample after a change.
std::string complaint_of(const std::function<void(ordered_json&)>& change) {
  ordered_json json = ordered_json::parse(to_text(sample()));
  change(json);
  return complaint([&] { parse_tree_file(json.dump(), "F"); });
}

TEST(TreeFile, IsReadAsItWasWritten) {
  TreeFile file = sample();
  file.witness = TreeWitness{1, {0.1, -3}};
  const TreeFile read = parse_tree_file(to_text(file), "F");
  EXPECT_EQ(read.question.digest(), file.question.digest());
  EXPECT_EQ(read.question.models, file.question.models);
  EXPECT_EQ(read.state, file.state);
  EXPECT_EQ(read.part.count, 1u);
  ASSERT_TRUE(read.witness);
  EXPECT_EQ(read.witness->property_case, 1u);
  EXPECT_EQ(read.witness->x, file.witness->x);
  EXPECT_EQ(parse_tree_state(to_text(file.state), "S"), file.state);
}

TEST(TreeFile, ThatIsDamagedIsRefusedByPlace) {
  EXPECT_EQ(complaint_of([](ordered_json&) {}), "none");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["state"]["open"][0]["depth"] = 1; }),
            "BF3017 F: state: leaves and open nodes do not make a whole tree");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["state"]["open"][0]["depth"] = 65537; }),
            "BF3017 F: state.open[0].depth: 65537 is no whole number of 0 to 65536");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["state"]["open"][0]["root"] = 2; }),
            "BF3017 F: state.open[0].root: 2 is no whole number of 0 to 1");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["state"]["nodes"] = -1; }),
            "BF3017 F: state.nodes: -1 is no whole number of 0 to 17592186044416");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["state"]["nodes"] = 1.5; }),
            "BF3017 F: state.nodes: 1.5 is no whole number of 0 to 17592186044416");
  for (const char* const bytes : {"0", "0g", "+1", " 1"})
    EXPECT_EQ(complaint_of([&](ordered_json& json) { json["state"]["open"][0]["state"] = bytes; }),
              "BF3017 F: state.open[0].state: expected two hexadecimal digits for each byte");
  EXPECT_EQ(complaint_of([](ordered_json& json) {
              json["state"]["roots"][0]["closed"] = std::vector<int>(65538, 0);
            }),
            "BF3017 F: state.roots[0].closed: more than 65537 depths");
  EXPECT_EQ(
      complaint_of([](ordered_json& json) { json["state"]["roots"] = ordered_json::array(); }),
      "BF3017 F: state.open[0]: a node without a root");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["format"] = "bf-aot tree 2"; }),
            "BF3017 F: format: expected 'bf-aot tree 1'");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["digest"] = std::string(64, '0'); }),
            "BF3017 F: digest: is not that of the question");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["digest"] = "00"; }),
            "BF3017 F: digest: expected 64 hexadecimal digits");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["part"]["count"] = 0; }),
            "BF3017 F: part.count: no parts");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["part"]["index"] = 1; }),
            "BF3017 F: part.index: 1 is no whole number of 0 to 0");
  EXPECT_EQ(complaint_of([](ordered_json& json) {
              json["witness"] = {{"case", 2}, {"x", {1}}};
            }),
            "BF3017 F: witness.case: 2 is no whole number of 0 to 1");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json["more"] = 1; }).substr(0, 6), "BF3005");
  EXPECT_EQ(complaint_of([](ordered_json& json) { json.erase("state"); }).substr(0, 6), "BF3004");
  EXPECT_EQ(complaint([] { parse_tree_file("{", "F"); }).substr(0, 6), "BF3003");
}

TEST(TreeFile, OfAnotherQuestionSaysWhatDiffers) {
  const TreeFile file = sample();
  TreeQuestion other = file.question;
  other.models[0].path = "/moved.onnx";
  EXPECT_EQ(complaint([&] { expect_same_question(file, "F", other); }), "none");
  other.property_sha256[0] = 'f';
  EXPECT_EQ(complaint([&] { expect_same_question(file, "F", other); }),
            "BF3018 F: the file is about another question: the property differs");
  other = file.question;
  other.nodes_sha256[0] = 'f';
  EXPECT_EQ(
      complaint([&] { expect_same_question(file, "F", other); }),
      "BF3018 F: the file is about another question: what nodes of the tree mean (the model's "
      "data, ranges of its neurons, a loop's demands) differs");
}

std::vector<NamedTreeFile> parts_of(std::size_t count) {
  tree::MadeWorker worker({});
  std::vector<NamedTreeFile> parts;
  for (std::size_t i = 0; i < count; ++i) {
    TreeFile file = sample();
    file.state = tree::made_roots(2);
    tree::expand_in_breadth(file.state, kNodesPerPart * count, worker);
    file.part = {i, count, digest_of(file.state)};
    take_part(file.state, file.part);
    tree::TreeSearch(2, tree::made_workers({})).run(file.state, {}, {});
    parts.push_back(
        {std::string(1, static_cast<char>('a' + i)), parse_tree_file(to_text(file), "F")});
  }
  return parts;
}

TEST(JoinParts, GivesTheTreeOfOneSearch) {
  tree::TreeState whole = tree::made_roots(2);
  tree::TreeSearch(1, tree::made_workers({})).run(whole, {}, {});
  for (const std::size_t count : {2, 5}) {
    std::vector<NamedTreeFile> parts = parts_of(count);
    std::swap(parts[0], parts[1]);
    const tree::TreeState joined = join_parts(parts);
    EXPECT_TRUE(tree::is_verified(joined));
    EXPECT_EQ(joined.roots, whole.roots);
    EXPECT_EQ(joined.nodes, whole.nodes);
  }
}

TEST(JoinParts, RefusesWhatIsNoWhole) {
  const std::vector<NamedTreeFile> parts = parts_of(3);
  const auto joined = [](std::vector<NamedTreeFile> files) {
    return complaint([&] { join_parts(files); });
  };
  EXPECT_EQ(joined({parts[0], parts[2]}), "BF3019 a: part 1 of 3 is missing");
  EXPECT_EQ(joined({parts[0], parts[1], parts[1]}), "BF3019 b: part 1 is in b, too");
  std::vector<NamedTreeFile> changed = parts;
  changed[2].file.part.frontier[0] ^= 1;
  EXPECT_EQ(joined(changed), "BF3019 c: the tree is divided otherwise than in a");
  changed = parts;
  changed[1].file.state.roots[0].closed.add(9);
  EXPECT_EQ(joined(changed), "BF3019 a: the parts do not add up to a whole tree");
  changed = parts;
  changed[1].file.question.semantics = "float32";
  EXPECT_EQ(joined(changed), "BF3018 b: the file is about another question: --semantics differs");
}

TEST(ParsePart, TakesPartsThatThereAre) {
  ASSERT_TRUE(parse_part("2/8"));
  EXPECT_EQ(parse_part("2/8")->index, 2u);
  EXPECT_EQ(parse_part("2/8")->count, 8u);
  for (const char* const text : {"", "/", "1", "1/", "/2", "8/8", "-1/2", "0/0", "1/2x", "0/65537"})
    EXPECT_FALSE(parse_part(text)) << text;
}

}  // namespace
}  // namespace bf_aot::decide
