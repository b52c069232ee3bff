#include "aot/input/json/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "aot/input/json/json_reader.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

std::int64_t id_at(const JsonAt& number) {
  constexpr double kMost = 0x1p53;
  const vnnlib::Number id = number.decimal();
  if (!id.is_double() || std::abs(id.below) > kMost || id.below != std::floor(id.below))
    fail("BF3004", number.where, fmt::format("{} is no token id", id.text),
         "ids are whole numbers of at most 2^53");
  return static_cast<std::int64_t>(id.below);
}

std::vector<std::int64_t> set_at(const JsonAt& entry) {
  if (entry.is_number()) return {id_at(entry)};
  std::vector<std::int64_t> set;
  for (std::size_t i = 0, count = entry.expect_array(); i < count; ++i)
    set.push_back(id_at(entry.at(i)));
  if (set.empty())
    fail("BF3021", entry.where, "the set of ids is empty",
         "one id at least stands at each position, of padding as well");
  for (std::size_t i = 0; i < set.size(); ++i)
    if (std::ranges::count(set, set[i]) > 1)
      fail("BF3021", entry.where, fmt::format("id {} stands twice in the set", set[i]));
  return set;
}

}  // namespace

IdSets id_sets_at(const JsonAt& list) {
  IdSets sets;
  for (std::size_t i = 0, count = list.expect_array(); i < count; ++i)
    sets.push_back(set_at(list.at(i)));
  return sets;
}

std::map<std::string, TokenInput> read_tokens(const std::filesystem::path& path) {
  const nlohmann::json json = parse_json_file(path, "file of token ids");
  const JsonAt root{&json, printable(path.string())};
  root.allow_keys({"tokens", "desc", "note"});
  const JsonAt tokens = root.key("tokens");
  tokens.expect_object();
  std::map<std::string, TokenInput> inputs;
  for (const auto& each : tokens.value->items()) {
    const JsonAt list = tokens.key(each.key());
    TokenInput made;
    made.sets = id_sets_at(list);
    made.fixed = true;
    for (std::size_t i = 0; i < made.sets.size(); ++i)
      made.fixed = made.fixed && list.at(i).is_number();
    inputs.emplace(each.key(), std::move(made));
  }
  return inputs;
}

FloatBox box_of_ids(const OneHot& one_hot, const IdSets& sets, const std::string& where) {
  const auto size = static_cast<std::size_t>(one_hot.size);
  const std::size_t positions = one_hot.ids.size();
  if (size == 0)
    fail("BF3021", where, "ids are given, but the network reads no token ids that vary",
         "say which ids may stand at each position of an input: --tokens FILE");
  if (sets.size() != positions)
    fail("BF3021", where,
         fmt::format("ids of {} positions, but the network reads {}", sets.size(), positions));
  FloatBox box{std::vector<float>(size * positions, 0), std::vector<float>(size * positions, 0)};
  for (std::size_t p = 0; p < positions; ++p) {
    if (sets[p].empty())
      fail("BF3021", where, fmt::format("the set of ids at position {} is empty", p));
    for (const std::int64_t id : sets[p]) {
      const auto found = std::ranges::find(one_hot.ids[p], id);
      if (found == one_hot.ids[p].end())
        fail("BF3021", where,
             fmt::format("id {} at position {} is none that the network was read with", id, p),
             "--tokens names all ids that may stand there");
      const std::size_t at = p * size + static_cast<std::size_t>(found - one_hot.ids[p].begin());
      box.upper[at] = 1;
      if (sets[p].size() == 1) box.lower[at] = 1;
    }
  }
  return box;
}

}  // namespace bf_aot::input
