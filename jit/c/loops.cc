// Loops and branches as C. A float sum whose lanes the machine code adds up side by side is written so that its order
// is the same:
//
//   ct_f32x8 sum = ...;
//   for (i = 0; i + 8 <= n; i += 8) {
//     float part[8];
//     for (lane = 0; lane < 8; ++lane) part[lane] = <what iteration i + lane adds>;
//     sum = sum + <part>;
//   }
#include <algorithm>

#include "jit/c/emission.h"
#include "jit/c/side_by_side.h"
#include "jit/loop/visit.h"
#include "jit/machine/questions.h"
#include "runtime/error.h"

namespace ct::jit::c {

using loop::Carry;
using loop::For;
using loop::If;

namespace {

// The result does not depend on the order, but for floats: these are rounded, and have two zeros.
bool has_order(const loop::Program& program, const Carry& carry) {
  return carry.combine && is_float(program.values[carry.init].dtype);
}

bool has_ordered_folds(const loop::Program& program, loop::BlockId block) {
  bool found = false;
  loop::visit_statements(program, block, [&](const loop::Statement& s) {
    if (s.kind != loop::StatementKind::kFor) return;
    found = found || std::ranges::any_of(program.fors[s.detail].carries,
                                         [&](const Carry& carry) { return has_order(program, carry); });
  });
  return found;
}

bool stores(const loop::Program& program, loop::BlockId block) {
  bool found = false;
  loop::visit_statements(program, block,
                         [&](const loop::Statement& s) { found = found || s.kind == loop::StatementKind::kStore; });
  return found;
}

std::string identity_of(ScalarOp op, DType dtype) {
  const std::string f = dtype == DType::kFloat64 ? "" : "f";
  switch (op) {
    case ScalarOp::kAdd:
      return concat("-0.0", f);
    case ScalarOp::kMul:
      return concat("1.0", f);
    case ScalarOp::kMax:
      return concat("-__builtin_inf", f, "()");
    default:
      return concat("__builtin_inf", f, "()");
  }
}

std::string_view name_of_result(const Carry& carry) {
  if (!carry.combine) return "carried";
  switch (*carry.combine) {
    case ScalarOp::kAdd:
      return "sum";
    case ScalarOp::kMul:
      return "product";
    case ScalarOp::kMax:
      return "largest";
    case ScalarOp::kMin:
      return "smallest";
    default:
      return "folded";
  }
}

// A fold over lanes.
class Lanes {
  static constexpr int64_t kVectors = 8;  // whose parts are made in one loop

 public:
  Lanes(Emission& e, const For& loop, const Vectorization& how)
      : e_(e),
        loop_(loop),
        how_(how),
        width_(how.width),
        known_(loop.extent.is_constant()),
        extent_(known_ ? std::max<int64_t>(loop.extent.constant(), 0) : 0),
        extent_text_(e.index(loop.extent, kProduct)),
        asks_(asks_for_rare(e, stretch_of(e, loop))),
        many_at_once_((asks_ || stores(e.program, loop.body)) && (!known_ || extent_ >= 2 * width_)) {}

