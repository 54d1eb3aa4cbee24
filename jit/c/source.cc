#include "jit/c/source.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "jit/c/emission.h"
#include "jit/loop/visit.h"
#include "runtime/error.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::BufferId;
using loop::BufferKind;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

// Text that may stand in a comment.
std::string in_comment(std::string text) {
  for (const std::string_view mark : {"*/", "/*"}) {
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at) text.insert(at + 1, " ");
  }
  return text;
}

class Writer {
 public:
  Writer(const loop::Program& program, const Names& names, Helpers& helpers)
      : program_(program), names_(names), emission_(program, names, helpers) {
    visit_written([&](const Statement& s) {
      loop::visit_buffers(program, s, [&](BufferId buffer, bool writes) {
        used_.insert(buffer);
        if (writes) written_.insert(buffer);
      });
      if (s.kind == StatementKind::kSwap) swapped_.insert({s.buffer, s.other});
    });
    find_groups();
    find_crossing();
  }

  Source write() {
    Source source;
    Emission& e = emission_;
    const std::vector<Statement>& all = program_.blocks[0].statements;
    std::string functions;
    for (const auto& [begin, end] : groups_) {
      group(begin, end, functions);
      for (uint32_t i = begin; i < end; ++i) e.count_time(all[i]);
    }
    std::string main = std::exchange(e.text, "");
    const std::string head = declaration(source);
    source.text = concat(functions, head, " {\n", temporaries(), main, "  return 0;\n}\n");
    source.arena_bytes = e.arena_bytes;
    return source;
  }

 private:
  template <typename Visit>
  void visit_written(const Visit& visit) const {
    for (const Statement& s : program_.blocks[0].statements) c::visit_written(emission_, s, visit);
  }

  // Statements of the entry block that stand together and were made from the same: [begin, end).
  void find_groups() {
    const std::vector<Statement>& all = program_.blocks[0].statements;
    for (uint32_t begin = 0; begin < all.size(); begin = groups_.back().second) {
      uint32_t end = begin + 1;
      while (end < all.size() && all[end].group == all[begin].group) ++end;
      groups_.emplace_back(begin, end);
    }
  }

  // Values of the entry block that several groups use are variables of the main function; so are those of groups that
  // exchange arrays.
  void find_crossing() {
    const std::vector<Statement>& all = program_.blocks[0].statements;
    for (const auto& [begin, end] : groups_) {
      absl::flat_hash_set<Value> defined;
      for (uint32_t i = begin; i < end; ++i) add_defined(all[i], defined);
      const auto use = [&](Value value) {
        if (!defined.contains(value)) crossing_.insert(value);
      };
      for (uint32_t i = begin; i < end; ++i) {
        c::visit_written(emission_, all[i], [&](const Statement& s) { visit_uses(emission_, s, use); });
      }
    }
  }

  // By the statement and all inside of it.
  void add_defined(const Statement& statement, absl::flat_hash_set<Value>& defined) const {
    const auto define = [&](Value value) { defined.insert(value); };
    c::visit_written(emission_, statement, [&](const Statement& s) {
      loop::visit_arguments(program_, s, define);
      loop::visit_results(program_, s, define);
    });
  }

  // What a function of these statements has for parameters; false: they are written in the main function.
  struct Parameters {
    std::vector<BufferId> buffers;
    std::vector<Value> values;
    absl::flat_hash_set<BufferId> writes;
  };
  bool parameters_of(uint32_t begin, uint32_t end, Parameters& parameters) {
    const std::vector<Statement>& all = program_.blocks[0].statements;
    bool separate = false, possible = true;
    absl::flat_hash_set<Value> defined;
    for (uint32_t i = begin; i < end; ++i) add_defined(all[i], defined);
    const auto use = [&](Value value) {
      if (emission_.uses(value).count == 0 || defined.contains(value)) return;
      if (std::ranges::find(parameters.values, value) == parameters.values.end()) parameters.values.push_back(value);
    };
    const auto visit = [&](const Statement& s) {
      if (s.kind == StatementKind::kSwap) possible = false;
      loop::visit_buffers(program_, s, [&](BufferId buffer, bool writes) {
        if (writes) parameters.writes.insert(buffer);
        if (program_.buffers[buffer].kind != BufferKind::kConstant &&
            std::ranges::find(parameters.buffers, buffer) == parameters.buffers.end())
          parameters.buffers.push_back(buffer);
      });
      visit_uses(emission_, s, use);
    };
    for (uint32_t i = begin; i < end; ++i) {
      c::visit_written(emission_, all[i], visit);
      separate = separate || all[i].kind == StatementKind::kFor || all[i].kind == StatementKind::kWhile ||
                 all[i].kind == StatementKind::kGemm;
      loop::visit_results(program_, all[i], [&](Value value) { possible = possible && !crossing_.contains(value); });
    }
    return possible && separate;
  }

