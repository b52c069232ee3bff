#pragma once

#include <filesystem>
#include <string>

#include "aot/decide/parts/tree_file.h"
#include "aot/decide/tree/tree_worker.h"
#include "aot/system/interrupt.h"

namespace bf_aot::reach {

// A file that keeps the cells of a search, or one part of them: the tree files of `verify`, which
// `bf-aot merge` joins. models: plant, controller and observer; property: the question's file.
struct CellFile {
  std::filesystem::path path;
  decide::TreePart part;
  decide::TreeQuestion question;
};

// The cells of a search that are kept. While it lives, signals wait until the file is written.
class KeptCells {
 public:
  // identity: what gives the cells their meaning besides the question. Goes on with a file that
  // exists; else begins with the root, of a part in as many nodes as parts need, by `worker`.
  // Throws: BF3001 to BF3007, BF3017 a damaged file; BF3018 one of another question.
  KeptCells(CellFile file, const std::string& identity, const std::vector<std::byte>& root,
            decide::tree::TreeWorker& worker);

  bool goes_on() const { return goes_on_; }
  const decide::tree::TreeState& state() const { return kept_.state; }
  // Throws: BF3101 to BF3103.
  void save(const decide::tree::TreeState& state);

 private:
  std::filesystem::path path_;
  decide::TreeFile kept_;
  bool goes_on_ = false;
  const system::CleanupPending pending_;
};

}  // namespace bf_aot::reach
