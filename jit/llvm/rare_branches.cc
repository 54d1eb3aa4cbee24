// A long branch of a vectorised loop that lanes rarely take, such as the reduction of a huge angle: a function that all
// such branches of the module share. Else it would be most of what each sine compiles to.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "jit/llvm/loops.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::BlockId;
using loop::Statement;
using loop::StatementKind;

namespace {

// What a block computes as words to compare, and the values that it takes from outside, in the order of their use.
class BlockForm {
 public:
  BlockForm(const loop::Program& program, BlockId block, absl::Span<const loop::Value> results,
            const llvm::DenseMap<loop::Value, llvm::Value*>& varied)
      : program_(program) {
    for (const Statement& s : program.blocks[block].statements) {
      word(static_cast<uint64_t>(s.kind) | static_cast<uint64_t>(s.op) << 8 | static_cast<uint64_t>(s.dtype) << 16);
      word(s.buffer);
      word(static_cast<uint64_t>(s.index.constant()));
      for (loop::Value operand : s.operands) use(operand);
      for (const loop::Index::Term& term : s.index.terms()) {
        use(term.value);
        word(static_cast<uint64_t>(term.coefficient));
      }
      if (s.kind == StatementKind::kConstant && varied.contains(s.result)) {
        use(s.result);
      } else {
        word(s.bits);
        define(s.result);
      }
    }
    for (loop::Value result : results) use(result);
  }
  const std::vector<uint64_t>& words() const { return words_; }
  const std::vector<loop::Value>& captured() const { return captured_; }

 private:
  void word(uint64_t value) { words_.push_back(value); }
  // The builder's bounds decide between instructions.
  void define(loop::Value value) {
    numbers_.emplace(value, numbers_.size());
    const loop::ValueInfo& info = program_.values[value];
    for (int64_t fact : {static_cast<int64_t>(info.dtype), info.range.low, info.range.high}) {
      word(static_cast<uint64_t>(fact));
    }
  }
  void use(loop::Value value) {
    if (value == loop::kNoValue) return word(~uint64_t{0});
    const auto known = numbers_.find(value);
    if (known != numbers_.end()) return word(known->second);
    word(numbers_.size());
    define(value);
    captured_.push_back(value);
  }

  const loop::Program& program_;
  absl::flat_hash_map<loop::Value, uint64_t> numbers_;
  std::vector<uint64_t> words_;
  std::vector<loop::Value> captured_;
};

llvm::Function* rare_function(CpuEmission& e, BlockId block, absl::Span<const loop::Value> captured,
                              absl::Span<const loop::Value> results) {
  const auto vector_of = [&](loop::Value each) {
    return llvm::FixedVectorType::get(register_type(e.code.context, e.program.values[each].dtype), e.lanes.width);
  };
  llvm::SmallVector<llvm::Type*, 8> parameters{llvm::FixedVectorType::get(e.b.getInt1Ty(), e.lanes.width)}, made;
  for (loop::Value each : captured) parameters.push_back(vector_of(each));
  for (loop::Value each : results) made.push_back(vector_of(each));
  auto* type = llvm::FunctionType::get(llvm::StructType::get(e.code.context, made), parameters, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, e.code.symbol + ".rare", e.code.module);
  e.code.target.set_attributes(function);
  function->addFnAttr(llvm::Attribute::NoInline);

  // Emitted as if it were inside the function around it, a lane at a time: products of 128 bits have no vectors, and
  // what few lanes need is soon done.
  const llvm::IRBuilder<>::InsertPoint here = e.b.saveIP();
  llvm::Function* outer = std::exchange(e.code.function, function);
  const unsigned width = e.lanes.width;
  const Lanes lanes = std::exchange(e.lanes, {});
  const auto varied = std::exchange(e.values.varied, llvm::DenseMap<loop::Value, llvm::Value*>());
  e.b.SetInsertPoint(e.code.new_block("lanes"));
  LlvmValues none;
  for (llvm::Type* each : made) none.push_back(llvm::Constant::getNullValue(each));
  llvm::Value* active = function->getArg(0);
  LlvmValues before;
  for (loop::Value each : captured) before.push_back(e.values[each]);
  const LlvmValues all =
      e.code.run_loop(e.b.getInt64(0), e.b.getInt64(width), 1, none, [&](llvm::Value* lane, const LlvmValues& so_far) {
        llvm::BasicBlock* start = e.b.GetInsertBlock();
        llvm::BasicBlock* compute = e.code.new_block("compute");
        llvm::BasicBlock* next = e.code.new_block("next");
        e.b.CreateCondBr(e.b.CreateExtractElement(active, lane), compute, next);
        e.b.SetInsertPoint(compute);
        for (size_t i = 0; i < captured.size(); ++i) {
          llvm::Value* argument = e.b.CreateExtractElement(function->getArg(static_cast<unsigned>(i + 1)), lane);
          e.values[captured[i]] = argument;
          if (varied.contains(captured[i])) e.values.varied[captured[i]] = argument;
        }
        emit_block(e, block);
        LlvmValues with;
        for (size_t i = 0; i < results.size(); ++i)
          with.push_back(e.b.CreateInsertElement(so_far[i], value_of(e, results[i]), lane));
        llvm::BasicBlock* end = e.b.GetInsertBlock();
        e.b.CreateBr(next);
        e.b.SetInsertPoint(next);
        for (size_t i = 0; i < with.size(); ++i) {
          llvm::PHINode* phi = e.b.CreatePHI(made[i], 2);
          phi->addIncoming(with[i], end);
          phi->addIncoming(so_far[i], start);
          with[i] = phi;
        }
        return with;
      });
  llvm::Value* together = llvm::PoisonValue::get(type->getReturnType());
  for (unsigned i = 0; i < results.size(); ++i) together = e.b.CreateInsertValue(together, all[i], i);
  e.b.CreateRet(together);

  for (size_t i = 0; i < captured.size(); ++i) e.values[captured[i]] = before[i];
  e.values.varied = varied;
  e.lanes = lanes;
  e.code.function = outer;
  e.b.restoreIP(here);
  return function;
}

}  // namespace

LlvmValues emit_rare(CpuEmission& e, BlockId block, llvm::Value* active, absl::Span<const loop::Value> results) {
  const BlockForm form(e.program, block, results, e.values.varied);
  LlvmValues arguments{active};
  for (loop::Value captured : form.captured()) {
    const auto constant = e.values.varied.find(captured);
    arguments.push_back(widen(e, constant == e.values.varied.end() ? value_of(e, captured) : constant->second));
  }
  llvm::Function*& function = e.rare_functions[{e.lanes.width, form.words()}];
  if (function == nullptr) function = rare_function(e, block, form.captured(), results);
  llvm::Value* made = e.b.CreateCall(function, arguments);
  LlvmValues values;
  for (unsigned i = 0; i < results.size(); ++i) values.push_back(e.b.CreateExtractValue(made, i));
  return values;
}

}  // namespace ct::jit