  std::string type_of(BufferId buffer) const {
    return std::string(memory_type(real_dtype(program_.buffers[buffer].dtype)));
  }

  void group(uint32_t begin, uint32_t end, std::string& functions) {
    Emission& e = emission_;
    const Statement& first = program_.blocks[0].statements[begin];
    const std::string comment =
        first.group < program_.groups.size() ? in_comment(program_.groups[first.group]) : std::string();
    Parameters parameters;
    if (!parameters_of(begin, end, parameters)) {
      if (!comment.empty()) e.line("/* ", comment, " */");
      e.statements(0, begin, end);
      return;
    }
    const std::string name = concat(names_.program, "_", ++functions_);
    std::string list, arguments;
    const auto add = [&](const std::string& parameter, const std::string& argument) {
      list += concat(list.empty() ? "" : ", ", parameter);
      arguments += concat(arguments.empty() ? "" : ", ", argument);
    };
    std::vector<std::pair<Value, Expression>> outside;
    for (const BufferId buffer : parameters.buffers) {
      add(concat(parameters.writes.contains(buffer) ? "" : "const ", type_of(buffer), "* ", e.buffer(buffer)),
          e.buffer(buffer));
    }
    std::string main = std::exchange(e.text, "");
    const size_t names = e.begin_function();
    for (const Value value : parameters.values) {
      const std::string inside = e.fresh("given");
      add(concat("const ", register_type(program_.values[value].dtype), " ", inside), e.value(value));
      outside.emplace_back(value, e.exchange(value, {inside}));
    }
    const bool outer_stops = std::exchange(e.stops, false);
    const int64_t scratch = e.arena_uses();
    e.statements(0, begin, end);
    if (e.arena_uses() != scratch) add("unsigned char* arena", "arena");
    const bool stops = e.stops;
    if (stops) {
      add("const volatile int* stop", "stop");
      e.line("return 0;");
    }
    functions += concat(comment.empty() ? "" : concat("/* ", comment, " */\n"), "static ", stops ? "int " : "void ",
                        name, "(", list.empty() ? "void" : list, ") {\n", e.text, "}\n\n");
    e.stops = outer_stops || stops;
    e.end_function(names);
    e.text = std::move(main);
    for (auto& [value, expression] : outside) e.define(value, std::move(expression));
    if (stops) {
      e.line("if (", name, "(", arguments, ") != 0) return 1;");
    } else {
      e.line(name, "(", arguments, ");");
    }
  }

  std::string declaration(Source& source) {
    Emission& e = emission_;
    std::string list;
    const auto add = [&](const std::string& parameter) { list += concat(list.empty() ? "" : ", ", parameter); };
    // A program may have several buffers of one input.
    absl::flat_hash_set<std::string> named;
    for (const BufferKind kind : {BufferKind::kInput, BufferKind::kOutput}) {
      for (BufferId id = 0; id < program_.buffers.size(); ++id) {
        const loop::Buffer& buffer = program_.buffers[id];
        if (buffer.kind != kind || !used_.contains(id) || !named.insert(e.buffer(id)).second) continue;
        add(concat(written_.contains(id) ? "" : "const ", type_of(id), "* ", e.buffer(id)));
        (kind == BufferKind::kInput ? source.inputs : source.outputs).push_back(static_cast<uint32_t>(buffer.position));
      }
    }
    const bool has_temporaries =
        std::ranges::any_of(used_, [&](BufferId id) { return program_.buffers[id].kind == BufferKind::kTemporary; });
    source.takes_arena = has_temporaries || e.arena_uses() > 0;
    source.takes_stop = e.stops;
    if (source.takes_arena) add("unsigned char* arena");
    if (source.takes_stop) add("const volatile int* stop");
    return concat("static int ", names_.program, "(", list.empty() ? "void" : list, ")");
  }

  std::string temporaries() {
    std::string text;
    for (BufferId id = 0; id < program_.buffers.size(); ++id) {
      const loop::Buffer& buffer = program_.buffers[id];
      if (buffer.kind != BufferKind::kTemporary || !used_.contains(id)) continue;
      text +=
          concat("  ", type_of(id), "*", swapped_.contains(id) ? " " : " const ", emission_.buffer(id), " = (",
                 type_of(id), "*)(void*)(arena + ", buffer.position, ");  /* [", real_elements(program_, id), "] */\n");
    }
    return text;
  }

  const loop::Program& program_;
  const Names& names_;
  Emission emission_;
  std::vector<std::pair<uint32_t, uint32_t>> groups_;
  absl::flat_hash_set<BufferId> used_, written_, swapped_;
  absl::flat_hash_set<Value> crossing_;
  int functions_ = 0;
};

}  // namespace

Source emit_source(const loop::Program& program, const Names& names, Helpers& helpers) {
  return Writer(program, names, helpers).write();
}

}  // namespace ct::jit::c