  void emit() {
    for (const Carry& carry : loop_.carries) {
      results_.push_back(e_.fresh(name_of_result(carry)));
      e_.line(declared(dtype(carry), results_.back(), e_.value(carry.init)));
    }
    e_.open();
    at_ = e_.loop_variable();
    e_.line("int64_t ", at_, " = 0;");
    for (const Carry& carry : loop_.carries) {
      lanes_.push_back(has_order(e_.program, carry) ? e_.fresh("lanes") : "");
      if (lanes_.back().empty()) continue;
      const std::string one = all_of_identity(carry);
      if (unrolls()) {
        std::string list;
        for (unsigned u = 0; u < how_.unroll; ++u) list += concat(u == 0 ? "" : ", ", one);
        e_.line(vector(carry), " ", lanes_.back(), "[", how_.unroll, "] = {", list, "};");
      } else {
        e_.line(vector(carry), " ", lanes_.back(), " = ", one, ";");
      }
    }
    if (unrolls()) {
      unrolled();
    } else if (many_at_once_) {
      blocks();
    }
    // Whole vectors, but for those of a tail that is masked from there on, whose sums are the same.
    if (known_ ? extent_ % step_of_rest() >= width_ : unrolls() || !many_at_once_) {
      e_.open("for (; ", at_, " + ", width_, " <= ", extent_text_, "; ", at_, " += ", width_, ")");
      add_part(concat(width_));
      e_.close();
    }
    const bool has_rest = !known_ || extent_ % width_ != 0;
    if (has_rest && how_.masked_tail) {
      e_.open("if (", at_, " < ", extent_text_, ")");
      add_part(concat(extent_text_, " - ", at_));
      e_.close();
    }
    for (size_t c = 0; c < loop_.carries.size(); ++c) {
      if (lanes_[c].empty()) continue;
      const Carry& carry = loop_.carries[c];
      const std::string total = concat(e_.helpers.fold(*carry.combine, kind(carry), width_), "(", lanes_[c], ")");
      e_.line(results_[c], " = ", e_.combined(*carry.combine, kind(carry), results_[c], total).text, ";");
    }
    if (has_rest && !how_.masked_tail) {
      // What is left is not in lanes: inner loops may be.
      e_.in_lanes = false;
      e_.open("for (; ", at_, " < ", extent_text_, "; ++", at_, ")");
      body(at_);
      for (size_t c = 0; c < loop_.carries.size(); ++c) combine(c, results_[c]);
      e_.close();
    }
    --e_.loops_open;
    e_.close();
    for (size_t c = 0; c < results_.size(); ++c) e_.define(loop_.carries[c].result, {results_[c]});
  }

 private:
  DType dtype(const Carry& carry) const { return e_.program.values[carry.init].dtype; }
  // What is computed with.
  DType kind(const Carry& carry) const {
    return dtype(carry) == DType::kFloat64 || !is_float(dtype(carry)) ? dtype(carry) : DType::kFloat32;
  }
  std::string vector(const Carry& carry) { return e_.helpers.vector(kind(carry), width_); }
  std::string all_of_identity(const Carry& carry) {
    return concat(e_.helpers.splat(kind(carry), width_), "(", identity_of(*carry.combine, kind(carry)), ")");
  }
  bool unrolls() const { return how_.unroll > 1; }
  int64_t step_of_rest() const {
    if (unrolls()) return int64_t{width_} * how_.unroll;
    return many_at_once_ ? width_ : INT64_MAX;
  }

  void body(const std::string& variable) {
    e_.define(loop_.variable, {variable, variable.find(' ') == std::string::npos ? kAtom : kSum});
    e_.block(loop_.body);
  }
  void combine(size_t c, const std::string& into) {
    const Carry& carry = loop_.carries[c];
    e_.line(into, " = ", e_.combined(*carry.combine, kind(carry), into, e_.value(carry.next, kUnary)).text, ";");
  }

  std::string combined_vectors(const Carry& carry, const std::string& a, const std::string& b) {
    if (*carry.combine == ScalarOp::kAdd) return concat(a, " + ", b);
    if (*carry.combine == ScalarOp::kMul) return concat(a, " * ", b);
    return concat(e_.helpers.vector_op(*carry.combine, kind(carry), width_), "(", a, ", ", b, ")");
  }

