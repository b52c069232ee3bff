#include "aot/parts/tree_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>
#include <utility>

#include "aot/boxes/box_node.h"
#include "aot/host/files.h"
#include "frontend/diagnostic.h"
#include "frontend/model.h"
#include "frontend/sha256.h"
#include "frontend/vnnlib/numbers.h"

namespace bf_aot::cli {
namespace {

// Sums of all weights: of another network, even where its numbers lie in a file of their own, some
// are others.
std::string digest_of_weights(const Plan& plan) {
  std::string bytes;
  for (const float weight : plan.split_weights)
    for (int i = 0; i < 4; ++i)
      bytes.push_back(static_cast<char>(std::bit_cast<std::uint32_t>(weight) >> (8 * i)));
  return sha256(bytes);
}

}  // namespace

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

TreeKeeper::TreeKeeper(std::filesystem::path path, TreePart part, TreeQuestion question)
    : path_(std::move(path)) {
  std::error_code error;
  goes_on_ = std::filesystem::exists(path_, error);
  if (!goes_on_) {
    file_.question = std::move(question);
    file_.part = std::move(part);
    return;
  }
  file_ = read_tree_file(path_);
  const std::string where = printable(path_.string());
  // The sums of the weights are known later.
  question.weights_sha256 = file_.question.weights_sha256;
  expect_same_question(file_, where, question);
  if (file_.part.index != part.index || file_.part.count != part.count)
    fail("BF3018", where,
         fmt::format("the file is part {} of {}, not part {} of {}", file_.part.index,
                     file_.part.count, part.index, part.count),
         "give each part a file of its own");
}

void TreeKeeper::begin(const Plan& plan, const Cases& cases, BranchSearch& search) {
  pending_.emplace();
  TreeQuestion question = file_.question;
  question.weights_sha256 = digest_of_weights(plan);
  if (goes_on_) {
    expect_same_question(file_, printable(path_.string()), question);
    resume(cases, static_cast<std::size_t>(plan.input_count), search);
    return;
  }
  file_.question = std::move(question);
  if (!is_part()) return;
  tree::expand_in_breadth(search.state, kNodesPerPart * file_.part.count, *search.worker());
  file_.part.frontier = digest_of(search.state);
  take_part(search.state, file_.part);
}

void TreeKeeper::resume(const Cases& cases, std::size_t inputs, BranchSearch& search) {
  const std::string where = printable(path_.string());
  if (file_.state.roots.size() != search.state.roots.size())
    fail("BF3017", where + ": state.roots",
         fmt::format("{} cases, but the property has {}", file_.state.roots.size(),
                     search.state.roots.size()));
  for (std::size_t i = 0; i < file_.state.open.size(); ++i)
    if (const char* const fault = box_fault(file_.state.open[i], cases.boxes(), inputs))
      fail("BF3017", fmt::format("{}: state.open[{}]", where, i), fault);
  search.state = file_.state;
  if (!file_.witness) return;
  if (file_.witness->x.size() != inputs)
    fail("BF3017", where + ": witness.x",
         fmt::format("{} numbers, but the network has {} inputs", file_.witness->x.size(), inputs));
  search.first_proposal =
      tree::Proposal{static_cast<std::uint32_t>(file_.witness->property_case), file_.witness->x};
}

void TreeKeeper::write() const {
  const InterruptsHeld held;
  publish_file(path_, to_text(file_));
}

void TreeKeeper::save(const tree::TreeState& state) {
  file_.state = state;
  write();
}

void TreeKeeper::finish(const std::optional<Witness>& witness) {
  if (!pending_) return;
  if (witness) {
    file_.witness = TreeWitness{witness->property_case, {}};
    for (const mpq_class& x : witness->x)
      file_.witness->x.push_back(vnnlib::round_to_double(x).value);
  }
  write();
}

bool TreeKeeper::is_closed() const {
  return file_.state.open.empty() &&
         std::ranges::all_of(file_.state.roots,
                             [](const tree::RootLeaves& leaves) { return leaves.stuck.is_zero(); });
}

}  // namespace bf_aot::cli
