#pragma once

#include <deque>
#include <string>
#include <vector>

#include "aot/emit/loop/linear.h"
#include "aot/emit/loop/nest.h"
#include "aot/emit/loop/print/print.h"

namespace bf_aot::loop {

// A pointer that stands for a part of a place: elements beside each other in the register tile are
// reached from it.
struct Pointer {
  std::string buffer;
  Index index;  // of the element
  std::string name;
  std::string part;                  // "weight + 64 * column"
  std::string rest;                  // "[k][j]" or "[64 * k]", behind the name
  const Loop* of_entries = nullptr;  // over what it is an array; nullptr: one pointer
  Type type = Type::kFloat32;
  // Floats that are read as doubles and lie next to each other in the register tile: so many are
  // converted together, and the pointer is to them; 0: it is to the buffer.
  std::int64_t converted = 0;
};

// Floats that are read as doubles, one for all lanes, and follow each other along the innermost
// reduced loop: for each entry of the register tile beside it, those of a whole tile of that loop
// are converted at once, into an array of doubles that the loop reads.
struct ConvertedRows {
  std::string buffer;
  Index index;         // of the element
  std::string name;    // of the array: [entries of the register tile][length]
  const Loop* beside;  // over the entries
  std::int64_t length = 0;
  std::string from;   // "weight + 64 * k + 256 * panel", the first of a row
  std::string count;  // of a row's floats
  std::string rest;   // "[k][j - panel]", behind the name
};

// C++ of a nest's expressions at one point of its loops, for scalars or lanes.
class ExprPrinter {
 public:
  ExprPrinter(const Nest& nest, Needs& needs)
      : nest_(nest), needs_(needs), values_(nest), lanes_(nest.lanes()) {}

  std::int64_t lanes() const { return lanes_; }
  const LoopValues& values() const { return values_; }

  std::string type(Type element);
  std::string expression(const Expr& expr);

  bool follows_lanes(const Index& index) const;
  // "x + 4 * i"
  std::string at(const std::string& buffer, const Index& index) const;
  // "x[4 * i]"
  std::string element(const std::string& buffer, const Index& index) const;

  // The pointer that a load of one number for all lanes goes through, inside the loops `reduced`;
  // nothing where compilers find its place themselves. From now on its text is the pointer's.
  // as_double: wherever this is loaded it is converted.
  const Pointer* point_at(const Expr& load, bool as_double,
                          const std::vector<const Loop*>& reduced);

  // Rows that a load of one number for all lanes comes from, where it is converted and they can be
  // converted before the innermost of the loops `reduced`; else nothing. From now on the converted
  // load's text is the array's.
  const ConvertedRows* rows_of(const Expr& load, const std::vector<const Loop*>& reduced);

  // Of accumulators: arrays over the unrolled loops of the register tile.
  std::string subscript() const;
  std::string extents() const;

  // What of the predicates can fail and is one for all lanes: "i - 1 >= 0 && i - 1 < n"; empty when
  // nothing can.
  std::string condition(const std::vector<Range>& within) const;

  // How many lanes from the first on pass the predicate that follows the lanes; empty: there is
  // none that can fail.
  std::string lane_count(const std::vector<Range>& within) const;

 private:
  // Of a place: what varies with entries of lists that lie side by side in the register tile.
  Index beside(const Index& index) const;
  const Loop* loop_beside(const IndexTerm& term) const;
  bool varies(const IndexTerm& term, const std::vector<const Loop*>& reduced) const;
  bool split_listed(const Index& entries, const std::vector<const Loop*>& reduced,
                    Pointer& pointer) const;
  bool split_counted(const std::vector<const Loop*>& reduced, Pointer& pointer) const;
  // Of places that are `apart`: how many neighbours they are; 0: they are none.
  std::int64_t neighbours(const Linear& apart) const;
  void convert_together(Pointer& pointer);
  const Pointer* pointer_to(const std::string& buffer, const Index& index) const;
  const ConvertedRows* rows_at(const std::string& buffer, const Index& index) const;
  const Loop* only_loop_beside(const Index& index) const;
  std::string widened(const Expr& load);
  std::string load_text(const Expr& expr);
  std::string infix(const Expr& expr, const char* symbol);
  std::string operand(const Expr& expr, int least = 5);
  std::string broadcast(const std::string& value, Type element);
  std::string local_text(const std::string& name) const;
  std::vector<const Loop*> unrolled() const;

  const Nest& nest_;
  Needs& needs_;
  LoopValues values_;
  std::int64_t lanes_;
  std::deque<Pointer> pointers_;
  std::deque<ConvertedRows> rows_;
};

}  // namespace bf_aot::loop
