#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "aot/decide/parts/tree_file.h"
#include "aot/decide/property/split_search.h"
#include "aot/decide/property/witness.h"
#include "aot/system/interrupt.h"

namespace bf_aot::decide {

// "2/8": part 2 of 8, from 0. Nothing when it is none.
std::optional<TreePart> parse_part(const std::string& text);

// The open nodes of each root for each part before parts differ.
constexpr std::size_t kNodesPerPart = 8;

// Whose signals are: the program's wait while a tree is kept; in another one's process they are
// left alone.
enum class Signals : std::uint8_t { kOurs, kOthers };

// Keeps a search's tree in a file: reads it when the file is there, else begins a part.
class TreeKeeper {
 public:
  // Throws: BF3001 to BF3007, BF3017 a damaged file, BF3018 one of another question.
  TreeKeeper(std::filesystem::path path, TreePart part, TreeQuestion question,
             Signals signals = Signals::kOurs);

  bool is_part() const { return file_.part.count > 1; }
  // The file was there.
  bool goes_on() const { return goes_on_; }

  // Sets where the search begins. From now on our signals wait for throw_if_interrupted(). Throws:
  // BF3017, BF3018; BF3306.
  void begin(SplitSearch& search);

  // Throws: BF3101 to BF3103.
  void save(const tree::TreeState& state);
  // The state that was saved last, with what was found. Nothing where no search began.
  void finish(const std::optional<Witness>& witness);

  const TreeFile& file() const { return file_; }
  // No node is open, and no leaf stuck.
  bool is_closed() const;

 private:
  void write() const;
  void resume(SplitSearch& search);

  std::filesystem::path path_;
  TreeFile file_;
  Signals signals_;
  bool goes_on_ = false, begun_ = false;
  std::optional<system::CleanupPending> pending_;
};

}  // namespace bf_aot::decide