  // What `count` iterations from at_ (+ offset) on contribute, `room` at most; with `clears` others contribute nothing.
  void make_parts(int64_t room, const std::string& offset, const std::string& count, bool clears = false) {
    parts_.clear();
    for (size_t c = 0; c < loop_.carries.size(); ++c) {
      parts_.push_back(lanes_[c].empty() ? "" : e_.fresh("part"));
      if (lanes_[c].empty()) continue;
      const Carry& carry = loop_.carries[c];
      e_.line(register_type(kind(carry)), " ", parts_[c], "[", room, "];");
      if (!clears) continue;
      e_.line("for (int lane = 0; lane < ", room, "; ++lane) ", parts_[c],
              "[lane] = ", identity_of(*carry.combine, kind(carry)), ";");
    }
    const auto iterate = [&](bool independent, const Body& inside) {
      if (independent) e_.line("CT_INDEPENDENT");
      e_.open("for (int lane = 0; lane < ", count, "; ++lane)");
      const std::string variable = e_.loop_variable();
      e_.line("const int64_t ", variable, " = ", at_, offset, " + lane;");
      e_.define(loop_.variable, {variable});
      inside();
      --e_.loops_open;
      e_.close();
    };
    const auto keep = [&] {
      for (size_t c = 0; c < loop_.carries.size(); ++c) {
        if (lanes_[c].empty()) {
          combine(c, results_[c]);
        } else {
          e_.line(parts_[c], "[lane] = ", e_.value(loop_.carries[c].next), ";");
        }
      }
    };
    if (asks_ && room > width_) {
      return write_by_sides(e_, stretch_of(e_, loop_), iterate, [&](bool asks) {
        e_.block(loop_.body);
        if (!asks) keep();
      });
    }
    iterate(true, [&] {
      e_.block(loop_.body);
      keep();
    });
  }

  // A vector of parts, from `from` on, to the lanes.
  void add_vector(const std::string& from, const std::string& which) {
    for (size_t c = 0; c < loop_.carries.size(); ++c) {
      if (lanes_[c].empty()) continue;
      const Carry& carry = loop_.carries[c];
      const std::string into = concat(lanes_[c], which);
      e_.line(into, " = ",
              combined_vectors(carry, into, concat(e_.helpers.load(kind(carry), width_), "(", parts_[c], from, ")")),
              ";");
    }
  }
  void add_part(const std::string& count) {
    make_parts(width_, "", count, count != concat(width_));
    add_vector("", "");
  }

  void blocks() {
    const int64_t vectors = !known_ ? kVectors : std::min<int64_t>(extent_ / width_, kVectors);
    const int64_t room = vectors * width_;
    const bool even = known_ && extent_ / width_ % vectors == 0;
    std::string count = concat(room);
    if (even) {
      e_.open("for (; ", at_, " + ", room, " <= ", extent_text_, "; ", at_, " += ", room, ")");
    } else {
      e_.open("while (", at_, " + ", width_, " <= ", extent_text_, ")");
      count = e_.fresh("count");
      e_.line("const int ", count, " = ", extent_text_, " - ", at_, " < ", room, " ? (int)(", extent_text_, " - ", at_,
              ") / ", width_, " * ", width_, " : ", room, ";");
    }
    make_parts(room, "", count);
    e_.open("for (int lane = 0; lane < ", count, "; lane += ", width_, ")");
    add_vector(" + lane", "");
    e_.close();
    if (!even) e_.line(at_, " += ", count, ";");
    e_.close();
  }

  void unrolled() {
    const unsigned at_once = width_ * how_.unroll;
    e_.open("for (; ", at_, " + ", at_once, " <= ", extent_text_, "; ", at_, " += ", at_once, ")");
    const std::string place = concat(" + ", width_, " * vector");
    if (many_at_once_) make_parts(at_once, "", concat(at_once));
    e_.line("CT_UNROLL");
    e_.open("for (int vector = 0; vector < ", how_.unroll, "; ++vector)");
    if (!many_at_once_) make_parts(width_, place, concat(width_));
    add_vector(many_at_once_ ? place : "", "[vector]");
    e_.close();
    e_.close();
    for (size_t c = 0; c < loop_.carries.size(); ++c) {
      if (lanes_[c].empty()) continue;
      const Carry& carry = loop_.carries[c];
      for (unsigned half = how_.unroll / 2; half > 0; half /= 2) {
        for (unsigned u = 0; u < half; ++u) {
          const std::string into = concat(lanes_[c], "[", u, "]");
          e_.line(into, " = ", combined_vectors(carry, into, concat(lanes_[c], "[", half + u, "]")), ";");
        }
      }
      const std::string one = e_.fresh("lanes");
      e_.line(vector(carry), " ", one, " = ", lanes_[c], "[0];");
      lanes_[c] = one;
    }
  }

