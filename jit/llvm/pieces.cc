#include "jit/llvm/pieces.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "jit/cost/cost.h"
#include "jit/llvm/library_products.h"
#include "jit/loop/barriers.h"
#include "jit/loop/visit.h"
#include "runtime/dtype.h"

namespace ct::jit {

using loop::BlockId;
using loop::BufferKind;
using loop::Carry;
using loop::For;
using loop::HostCall;
using loop::Statement;
using loop::StatementKind;
using loop::Value;
using What = Assignment::What;

namespace {

// What takes one core of a host less costs a block less than another launch does.
constexpr double kLeastOnGrid = 40'000;  // nanoseconds
// Iterations of a fold for each thread of a grid.
constexpr int64_t kLeastOfPart = 4;
// Statements of a kernel, those inside of others among them: the time to compile a kernel grows faster than its size,
// and nothing keeps a program small (outline.h). As many take longer to run than a launch does.
constexpr int64_t kMostStatements = 4000;
// Statements that each kernel computes again.
constexpr int64_t kMostRepeated = 1000;

int64_t aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

class Cutter {
 public:
  Cutter(const loop::Program& program, const Machine& machine, absl::Span<const int> donations)
      : program_(program), machine_(machine), cost_(program), barriers_(program, donations) {
    cut_.arena_bytes = aligned(program.arena_bytes);
  }

  Cut run() {
    add_block(0, cut_.pieces);
    drop_unread_assignments();
    drop_empty(cut_.pieces);
    return std::move(cut_);
  }

 private:
  bool repeats(const Statement& s) const;
  bool is_for_grid(const Statement& s) {
    const Share share = share_of(program_, s);
    const bool is_shared = share == Share::kItems || share == Share::kFold || product_nest(program_, s);
    return is_shared && cost_.statement(s) >= kLeastOnGrid;
  }
  bool calls_host(const Statement& s) const;
  bool is_opened(const Statement& s);
  bool is_too_large(const Statement& s) const;
  int64_t size_of(const Statement& s) const;  // with all statements inside

  void add_block(BlockId block, Pieces& pieces);
  void add(const Statement& s, Pieces& pieces);
  void add_call(const HostCall& call, Pieces& pieces);
  void add_for(const For& loop, Pieces& pieces);
  void add_while(const loop::While& loop, Pieces& pieces);
  void add_if(const loop::If& branch, Pieces& pieces);
  void add_to_block(const Statement& s, Pieces& pieces);
  // The block that runs last, or a new one.
  Kernel& open_block(Pieces& pieces);
  Kernel& new_kernel(Kernel::Kind kind, Pieces& pieces);
  bool is_moved(const HostCall::Array& array) const {
    return !array.offset.is_constant() || program_.buffers[array.buffer].kind == BufferKind::kConstant;
  }
  int64_t place_of(int64_t bytes);
  bool joins_grid(const Statement& s, Pieces& pieces);
  void add_for_grid(const Statement& s, Pieces& pieces);
  void drop_unread_assignments();
  void drop_empty(Pieces& pieces) const;

