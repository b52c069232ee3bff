#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/tree/tree_state.h"

// The tree of a search in a file: of one that was interrupted, or a part of one that several
// processes have. Such a file is trusted to say what was done; it is no certificate.

namespace bf_aot::decide {

// What is searched.
struct TreeQuestion {
  std::string model, property;                // paths
  std::string model_sha256, property_sha256;  // of the files' bytes
  std::string nodes_sha256;                   // what nodes speak of: SplitSearch::identity()
  std::vector<std::string> outputs;           // tensors, instead of the model's own
  std::string semantics;
  bool flush_to_zero = false;

  // SHA-256 of all but the paths. Files of the same digest are about the same tree.
  std::string digest() const;
};

constexpr std::size_t kMostParts = std::size_t{1} << 16;

// A part holds nodes of a frontier: of node k part k mod count, and part 0 the leaves above.
struct TreePart {
  std::size_t index = 0, count = 1;
  std::string frontier;  // SHA-256 of the whole of it; empty when count is 1
};

struct TreeWitness {
  std::size_t property_case = 0;
  std::vector<double> x;
};

struct TreeFile {
  TreeQuestion question;
  TreePart part;
  tree::TreeState state;
  std::optional<TreeWitness> witness;
};

std::string to_text(const TreeFile& file);
// `where`: the file, for messages. Throws: BF3003 to BF3007, BF3017.
TreeFile parse_tree_file(const std::string& text, const std::string& where);
// Throws: BF3001, BF3002, too.
TreeFile read_tree_file(const std::filesystem::path& path);

// A state by itself, for another process. Throws as parse_tree_file().
std::string to_text(const tree::TreeState& state);
tree::TreeState parse_tree_state(const std::string& text, const std::string& where);

// Throws: BF3018 when the file is about another question, naming what differs.
void expect_same_question(const TreeFile& file, const std::string& where,
                          const TreeQuestion& question);

// SHA-256 of the state's open nodes and leaves.
std::string digest_of(const tree::TreeState& state);

// Leaves in the state what the part has of it: see TreePart.
void take_part(tree::TreeState& state, const TreePart& part);

// Parts that make a whole, joined: each once. Throws: BF3018 files about different questions,
// BF3019 parts that are missing, given twice, of different frontiers, or that do not add up.
struct NamedTreeFile {
  std::string name;
  TreeFile file;
};
tree::TreeState join_parts(const std::vector<NamedTreeFile>& files);

}  // namespace bf_aot::decide
