#include "jit/c/side_by_side.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/c/emission.h"
#include "jit/loop/visit.h"

namespace ct::jit::c {

using loop::BlockId;
using loop::Carry;
using loop::For;
using loop::Statement;
using loop::StatementKind;
using loop::Value;

namespace {

constexpr int64_t kSideBySide = 64;

// Nothing but instructions, stores, rare branches and loops, of which there is one. `steps`: variables of loops around,
// inside of the one whose iterations are lanes.
bool is_simple(const Emission& e, const For& lanes, BlockId block, std::vector<Value>& steps, bool& has_loop) {
  return std::ranges::all_of(e.program.blocks[block].statements, [&](const Statement& s) {
    if (s.kind == StatementKind::kIf) return rare_side(e.program, e.program.ifs[s.detail]) != loop::kNoBlock;
    if (s.kind != StatementKind::kFor) return loop::is_instruction(s) || s.kind == StatementKind::kStore;
    if (never_runs(e.program, s)) return true;
    has_loop = true;
    const For& inner = e.program.fors[s.detail];
    // How often it runs is asked outside of the lanes: what a lane computes is not there. It is numbered after the
    // variable.
    bool is_outside = true;
    loop::visit_index(inner.extent, [&](Value term) {
      is_outside = is_outside && (term < lanes.variable || std::ranges::find(steps, term) != steps.end());
    });
    steps.push_back(inner.variable);
    const bool simple = is_outside && is_simple(e, lanes, inner.body, steps, has_loop);
    steps.pop_back();
    return simple;
  });
}

class SideBySide {
 public:
  SideBySide(Emission& e, const For& loop) : e_(e), loop_(loop) {
    find_pieces(loop.body);
    int piece = 0;
    find_crossing(loop.body, piece);
  }

  void write(const std::string& extent_text) {
    const bool known = loop_.extent.is_constant();
    const int64_t extent = known ? std::stoll(extent_text) : 0;
    const bool all = known && extent <= 2 * kSideBySide;
    room_ = all ? extent : kSideBySide;
    count_ = std::to_string(room_);
    std::string begin;
    if (all) {
      e_.open();
      lane_ = e_.loop_variable();
      e_.define(loop_.variable, {lane_});
    } else {
      begin = e_.loop_variable();
      e_.open("for (int64_t ", begin, " = 0; ", begin, " < ", extent_text, "; ", begin, " += ", room_, ")");
      if (!known || extent % room_ != 0) {
        count_ = e_.fresh("count");
        e_.line("const int64_t ", count_, " = ", extent_text, " - ", begin, " < ", room_, " ? ", extent_text, " - ",
                begin, " : ", room_, ";");
      }
      lane_ = e_.fresh("lane");
      e_.define(loop_.variable, {concat(begin, " + ", lane_), kSum});
    }
    block(loop_.body, nullptr, {});
    --e_.loops_open;
    e_.close();
  }

 private:
  // A piece is what one innermost loop computes: a number for the statements between two loops.
  void find_pieces(BlockId block) {
    ++pieces_;
    for (const Statement& s : e_.program.blocks[block].statements) {
      if (s.kind == StatementKind::kFor && !never_runs(e_.program, s)) {
        find_pieces(e_.program.fors[s.detail].body);
        ++pieces_;
      } else if (loop::is_instruction(s) || s.kind == StatementKind::kIf) {
        loop::visit_results(e_.program, s, [&](Value value) {
          made_in_[value] = pieces_;
          made_by_[value] = &s;
        });
      }
    }
  }
  void use(Value value, int piece) {
    const auto made = made_by_.find(value);
    if (made == made_by_.end() || made_in_.at(value) == piece) return;
    if (made->second->kind == StatementKind::kConstant || !crossing_.insert(value).second) return;
    // An index is written where it is used, of what is there.
    if (made->second->kind == StatementKind::kIndex) {
      loop::visit_index(made->second->index, [&](Value term) { use(term, -1); });
    }
  }
  void find_crossing(BlockId block, int& piece) {
    ++piece;
    for (const Statement& s : e_.program.blocks[block].statements) {
      if (loop::is_instruction(s) && e_.uses(s.result).count == 0) continue;
      if (s.kind != StatementKind::kFor || never_runs(e_.program, s)) {
        visit_written(e_, s,
                      [&](const Statement& inner) { visit_uses(e_, inner, [&](Value value) { use(value, piece); }); });
        continue;
      }
      // What it begins with is put into arrays where the piece before it ends.
      c::visit_inputs(e_.program, s, [&](Value value) { use(value, piece); });
      const For& inner = e_.program.fors[s.detail];
      find_crossing(inner.body, piece);
      for (const Carry& carry : inner.carries) use(carry.next, piece);
      ++piece;
    }
  }

  std::string array(DType dtype, std::string_view kind) {
    const std::string name = e_.fresh(kind);
    // GCC makes no vectors of arrays of bool.
    e_.line(is_bool(dtype) ? memory_type(dtype) : register_type(dtype), " ", name, "[", room_, "];");
    return concat(name, "[", lane_, "]");
  }
  DType dtype(Value value) const { return e_.program.values[value].dtype; }

