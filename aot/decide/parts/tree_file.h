#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/tree/tree_state.h"
#include "frontend/import/file/model_cut.h"

// A file that holds the tree of a search: of one that was interrupted, or one part of a tree that
// several processes search. Such a file is trusted to say what was done; it is no certificate.

namespace bf_aot::decide {

// The question that a tree answers. A file may be resumed or joined only where it is the same.
struct TreeQuestion {
  // The model of each network that the property is about, in their order.
  struct Model {
    std::string path;
    std::string sha256;  // of the file's bytes
    bool operator==(const Model&) const = default;
  };
  std::vector<Model> models;
  std::string property;         // path
  std::string property_sha256;  // of the file's bytes
  std::string nodes_sha256;     // SplitSearch::identity(): the meaning of nodes' states
  ModelCut cut;                 // what of the models is read
  std::string semantics;
  bool flush_to_zero = false;

  // SHA-256 of all but the paths. Files of the same digest are about the same tree.
  std::string digest() const;
};

constexpr std::size_t kMostParts = std::size_t{1} << 16;

// One of `count` parts of a tree. The parts share the nodes of a frontier: part k has those whose
// number is k modulo `count`, and part 0 also the leaves above the frontier.
struct TreePart {
  std::size_t index = 0, count = 1;
  std::string frontier;  // SHA-256 of the whole frontier; empty when count is 1
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
// Reads the text of a tree file. `where`: the file's name in messages. Throws: BF3003 to BF3007,
// BF3017.
TreeFile parse_tree_file(const std::string& text, const std::string& where);
// Reads a tree file. Throws as parse_tree_file(), and BF3001, BF3002.
TreeFile read_tree_file(const std::filesystem::path& path);

// A state by itself, in the format of tree files, to be sent to another process. Throws as
// parse_tree_file().
std::string to_text(const tree::TreeState& state);
tree::TreeState parse_tree_state(const std::string& text, const std::string& where);

// Throws: BF3018 when the file is about another question; the message names what differs.
void expect_same_question(const TreeFile& file, const std::string& where,
                          const TreeQuestion& question);

// SHA-256 of the state's open nodes and leaves.
std::string digest_of(const tree::TreeState& state);

// Removes from the state of a whole tree what belongs to other parts: see TreePart.
void take_part(tree::TreeState& state, const TreePart& part);

// The state that the parts of one whole make together; each part must be given once. Throws: BF3018
// files about different questions; BF3019 parts that are missing, given twice, of different
// frontiers, or that do not add up.
struct NamedTreeFile {
  std::string name;
  TreeFile file;
};
tree::TreeState join_parts(const std::vector<NamedTreeFile>& files);

}  // namespace bf_aot::decide
