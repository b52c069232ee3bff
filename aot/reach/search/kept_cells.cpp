#include "aot/reach/search/kept_cells.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/tree/tree_search.h"
#include "aot/reach/search/cells.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::reach {
namespace {

// A cell of a file must be one of the root's: no halves are larger.
void check_cells(const decide::tree::TreeState& state, const Box& root, const std::string& where) {
  for (std::size_t i = 0; i < state.open.size(); ++i) {
    const std::vector<std::byte>& bytes = state.open[i].state;
    bool inside = bytes.size() == 2 * root.lower.size() * sizeof(double);
    const Box cell = inside ? cell_of(bytes) : Box{};
    for (std::size_t k = 0; inside && k < root.lower.size(); ++k)
      inside = root.lower[k] <= cell.lower[k] && cell.lower[k] <= cell.upper[k] &&
               cell.upper[k] <= root.upper[k];
    if (!inside)
      fail("BF3017", fmt::format("{}: state.open[{}]", where, i), "no cell of the initial box");
  }
}

}  // namespace

KeptCells::KeptCells(CellFile file, const std::string& identity, const std::vector<std::byte>& root,
                     decide::tree::TreeWorker& worker)
    : path_(std::move(file.path)) {
  file.question.nodes_sha256 = identity;
  std::error_code error;
  goes_on_ = std::filesystem::exists(path_, error);
  if (goes_on_) {
    const std::string where = printable(path_.string());
    kept_ = decide::read_tree_file(path_);
    decide::expect_same_question(kept_, where, file.question);
    if (kept_.part.index != file.part.index || kept_.part.count != file.part.count)
      fail("BF3018", where, "the file is another part", "give each part a file of its own");
    if (kept_.state.roots.size() != 1)
      fail("BF3017", where + ": state.roots", "a loop has one initial box");
    check_cells(kept_.state, cell_of(root), where);
    return;
  }
  kept_.question = std::move(file.question);
  kept_.part = std::move(file.part);
  kept_.state = decide::tree::start_of({root});
  if (kept_.part.count == 1) return;
  decide::tree::expand_in_breadth(kept_.state, decide::kNodesPerPart * kept_.part.count, worker);
  kept_.part.frontier = decide::digest_of(kept_.state);
  decide::take_part(kept_.state, kept_.part);
}

void KeptCells::save(const decide::tree::TreeState& state) {
  kept_.state = state;
  system::publish_file(path_, decide::to_text(kept_));
}

}  // namespace bf_aot::reach