  // A block of the loop, or of one inside, whose carried values are `names`.
  void block(BlockId id, const For* inner, const std::vector<std::string>& names) {
    const std::vector<Statement>& all = e_.program.blocks[id].statements;
    const auto size = static_cast<uint32_t>(all.size());
    for (uint32_t i = 0;;) {
      uint32_t end = i;
      while (end < size && (all[end].kind != StatementKind::kFor || never_runs(e_.program, all[end]))) ++end;
      const For* const next = end < size ? &e_.program.fors[all[end].detail] : nullptr;
      std::vector<std::string> carried;
      if (next != nullptr) {
        for (const Carry& carry : next->carries) {
          carried.push_back(array(dtype(carry.init), carry.combine ? "folded" : "carried"));
        }
      }
      Stretch stretch{id, i, end, {}};
      const bool steps = next == nullptr && inner != nullptr;
      for (const Carry& carry : steps ? inner->carries : std::vector<Carry>()) stretch.results.push_back(carry.next);
      for (const Carry& carry : next != nullptr ? next->carries : std::vector<Carry>()) {
        stretch.results.push_back(carry.init);
      }
      piece(std::move(stretch), [&] {
        if (steps) step(*inner, names);
        for (size_t c = 0; c < carried.size(); ++c) e_.line(carried[c], " = ", e_.in_byte(next->carries[c].init), ";");
      });
      if (next == nullptr) return;
      for (size_t c = 0; c < carried.size(); ++c) {
        if (!next->carries[c].combine) e_.define(next->carries[c].argument, {carried[c], kAtom, true});
      }
      const std::string variable = e_.loop_variable();
      e_.open("for (int64_t ", variable, " = 0; ", variable, " < ", e_.index(next->extent, kProduct), "; ++", variable,
              ")");
      e_.define(next->variable, {variable});
      block(next->body, next, carried);
      e_.close();
      --e_.loops_open;
      for (size_t c = 0; c < carried.size(); ++c) e_.define(next->carries[c].result, {carried[c], kAtom});
      i = end + 1;
    }
  }

  template <typename After>
  void piece(Stretch stretch, After after) {
    std::vector<std::pair<Value, std::string>> kept;
    const std::vector<Statement>& all = e_.program.blocks[stretch.block].statements;
    for (uint32_t i = stretch.begin; i < stretch.end; ++i) {
      if (all[i].kind == StatementKind::kIndex) continue;
      loop::visit_results(e_.program, all[i], [&](Value value) {
        if (!crossing_.contains(value) || e_.uses(value).count == 0) return;
        kept.emplace_back(value, array(dtype(value), "kept"));
        stretch.results.push_back(value);
      });
    }
    const size_t before = e_.text.size();
    bool is_empty = false;
    const auto iterate = [&](bool independent, const Body& inside) {
      if (independent) e_.line("CT_INDEPENDENT");
      e_.open("for (int64_t ", lane_, " = 0; ", lane_, " < ", count_, "; ++", lane_, ")");
      const size_t empty = e_.text.size();
      inside();
      is_empty = e_.text.size() == empty;
      e_.close();
    };
    const auto write = [&](bool asks) {
      statements(stretch);
      if (asks) return;
      for (const auto& [value, place] : kept) e_.line(place, " = ", e_.in_byte(value), ";");
      after();
    };
    if (asks_for_rare(e_, stretch)) {
      write_by_sides(e_, stretch, iterate, write);
    } else {
      iterate(true, [&] { write(false); });
      if (is_empty) e_.text.resize(before);
    }
    for (const auto& [value, place] : kept) e_.define(value, {place});
  }

  void statements(const Stretch& stretch) {
    const std::vector<Statement>& all = e_.program.blocks[stretch.block].statements;
    for (uint32_t i = stretch.begin; i < stretch.end;) {
      const Statement& s = all[i];
      if (s.kind == StatementKind::kIndex && crossing_.contains(s.result)) {
        e_.define(s.result, {e_.index(s.index), kSum});
        ++i;
        continue;
      }
      const uint32_t call = e_.function_call(stretch.block, i, stretch.end);
      if (call == i) e_.statement(s, stretch.block, i);
      i = std::max(call, i + 1);
    }
  }

  // Next values are made before any of the carried ones changes.
  void step(const For& inner, const std::vector<std::string>& names) {
    std::vector<std::string> next;
    const auto plain = std::ranges::count_if(inner.carries, [](const Carry& carry) { return !carry.combine; });
    for (const Carry& carry : inner.carries) {
      next.push_back(carry.combine ? e_.value(carry.next, kUnary) : e_.in_byte(carry.next));
      if (carry.combine || plain < 2) continue;
      const std::string name = e_.fresh("next");
      e_.line("const ", declared(dtype(carry.init), name, next.back()));
      next.back() = name;
    }
    for (size_t c = 0; c < names.size(); ++c) {
      const Carry& carry = inner.carries[c];
      if (carry.combine) next[c] = e_.combined(*carry.combine, dtype(carry.init), names[c], next[c]).text;
      if (next[c] != names[c]) e_.line(names[c], " = ", next[c], ";");
    }
  }

  Emission& e_;
  const For& loop_;
  int pieces_ = 0;
  int64_t room_ = 0;
  std::string count_, lane_;
  absl::flat_hash_map<Value, int> made_in_;  // pieces
  absl::flat_hash_map<Value, const Statement*> made_by_;
  absl::flat_hash_set<Value> crossing_;
};

}  // namespace

bool runs_side_by_side(const Emission& e, const For& loop) {
  bool has_loop = false;
  std::vector<Value> steps;
  return loop.carries.empty() && is_simple(e, loop, loop.body, steps, has_loop) && has_loop;
}

void write_side_by_side(Emission& e, const For& loop, const std::string& end) { SideBySide(e, loop).write(end); }

}  // namespace ct::jit::c