  Emission& e_;
  const For& loop_;
  const Vectorization how_;
  const unsigned width_;
  const bool known_;
  const int64_t extent_;
  const std::string extent_text_;
  const bool asks_;
  const bool many_at_once_;  // iterations of several vectors are one loop
  std::string at_;
  std::vector<std::string> results_, lanes_, parts_;
};

// Variables that loops change: their next values are made before any of them changes.
class Carried {
 public:
  Carried(Emission& e, const std::vector<Carry>& carries) : e_(e), carries_(carries) {
    for (const Carry& carry : carries) {
      const DType dtype = e.program.values[carry.init].dtype;
      names_.push_back(e.fresh(name_of_result(carry)));
      e.line(declared(dtype, names_.back(), e.value(carry.init)));
      if (!carry.combine) e.define(carry.argument, {names_.back(), kAtom, true});
    }
  }

  void step() {
    std::vector<std::string> next;
    const auto plain = std::ranges::count_if(carries_, [](const Carry& carry) { return !carry.combine; });
    for (const Carry& carry : carries_) {
      next.push_back(e_.value(carry.next, carry.combine ? kUnary : kChoice));
      if (carry.combine || plain < 2) continue;
      const std::string name = e_.fresh("next");
      e_.line("const ", declared(e_.program.values[carry.init].dtype, name, next.back()));
      next.back() = name;
    }
    for (size_t c = 0; c < carries_.size(); ++c) {
      const Carry& carry = carries_[c];
      const DType dtype = e_.program.values[carry.init].dtype;
      if (carry.combine) next[c] = e_.combined(*carry.combine, dtype, names_[c], next[c]).text;
      if (next[c] != names_[c]) e_.line(names_[c], " = ", next[c], ";");
    }
  }

  void finish() {
    for (size_t c = 0; c < carries_.size(); ++c) e_.define(carries_[c].result, {names_[c]});
  }

