#pragma once

// Templates of FormulaReader that more than one of its files uses.

#include <fmt/format.h>

#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/formula.h"

namespace bf_aot::vnnlib {

// Reads text that was read before, and comes back. Throws: BF3404.
template <class Read>
auto FormulaReader::read_again(const Lexer& from, const Token& place, const Read& read) {
  const Lexer here = lexer_;
  lexer_ = from;
  auto made = read();
  repeated_ += lexer_.position() - from.position();
  lexer_ = here;
  if (repeated_ > limits_.repeated)
    fail("BF3404", lexer_.place(place),
         fmt::format("conditions of let and ite stand for more than {} bytes of text",
                     limits_.repeated),
         "split the property: the verdicts of its parts decide it");
  return made;
}

template <class Body>
auto FormulaReader::read_let(int depth, const Body& body) {
  Scope scope;
  scope.outer = scope_;
  lexer_.expect(TokenKind::kOpen, "'(' before the names of let");
  while (lexer_.peek().kind == TokenKind::kOpen) read_binding(scope, depth + 1);
  lexer_.expect(TokenKind::kClose, "')' after the names of let");
  scope_ = &scope;
  auto made = body();
  scope_ = scope.outer;
  lexer_.expect(TokenKind::kClose, "')' after what let is for");
  return made;
}

}  // namespace bf_aot::vnnlib
