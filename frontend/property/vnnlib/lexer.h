#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bf_aot::vnnlib {

enum class TokenKind : std::uint8_t { kOpen, kClose, kWord, kString, kEnd };

// A piece of the text; a word is all that stands between blanks and parentheses, with the indices
// that follow a name: "X_0", "-1e-3", "<=", "X[0, 1]", "[2,3]". A string is without its quotes.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
};

// Tokens of a text, which must stay as long as they do. ';' starts a comment to the end of the
// line.
class Lexer {
 public:
  // `name` of the text for messages.
  Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  const Token& peek() {
    if (!ready_) scan();
    return token_;
  }
  Token next() {
    const Token token = peek();
    ready_ = false;
    return token;
  }

  // Bytes of the text before what has not been read.
  std::size_t position() const { return at_; }

  // "prop.vnnlib:12:7", of a token; counts lines, so for messages only.
  std::string place(const Token& token) const;

  // Throw BF3403, with the place of the token.
  [[noreturn]] void fail_expected(const Token& found, std::string_view what) const;
  Token expect(TokenKind kind, std::string_view what);
  void expect_word(std::string_view word);

 private:
  void scan();
  void skip_blanks();
  Token word();
  Token string();

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  Token token_;
  bool ready_ = false;
};

// A token as messages quote it: 'X_0', "end of file".
std::string describe(const Token& token);

}  // namespace bf_aot::vnnlib
