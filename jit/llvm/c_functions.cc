#include "jit/llvm/c_functions.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <functional>

#include "jit/llvm/c_checks.h"
#include "jit/llvm/cpu_words.h"
#include "jit/llvm/library_caller.h"
#include "jit/llvm/target.h"
#include "runtime/error.h"
#include "runtime/text.h"

namespace ct::jit {
namespace {

constexpr int64_t kWorkspaceAlignment = 64;  // of the workspace and what is in it
constexpr unsigned kMostOnStack = 64;

constexpr CStatusText kStatuses[] = {
    {kCOk, "CT_OK", "done"},
    {kCNull, "CT_NULL", "a pointer is NULL"},
    {kCAlignment, "CT_ALIGNMENT", "a pointer is not aligned to its elements"},
    {kCOverlap, "CT_OVERLAP", "something that is written overlaps something else"},
    {kCWorkspace, "CT_WORKSPACE", "the workspace is missing, too small, or not aligned to 64 bytes"},
    {kCLength, "CT_LENGTH", "a length is negative or above its bound"},
    {kCCpu, "CT_CPU", "the processor lacks what the code needs"},
    {kCStopped, "CT_STOPPED", "*stop became non-zero; results are unspecified"},
    {kCAbi, "CT_ABI", "the ct_run is of another version"},
};

int64_t aligned(int64_t bytes) { return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment; }

int64_t count_of_inputs(const CFunction& function) {
  return static_cast<int64_t>(function.inputs.size() + function.constants.size());
}

class CFunctions {
 public:
  CFunctions(llvm::Module& module, const Target& target, const CLibrary& library)
      : module_(module), target_(target), b_(module.getContext()), library_(library) {
    llvm::Type* pointer = b_.getPtrTy();
    llvm::Type* size = module.getDataLayout().getIntPtrType(module.getContext());
    run_ = llvm::StructType::get(size, pointer, size, pointer, pointer, pointer);
    entry_type_ = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer}, false);
  }

  void add() {
    fits_ = add_best_level();
    for (const CFunction& function : library_.functions) {
      add_entry(function);
      add_constants(function);
      add_call(function);
      add_call_of_leaves(function);
    }
    begin(library_.name + "_check", b_.getInt32Ty(), {});
    b_.CreateRet(fits_ == nullptr ? b_.getInt32(kCOk)
                                  : b_.CreateSelect(b_.CreateICmpSLT(b_.CreateCall(fits_), b_.getInt32(0)),
                                                    b_.getInt32(kCCpu), b_.getInt32(kCOk)));
    begin(library_.name + "_signature", b_.getInt64Ty(), {});
    b_.CreateRet(b_.getInt64(library_.signature));
    begin(library_.name + "_describe", b_.getPtrTy(), {});
    b_.CreateRet(text(library_.description));
    add_error();
  }

