#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "aot/build/options/value_rule.h"
#include "aot/decide/parts/tree_file.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/split_search.h"
#include "aot/system/interrupt.h"

namespace bf_aot::decide {

// The part that a text names: "2/8" is part 2 of 8, counted from 0. None for any other text.
std::optional<TreePart> parse_part(const std::string& text);
// The rule of an option whose value is such a text.
build::ValueRule part_rule();

// Each root is split into this many open nodes times the number of parts before the parts are dealt
// out.
constexpr std::size_t kNodesPerPart = 8;

// Whose signals are: the program's wait while a tree is kept; in another one's process they are
// left alone.
enum class Signals : std::uint8_t { kOurs, kOthers };

// Keeps a search's tree in a file. If the file exists, the search goes on from it; else a part
// begins.
class TreeKeeper {
 public:
  // Throws: BF3001 to BF3007, BF3017 a damaged file, BF3018 one of another question.
  TreeKeeper(std::filesystem::path path, TreePart part, TreeQuestion question,
             Signals signals = Signals::kOurs);

  bool is_part() const { return file_.part.count > 1; }
  // Returns whether the file existed, so that the search goes on from it.
  bool goes_on() const { return goes_on_; }

  // Sets where the search begins. From now on our signals wait for throw_if_interrupted(). Throws:
  // BF3017, BF3018; BF3306.
  void begin(SplitSearch& search);

  // Writes the state to the file. Throws: BF3101 to BF3103.
  void save(const tree::TreeState& state);
  // Writes the state that was saved last, together with the witness if one was found. Does nothing
  // where no search began.
  void finish(const std::optional<Witness>& witness);

  const TreeFile& file() const { return file_; }
  // Returns whether the file's tree is a proof: no node is open, and no leaf is stuck.
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
