#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "planner/plan/program.h"

namespace bf_aot::calls {

// As a float or double literal.
std::string literal(const Constant& constant);

// The error constants of a plan's programs by name: one definition for each value that pays for one
// thing, kInflate, kInflate2 and so on in the order of use.
class ErrorConstants {
 public:
  explicit ErrorConstants(const std::vector<Program>& programs);

  // Of a constant of the programs.
  const std::string& name(const Constant& constant) const;

  // Their definitions, with what they pay for; empty without any.
  std::string definitions() const;

 private:
  using Key = std::tuple<Pays, bool, double>;
  static Key key_of(const Constant& constant);
  void add(const Constant& constant);

  std::map<Key, std::string> names_;
  std::map<Pays, std::vector<Constant>> values_;  // in the order of use
};

}  // namespace bf_aot::calls