 private:
  llvm::Function* begin(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters,
                        llvm::GlobalValue::LinkageTypes linkage = llvm::GlobalValue::ExternalLinkage) {
    auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false), linkage, name, module_);
    target_.set_attributes(function);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    return function;
  }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, b_.GetInsertBlock()->getParent());
  }
  llvm::GlobalVariable* global(llvm::Constant* value, bool is_constant, int64_t alignment) {
    auto* made =
        new llvm::GlobalVariable(module_, value->getType(), is_constant, llvm::GlobalValue::InternalLinkage, value);
    made->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
    return made;
  }
  llvm::Constant* text(llvm::StringRef characters) {
    return global(llvm::ConstantDataArray::getString(module_.getContext(), characters), true, 1);
  }
  llvm::Value* at(llvm::Value* pointer, int64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, static_cast<uint64_t>(offset));
  }
  llvm::Value* slot(llvm::Value* pointers, size_t index) {
    return b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, index);
  }
  llvm::Value* load_member(llvm::Value* run, unsigned index) {
    return b_.CreateLoad(run_->getElementType(index), b_.CreateStructGEP(run_, run, index));
  }

  // ---- which code the processor runs ------------------------------------------------------------------------------

  // int best_level(): the best of those that the processor has all for; -1: none. Null: any processor runs the one.
  llvm::Function* add_best_level() {
    if (library_.levels.size() == 1 && library_.levels[0] == CpuWords{}) return nullptr;
    std::vector<llvm::Function*> fits;
    fits.reserve(library_.levels.size());
    for (const CpuWords& words : library_.levels) fits.push_back(emit_fits(module_, target_, words));
    llvm::Function* function = begin("best_level", b_.getInt32Ty(), {}, llvm::GlobalValue::InternalLinkage);
    for (size_t level = fits.size(); level-- > 0;) {
      llvm::BasicBlock* found = block("found");
      llvm::BasicBlock* next = block("next");
      b_.CreateCondBr(b_.CreateCall(fits[level]), found, next);
      b_.SetInsertPoint(found);
      b_.CreateRet(b_.getInt32(static_cast<uint32_t>(level)));
      b_.SetInsertPoint(next);
    }
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(-1)));
    return function;
  }

  llvm::Function* entry_of(const std::string& symbol) {
    auto* entry = llvm::cast<llvm::Function>(module_.getOrInsertFunction(symbol, entry_type_).getCallee());
    entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return entry;
  }

  // The program's code for this processor, null where there is none. Threads that ask at the same time find the same.
  llvm::Value* chosen(const CFunction& function) {
    if (fits_ == nullptr) return entry_of(function.entries[0]);
    const std::string name = function.name + "_chosen";
    llvm::GlobalVariable* known = module_.getNamedGlobal(name);
    if (known == nullptr) {
      known = global(llvm::ConstantPointerNull::get(b_.getPtrTy()), false, 8);
      known->setName(name);
    }
    llvm::LoadInst* first = b_.CreateAlignedLoad(b_.getPtrTy(), known, llvm::Align(8));
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* asks = block("asks");
    llvm::BasicBlock* goes_on = block("goes_on");
    b_.CreateCondBr(b_.CreateIsNull(first), asks, goes_on);
    b_.SetInsertPoint(asks);
    llvm::Value* level = b_.CreateCall(fits_);
    llvm::Value* best = llvm::ConstantPointerNull::get(b_.getPtrTy());
    for (size_t i = 0; i < function.entries.size(); ++i) {
      best = b_.CreateSelect(b_.CreateICmpEQ(level, b_.getInt32(static_cast<uint32_t>(i))),
                             entry_of(function.entries[i]), best);
    }
    llvm::StoreInst* keeps = b_.CreateAlignedStore(best, known, llvm::Align(8));
    keeps->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateBr(goes_on);
    b_.SetInsertPoint(goes_on);
    llvm::PHINode* entry = b_.CreatePHI(b_.getPtrTy(), 2);
    entry->addIncoming(first, before);
    entry->addIncoming(best, asks);
    return entry;
  }

  // For the front end, which asked NAME_check before and brings all inputs.
  void add_entry(const CFunction& function) {
    llvm::Type* pointer = b_.getPtrTy();
    llvm::Function* made = begin(function.name + "_entry", b_.getVoidTy(), {pointer, pointer, pointer});
    llvm::Value* entry = chosen(function);
    if (fits_ != nullptr) return_if(b_.CreateIsNull(entry), nullptr);
    b_.CreateCall(entry_type_, entry, {made->getArg(0), made->getArg(1), made->getArg(2)});
    b_.CreateRetVoid();
  }

  // ---- calls ------------------------------------------------------------------------------------------------------

  void add_constants(const CFunction& function) {
    constants_.clear();
    constants_.reserve(function.constants.size());
    for (const std::string& bytes : function.constants) {
      constants_.push_back(bytes.empty() ? static_cast<llvm::Constant*>(llvm::ConstantPointerNull::get(b_.getPtrTy()))
                                         : global(llvm::ConstantDataArray::getRaw(bytes, bytes.size(), b_.getInt8Ty()),
                                                  true, kWorkspaceAlignment));
    }
  }

  void return_if(llvm::Value* condition, llvm::Value* status) {
    llvm::BasicBlock* returns = block("returns");
    llvm::BasicBlock* next = block("next");
    b_.CreateCondBr(condition, returns, next);
    b_.SetInsertPoint(returns);
    status == nullptr ? b_.CreateRetVoid() : b_.CreateRet(status);
    b_.SetInsertPoint(next);
  }
  void require(llvm::Value* condition, CStatus status) { return_if(b_.CreateNot(condition), b_.getInt32(status)); }

  // Pointers to the arrays of a call, made where they are asked for: what is known early is kept on the stack.
  struct Arrays {
    std::function<llvm::Value*(size_t number)> input, output;
  };

  void add_call(const CFunction& function) {
    std::vector<llvm::Type*> types;
    types.reserve(function.parameters.size() + 1);
    for (const CParameter& parameter : function.parameters) {
      types.push_back(parameter.kind == CParameter::Kind::kValue ? value_type(parameter.dtype) : b_.getPtrTy());
    }
    types.push_back(b_.getPtrTy());
    llvm::Function* made = begin(function.name, b_.getInt32Ty(), types);
    const auto count = static_cast<unsigned>(function.parameters.size());
    const CWorkspace places(function);
    if (library_.checks) {
      std::vector<CChecks::Range> ranges;
      for (unsigned i = 0; i < count; ++i) {
        const CParameter& parameter = function.parameters[i];
        if (parameter.kind == CParameter::Kind::kValue || parameter.bytes == 0) continue;
        ranges.push_back({made->getArg(i), parameter.bytes, parameter.alignment, parameter.written});
      }
      checks_.pointers(ranges);
      check_run(made->getArg(count), places.bytes);
      if (places.bytes > 0) ranges.push_back(workspace_of(made->getArg(count), places));
      checks_.overlaps(ranges);
    }
    std::vector<llvm::Value*> bases;
    for (unsigned i = 0; i < count; ++i) bases.push_back(base_of(function.parameters[i], made->getArg(i)));
    const auto place = [&](const CLeaf& leaf) { return at(bases[leaf.parameter], leaf.offset); };
    const Arrays arrays{.input = [&](size_t i) { return place(function.inputs[i]); },
                        .output = [&](size_t i) { return place(function.outputs[i]); }};
    finish_call(function, places, arrays, made->getArg(count));
  }

  void add_call_of_leaves(const CFunction& function) {
    llvm::Type* pointer = b_.getPtrTy();
    llvm::Function* made = begin(function.name + "_leaves", b_.getInt32Ty(), {pointer, pointer, pointer});
    llvm::Value* inputs = made->getArg(0);
    llvm::Value* outputs = made->getArg(1);
    const CWorkspace places(function);
    if (library_.checks) {
      if (!function.inputs.empty()) require(b_.CreateIsNotNull(inputs), kCNull);
      if (!function.outputs.empty()) require(b_.CreateIsNotNull(outputs), kCNull);
      checks_.pointers_of_leaves(inputs, function.input_avals);
      checks_.pointers_of_leaves(outputs, function.output_avals);
      check_run(made->getArg(2), places.bytes);
      checks_.overlaps_of_leaves(inputs, outputs, function.input_avals, function.output_avals, function.pairs);
      if (places.bytes > 0) {
        const CChecks::Range workspace = workspace_of(made->getArg(2), places);
        checks_.leaves_apart(inputs, function.input_avals, workspace);
        checks_.leaves_apart(outputs, function.output_avals, workspace);
      }
    }
    const Arrays arrays{.input = [&](size_t i) { return b_.CreateLoad(pointer, slot(inputs, i)); },
                        .output = [&](size_t i) { return b_.CreateLoad(pointer, slot(outputs, i)); }};
    finish_call(function, places, arrays, made->getArg(2));
  }

  llvm::Type* value_type(DType dtype) {
    if (dtype == DType::kFloat32) return b_.getFloatTy();
    if (dtype == DType::kFloat64) return b_.getDoubleTy();
    return b_.getIntNTy(static_cast<unsigned>(8 * dtype_size(dtype)));
  }

  llvm::Value* base_of(const CParameter& parameter, llvm::Value* argument) {
    if (parameter.kind == CParameter::Kind::kArrays) return argument;
    llvm::AllocaInst* place = b_.CreateAlloca(b_.getInt64Ty());
    b_.CreateStore(argument, place);
    return place;
  }

  void finish_call(const CFunction& function, const CWorkspace& places, const Arrays& arrays, llvm::Value* run) {
    for (const BoundedInput& input : function.lengths) checks_.length(arrays.input(input.input), input);
    llvm::Value* entry = chosen(function);
    if (fits_ != nullptr) require(b_.CreateIsNotNull(entry), kCCpu);

    llvm::Value* nothing = llvm::ConstantPointerNull::get(b_.getPtrTy());
    llvm::Value* workspace = places.bytes == 0 ? nothing : load_member(run, 1);
    const auto inputs = static_cast<uint64_t>(count_of_inputs(function));
    const size_t arguments = function.inputs.size(), results = function.outputs.size();
    llvm::Value* pointers = places.pointers < 0 ? b_.CreateAlloca(b_.getPtrTy(), b_.getInt64(inputs + results + 1))
                                                : at(workspace, places.pointers);
    const auto store_output = [&](size_t i) {
      const int64_t temporary = places.temporaries[i];
      b_.CreateStore(temporary < 0 ? arrays.output(i) : at(workspace, temporary), slot(pointers, inputs + i));
    };
    // An input and the result in its place one after the other: their pointer would wait on the stack.
    std::vector<std::vector<size_t>> results_of(arguments);
    for (size_t i = 0; i < results; ++i) {
      if (function.pairs[i] >= 0) results_of[static_cast<size_t>(function.pairs[i])].push_back(i);
    }
    for (size_t i = 0; i < arguments; ++i) {
      b_.CreateStore(arrays.input(i), slot(pointers, i));
      for (const size_t result : results_of[i]) store_output(result);
    }
    for (size_t i = 0; i < constants_.size(); ++i) {
      b_.CreateStore(constants_[i], slot(pointers, arguments + i));
    }
    for (size_t i = 0; i < results; ++i) {
      if (function.pairs[i] < 0) store_output(i);
    }
    llvm::Value* arena = places.bytes == 0 ? nothing : at(workspace, places.arena);
    if (places.caller_on_stack) {
      llvm::AllocaInst* caller = b_.CreateAlloca(b_.getInt8Ty(), b_.getInt64(kCallerBytes));
      caller->setAlignment(llvm::Align(kWorkspaceAlignment));
      arena = at(caller, kCallerBytes);
    }
    const auto asked = [&](CallerField field) { return caller_field(b_, at(arena, -kCallerBytes), field); };
    if (function.asks_caller()) {
      b_.CreateStore(read_stop(), asked(CallerField::kStops));
      b_.CreateStore(given(run, 3, places), asked(CallerField::kContext));
      b_.CreateStore(b_.getInt32(0), asked(CallerField::kTold));
      b_.CreateStore(given(run, 4, places), asked(CallerField::kParallel));
      b_.CreateStore(given(run, 5, places), asked(CallerField::kPool));
    }
    b_.CreateCall(entry_type_, entry, {pointers, slot(pointers, inputs), arena});
    if (function.may_stop) {
      llvm::Value* told = b_.CreateLoad(b_.getInt32Ty(), asked(CallerField::kTold));
      return_if(b_.CreateIsNotNull(told), b_.getInt32(kCStopped));
    }
    for (size_t i = 0; i < results; ++i) {
      if (places.temporaries[i] < 0) continue;
      b_.CreateMemCpy(arrays.output(i), llvm::Align(1), at(workspace, places.temporaries[i]),
                      llvm::Align(kWorkspaceAlignment), static_cast<uint64_t>(function.output_avals[i].bytes()));
    }
    b_.CreateRet(b_.getInt32(kCOk));
  }

  // A pointer of the run, which may be NULL where there is no workspace in it.
  llvm::Value* given(llvm::Value* run, unsigned index, const CWorkspace& places) {
    if (places.bytes > 0) return load_member(run, index);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* reads = block("reads");
    llvm::BasicBlock* next = block("read");
    b_.CreateCondBr(b_.CreateIsNull(run), next, reads);
    b_.SetInsertPoint(reads);
    llvm::Value* member = load_member(run, index);
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    llvm::PHINode* value = b_.CreatePHI(b_.getPtrTy(), 2);
    value->addIncoming(llvm::ConstantPointerNull::get(b_.getPtrTy()), before);
    value->addIncoming(member, reads);
    return value;
  }

  CChecks::Range workspace_of(llvm::Value* run, const CWorkspace& places) {
    return {load_member(run, 1), places.bytes, kWorkspaceAlignment, true};
  }

  void check_run(llvm::Value* run, int64_t bytes) {
    llvm::Type* size = run_->getElementType(0);
    const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(size, value); };
    const uint64_t least = module_.getDataLayout().getTypeAllocSize(run_);
    if (bytes == 0) {
      llvm::BasicBlock* given = block("given");
      llvm::BasicBlock* next = block("checked");
      b_.CreateCondBr(b_.CreateIsNull(run), next, given);
      b_.SetInsertPoint(given);
      require(b_.CreateICmpUGE(load_member(run, 0), number(least)), kCAbi);
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      return;
    }
    require(b_.CreateIsNotNull(run), kCWorkspace);
    require(b_.CreateICmpUGE(load_member(run, 0), number(least)), kCAbi);
    llvm::Value* workspace = b_.CreatePtrToInt(load_member(run, 1), size);
    require(b_.CreateICmpNE(workspace, number(0)), kCWorkspace);
    require(b_.CreateICmpEQ(b_.CreateAnd(workspace, number(kWorkspaceAlignment - 1)), number(0)), kCWorkspace);
    require(b_.CreateICmpUGE(load_member(run, 2), number(static_cast<uint64_t>(bytes))), kCWorkspace);
  }

  // int read_stop(const volatile int* stop)
  llvm::Function* read_stop() {
    if (llvm::Function* known = module_.getFunction("read_stop")) return known;
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    llvm::Function* function = begin("read_stop", b_.getInt32Ty(), {b_.getPtrTy()}, llvm::GlobalValue::InternalLinkage);
    return_if(b_.CreateIsNull(function->getArg(0)), b_.getInt32(0));
    b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), function->getArg(0), /*isVolatile=*/true));
    return function;
  }

  void add_error() {
    llvm::Function* function = begin(library_.name + "_error", b_.getPtrTy(), {b_.getInt32Ty()});
    llvm::Value* found = text("no status of this library");
    for (const CStatusText& status : kStatuses) {
      found =
          b_.CreateSelect(b_.CreateICmpEQ(function->getArg(0), b_.getInt32(status.status)), text(status.text), found);
    }
    b_.CreateRet(found);
  }

  llvm::Module& module_;
  const Target& target_;
  llvm::IRBuilder<> b_;
  CChecks checks_{b_, [this](llvm::Value* condition, CStatus status) { require(condition, status); }};
  const CLibrary& library_;
  llvm::StructType* run_;  // ct_run
  llvm::FunctionType* entry_type_;
  llvm::Function* fits_ = nullptr;
  std::vector<llvm::Constant*> constants_;  // of the function being added
};

}  // namespace

