#include "ir/parse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/primitive.h"
#include "ir/text.h"

namespace ct {
namespace {

// As check.cc: text nested deeper would not be a legal graph.
constexpr int kDeepestNesting = 64;

enum class TokenKind { kName, kNumber, kText, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // a kText with its quotes
  int line = 1;
  int column = 1;
};

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) { advance(); }

  const Token& next() const { return token_; }
  Token take() {
    const Token token = token_;
    advance();
    return token;
  }
  bool at(std::string_view symbol) const { return token_.kind == TokenKind::kSymbol && token_.text == symbol; }
  // The token after the next.
  Token peek() const {
    Lexer ahead = *this;
    ahead.advance();
    return ahead.token_;
  }

  [[noreturn]] void fail(const Token& where, const std::string& what, const std::string& hint = "") const {
    Error error(ErrorKind::kValue, concat(file_, ":", where.line, ":", where.column, ": ", what));
    if (!hint.empty()) error.hint(hint);
    throw error;
  }
  std::string describe(const Token& token) const {
    return token.kind == TokenKind::kEnd ? "the end of the text" : concat("'", token.text, "'");
  }
  const std::string& file() const { return file_; }

 private:
  bool is_name_character(size_t i) const {
    return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) || text_[i] == '_');
  }

  void skip_space() {
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

  void advance() {
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

  void lex_text() {
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

  std::string_view text_;
  const std::string& file_;
  size_t position_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  Token token_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file) {}

  GraphPtr run() {
    GraphPtr graph = parse_graph(0);
    if (lexer_.next().kind != TokenKind::kEnd) {
      lexer_.fail(lexer_.next(), concat("unexpected ", lexer_.describe(lexer_.next()), " after the graph"));
    }
    return graph;
  }

 private:
  // ---- Tokens -----------------------------------------------------------------------------------------------------

  void expect(std::string_view symbol, std::string_view where) {
    if (!accept(symbol)) {
      lexer_.fail(lexer_.next(), concat("expected '", symbol, "' ", where, ", found ", lexer_.describe(lexer_.next())));
    }
  }
  bool accept(std::string_view symbol) {
    if (!lexer_.at(symbol)) return false;
    lexer_.take();
    return true;
  }
  Token expect_name(std::string_view what) {
    if (lexer_.next().kind != TokenKind::kName) {
      lexer_.fail(lexer_.next(), concat("expected ", what, ", found ", lexer_.describe(lexer_.next())));
    }
    return lexer_.take();
  }
  // item {"," item} up to `end`, which is consumed; possibly nothing.
  template <class Item>
  void parse_list(std::string_view end, std::string_view where, Item&& item) {
    if (accept(end)) return;
    do item();
    while (accept(","));
    expect(end, where);
  }

  // ---- Graphs -----------------------------------------------------------------------------------------------------

  struct Scope {
    Builder builder;
    std::map<std::string, Value, std::less<>> values;
  };

  void define_name(Scope& scope, const Token& name, Value value) {
    if (!scope.values.emplace(name.text, value).second) {
      lexer_.fail(name, concat("'", name.text, "' is defined twice"), "every variable is assigned once");
    }
  }

  Value lookup(const Scope& scope, const Token& name) {
    const auto found = scope.values.find(name.text);
    if (found == scope.values.end()) {
      lexer_.fail(name, concat("there is no variable '", name.text, "' here"),
                  "a graph sees its own inputs and the results of earlier equations, not those of the graph around it");
    }
    return found->second;
  }

  GraphPtr parse_graph(int depth) {
    const Token keyword = expect_name("'graph'");
    if (keyword.text != "graph") lexer_.fail(keyword, concat("expected 'graph', found '", keyword.text, "'"));
    if (depth > kDeepestNesting) lexer_.fail(keyword, concat("graphs nest deeper than ", kDeepestNesting));
    Scope scope;
    expect("(", "before the inputs");
    parse_list(")", "after the inputs", [&] {
      const Token name = expect_name("the name of an input");
      expect(":", "after the name of an input");
      const Aval aval = parse_type();
      define_name(scope, name, scope.builder.input(aval, std::string(name.text)));
    });
    expect("{", "before the equations");
    while (!accept("}")) parse_equation(scope, depth);
    expect("->", "before the outputs");
    expect("(", "before the outputs");
    Values outputs;
    parse_list(")", "after the outputs",
               [&] { outputs.push_back(lookup(scope, expect_name("the name of an output"))); });
    return scope.builder.finish(outputs, Builder::Keep::kAll);
  }

  struct Result {
    Token name;
    std::optional<Aval> aval;
  };

  // A name that begins the next equation is followed by a colon, a comma or '='.
  bool at_operand() const {
    if (lexer_.next().kind != TokenKind::kName) return false;
    const Token after = lexer_.peek();
    return !(after.kind == TokenKind::kSymbol && (after.text == ":" || after.text == "," || after.text == "="));
  }

  void parse_equation(Scope& scope, int depth) {
    const Token start = lexer_.next();
    if (start.kind == TokenKind::kEnd) lexer_.fail(start, "expected an equation or '}', found the end of the text");
    std::vector<Result> results;
    if (!lexer_.at("=")) {
      do {
        Result result{expect_name("an equation"), std::nullopt};
        if (accept(":")) result.aval = parse_type();
        results.push_back(result);
      } while (accept(","));
    }
    expect("=", "after the results of an equation");
    const Token name = expect_name("the name of a primitive");
    const Primitive& primitive = primitive_named(name);
    Values operands;
    while (at_operand()) operands.push_back(lookup(scope, lexer_.take()));
    std::vector<Attrs::Item> attributes;
    std::vector<Token> keys;
    if (accept("{")) {
      parse_list("}", "after the attributes", [&] {
        const Token key = expect_name("the name of an attribute");
        for (const Attrs::Item& other : attributes) {
          if (other.first == key.text) lexer_.fail(key, concat("attribute '", key.text, "' is given twice"));
        }
        expect("=", "after the name of an attribute");
        attributes.emplace_back(std::string(key.text), parse_value(depth));
        keys.push_back(key);
      });
    }
    const Values outputs = bind(scope, start, name, primitive, operands, std::move(attributes), keys);
    if (outputs.size() != results.size()) {
      lexer_.fail(start,
                  concat("'", primitive.name, "' gives ", outputs.size(), " results, ", results.size(), " are named"));
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (results[k].aval && !(*results[k].aval == outputs[k].aval())) {
        lexer_.fail(results[k].name,
                    concat("'", results[k].name.text, "' is declared as ", results[k].aval->to_string(), ", but ",
                           primitive.name, " gives ", outputs[k].aval().to_string()));
      }
      define_name(scope, results[k].name, outputs[k]);
    }
  }

  const Primitive& primitive_named(const Token& name) {
    try {
      return get_primitive(name.text);
    } catch (Error& error) {
      const std::string located = concat(lexer_.file(), ":", name.line, ":", name.column, ": ", error.message());
      Error with_place(error.kind(), located);
      if (const std::string text = error.what(); text.find('\n') != std::string::npos) {
        with_place.hint(text.substr(text.find_first_not_of(" \n", text.find('\n'))));
      }
      throw with_place;
    }
  }

  Values bind(Scope& scope, const Token& start, const Token& name, const Primitive& primitive, const Values& operands,
              std::vector<Attrs::Item> attributes, const std::vector<Token>& keys) {
    LocationScope location(intern_location(SourceLocation{lexer_.file(), start.line, ""}));
    const AttrsPtr attrs = Attrs::make(std::move(attributes));
    if (const auto wrong = check_attributes(primitive, *attrs)) {
      const auto key = std::ranges::find(keys, wrong->name, &Token::text);
      lexer_.fail(key == keys.end() ? name : *key, wrong->problem);
    }
    return scope.builder.bind(primitive, operands, attrs);
  }

  // ---- Types and values -------------------------------------------------------------------------------------------

  Aval parse_type() {
    const Token name = expect_name("a dtype");
    const std::optional<DType> dtype = dtype_from_name(name.text);
    if (!dtype) lexer_.fail(name, concat("there is no dtype '", name.text, "'"));
    Shape shape;
    expect("[", "after the dtype");
    parse_list("]", "after the shape", [&] { shape.push_back(parse_integer()); });
    const bool weak = accept("*");
    try {
      return Aval(*dtype, shape, weak);
    } catch (const Error& error) {
      lexer_.fail(name, error.message());
    }
  }

  int64_t parse_integer() {
    const Token token = lexer_.take();
    int64_t value = 0;
    const auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (token.kind != TokenKind::kNumber || code != std::errc() || end != token.text.data() + token.text.size()) {
      lexer_.fail(token, concat("expected an integer, found ", lexer_.describe(token)));
    }
    return value;
  }

  static std::optional<double> real_of(std::string_view text) {
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

  double parse_real() {
    const Token token = lexer_.take();
    const std::optional<double> value = real_of(token.text);
    if (!value) lexer_.fail(token, concat("expected a real, found ", lexer_.describe(token)));
    return *value;
  }

  std::string parse_text() {
    const Token token = lexer_.take();
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

  static bool is_integer_text(std::string_view text) { return text.find_first_not_of("-0123456789") == text.npos; }

  // Integers in brackets; reals with a 'd' behind, which is seen only afterwards: so by the look of the numbers.
  AttrValue parse_numbers() {
    expect("[", "before the numbers");
    std::vector<Token> tokens;
    parse_list("]", "after the numbers", [&] { tokens.push_back(lexer_.take()); });
    const bool reals = lexer_.next().kind == TokenKind::kName && lexer_.next().text == "d";
    if (reals) lexer_.take();
    std::vector<double> doubles;
    Ints integers;
    for (const Token& token : tokens) {
      const std::optional<double> real = real_of(token.text);
      if (reals && real) {
        doubles.push_back(*real);
        continue;
      }
      int64_t value = 0;
      const char* last = token.text.data() + token.text.size();
      const auto [end, code] = std::from_chars(token.text.data(), last, value);
      if (reals || code != std::errc() || end != last) {
        lexer_.fail(token, concat("expected ", reals ? "a real" : "an integer", ", found ", lexer_.describe(token)),
                    reals || !real ? "" : "a list of reals ends in ]d");
      }
      integers.push_back(value);
    }
    if (reals) return doubles;
    return integers;
  }

  AttrValue parse_value(int depth) {
    const Token& next = lexer_.next();
    if (next.kind == TokenKind::kText) return parse_text();
    if (next.kind == TokenKind::kNumber) {
      if (is_integer_text(next.text)) return parse_integer();
      return parse_real();
    }
    if (lexer_.at("[")) return parse_numbers();
    if (accept("<")) {
      std::vector<GraphPtr> graphs;
      parse_list(">", "after the graphs", [&] { graphs.push_back(parse_graph(depth + 1)); });
      return graphs;
    }
    if (next.kind == TokenKind::kName) {
      if (next.text == "graph") return parse_graph(depth + 1);
      if (next.text == "true" || next.text == "false") return lexer_.take().text == "true";
      if (next.text == "nan" || next.text == "inf") return parse_real();
      if (const std::optional<DType> dtype = dtype_from_name(next.text)) {
        lexer_.take();
        return *dtype;
      }
      if (next.text == "opaque") {
        lexer_.fail(next, "an opaque value (a Python callback, say) cannot be read back from text");
      }
    }
    lexer_.fail(next, concat("expected the value of an attribute, found ", lexer_.describe(next)));
  }

  Lexer lexer_;
};

}  // namespace

GraphPtr parse(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace ct