 private:
  Emission& e_;
  const std::vector<Carry>& carries_;
  std::vector<std::string> names_;
};

}  // namespace

void Emission::for_loop(const For& loop) {
  const Vectorization how = in_lanes ? Vectorization{} : choose_vectorization(program, facts, loop);
  const bool outermost_lanes = how.width != 0;
  if (outermost_lanes) in_lanes = true;
  if (outermost_lanes &&
      std::ranges::any_of(loop.carries, [&](const Carry& carry) { return has_order(program, carry); })) {
    Lanes(*this, loop, how).emit();
    in_lanes = false;
    return;
  }
  Carried carried(*this, loop.carries);
  const std::string extent = index(loop.extent, kProduct);
  const double iteration = cost.iteration(loop);
  const auto iterate = [&](const std::string& begin, const std::string& end, bool independent, const Body& inside) {
    if (independent) line("CT_INDEPENDENT");
    const std::string variable = loop_variable();
    open("for (int64_t ", variable, " = ", begin, "; ", variable, " < ", end, "; ++", variable, ")");
    define(loop.variable, {variable});
    inside();
    close();
    --loops_open;
  };
  const auto run = [&](const std::string& begin, const std::string& end, bool independent) {
    iterate(begin, end, independent, [&] {
      if (cost.iterations(loop) * iteration >= kBetweenQuestions) ask_to_stop(iteration);
      block(loop.body);
      carried.step();
    });
  };
  const auto run_asking = [&] {
    const bool at_once = loop.extent.is_constant() && loop.extent.constant() <= 2 * kAskedAtOnce;
    std::string begin = "0", end = extent;
    if (at_once) {
      open();
    } else {
      begin = loop_variable();
      open("for (int64_t ", begin, " = 0; ", begin, " < ", extent, "; ", begin, " += ", kAskedAtOnce, ")");
      end = fresh("end");
      line("const int64_t ", end, " = ", extent, " - ", begin, " < ", kAskedAtOnce, " ? ", extent, " : ", begin, " + ",
           kAskedAtOnce, ";");
    }
    const auto iterate_some = [&](bool independent, const Body& inside) { iterate(begin, end, independent, inside); };
    write_by_sides(*this, stretch_of(*this, loop), iterate_some, [&](bool asks) {
      block(loop.body);
      if (!asks) carried.step();
    });
    close();
    if (!at_once) --loops_open;
  };
  const bool all_whole = loop.extent.is_constant() && loop.extent.constant() % int64_t{std::max(how.width, 1U)} == 0;
  if (outermost_lanes && !how.masked_tail && !all_whole && has_ordered_folds(program, loop.body)) {
    // Iterations that fill no vector are not in lanes: their inner loops are.
    std::string whole;
    if (loop.extent.is_constant()) {
      whole = concat(std::max<int64_t>(loop.extent.constant(), 0) / how.width * how.width);
    } else {
      whole = fresh("whole");
      line("const int64_t ", whole, " = ", extent, " > 0 ? (", extent, ") / ", how.width, " * ", how.width, " : 0;");
    }
    if (runs_side_by_side(*this, loop)) {
      write_side_by_side(*this, loop, whole);
    } else {
      run("0", whole, true);
    }
    in_lanes = false;
    run(whole, extent, false);
  } else if (outermost_lanes && runs_side_by_side(*this, loop)) {
    write_side_by_side(*this, loop, extent);
  } else if (outermost_lanes && asks_for_rare(*this, stretch_of(*this, loop))) {
    run_asking();
  } else {
    run("0", extent, outermost_lanes);
  }
  carried.finish();
  if (outermost_lanes) in_lanes = false;
}

void Emission::while_loop(const loop::While& loop) {
  Carried carried(*this, loop.carries);
  open("for (;;)");
  ++loops_open;
  ask_to_stop(1e9);
  block(loop.condition_block);
  line("if (!", value(loop.condition, kAtom), ") break;");
  block(loop.body);
  carried.step();
  --loops_open;
  close();
  carried.finish();
}

// Of a rare branch, where that is asked before.
void Emission::usual_side(const If& branch, loop::BlockId id, uint32_t position) {
  const bool taken_is_rare = rare_side(program, branch) == branch.then_block;
  if (sides->asks) {
    sides->taken.push_back(concat(taken_is_rare ? "" : "!", value(branch.condition, taken_is_rare ? kUnary : kAtom)));
  }
  block(taken_is_rare ? branch.else_block : branch.then_block);
  for (const If::Merge& merge : branch.merges) {
    if (uses(merge.result).count == 0 || !sides->needed.contains(merge.result)) continue;
    const Expression expression = values_[taken_is_rare ? merge.else_value : merge.then_value];
    if (expression.binding == kAtom && !expression.reads) {
      define(merge.result, expression);
    } else {
      define_at(merge.result, expression, id, position);
    }
  }
}

void Emission::if_else(const If& branch, loop::BlockId id, uint32_t position) {
  if (sides != nullptr && rare_side(program, branch) != loop::kNoBlock) return usual_side(branch, id, position);
  if (sides != nullptr && sides->asks) return;
  std::vector<std::string> names;
  for (const If::Merge& merge : branch.merges) {
    names.push_back(uses(merge.result).count == 0 ? "" : fresh("chosen"));
    if (names.back().empty()) continue;
    line(register_type(program.values[merge.result].dtype), " ", names.back(), ";");
  }
  const auto side = [&](loop::BlockId id, auto pick) {
    block(id);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) line(names[i], " = ", value(pick(branch.merges[i])), ";");
    }
  };
  open("if (", value(branch.condition), ")");
  side(branch.then_block, [](const If::Merge& merge) { return merge.then_value; });
  if (!branch.merges.empty() || !program.blocks[branch.else_block].statements.empty()) {
    --depth;
    open("} else");
    side(branch.else_block, [](const If::Merge& merge) { return merge.else_value; });
  }
  close();
  for (size_t i = 0; i < names.size(); ++i) define(branch.merges[i].result, {names[i]});
}

}  // namespace ct::jit::c
