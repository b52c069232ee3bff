#include "aot/decide/parts/tree_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::decide {

std::optional<TreePart> parse_part(const std::string& text) {
  TreePart part;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, part.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(index.ptr + 1, end, part.count);
  if (count.ec != std::errc() || count.ptr != end || part.count > kMostParts ||
      part.index >= part.count)
    return std::nullopt;
  return part;
}

build::ValueRule part_rule() {
  return {[](std::string& text) {
            return parse_part(text) ? std::string() : "expected I/N, I from 0 to N - 1: " + text;
          },
          ""};
}

TreeKeeper::TreeKeeper(std::filesystem::path path, TreePart part, TreeQuestion question,
                       Signals signals)
    : path_(std::move(path)), signals_(signals) {
  std::error_code error;
  goes_on_ = std::filesystem::exists(path_, error);
  if (!goes_on_) {
    file_.question = std::move(question);
    file_.part = std::move(part);
    return;
  }
  file_ = read_tree_file(path_);
  const std::string where = printable(path_.string());
  // The search that knows its nodes' meaning is made later, in begin(); until then the file's word
  // is taken.
  question.nodes_sha256 = file_.question.nodes_sha256;
  expect_same_question(file_, where, question);
  if (file_.part.index != part.index || file_.part.count != part.count)
    fail("BF3018", where,
         fmt::format("the file is part {} of {}, not part {} of {}", file_.part.index,
                     file_.part.count, part.index, part.count),
         "give each part a file of its own");
}

void TreeKeeper::begin(SplitSearch& search) {
  begun_ = true;
  if (signals_ == Signals::kOurs) pending_.emplace();
  TreeQuestion question = file_.question;
  question.nodes_sha256 = search.identity();
  if (goes_on_) {
    expect_same_question(file_, printable(path_.string()), question);
    resume(search);
    return;
  }
  file_.question = std::move(question);
  if (is_part()) {
    search.expand_in_breadth(kNodesPerPart * file_.part.count);
    file_.part.frontier = digest_of(search.state);
    take_part(search.state, file_.part);
  }
  file_.state = search.state;
}

void TreeKeeper::resume(SplitSearch& search) {
  const std::string where = printable(path_.string());
  if (file_.state.roots.size() != search.state.roots.size())
    fail("BF3017", where + ": state.roots",
         fmt::format("{} roots, but the property has {}", file_.state.roots.size(),
                     search.state.roots.size()));
  for (std::size_t i = 0; i < file_.state.open.size(); ++i)
    if (const char* const fault = search.fault_of(file_.state.open[i]))
      fail("BF3017", fmt::format("{}: state.open[{}]", where, i), fault);
  search.state = file_.state;
  if (file_.witness && !search.propose_first(file_.witness->property_case, file_.witness->x))
    fail("BF3017", where + ": witness", "no input of this network, or no case of the property");
}

void TreeKeeper::write() const {
  std::optional<system::InterruptsHeld> held;
  if (signals_ == Signals::kOurs) held.emplace();
  system::publish_file(path_, to_text(file_));
}

void TreeKeeper::save(const tree::TreeState& state) {
  file_.state = state;
  write();
}

void TreeKeeper::finish(const std::optional<Witness>& witness) {
  if (!begun_) return;
  if (witness) file_.witness = TreeWitness{witness->property_case, witness->point};
  write();
}

bool TreeKeeper::is_closed() const {
  return file_.state.open.empty() &&
         std::ranges::all_of(file_.state.roots,
                             [](const tree::RootLeaves& leaves) { return leaves.stuck.is_zero(); });
}

}  // namespace bf_aot::decide
