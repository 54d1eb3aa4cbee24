#include "ir/lexer.h"

#include <cctype>
#include <charconv>
#include <limits>

#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {

Token Lexer::take() {
  const Token token = token_;
  advance();
  return token;
}

Token Lexer::peek() const {
  Lexer ahead = *this;
  ahead.advance();
  return ahead.token_;
}

bool Lexer::accept(std::string_view symbol) {
  if (!at(symbol)) return false;
  advance();
  return true;
}

bool Lexer::accept_name(std::string_view name) {
  if (!at_name(name)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view symbol, std::string_view where) {
  if (!accept(symbol)) fail(token_, concat("expected '", symbol, "' ", where, ", found ", describe(token_)));
}

Token Lexer::expect_name(std::string_view what) {
  if (token_.kind != TokenKind::kName) fail(token_, concat("expected ", what, ", found ", describe(token_)));
  return take();
}

int64_t Lexer::integer() {
  const Token token = take();
  int64_t value = 0;
  const auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (token.kind != TokenKind::kNumber || code != std::errc() || end != token.text.data() + token.text.size()) {
    fail(token, concat("expected an integer, found ", describe(token)));
  }
  return value;
}

std::optional<double> Lexer::real_of(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Names like "infinity" are not numbers here.
  const bool digits = !text.empty() && (std::isdigit(static_cast<unsigned char>(text.back())) || text.back() == '.');
  if (!digits || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double Lexer::real() {
  const Token token = take();
  const std::optional<double> value = real_of(token.text);
  if (!value) fail(token, concat("expected a real, found ", describe(token)));
  return *value;
}

std::string Lexer::quoted() {
  const Token token = take();
  if (token.kind != TokenKind::kText) fail(token, concat("expected text in quotes, found ", describe(token)));
  std::string result;
  for (size_t i = 1; i + 1 < token.text.size(); ++i) {
    char c = token.text[i];
    if (c == '\\') {
      c = token.text[++i];
      if (c == 'n') c = '\n';
    }
    result += c;
  }
  return result;
}

void Lexer::fail(const Token& where, const std::string& what, const std::string& hint) const {
  Error error(ErrorKind::kValue, concat(file_, ":", where.line, ":", where.column, ": ", what));
  if (!hint.empty()) error.hint(hint);
  throw error;
}

std::string Lexer::describe(const Token& token) const {
  return token.kind == TokenKind::kEnd ? "the end of the text" : concat("'", token.text, "'");
}

bool Lexer::is_name_character(size_t i) const {
  return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) || text_[i] == '_');
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    if (text_[position_] == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (!std::isspace(static_cast<unsigned char>(text_[position_]))) {
      return;
    } else {
      if (text_[position_] == '\n') {
        ++line_;
        line_start_ = position_ + 1;
      }
      ++position_;
    }
  }
}

void Lexer::advance() {
  skip_space();
  token_ = {TokenKind::kEnd, {}, line_, static_cast<int>(position_ - line_start_) + 1};
  if (position_ == text_.size()) return;
  const size_t begin = position_;
  const char c = text_[begin];
  if (std::isdigit(static_cast<unsigned char>(c)) || (c == '-' && is_name_character(begin + 1))) {
    token_.kind = TokenKind::kNumber;
    ++position_;
    while (is_name_character(position_) || (position_ < text_.size() && text_[position_] == '.') ||
           (position_ < text_.size() && (text_[position_] == '+' || text_[position_] == '-') &&
            text_[position_ - 1] == 'e')) {
      ++position_;
    }
  } else if (is_name_character(begin)) {
    token_.kind = TokenKind::kName;
    while (is_name_character(position_)) ++position_;
  } else if (c == '"') {
    token_.kind = TokenKind::kText;
    lex_text();
  } else {
    token_.kind = TokenKind::kSymbol;
    position_ += text_.substr(begin, 2) == "->" ? 2 : 1;
  }
  token_.text = text_.substr(begin, position_ - begin);
}

void Lexer::lex_text() {
  for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
    if (text_[position_] == '\\') ++position_;
    if (position_ < text_.size() && text_[position_] == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    }
  }
  if (position_ >= text_.size()) {
    position_ = text_.size();
    fail(token_, "this text has no closing quote");
  }
  ++position_;
}

}  // namespace ct
