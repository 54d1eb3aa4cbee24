// Programs for processors: loop IR to LLVM IR, one statement at a time. Start at emit_for (loops.h); emission.h says
// what the values of a loop become.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/cost/cost.h"
#include "jit/llvm/emission.h"
#include "jit/llvm/polls.h"
#include "jit/llvm/sharing.h"

namespace ct::jit {

// Runs the statements of blocks in another way than one after the other by one thread (block_scope.h).
class StatementScope {
 public:
  virtual ~StatementScope() = default;
  virtual void statement(const loop::Statement& statement) = 0;
};

struct CpuEmission : Emission {
  CpuEmission(const loop::Program& program, const Outline& outline, Target& target, llvm::Module& module,
              Sharing::Threads threads);

  CostModel cost;
  Sharing sharing;
  Stops stops;
  std::map<std::pair<unsigned, std::vector<uint64_t>>, llvm::Function*> rare_functions;  // by lanes and form
  int loop_depth = 0;
  StatementScope* scope = nullptr;
};

// The functions of the outline that are in one of its modules, or, without a number, all. The entry has type EntryPoint
// and is called `symbol`.
void emit_module(CpuEmission& e, std::string_view symbol, std::optional<uint32_t> module);

void begin_function(CpuEmission& e, llvm::Function* function);
void emit_call(CpuEmission& e, const OutlinedCall& call);
void emit_block(CpuEmission& e, loop::BlockId block);
void emit_statements(CpuEmission& e, loop::BlockId block, uint32_t begin, uint32_t end,
                     absl::Span<const OutlinedCall> calls);
// May take the one that follows with it.
void emit_statement(CpuEmission& e, const loop::Statement& statement, const loop::Statement* following = nullptr,
                    bool* took_following = nullptr);

}  // namespace ct::jit
