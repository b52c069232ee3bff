#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aot/emit/text/dialect.h"
#include "planner/plan/program.h"

namespace bf_aot::calls {

// The constant as a float or double literal.
std::string literal(const Constant& constant);

// The error constants of a plan's programs by name: one definition for each pair of a value and an
// error that it pays for, kInflate, kInflate2 and so on in the order of use.
class ErrorConstants {
 public:
  ErrorConstants(const std::vector<Program>& programs, const emit::Dialect& dialect);

  // The name under which a constant of the programs is printed.
  const std::string& name(const Constant& constant) const;

  // The definitions of all constants, with the errors that they pay for; empty if there are none.
  std::string definitions() const;

 private:
  using Key = std::tuple<Pays, bool, double>;
  static Key key_of(const Constant& constant);
  void add(const Constant& constant);

  const emit::Dialect dialect_;
  std::map<Key, std::string> names_;
  std::map<Pays, std::vector<Constant>> values_;  // in the order of use
};

}  // namespace bf_aot::calls
