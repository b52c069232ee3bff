#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aot/emit/loop/print/print_expr.h"

namespace bf_aot::loop {

// Statements of one nest.
class NestPrinter {
 public:
  NestPrinter(const Nest& nest, Needs& needs, const emit::Dialect& dialect)
      : nest_(nest), needs_(needs), dialect_(dialect), expr_(nest, needs, dialect) {}

  // The text of the nest inside its first `opened` loops.
  std::string inside(std::size_t opened, int indent);

  // The lines that open one counted loop; empty when it has one iteration.
  std::string header(const Loop& loop, int indent);

 private:
  using Loops = std::vector<const Loop*>;

  void find_loops();
  void line(const std::string& text);
  void open(const Loop& loop);
  void open_counted(const Loop& loop);
  void open_bound(const Loop& loop, const std::string& begin, const std::string& end);
  std::string end_of(const Loop& loop);
  std::pair<std::string, std::string> places_of(const Loop& loop);
  void open_tile();
  void close_to(int indent);

  void print_points();
  void print_sums();
  template <typename Innermost>
  void print_body(const Loops& order, Innermost innermost);
  int depth_of(const Index& index, const Loops& order) const;
  int depth_of(const Expr& expr, const Loops& order,
               const std::map<std::string, int>& locals) const;

  std::string call_text();
  void ask_ahead(const Let& let);
  void declare(const std::string& suffix);
  void find_pointers();
  void print_pointers(bool arrays);
  void print_rows();
  bool leaves_registers() const;
  void leave_registers();
  void print(const Statement& statement);
  void print(const Let& let);
  void print(const Store& store);
  void flush(const Sum& sum);
  std::string first_block() const;

  const Nest& nest_;
  Needs& needs_;
  const emit::Dialect dialect_;
  ExprPrinter expr_;
  Loops reduced_;  // inside the accumulators, outermost first
  Loops tile_;     // unrolled and vector loops, outermost first
  std::vector<const Pointer*> pointers_;
  std::vector<const ConvertedRows*> rows_;
  bool after_sums_ = false;
  std::string text_;
  int indent_ = 0;
};

}  // namespace bf_aot::loop
