#include "ir/print.h"

#include <cctype>
#include <charconv>
#include <set>

#include "ir/primitive.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr int kIndentStep = 2;

bool is_identifier(const std::string& name) {
  if (name.empty() || !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_')) return false;
  for (unsigned char c : name) {
    if (!std::isalnum(c) && c != '_') return false;
  }
  return name != "graph";
}

std::string letters(uint32_t index) {
  std::string name;
  for (++index; index > 0; index = (index - 1) / 26)
    name.insert(name.begin(), static_cast<char>('a' + (index - 1) % 26));
  return name;
}

// Shortest text that reads back to the same double; always with a point, exponent, inf or nan.
std::string real_text(double value) {
  if (value != value) return "nan";
  if (value == 1.0 / 0.0) return "inf";
  if (value == -1.0 / 0.0) return "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, int indent, bool annotated) : graph_(graph), indent_(indent), annotated_(annotated) {
    names_.resize(graph.num_vars());
    std::set<std::string> taken;
    for (uint32_t i = 0; i < graph.num_inputs() && i < graph.input_names().size(); ++i) {
      const std::string& name = graph.input_names()[i];
      if (is_identifier(name) && taken.insert(name).second) names_[i] = name;
    }
    uint32_t next = 0;
    for (std::string& name : names_) {
      while (name.empty()) {
        std::string candidate = letters(next++);
        if (candidate != "graph" && taken.insert(candidate).second) name = candidate;
      }
    }
  }

  std::string run() {
    out_ << "graph (";
    for (Var var = 0; var < graph_.num_inputs(); ++var) out_ << (var ? ", " : "") << typed(var);
    out_ << ") {\n";
    for (const Equation& equation : graph_.equations()) print_equation(equation);
    out_ << std::string(indent_, ' ') << "} -> (";
    const char* before = "";
    for (Var var : graph_.outputs()) {
      out_ << before << names_[var];
      before = ", ";
    }
    out_ << ")";
    return out_.str();
  }

  static std::string attr(const AttrValue& value, int indent, bool annotated) {
    struct Visitor {
      int indent;
      bool annotated;
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return real_text(v); }
      std::string operator()(const std::string& v) const {
        std::string text = "\"";
        for (char c : v) {
          if (c == '"' || c == '\\') text += '\\';
          if (c == '\n') {
            text += "\\n";
          } else {
            text += c;
          }
        }
        return text + "\"";
      }
      std::string operator()(DType v) const { return std::string(dtype_name(v)); }
      std::string operator()(const Ints& v) const { return "[" + join(v, ", ") + "]"; }
      std::string operator()(const std::vector<double>& v) const {
        std::vector<std::string> parts;
        for (double x : v) parts.push_back(real_text(x));
        return "[" + join(parts, ", ") + "]d";
      }
      std::string operator()(const GraphPtr& v) const { return Printer(*v, indent, annotated).run(); }
      std::string operator()(const std::vector<GraphPtr>& v) const {
        std::string text = "<";
        for (size_t i = 0; i < v.size(); ++i) text += (i ? ", " : "") + Printer(*v[i], indent, annotated).run();
        return text + ">";
      }
      std::string operator()(const OpaquePtr& v) const { return "opaque(" + v->to_string() + ")"; }
    };
    return std::visit(Visitor{indent, annotated}, value);
  }

 private:
  std::string typed(Var var) const { return names_[var] + ": " + graph_.aval(var).to_string(); }

  void print_equation(const Equation& equation) {
    const int indent = indent_ + kIndentStep;
    out_ << std::string(indent, ' ');
    int64_t bytes = 0;
    for (uint32_t k = 0; k < equation.output_count; ++k) {
      out_ << (k ? ", " : "") << typed(equation.first_output + k);
      bytes += graph_.aval(equation.first_output + k).bytes();
    }
    out_ << (equation.output_count ? " = " : "= ") << equation.primitive->name;
    for (Var var : graph_.operands(equation)) out_ << ' ' << names_[var];
    const Attrs& attrs = graph_.attrs(equation);
    if (!attrs.items().empty()) {
      out_ << " {";
      const char* before = "";
      for (const auto& [key, value] : attrs.items()) {
        out_ << before << key << "=" << attr(value, indent, annotated_);
        before = ", ";
      }
      out_ << "}";
    }
    if (annotated_) {
      out_ << "  # " << bytes << " B";
      if (const std::string where = location_string(equation.location); !where.empty()) out_ << ", " << where;
    }
    out_ << '\n';
  }

  const Graph& graph_;
  int indent_;
  bool annotated_;
  std::vector<std::string> names_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph, 0, false).run() + "\n"; }
std::string print_annotated(const Graph& graph) { return Printer(graph, 0, true).run() + "\n"; }
std::string print_attr(const AttrValue& value) { return Printer::attr(value, 0, false); }

}  // namespace ct
