// The words of the project's text forms, of graphs (ir/parse.h) and of loops (jit/loop/parse.h): names, numbers, text
// in double quotes, and symbols. Line breaks and indentation separate words and are otherwise up to the parser, which
// finds in each token where it stands; `#` starts a comment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ct {

enum class TokenKind { kName, kNumber, kText, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // a kText with its quotes
  int line = 1;
  int column = 1;
};

// `text` and `file` outlive it. Errors are Error(kValue) "file:line:column: what is wrong".
class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) { advance(); }

  const Token& next() const { return token_; }
  Token peek() const;  // the token after the next
  Token take();
  bool at(std::string_view symbol) const { return token_.kind == TokenKind::kSymbol && token_.text == symbol; }
  bool at_name(std::string_view name) const { return token_.kind == TokenKind::kName && token_.text == name; }
  bool accept(std::string_view symbol);
  bool accept_name(std::string_view name);
  void expect(std::string_view symbol, std::string_view where);
  Token expect_name(std::string_view what);
  int64_t integer();
  double real();
  std::string quoted();  // what the quotes hold

  // item {"," item} up to `end`, which is consumed; possibly nothing.
  template <class Item>
  void list(std::string_view end, std::string_view where, Item&& item) {
    if (accept(end)) return;
    do item();
    while (accept(","));
    expect(end, where);
  }

  [[noreturn]] void fail(const Token& where, const std::string& what, const std::string& hint = "") const;
  std::string describe(const Token& token) const;
  const std::string& file() const { return file_; }

  static std::optional<double> real_of(std::string_view text);

 private:
  bool is_name_character(size_t i) const;
  void skip_space();
  void advance();
  void lex_text();

  std::string_view text_;
  const std::string& file_;
  size_t position_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  Token token_;
};

}  // namespace ct