absl::Span<const CStatusText> c_statuses() { return kStatuses; }

CWorkspace::CWorkspace(const CFunction& function) {
  int64_t end = 0;
  const auto count = static_cast<int64_t>(function.outputs.size()) + count_of_inputs(function);
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    const bool copied = function.pairs[i] >= 0 && function.donations[i] != function.pairs[i];
    temporaries.push_back(copied ? function.output_avals[i].bytes() : 0);
    copied_bytes += temporaries.back();
  }
  caller_on_stack = function.asks_caller() && function.arena_bytes == 0 && copied_bytes == 0 && count <= kMostOnStack;
  if (caller_on_stack) {
    temporaries.assign(temporaries.size(), -1);
    return;
  }
  const auto take = [&](int64_t size) {
    const int64_t at = end;
    end = aligned(end + size);
    return at;
  };
  if (function.asks_caller()) take(kCallerBytes);
  arena = take(function.arena_bytes);
  for (int64_t& temporary : temporaries) temporary = temporary > 0 ? take(temporary) : -1;
  if (count > kMostOnStack) pointers = take(count * static_cast<int64_t>(sizeof(void*)));
  bytes = end;
}

absl::StatusOr<std::string> emit_c_functions(const CLibrary& library, const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  std::unique_ptr<llvm::Module> module = (*target)->new_module(library.name);
  CFunctions(*module, **target, library).add();
  return (*target)->emit(*module);
}

}  // namespace ct::jit