  const loop::Program& program_;
  const Machine& machine_;
  CostModel cost_;
  Barriers barriers_;
  Cut cut_;
  std::set<Value> known_;  // what each kernel computes again, or finds in a slot
};

// Cheap, and the same whenever it is computed.
bool Cutter::repeats(const Statement& s) const {
  if (!loop::is_instruction(s) || std::ssize(cut_.repeated) >= kMostRepeated) return false;
  if (s.kind == StatementKind::kLoad) {
    const BufferKind kind = program_.buffers[s.buffer].kind;
    const bool stays =
        kind == BufferKind::kConstant || (kind == BufferKind::kInput && !barriers_.may_be_written_over(s.buffer));
    if (!stays) return false;
  }
  bool all_known = true;
  loop::visit_inputs(program_, s, [&](Value value) { all_known = all_known && known_.contains(value); });
  return all_known;
}

bool Cutter::calls_host(const Statement& s) const {
  bool calls = s.kind == StatementKind::kHostCall;
  loop::visit_blocks_of(program_, s, [&](BlockId block) {
    loop::visit_statements(program_, block,
                           [&](const Statement& inner) { calls = calls || inner.kind == StatementKind::kHostCall; });
  });
  return calls;
}

int64_t Cutter::size_of(const Statement& s) const {
  int64_t size = 1;
  loop::visit_blocks_of(
      program_, s, [&](BlockId block) { loop::visit_statements(program_, block, [&](const Statement&) { ++size; }); });
  return size;
}

// A kernel that holds all of it would be too large. Not what goes on by what the device computes, for which the host
// would have to wait.
bool Cutter::is_too_large(const Statement& s) const {
  if (s.kind != StatementKind::kFor || !program_.fors[s.detail].extent.is_constant()) return false;
  const Share share = share_of(program_, s);
  return (share == Share::kAlike || share == Share::kFirst) && size_of(s) > kMostStatements;
}

bool Cutter::is_opened(const Statement& s) {
  if (calls_host(s)) return true;
  const Share share = share_of(program_, s);
  if (share != Share::kAlike && share != Share::kFirst) return false;
  bool is_large = false;
  loop::visit_blocks_of(program_, s, [&](BlockId block) {
    for (const Statement& inner : program_.blocks[block].statements) {
      is_large = is_large || is_for_grid(inner) || is_opened(inner);
    }
  });
  return is_large;
}

Kernel& Cutter::new_kernel(Kernel::Kind kind, Pieces& pieces) {
  pieces.push_back({.kernel = static_cast<uint32_t>(cut_.kernels.size())});
  cut_.kernels.push_back({.kind = kind});
  return cut_.kernels.back();
}

Kernel& Cutter::open_block(Pieces& pieces) {
  if (!pieces.empty() && pieces.back().kind == Piece::Kind::kKernel) {
    Kernel& last = cut_.kernels[pieces.back().kernel];
    if (last.kind == Kernel::Kind::kBlock && last.moves.empty() && last.assignments.empty()) return last;
  }
  return new_kernel(Kernel::Kind::kBlock, pieces);
}

void Cutter::add_to_block(const Statement& s, Pieces& pieces) {
  const int64_t size = size_of(s);
  Kernel& last = open_block(pieces);
  const bool is_full = last.size > 0 && last.size + size > kMostStatements;
  Kernel& kernel = is_full ? new_kernel(Kernel::Kind::kBlock, pieces) : last;
  kernel.statements.push_back(&s);
  kernel.size += size;
}

void Cutter::add_block(BlockId block, Pieces& pieces) {
  for (const Statement& s : program_.blocks[block].statements) add(s, pieces);
}

void Cutter::add(const Statement& s, Pieces& pieces) {
  if (repeats(s)) {
    cut_.repeated.push_back(&s);
    known_.insert(s.result);
  } else if (s.kind == StatementKind::kHostCall) {
    add_call(program_.host_calls[s.detail], pieces);
  } else if (s.kind == StatementKind::kSwap) {
    new_kernel(Kernel::Kind::kExchange, pieces).statements = {&s};
  } else if (machine_.has_product_library && !library_products(program_, s).empty()) {
    pieces.push_back({.kind = Piece::Kind::kProduct, .product = &s});
  } else if (joins_grid(s, pieces)) {
    return;
  } else if (is_for_grid(s) && !calls_host(s)) {
    add_for_grid(s, pieces);
  } else if (!is_opened(s) && !is_too_large(s)) {
    add_to_block(s, pieces);
  } else if (s.kind == StatementKind::kFor) {
    add_for(program_.fors[s.detail], pieces);
  } else if (s.kind == StatementKind::kWhile) {
    add_while(program_.whiles[s.detail], pieces);
  } else {
    add_if(program_.ifs[s.detail], pieces);
  }
}

int64_t Cutter::place_of(int64_t bytes) {
  const int64_t position = cut_.arena_bytes;
  cut_.arena_bytes = aligned(position + bytes);
  return position;
}

// A kernel of the grid goes on with it, where each thread keeps to its own elements.
bool Cutter::joins_grid(const Statement& s, Pieces& pieces) {
  if (pieces.empty() || pieces.back().kind != Piece::Kind::kKernel) return false;
  Kernel& last = cut_.kernels[pieces.back().kernel];
  if (last.kind != Kernel::Kind::kGrid || share_of(program_, s) != Share::kItems || calls_host(s)) return false;
  const auto products = product_nest(program_, *last.statements[0]);
  if (products && !may_be_epilogue(program_, *products, s)) return false;
  if (!barriers_.needs_none(last.statements, s)) return false;
  last.statements.push_back(&s);
  return true;
}

void Cutter::add_for_grid(const Statement& s, Pieces& pieces) {
  if (share_of(program_, s) != Share::kFold) {
    new_kernel(Kernel::Kind::kGrid, pieces).statements = {&s};
    return;
  }
  const For& loop = program_.fors[s.detail];
  const int64_t most = std::max<int64_t>(program_.range_of(loop.extent).high, 1);
  const int64_t blocks = std::clamp<int64_t>(most / (kBlockThreads * kLeastOfPart), 1, kBlockThreads);
  const Parts parts{&s, place_of(blocks * 8 * static_cast<int64_t>(loop.carries.size())), blocks};
  Kernel& kernel = new_kernel(Kernel::Kind::kParts, pieces);
  kernel.statements = {&s};
  kernel.parts = {parts};
  new_kernel(Kernel::Kind::kBlock, pieces).parts = {parts};
}

void Cutter::add_call(const HostCall& call, Pieces& pieces) {
  Piece host{.kind = Piece::Kind::kHost, .call = &call};
  std::vector<Move> before, after;
  const auto place = [&](const HostCall::Array& array, std::vector<Move>& moves, std::vector<int64_t>& positions) {
    const int64_t bytes = array.elements * dtype_size(program_.buffers[array.buffer].dtype);
    positions.push_back(is_moved(array) ? place_of(bytes) : -1);
    if (is_moved(array)) moves.push_back({&array, positions.back(), &moves == &after});
  };
  for (const HostCall::Array& array : call.inputs) place(array, before, host.inputs);
  for (const HostCall::Array& array : call.outputs) place(array, after, host.outputs);
  if (!before.empty()) open_block(pieces).moves = std::move(before);
  pieces.push_back(std::move(host));
  if (!after.empty()) new_kernel(Kernel::Kind::kBlock, pieces).moves = std::move(after);
}

void Cutter::add_for(const For& loop, Pieces& pieces) {
  Piece piece{.kind = Piece::Kind::kLoop, .count = -1, .control = cut_.controls++};
  const bool is_counted = loop.extent.is_constant();
  if (is_counted) piece.count = std::max<int64_t>(loop.extent.constant(), 0);
  std::vector<Assignment> first{{.to = loop.variable, .what = What::kZero}};
  std::vector<Assignment> next{{.to = loop.variable, .what = What::kNext, .value = loop.variable}};
  known_.insert(loop.variable);
  for (const Carry& carry : loop.carries) {
    if (carry.combine) {
      first.push_back({.to = carry.result, .value = carry.init});
      next.push_back(
          {.to = carry.result, .what = What::kCombine, .value = carry.result, .other = carry.next, .carry = &carry});
      continue;
    }
    first.push_back({.to = carry.argument, .value = carry.init});
    next.push_back({.to = carry.argument, .value = carry.next});
    known_.insert(carry.argument);
    cut_.aliases[carry.result] = carry.argument;
  }
  if (!is_counted) {
    first.push_back({.to = piece.control, .what = What::kIsBelow, .loop = &loop});
    next.push_back({.to = piece.control, .what = What::kIsBelow, .value = loop.variable, .loop = &loop});
  }
  open_block(pieces).assignments = std::move(first);
  Pieces& body = piece.bodies.emplace_back();
  add_block(loop.body, body);
  open_block(body).assignments = std::move(next);
  pieces.push_back(std::move(piece));
}

// The condition is computed before the loop and at the end of each of its rounds.
void Cutter::add_while(const loop::While& loop, Pieces& pieces) {
  Piece piece{.kind = Piece::Kind::kLoop, .count = -1, .control = cut_.controls++};
  std::vector<Assignment> first, next;
  for (const Carry& carry : loop.carries) {
    first.push_back({.to = carry.argument, .value = carry.init});
    next.push_back({.to = carry.argument, .value = carry.next});
    known_.insert(carry.argument);
    cut_.aliases[carry.result] = carry.argument;
  }
  if (!first.empty()) open_block(pieces).assignments = std::move(first);
  Pieces condition, body;
  add_block(loop.condition_block, condition);
  open_block(condition).assignments = {{.to = piece.control, .what = What::kCondition, .value = loop.condition}};
  add_block(loop.body, body);
  if (!next.empty()) open_block(body).assignments = std::move(next);
  body.insert(body.end(), condition.begin(), condition.end());
  pieces.insert(pieces.end(), condition.begin(), condition.end());
  piece.bodies.push_back(std::move(body));
  pieces.push_back(std::move(piece));
}

void Cutter::add_if(const loop::If& branch, Pieces& pieces) {
  Piece piece{.kind = Piece::Kind::kBranch, .control = cut_.controls++};
  open_block(pieces).assignments = {{.to = piece.control, .what = What::kChoice, .value = branch.condition}};
  for (const bool taken : {false, true}) {
    Pieces& body = piece.bodies.emplace_back();
    add_block(taken ? branch.then_block : branch.else_block, body);
    std::vector<Assignment> merged;
    for (const loop::If::Merge& merge : branch.merges) {
      merged.push_back({.to = merge.result, .value = taken ? merge.then_value : merge.else_value});
    }
    if (!merged.empty()) open_block(body).assignments = std::move(merged);
  }
  pieces.push_back(std::move(piece));
}

// What no kernel's statements need, nor a loop or branch: counters, mostly.
void Cutter::drop_unread_assignments() {
  std::set<Slot> read;
  std::vector<const Assignment*> waiting;
  const auto needs = [&](Kernel part) {
    for (Value value : needs_of(program_, cut_, part).loaded) read.insert(cut_.slot_of(value));
  };
  for (const Kernel& kernel : cut_.kernels) {
    Kernel without = kernel;
    without.assignments.clear();
    needs(std::move(without));
    for (const Assignment& assignment : kernel.assignments) waiting.push_back(&assignment);
  }
  const auto is_read = [&](const Assignment& assignment) {
    return assignment.to >= kFirstControl || read.contains(assignment.to);
  };
  for (size_t before = waiting.size() + 1; before != waiting.size();) {
    before = waiting.size();
    std::erase_if(waiting, [&](const Assignment* assignment) {
      if (!is_read(*assignment)) return false;
      needs({.assignments = {*assignment}});
      return true;
    });
  }
  for (Kernel& kernel : cut_.kernels) {
    std::erase_if(kernel.assignments, [&](const Assignment& assignment) { return !is_read(assignment); });
  }
}

void Cutter::drop_empty(Pieces& pieces) const {
  std::erase_if(pieces, [&](const Piece& piece) {
    return piece.kind == Piece::Kind::kKernel && cut_.kernels[piece.kernel].is_empty();
  });
  for (Piece& piece : pieces) {
    for (Pieces& body : piece.bodies) drop_empty(body);
  }
}

}  // namespace

Cut cut_in_pieces(const loop::Program& program, const Machine& machine, absl::Span<const int> donations) {
  return Cutter(program, machine, donations).run();
}

Needs needs_of(const loop::Program& program, const Cut& cut, const Kernel& kernel) {
  Needs needs;
  std::set<Value> inside, outside;
  const auto use = [&](Value value) {
    if (value != loop::kNoValue && !inside.contains(value)) outside.insert(value);
  };
  const auto define = [&](Value value) { inside.insert(value); };
  const std::function<void(const Statement&)> walk = [&](const Statement& s) {
    loop::visit_inputs(program, s, use);
    loop::visit_arguments(program, s, define);
    loop::visit_blocks_of(program, s, [&](BlockId block) {
      for (const Statement& inner : program.blocks[block].statements) walk(inner);
    });
    loop::visit_yields(program, s, use);
    loop::visit_results(program, s, define);
  };
  const bool leaves_parts = kernel.kind == Kernel::Kind::kParts;
  for (const Parts& parts : kernel.parts) {
    if (leaves_parts) continue;
    for (const Carry& carry : program.fors[parts.fold->detail].carries) {
      use(carry.init);
      define(carry.result);
      needs.own.insert(carry.result);
    }
  }
  for (const Statement* s : kernel.statements) {
    walk(*s);
    if (!leaves_parts) loop::visit_results(program, *s, [&](Value value) { needs.own.insert(value); });
  }
  for (const Move& move : kernel.moves) loop::visit_index(move.array->offset, use);
  for (const Assignment& assignment : kernel.assignments) {
    use(assignment.value);
    use(assignment.other);
    if (assignment.loop != nullptr) loop::visit_index(assignment.loop->extent, use);
  }
  for (auto s = cut.repeated.rbegin(); s != cut.repeated.rend(); ++s) {
    if (outside.erase((*s)->result) == 0) continue;
    needs.repeated.push_back(*s);
    loop::visit_inputs(program, **s, use);
  }
  std::ranges::reverse(needs.repeated);
  needs.loaded.assign(outside.begin(), outside.end());
  return needs;
}

}  // namespace ct::jit
