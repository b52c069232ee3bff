#pragma once

#include <deque>
#include <string>
#include <vector>

#include "aot/emit/loop/linear.h"
#include "aot/emit/loop/nest.h"
#include "aot/emit/loop/print/print.h"

namespace bf_aot::loop {

// A pointer for a part of an index, from which elements that lie side by side in the register tile
// are reached.
struct Pointer {
  std::string buffer;
  Index index;  // the element's
  std::string name;
  std::string part;                  // "weight + 64 * column"
  std::string rest;                  // text behind the name: "[k][j]" or "[64 * k]"
  const Loop* of_entries = nullptr;  // it is an array over this loop; nullptr: one pointer
  Type type = Type::kFloat32;
  // The number of floats, next to each other in the register tile, that are read as doubles and
  // converted together; the pointer is to the converted ones. 0: it is to the buffer.
  std::int64_t converted = 0;
};

// Rows of floats that are read as doubles, one for all lanes, and follow each other along the
// innermost reduced loop. For each entry of the register tile beside it, those of a whole tile of
// that loop are converted at once, into an array of doubles that the loop reads.
struct ConvertedRows {
  std::string buffer;
  Index index;         // the element's
  std::string name;    // the array: [entries of the register tile][length]
  const Loop* beside;  // the loop over the entries
  std::int64_t length = 0;
  std::string from;   // "weight + 64 * k + 256 * panel", the first of a row
  std::string count;  // the number of a row's floats
  std::string rest;   // text behind the name: "[k][j - panel]"
};

// Prints a nest's expressions at one point of its loops as code, for scalars or lanes.
class ExprPrinter {
 public:
  ExprPrinter(const Nest& nest, Needs& needs, const emit::Dialect& dialect)
      : nest_(nest),
        needs_(needs),
        dialect_(dialect),
        values_(nest, helper("entry")),
        lanes_(nest.lanes()) {}

  std::int64_t lanes() const { return lanes_; }
  const LoopValues& values() const { return values_; }

  // A helper of kernels: "smaller", "bf_smaller".
  std::string helper(std::string_view name) const;
  std::string type(Type element);
  std::string expression(const Expr& expr);

  bool follows_lanes(const Index& index) const;
  // The address of an element: "x + 4 * i".
  std::string at(const std::string& buffer, const Index& index) const;
  // The element: "x[4 * i]".
  std::string element(const std::string& buffer, const Index& index) const;

  // The pointer that a load of one number for all lanes goes through, inside the loops `reduced`;
  // null where compilers find its place themselves. From now on the load's text is the pointer's.
  // as_double: wherever this is loaded it is converted.
  const Pointer* point_at(const Expr& load, bool as_double,
                          const std::vector<const Loop*>& reduced);

  // The rows that a load of one number for all lanes comes from, where it is converted and they can
  // be converted before the innermost of the loops `reduced`; else null. From now on the converted
  // load's text is the array's.
  const ConvertedRows* rows_of(const Expr& load, const std::vector<const Loop*>& reduced);

  // The subscript and the extents of accumulators, which are arrays over the unrolled loops of the
  // register tile.
  std::string subscript() const;
  std::string extents() const;

  // The predicates that can fail and are equal for all lanes, "i - 1 >= 0 && i - 1 < n"; empty when
  // none can fail.
  std::string condition(const std::vector<Range>& within) const;

  // The number of lanes, from the first on, that pass the predicate that follows the lanes; empty
  // when none can fail.
  std::string lane_count(const std::vector<Range>& within) const;

 private:
  // The part of an index that differs between neighbouring entries of lists in one register tile.
  Index beside(const Index& index) const;
  const Loop* loop_beside(const IndexTerm& term) const;
  bool varies(const IndexTerm& term, const std::vector<const Loop*>& reduced) const;
  bool split_listed(const Index& entries, const std::vector<const Loop*>& reduced,
                    Pointer& pointer) const;
  bool split_counted(const std::vector<const Loop*>& reduced, Pointer& pointer) const;
  // The number of neighbours that places with the distances `apart` are; 0: they are none.
  std::int64_t neighbours(const Linear& apart) const;
  void convert_together(Pointer& pointer);
  const Pointer* pointer_to(const std::string& buffer, const Index& index) const;
  const ConvertedRows* rows_at(const std::string& buffer, const Index& index) const;
  const Loop* only_loop_beside(const Index& index) const;
  std::string widened(const Expr& load);
  std::string of_type(std::string_view name, Type element) const;
  std::string load_text(const Expr& expr);
  std::string infix(const Expr& expr, const char* symbol);
  std::string operand(const Expr& expr, int least = 5);
  std::string broadcast(const std::string& value, Type element);
  std::string local_text(const std::string& name) const;
  std::vector<const Loop*> unrolled() const;

  const Nest& nest_;
  Needs& needs_;
  const emit::Dialect dialect_;
  LoopValues values_;
  std::int64_t lanes_;
  std::deque<Pointer> pointers_;
  std::deque<ConvertedRows> rows_;
};

}  // namespace bf_aot::loop
