#include <algorithm>

#include "aot/check/certificate.h"
#include "aot/check/show/show.h"

namespace bf_check::show {
namespace {

struct Counts {
  u64 records[kEach + 1] = {};
  u64 nodes = 0, depth = 0, splits = 0, children = 0;  // deepest, most split neurons and children
  u64 factors = 0, slopes = 0, multipliers = 0;
};

// Reads trees, and writes a line for each record.
class Reader {
 public:
  Reader(Input& in, bool writes) : in_(in), writes_(writes) {}

  void cases(const Property& property) {
    for (std::size_t i = 0; i < property.cases.size(); ++i) {
      line(0, "case " + std::to_string(i));
      node(property.cases[i].clauses.size(), 0, 1);
    }
    if (!in_.done()) in_.fail("the certificate goes on behind its end");
  }

  void point(const Property& property) {
    for (u32 i = 0; i < property.inputs; ++i)
      line(0, "input " + std::to_string(i) + " " + shown(in_.text(in_.number())));
  }

  const Counts& counts() const { return counts_; }
  std::string text;

 private:
  void node(std::size_t clauses, std::size_t splits, u64 depth) {
    if (depth > kDeepestTree) in_.fail("the tree is too deep");
    ++counts_.nodes;
    counts_.depth = std::max(counts_.depth, depth);
    counts_.splits = std::max<u64>(counts_.splits, splits);
    unsigned tag = in_.byte();
    for (; tag == kDerive; tag = in_.byte()) {
      ++counts_.records[kDerive];
      line(depth, "derive");
    }
    if (tag > kEach || (tag == kEach && clauses < 2)) in_.fail("no such record");
    ++counts_.records[tag];
    if (tag == kEmpty) return line(depth, "empty");
    if (tag == kLeaf || tag == kLeafChoices) {
      for (std::size_t k = 0; k < clauses; ++k) leaf(tag == kLeafChoices, splits, depth);
      return;
    }
    constexpr const char* kNames[] = {"", "", "", "halve", "cut", "neuron", "", "each"};
    std::string words = kNames[tag];
    if (tag != kEach) words += " " + std::to_string(in_.number());
    if (tag == kCut) {
      const u64 coded = in_.number();
      words += " " + std::to_string(static_cast<i64>(coded >> 1) ^ -static_cast<i64>(coded & 1));
    }
    line(depth, words);
    const std::size_t children = tag == kEach ? clauses : 2;
    counts_.children = std::max<u64>(counts_.children, children);
    for (std::size_t i = 0; i < children; ++i)
      node(tag == kEach ? 1 : clauses, splits + (tag == kNeuron ? 1 : 0), depth + 1);
  }

  // What a leaf has for a clause.
  void leaf(bool chooses, std::size_t splits, u64 depth) {
    std::string words = chooses ? "choices" : "leaf " + std::to_string(in_.number());
    for (u64 left = chooses ? in_.number() : 0; left > 0; --left, ++counts_.factors) {
      words += " " + std::to_string(in_.number());
      words += "*" + std::to_string(in_.number());
    }
    const unsigned flags = chooses ? in_.byte() : 0;
    u64 next = 0;
    for (u64 left = (flags & kHasSlopes) != 0 ? in_.number() : 0; left > 0;
         --left, ++next, ++counts_.slopes) {
      next += in_.number();
      words += " slope " + std::to_string(next);
      words += "=" + std::to_string(in_.byte());
    }
    for (std::size_t i = 0; i < splits && (flags & kHasMultipliers) != 0; ++i) {
      ++counts_.multipliers;
      words += " multiplier " + std::to_string(in_.number());
    }
    line(depth, words);
  }

  void line(u64 depth, const std::string& words) {
    if (writes_) text += std::string(2 * depth, ' ') + words + "\n";
  }

  Input& in_;
  const bool writes_;
  Counts counts_;
};

Reader read(const std::string& property, Input& in, bool writes) {
  const Header header = read_header(in);
  const Property asked = read_property(property);
  Reader reader(in, writes);
  header.statement == kHolds ? reader.cases(asked) : reader.point(asked);
  return reader;
}

}  // namespace

std::string records(const std::string& property, const std::string& certificate) {
  Input in(certificate);
  return read(property, in, true).text;
}

std::string statistics(const std::string& property, const std::string& certificate) {
  Input in(certificate);
  const Counts counts = read(property, in, false).counts();
  const std::pair<const char*, u64> rows[] = {
      {"bytes", certificate.size()},
      {"nodes", counts.nodes},
      {"leaves", counts.records[kLeaf] + counts.records[kLeafChoices] + counts.records[kEmpty]},
      {"depth", counts.depth},
      {"most-children", counts.children},
      {"most-split-neurons", counts.splits},
      {"halve", counts.records[kHalve]},
      {"cut", counts.records[kCut]},
      {"neuron", counts.records[kNeuron]},
      {"each", counts.records[kEach]},
      {"derive", counts.records[kDerive]},
      {"leaf", counts.records[kLeaf]},
      {"leaf-with-choices", counts.records[kLeafChoices]},
      {"empty", counts.records[kEmpty]},
      {"factors", counts.factors},
      {"slopes", counts.slopes},
      {"multipliers", counts.multipliers}};
  std::string text;
  for (const auto& [name, count] : rows)
    text += std::string(name) + " " + std::to_string(count) + "\n";
  return text;
}

}  // namespace bf_check::show
