// A program being written as C: what its values are in the text, and where that goes. Values that are used once, close
// by, are written where they are used; others are variables.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/c/calls.h"
#include "jit/c/rare.h"
#include "jit/c/source.h"
#include "jit/cost/cost.h"
#include "jit/loop/loop.h"
#include "jit/loop/visit.h"
#include "jit/machine/product_plan.h"
#include "jit/machine/vectorize.h"
#include "runtime/text.h"

namespace ct::jit::c {

// How tightly an expression binds: what binds less than its place wants is put in parentheses.
enum Binding : uint8_t { kChoice, kBitwise, kEquality, kRelation, kSum, kProduct, kUnary, kAtom };

struct Expression {
  std::string text;
  Binding binding = kAtom;
  bool reads = false;  // memory, when it is evaluated
};

// Where a value is used.
struct Uses {
  uint32_t count = 0;
  loop::BlockId block = loop::kNoBlock;  // of the one use
  uint32_t position = 0;
  bool adds = false;  // it may be added to something
};

// How often a statement writes out what it reads, at least: what is read in each iteration, or written out more than
// once, is a variable.
uint32_t times_written(const loop::Statement& statement);

// Loops of which nothing is written: their results are what they begin with.
bool never_runs(const loop::Program& program, const loop::Statement& statement);

// Of a buffer: complex numbers are two.
int64_t real_elements(const loop::Program& program, loop::BufferId buffer);

// A variable.
std::string declared(DType dtype, std::string_view name, std::string_view initial);

class Emission {
 public:
  Emission(const loop::Program& program, const Names& names, Helpers& helpers);

  const loop::Program& program;
  const TargetFacts& facts;
  Helpers& helpers;
  CostModel cost;

  // ---- text
  template <typename... Pieces>
  void line(const Pieces&... pieces) {
    text += concat(std::string(2 * depth, ' '), pieces..., "\n");
  }
  template <typename... Pieces>
  void open(const Pieces&... pieces) {  // a line that ends in a brace
    line(pieces..., sizeof...(pieces) == 0 ? "{" : " {");
    ++depth;
  }
  void close(std::string_view before_end = "}") {
    --depth;
    line(before_end);
  }
  std::string fresh(std::string_view kind);  // a name for a variable
  std::string loop_variable();               // of the loop that is opened next
  // Names begin anew; gives what end_function takes.
  size_t begin_function() { return std::exchange(next_name_, 0); }
  void end_function(size_t names) { next_name_ = names; }
  std::string text;
  size_t depth = 1;

  // ---- values
  std::string value(loop::Value value, Binding least = kChoice);
  // What is assigned to memory, where bools are bytes: GCC warns of some made of several that an int may be lost.
  std::string in_byte(loop::Value value);
  std::string index(const loop::Index& index, Binding least = kChoice);
  std::string buffer(loop::BufferId buffer);  // a pointer to its first real element
  std::string element(loop::BufferId buffer, const loop::Index& index);
  std::string pointer(loop::BufferId buffer, const loop::Index& index);
  void define(loop::Value value, Expression expression) { values_[value] = std::move(expression); }
  Expression exchange(loop::Value value, Expression expression) {
    return std::exchange(values_[value], std::move(expression));
  }
  // What a statement of a block computes: a variable, or written where it is used.
  void define_at(loop::Value value, Expression expression, loop::BlockId block, uint32_t position);
  const Uses& uses(loop::Value value) const { return uses_[value]; }

  // ---- statements
  void block(loop::BlockId block);
  void statements(loop::BlockId block, uint32_t begin, uint32_t end);
  void statement(const loop::Statement& statement, loop::BlockId block, uint32_t position);
  Expression instruction(const loop::Statement& statement);  // arithmetic.cc
  Expression combined(ScalarOp op, DType dtype, std::string a, std::string b);
  void for_loop(const loop::For& loop);  // loops.cc
  void while_loop(const loop::While& loop);
  void if_else(const loop::If& branch, loop::BlockId block, uint32_t position);
  void product(const loop::Gemm& gemm);  // products.cc
  // Writes a call of a function of real numbers, if the statements from `begin` on are one (functions.cc): where it
  // ends.
  uint32_t function_call(loop::BlockId block, uint32_t begin, uint32_t end);

  // ---- memory of products
  std::string scratch(DType dtype, int64_t elements);
  void release_scratch() { scratch_used_ = 0; }
  int64_t arena_uses() const { return arena_uses_; }

  void ask_to_stop(double nanoseconds);               // in a loop whose iterations take so long
  void count_time(const loop::Statement& statement);  // of the entry block: asks after a while

  // Of the function being written.
  bool stops = false;  // it returns a status
  bool in_lanes = false;
  bool in_function = false;  // of real numbers
  Sides* sides = nullptr;    // which are written of rare branches, if not all
  int loops_open = 0;
  int64_t arena_bytes = 0;

 private:
  void count_uses();
  std::string call_of(const std::vector<loop::Value>& arguments, const Stretch& stretch, Sides* part,
                      std::string_view suffix);
  void usual_side(const loop::If& branch, loop::BlockId block, uint32_t position);
  Expression scalar(const loop::Statement& statement);
  Expression converted(const loop::Statement& statement);
  Expression constant(DType dtype, uint64_t bits);
  std::string table(const loop::Buffer& buffer);

  const Names& names_;
  std::vector<Expression> values_;
  std::vector<Uses> uses_;
  Calls calls_;
  std::vector<std::vector<uint32_t>> writes_before_;  // by block and position
  size_t next_name_ = 0;
  int64_t scratch_used_ = 0, arena_uses_ = 0;
  double pending_ = 0;  // time since the program asked whether to stop
};

// Calls visit(value) for what the statement reads in C, which takes an exponent as an integer only.
template <typename Visit>
void visit_inputs(const loop::Program& program, const loop::Statement& s, const Visit& visit) {
  if (s.kind != loop::StatementKind::kScale) return loop::visit_inputs(program, s, visit);
  visit(s.operands[0]);
  visit(s.operands[1]);
}

// Calls visit(statement) for the statement and those inside it, as far as they are written: not for instructions that
// nothing uses, nor inside loops that never run.
template <typename Visit>
void visit_written(const Emission& e, const loop::Statement& s, const Visit& visit) {
  if (loop::is_instruction(s) && e.uses(s.result).count == 0) return;
  visit(s);
  if (never_runs(e.program, s)) return;
  loop::visit_blocks_of(e.program, s, [&](loop::BlockId inner) {
    for (const loop::Statement& t : e.program.blocks[inner].statements) visit_written(e, t, visit);
  });
}

// Calls use(value) for what such a statement reads, and for what its blocks hand back to it.
template <typename Use>
void visit_uses(const Emission& e, const loop::Statement& s, const Use& use) {
  if (never_runs(e.program, s)) {
    for (const loop::Carry& carry : e.program.fors[s.detail].carries) {
      if (e.uses(carry.result).count > 0) use(carry.init);
    }
    return;
  }
  c::visit_inputs(e.program, s, use);
  loop::visit_yields(e.program, s, use);
}

}  // namespace ct::jit::c
