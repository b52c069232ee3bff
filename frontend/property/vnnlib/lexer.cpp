#include "frontend/property/vnnlib/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::vnnlib {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

bool ends_word(char c) {
  return is_blank(c) || c == '(' || c == ')' || c == ';' || c == '"' || c == '[';
}

}  // namespace

std::string Lexer::place(const Token& token) const {
  const std::size_t at = static_cast<std::size_t>(token.text.data() - text_.data());
  const std::string_view before = text_.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
  return fmt::format("{}:{}:{}", name_, line, column);
}

void Lexer::fail_expected(const Token& found, std::string_view what) const {
  fail("BF3403", place(found), fmt::format("found {} where {} is expected", describe(found), what));
}

Token Lexer::expect(TokenKind kind, std::string_view what) {
  const Token token = next();
  if (token.kind != kind) fail_expected(token, what);
  return token;
}

void Lexer::expect_word(std::string_view word) {
  const Token token = next();
  if (token.kind != TokenKind::kWord || token.text != word)
    fail_expected(token, fmt::format("'{}'", word));
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == ';') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_blank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::string() {
  const std::size_t end = text_.find('"', at_ + 1);
  const Token token{TokenKind::kString, text_.substr(at_ + 1, end - at_ - 1)};
  if (end == std::string_view::npos) fail("BF3403", place(token), "a string without its end");
  at_ = end + 1;
  return token;
}

Token Lexer::word() {
  const std::size_t first = at_;
  while (at_ < text_.size() && !ends_word(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '[') {
    constexpr std::size_t kMaxIndices = 1000;
    const std::size_t end = text_.substr(at_, kMaxIndices).find(']');
    const Token start{TokenKind::kWord, text_.substr(at_, 1)};
    if (end == std::string_view::npos) fail("BF3403", place(start), "'[' without its ']'");
    at_ += end + 1;
  }
  return {TokenKind::kWord, text_.substr(first, at_ - first)};
}

void Lexer::scan() {
  skip_blanks();
  ready_ = true;
  if (at_ == text_.size()) {
    token_ = {TokenKind::kEnd, text_.substr(at_)};
  } else if (text_[at_] == '(') {
    token_ = {TokenKind::kOpen, text_.substr(at_++, 1)};
  } else if (text_[at_] == ')') {
    token_ = {TokenKind::kClose, text_.substr(at_++, 1)};
  } else {
    token_ = text_[at_] == '"' ? string() : word();
  }
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the file";
  constexpr std::size_t kShown = 40;
  const std::string text = printable(token.text.substr(0, kShown));
  return fmt::format("'{}{}'", text, token.text.size() > kShown ? "..." : "");
}

}  // namespace bf_aot::vnnlib
