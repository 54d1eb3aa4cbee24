#include "ir/parse.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/lexer.h"
#include "ir/primitive.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct {
namespace {

// As check.cc: text nested deeper would not be a legal graph.

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file) {}

  GraphPtr run() {
    GraphPtr graph = parse_graph(0);
    if (lexer_.next().kind != TokenKind::kEnd) {
      lexer_.fail(lexer_.next(), concat("unexpected ", lexer_.describe(lexer_.next()), " after the graph"),
                  "a text holds one graph: read the others by themselves");
    }
    return graph;
  }

 private:
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
    const Token keyword = lexer_.expect_name("'graph'");
    if (keyword.text != "graph") {
      lexer_.fail(keyword, concat("expected 'graph', found '", keyword.text, "'"),
                  "a graph is written graph (a: float32[3]) { b: float32[3] = sin a } -> (b)");
    }
    if (depth > kDeepestNesting) lexer_.fail(keyword, concat("graphs nest deeper than ", kDeepestNesting));
    Scope scope;
    lexer_.expect("(", "before the inputs");
    lexer_.list(")", "after the inputs", [&] {
      const Token name = lexer_.expect_name("the name of an input");
      lexer_.expect(":", "after the name of an input");
      const Aval aval = parse_type();
      define_name(scope, name, scope.builder.input(aval, std::string(name.text)));
    });
    lexer_.expect("{", "before the equations");
    while (!lexer_.accept("}")) parse_equation(scope, depth);
    lexer_.expect("->", "before the outputs");
    lexer_.expect("(", "before the outputs");
    Values outputs;
    lexer_.list(")", "after the outputs",
                [&] { outputs.push_back(lookup(scope, lexer_.expect_name("the name of an output"))); });
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
    if (start.kind == TokenKind::kEnd)
      lexer_.fail(start, "expected an equation or '}', found the end of the text",
                  "end it with } -> (a), the variables that are returned");
    std::vector<Result> results;
    if (!lexer_.at("=")) {
      do {
        Result result{lexer_.expect_name("an equation"), std::nullopt};
        if (lexer_.accept(":")) result.aval = parse_type();
        results.push_back(result);
      } while (lexer_.accept(","));
    }
    lexer_.expect("=", "after the results of an equation");
    const Token name = lexer_.expect_name("the name of a primitive");
    const Primitive& primitive = primitive_named(name);
    Values operands;
    while (at_operand()) operands.push_back(lookup(scope, lexer_.take()));
    std::vector<Attrs::Item> attributes;
    std::vector<Token> keys;
    if (lexer_.accept("{")) {
      lexer_.list("}", "after the attributes", [&] {
        const Token key = lexer_.expect_name("the name of an attribute");
        for (const Attrs::Item& other : attributes) {
          if (other.first == key.text)
            lexer_.fail(key, concat("attribute '", key.text, "' is given twice"), "leave one of them out");
        }
        lexer_.expect("=", "after the name of an attribute");
        attributes.emplace_back(std::string(key.text), parse_value(depth));
        keys.push_back(key);
      });
    }
    const Values outputs = bind(scope, start, name, primitive, operands, std::move(attributes), keys);
    if (outputs.size() != results.size()) {
      lexer_.fail(start,
                  concat("'", primitive.name, "' gives ", outputs.size(), " results, ", results.size(), " are named"),
                  "name each of them, with commas between: b, c = ...");
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (results[k].aval && !(*results[k].aval == outputs[k].aval())) {
        lexer_.fail(results[k].name,
                    concat("'", results[k].name.text, "' is declared as ", results[k].aval->to_string(), ", but ",
                           primitive.name, " gives ", outputs[k].aval().to_string()),
                    "write the type that it gives, or none: a name alone takes any");
      }
      define_name(scope, results[k].name, outputs[k]);
    }
  }

  const Primitive& primitive_named(const Token& name) {
    try {
      return get_primitive(name.text);
    } catch (Error& error) {
      const std::string located = concat(lexer_.file(), ":", name.line, ":", name.column, ": ", error.message());
      Error with_place(error.kind(), located, error.site());
      if (const std::string text = error.what(); text.find('\n') != std::string::npos) {
        with_place.hint(text.substr(text.find_first_not_of(" \n", text.find('\n'))));
      }
      throw with_place;
    }
  }

  static std::string attributes_of(const Primitive& primitive) {
    std::vector<std::string> names;
    for (const auto& attribute : primitive.attributes) names.push_back(std::string(attribute.name));
    return concat("its attributes: ", names.empty() ? "none" : join(names, ", "));
  }

  Values bind(Scope& scope, const Token& start, const Token& name, const Primitive& primitive, const Values& operands,
              std::vector<Attrs::Item> attributes, const std::vector<Token>& keys) {
    LocationScope location(intern_location(SourceLocation{lexer_.file(), start.line, ""}));
    const AttrsPtr attrs = Attrs::make(std::move(attributes));
    if (const auto wrong = check_attributes(primitive, *attrs)) {
      const auto key = std::ranges::find(keys, wrong->name, &Token::text);
      lexer_.fail(key == keys.end() ? name : *key, wrong->problem, attributes_of(primitive));
    }
    return scope.builder.bind(primitive, operands, attrs);
  }

  // ---- Types and values -------------------------------------------------------------------------------------------

  Aval parse_type() {
    const Token name = lexer_.expect_name("a dtype");
    const std::optional<DType> dtype = dtype_from_name(name.text);
    if (!dtype)
      lexer_.fail(name, concat("there is no dtype '", name.text, "'"),
                  "dtypes are named as NumPy's: float32, int32, bool, complex64");
    Shape shape;
    lexer_.expect("[", "after the dtype");
    lexer_.list("]", "after the shape", [&] { shape.push_back(lexer_.integer()); });
    const bool weak = lexer_.accept("*");
    try {
      return Aval(*dtype, shape, weak);
    } catch (const Error& error) {
      lexer_.fail(name, error.message());
    }
  }

  static bool is_integer_text(std::string_view text) { return text.find_first_not_of("-0123456789") == text.npos; }

  // Integers in brackets; reals with a 'd' behind, which is seen only afterwards: so by the look of the numbers.
  AttrValue parse_numbers() {
    lexer_.expect("[", "before the numbers");
    std::vector<Token> tokens;
    lexer_.list("]", "after the numbers", [&] { tokens.push_back(lexer_.take()); });
    const bool reals = lexer_.next().kind == TokenKind::kName && lexer_.next().text == "d";
    if (reals) lexer_.take();
    std::vector<double> doubles;
    Ints integers;
    for (const Token& token : tokens) {
      const std::optional<double> real = Lexer::real_of(token.text);
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
    if (next.kind == TokenKind::kText) return lexer_.quoted();
    if (next.kind == TokenKind::kNumber) {
      if (is_integer_text(next.text)) return lexer_.integer();
      return lexer_.real();
    }
    if (lexer_.at("[")) return parse_numbers();
    if (lexer_.accept("<")) {
      std::vector<GraphPtr> graphs;
      lexer_.list(">", "after the graphs", [&] { graphs.push_back(parse_graph(depth + 1)); });
      return graphs;
    }
    if (next.kind == TokenKind::kName) {
      if (next.text == "graph") return parse_graph(depth + 1);
      if (next.text == "true" || next.text == "false") return lexer_.take().text == "true";
      if (next.text == "nan" || next.text == "inf") return lexer_.real();
      if (const std::optional<DType> dtype = dtype_from_name(next.text)) {
        lexer_.take();
        return *dtype;
      }
      if (next.text == "opaque") {
        lexer_.fail(next, "an opaque value (a Python callback, say) cannot be read back from text",
                    "make the graph again of the function: ct.make_ir(f)(x)");
      }
    }
    lexer_.fail(next, concat("expected the value of an attribute, found ", lexer_.describe(next)));
  }

  Lexer lexer_;
};

}  // namespace

GraphPtr parse(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace ct
