#include "aot/decide/parts/tree_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "aot/input/json/json_reader.h"
#include "aot/input/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"

namespace bf_aot::decide {
namespace {

using nlohmann::ordered_json;

constexpr char kFormat[] = "bf-aot tree 1";
// This limit keeps sums over kMostParts parts from overflowing.
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 44;

// ---- writing

std::string hex_of(const std::vector<std::byte>& state) {
  return hex({reinterpret_cast<const std::uint8_t*>(state.data()), state.size()});
}

ordered_json to_json(const tree::TreeState& state) {
  ordered_json json;
  json["nodes"] = state.nodes;
  json["points"] = state.points;
  json["roots"] = ordered_json::array();
  for (const tree::RootLeaves& leaves : state.roots)
    json["roots"].push_back({{"closed", leaves.closed.counts()}, {"stuck", leaves.stuck.counts()}});
  json["open"] = ordered_json::array();
  for (const tree::Node& node : state.open)
    json["open"].push_back(
        {{"root", node.root}, {"depth", node.depth}, {"state", hex_of(node.state)}});
  return json;
}

// A text, or where there are several models a list of one for each.
ordered_json of_models(const TreeQuestion& question, std::string TreeQuestion::Model::*text) {
  if (question.models.size() == 1) return question.models[0].*text;
  ordered_json made = ordered_json::array();
  for (const TreeQuestion::Model& model : question.models) made.push_back(model.*text);
  return made;
}

// Inputs, shapes and tokens are there where the models are cut by them.
ordered_json identity_of(const TreeQuestion& question) {
  ordered_json made = {{"model_sha256", of_models(question, &TreeQuestion::Model::sha256)},
                       {"property_sha256", question.property_sha256},
                       {"nodes_sha256", question.nodes_sha256},
                       {"outputs", question.cut.outputs},
                       {"semantics", question.semantics},
                       {"flush_to_zero", question.flush_to_zero}};
  if (!question.cut.inputs.empty()) made["inputs"] = question.cut.inputs;
  if (!question.cut.shapes.empty()) made["shapes"] = question.cut.shapes;
  for (const auto& [name, input] : question.cut.tokens)
    made["tokens"][name] = {{"sets", input.sets}, {"fixed", input.fixed}};
  return made;
}

// A summary for human readers; it is not read again.
ordered_json summary_of(const TreeFile& file) {
  mpq_class closed = 0;
  for (const tree::RootLeaves& leaves : file.state.roots) closed += leaves.closed.value();
  std::uint64_t stuck = 0;
  for (const tree::RootLeaves& leaves : file.state.roots) stuck += leaves.stuck.leaves();
  const bool open = !file.state.open.empty() || stuck > 0;
  return {{"verdict", file.witness ? "falsified"
                      : open       ? "unknown"
                                   : "closed"},
          {"closed_sum", closed.get_d()},
          {"open_nodes", file.state.open.size()},
          {"stuck_leaves", stuck}};
}

// ---- reading

std::string digest_at(const input::JsonAt& at) {
  std::string text = at.text();
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    fail("BF3017", at.where, "expected 64 hexadecimal digits");
  return text;
}

std::vector<std::byte> bytes_at(const input::JsonAt& at) {
  const std::string text = at.text();
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = text.data() + std::min(i + 2, text.size());
    const auto parsed = std::from_chars(text.data() + i, end, byte, 16);
    if (i + 2 > text.size() || parsed.ec != std::errc() || parsed.ptr != end)
      fail("BF3017", at.where, "expected two hexadecimal digits for each byte");
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

tree::KraftSum sum_at(const input::JsonAt& at) {
  const std::size_t depths = at.expect_array();
  if (depths > tree::kMostDepth + 1)
    fail("BF3017", at.where, fmt::format("more than {} depths", tree::kMostDepth + 1));
  tree::KraftSum sum;
  for (std::size_t depth = 0; depth < depths; ++depth)
    sum.add(static_cast<std::uint32_t>(depth), at.at(depth).whole_number(kMostCount));
  return sum;
}

tree::TreeState state_at(const input::JsonAt& at) {
  tree::TreeState state;
  at.allow_keys({"nodes", "points", "roots", "open"});
  state.nodes = at.key("nodes").whole_number(kMostCount);
  state.points = at.key("points").whole_number(kMostCount);
  const input::JsonAt roots = at.key("roots");
  for (std::size_t i = 0; i < roots.expect_array(); ++i) {
    roots.at(i).allow_keys({"closed", "stuck"});
    state.roots.push_back({sum_at(roots.at(i).key("closed")), sum_at(roots.at(i).key("stuck"))});
  }
  const input::JsonAt open = at.key("open");
  for (std::size_t i = 0; i < open.expect_array(); ++i) {
    const input::JsonAt node = open.at(i);
    node.allow_keys({"root", "depth", "state"});
    if (state.roots.empty()) fail("BF3017", node.where, "a node without a root");
    state.open.push_back(
        {static_cast<std::uint32_t>(node.key("root").whole_number(state.roots.size() - 1)),
         static_cast<std::uint32_t>(node.key("depth").whole_number(tree::kMostDepth)),
         bytes_at(node.key("state"))});
  }
  return state;
}

// Reads the models as of_models() writes them.
std::vector<TreeQuestion::Model> models_at(const input::JsonAt& paths,
                                           const input::JsonAt& digests) {
  if (paths.value->is_string()) return {{paths.text(), digest_at(digests)}};
  std::vector<TreeQuestion::Model> models;
  const std::size_t count = paths.expect_array();
  if (digests.expect_array() != count)
    fail("BF3017", digests.where, fmt::format("expected {}, one for each model", count));
  if (count < 2) fail("BF3017", paths.where, "a list has two models or more");
  for (std::size_t i = 0; i < count; ++i)
    models.push_back({paths.at(i).text(), digest_at(digests.at(i))});
  return models;
}

// Reads the shapes of inputs by their names.
std::map<std::string, Shape> shapes_at(const input::JsonAt& at) {
  constexpr std::uint64_t kMostDimension = std::uint64_t{1} << 40;
  std::map<std::string, Shape> shapes;
  at.expect_object();
  for (const auto& [name, dims] : at.value->items()) {
    const input::JsonAt list = at.key(name);
    for (std::size_t i = 0; i < list.expect_array(); ++i)
      shapes[name].push_back(static_cast<std::int64_t>(list.at(i).whole_number(kMostDimension)));
  }
  return shapes;
}

// Reads sets of token ids by their inputs' names.
std::map<std::string, TokenInput> tokens_at(const input::JsonAt& at) {
  constexpr std::uint64_t kMostId = std::uint64_t{1} << 40;
  std::map<std::string, TokenInput> tokens;
  at.expect_object();
  for (const auto& [name, value] : at.value->items()) {
    const input::JsonAt input = at.key(name);
    input.allow_keys({"sets", "fixed"});
    TokenInput& made = tokens[name];
    made.fixed = input.key("fixed").flag();
    const input::JsonAt sets = input.key("sets");
    for (std::size_t i = 0; i < sets.expect_array(); ++i) {
      std::vector<std::int64_t>& set = made.sets.emplace_back();
      for (std::size_t j = 0; j < sets.at(i).expect_array(); ++j)
        set.push_back(static_cast<std::int64_t>(sets.at(i).at(j).whole_number(kMostId)));
    }
  }
  return tokens;
}

TreeQuestion question_at(const input::JsonAt& at) {
  at.allow_keys({"model", "property", "model_sha256", "property_sha256", "nodes_sha256", "outputs",
                 "inputs", "shapes", "tokens", "semantics", "flush_to_zero"});
  TreeQuestion question;
  question.models = models_at(at.key("model"), at.key("model_sha256"));
  question.property = at.key("property").text();
  question.property_sha256 = digest_at(at.key("property_sha256"));
  question.nodes_sha256 = digest_at(at.key("nodes_sha256"));
  question.cut.outputs = at.key("outputs").texts();
  if (at.has("inputs")) question.cut.inputs = at.key("inputs").texts();
  if (at.has("shapes")) question.cut.shapes = shapes_at(at.key("shapes"));
  if (at.has("tokens")) question.cut.tokens = tokens_at(at.key("tokens"));
  question.semantics = at.key("semantics").text();
  question.flush_to_zero = at.key("flush_to_zero").flag();
  return question;
}

TreePart part_at(const input::JsonAt& at) {
  at.allow_keys({"index", "count", "frontier"});
  TreePart part;
  part.count = at.key("count").whole_number(kMostParts);
  if (part.count == 0) fail("BF3017", at.key("count").where, "no parts");
  part.index = at.key("index").whole_number(part.count - 1);
  if (part.count > 1) part.frontier = digest_at(at.key("frontier"));
  return part;
}

TreeWitness witness_at(const input::JsonAt& at, std::size_t roots) {
  at.allow_keys({"case", "x"});
  if (roots == 0) fail("BF3017", at.where, "a case of no property");
  return {at.key("case").whole_number(roots - 1), at.key("x").numbers()};
}

// Refuses sums of more than all. Whether several parts have all together is checked when they are
// joined.
void expect_sums(const TreeFile& file, const std::string& where) {
  if (file.part.count == 1 && !tree::is_whole(file.state))
    fail("BF3017", where, "leaves and open nodes do not make a whole tree");
}

const char* name_of_difference(const TreeQuestion& one, const TreeQuestion& other) {
  const auto same_model = [](const TreeQuestion::Model& a, const TreeQuestion::Model& b) {
    return a.sha256 == b.sha256;
  };
  return !std::ranges::equal(one.models, other.models, same_model) ? "the model"
         : one.property_sha256 != other.property_sha256            ? "the property"
         : one.nodes_sha256 != other.nodes_sha256 ? "what nodes of the tree mean (the model's "
                                                    "data, ranges of its neurons, a loop's demands)"
         : one.cut.outputs != other.cut.outputs   ? "--output-tensor"
         : one.cut.tokens != other.cut.tokens     ? "--tokens"
         : one.cut != other.cut                   ? "--input-tensor or --shape"
         : one.semantics != other.semantics       ? "--semantics"
                                                  : "--flush-to-zero";
}

}  // namespace

std::string TreeQuestion::digest() const {
  return sha256(std::string(kFormat) + identity_of(*this).dump());
}

std::string to_text(const TreeFile& file) {
  ordered_json json;
  json["format"] = kFormat;
  json["digest"] = file.question.digest();
  json["summary"] = summary_of(file);
  json["question"] = identity_of(file.question);
  json["question"]["model"] = of_models(file.question, &TreeQuestion::Model::path);
  json["question"]["property"] = file.question.property;
  json["part"] = {{"index", file.part.index}, {"count", file.part.count}};
  if (file.part.count > 1) json["part"]["frontier"] = file.part.frontier;
  json["witness"] = nullptr;
  if (file.witness)
    json["witness"] = {{"case", file.witness->property_case}, {"x", file.witness->x}};
  json["state"] = to_json(file.state);
  return json.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

TreeFile parse_tree_file(const std::string& text, const std::string& where) {
  const nlohmann::json json = input::parse_json_text(text, where);
  const input::JsonAt root = {&json, where};
  root.allow_keys({"format", "digest", "summary", "question", "part", "witness", "state"});
  if (const input::JsonAt format = root.key("format"); format.text() != kFormat)
    fail("BF3017", format.where, fmt::format("expected '{}'", kFormat),
         "the file is of another program, or version");
  TreeFile file;
  file.question = question_at(root.key("question"));
  const input::JsonAt digest = root.key("digest");
  if (digest_at(digest) != file.question.digest())
    fail("BF3017", digest.where, "is not that of the question");
  file.part = part_at(root.key("part"));
  file.state = state_at(root.key("state"));
  if (const input::JsonAt witness = root.key("witness"); !witness.value->is_null())
    file.witness = witness_at(witness, file.state.roots.size());
  expect_sums(file, root.key("state").where);
  return file;
}

TreeFile read_tree_file(const std::filesystem::path& path) {
  return parse_tree_file(input::read_text(path, "search tree"), printable(path.string()));
}

std::string to_text(const tree::TreeState& state) {
  return to_json(state).dump();
}

tree::TreeState parse_tree_state(const std::string& text, const std::string& where) {
  const nlohmann::json json = input::parse_json_text(text, where);
  return state_at({&json, where});
}

void expect_same_question(const TreeFile& file, const std::string& where,
                          const TreeQuestion& question) {
  if (file.question.digest() != question.digest())
    fail("BF3018", where,
         fmt::format("the file is about another question: {} differs",
                     name_of_difference(file.question, question)),
         "give another file, or what it was made with");
}

std::string digest_of(const tree::TreeState& state) {
  tree::TreeState bare = state;
  bare.nodes = bare.points = 0;
  return sha256(to_text(bare));
}

void take_part(tree::TreeState& state, const TreePart& part) {
  std::vector<tree::Node> own;
  for (std::size_t k = part.index; k < state.open.size(); k += part.count)
    own.push_back(std::move(state.open[k]));
  state.open = std::move(own);
  if (part.index == 0) return;
  state.roots.assign(state.roots.size(), {});
  state.nodes = state.points = 0;
}

tree::TreeState join_parts(const std::vector<NamedTreeFile>& files) {
  BF_CHECK(!files.empty());
  const TreeFile& first = files[0].file;
  std::vector<const NamedTreeFile*> parts(first.part.count);
  for (const NamedTreeFile& each : files) {
    expect_same_question(each.file, each.name, first.question);
    const TreePart& part = each.file.part;
    if (part.count != first.part.count || part.frontier != first.part.frontier ||
        each.file.state.roots.size() != first.state.roots.size())
      fail("BF3019", each.name,
           fmt::format("the tree is divided otherwise than in {}", files[0].name),
           "make all parts with the same N, program and kind of processor");
    if (parts[part.index] != nullptr)
      fail("BF3019", each.name,
           fmt::format("part {} is in {}, too", part.index, parts[part.index]->name));
    parts[part.index] = &each;
  }
  tree::TreeState joined;
  joined.roots.resize(first.state.roots.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == nullptr)
      fail("BF3019", files[0].name, fmt::format("part {} of {} is missing", i, parts.size()));
    const tree::TreeState& state = parts[i]->file.state;
    for (std::size_t root = 0; root < joined.roots.size(); ++root) {
      joined.roots[root].closed.add(state.roots[root].closed);
      joined.roots[root].stuck.add(state.roots[root].stuck);
    }
    joined.open.insert(joined.open.end(), state.open.begin(), state.open.end());
    joined.nodes += state.nodes;
    joined.points += state.points;
  }
  if (!tree::is_whole(joined))
    fail("BF3019", files[0].name, "the parts do not add up to a whole tree");
  return joined;
}

}  // namespace bf_aot::decide
