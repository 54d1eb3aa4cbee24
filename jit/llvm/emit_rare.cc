// A long branch of a vectorised loop that lanes rarely take, such as the reduction of a huge angle: a function that all
// such branches of the module share. Else it would be most of what each sine compiles to.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "jit/llvm/emit.h"
#include "jit/loop/visit.h"

namespace ct::jit {

using loop::BlockId;
using loop::Statement;
using loop::StatementKind;

namespace {

constexpr int kLongBranch = 40;  // instructions

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

}  // namespace

bool Emitter::is_rare(BlockId block) const {
  int instructions = 0;
  for (const Statement& s : program_.blocks[block].statements) {
    if (!loop::is_instruction(s)) return false;
    if (s.kind == StatementKind::kLoad && program_.buffers[s.buffer].kind != loop::BufferKind::kConstant) return false;
    instructions += s.kind != StatementKind::kConstant;
  }
  return instructions >= kLongBranch;
}

Emitter::Values Emitter::emit_rare(BlockId block, llvm::Value* active, absl::Span<const loop::Value> results) {
  const BlockForm form(program_, block, results, varied_);
  Values arguments{active};
  for (loop::Value captured : form.captured()) {
    const auto constant = varied_.find(captured);
    arguments.push_back(widen(constant == varied_.end() ? value(captured) : constant->second));
  }
  llvm::Function*& function = rare_functions_[{lanes_.width, form.words()}];
  if (function == nullptr) function = rare_function(block, form.captured(), results);
  llvm::Value* made = b_.CreateCall(function, arguments);
  Values values;
  for (unsigned i = 0; i < results.size(); ++i) values.push_back(b_.CreateExtractValue(made, i));
  return values;
}

llvm::Function* Emitter::rare_function(BlockId block, absl::Span<const loop::Value> captured,
                                       absl::Span<const loop::Value> results) {
  const auto vector_of = [&](loop::Value each) {
    return llvm::FixedVectorType::get(register_type(context_, program_.values[each].dtype), lanes_.width);
  };
  llvm::SmallVector<llvm::Type*, 8> parameters{llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_.width)}, made;
  for (loop::Value each : captured) parameters.push_back(vector_of(each));
  for (loop::Value each : results) made.push_back(vector_of(each));
  auto* type = llvm::FunctionType::get(llvm::StructType::get(context_, made), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, symbol_ + ".rare", module_);
  target_.set_attributes(function);
  function->addFnAttr(llvm::Attribute::NoInline);

  // Emitted as if it were inside the function around it, a lane at a time: products of 128 bits have no vectors, and
  // what few lanes need is soon done.
  const llvm::IRBuilder<>::InsertPoint here = b_.saveIP();
  llvm::Function* outer = std::exchange(function_, function);
  const unsigned width = lanes_.width;
  const Lanes lanes = std::exchange(lanes_, {loop::kNoValue, 0, nullptr});
  const auto varied = std::exchange(varied_, llvm::DenseMap<loop::Value, llvm::Value*>());
  b_.SetInsertPoint(new_block("lanes"));
  Values none;
  for (llvm::Type* each : made) none.push_back(llvm::Constant::getNullValue(each));
  llvm::Value* active = function->getArg(0);
  Values before;
  for (loop::Value each : captured) before.push_back(values_[each]);
  const Values all =
      run_loop(b_.getInt64(0), b_.getInt64(width), 1, none, [&](llvm::Value* lane, const Values& so_far) {
        llvm::BasicBlock* start = b_.GetInsertBlock();
        llvm::BasicBlock* compute = new_block("compute");
        llvm::BasicBlock* next = new_block("next");
        b_.CreateCondBr(b_.CreateExtractElement(active, lane), compute, next);
        b_.SetInsertPoint(compute);
        for (size_t i = 0; i < captured.size(); ++i) {
          llvm::Value* argument = b_.CreateExtractElement(function->getArg(static_cast<unsigned>(i + 1)), lane);
          values_[captured[i]] = argument;
          if (varied.contains(captured[i])) varied_[captured[i]] = argument;
        }
        emit_block(block);
        Values with;
        for (size_t i = 0; i < results.size(); ++i)
          with.push_back(b_.CreateInsertElement(so_far[i], value(results[i]), lane));
        llvm::BasicBlock* end = b_.GetInsertBlock();
        b_.CreateBr(next);
        b_.SetInsertPoint(next);
        for (size_t i = 0; i < with.size(); ++i) {
          llvm::PHINode* phi = b_.CreatePHI(made[i], 2);
          phi->addIncoming(with[i], end);
          phi->addIncoming(so_far[i], start);
          with[i] = phi;
        }
        return with;
      });
  llvm::Value* together = llvm::PoisonValue::get(type->getReturnType());
  for (unsigned i = 0; i < results.size(); ++i) together = b_.CreateInsertValue(together, all[i], i);
  b_.CreateRet(together);

  for (size_t i = 0; i < captured.size(); ++i) values_[captured[i]] = before[i];
  varied_ = varied;
  lanes_ = lanes;
  function_ = outer;
  b_.restoreIP(here);
  return function;
}

}  // namespace ct::jit
