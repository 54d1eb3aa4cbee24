#include "jit/llvm/gpu_c_functions.h"

#include <llvm/IR/IRBuilder.h>

#include <utility>

#include "jit/llvm/target.h"

namespace ct::jit {

using cuda::exported::Program;

namespace {

constexpr uint64_t kCacheLine = 64;

class GpuFunctions {
 public:
  GpuFunctions(llvm::Module& module, const Target& target, const GpuProgram& program)
      : module_(module), target_(target), b_(module.getContext()), program_(program), data_(add_data()) {}

  void add(const std::string& name) {
    const auto arguments = static_cast<unsigned>(program_.arguments);
    for (const bool brings : {false, true}) {
      llvm::Function* function = begin(brings ? name + "_with_workspace" : name, arguments + (brings ? 2 : 1));
      llvm::Value* pointers = b_.CreateAlloca(b_.getPtrTy(), b_.getInt64(std::max(arguments, 1U)));
      llvm::Value* scratch = b_.CreateAlloca(
          b_.getPtrTy(),
          b_.getInt64(static_cast<uint64_t>(cuda::exported::scratch_addresses(
              program_.arguments, static_cast<int64_t>(program_.constant_offsets.size()), program_.most_of_launch))));
      for (unsigned i = 0; i < arguments; ++i) {
        b_.CreateStore(function->getArg(i), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, i));
      }
      std::vector<llvm::Value*> passed = {data_, pointers, scratch};
      for (unsigned i = arguments; i < function->arg_size(); ++i) passed.push_back(function->getArg(i));
      finish(brings ? cuda::exported::kCallWithWorkspace : cuda::exported::kCall, passed);
    }
    for (const auto& [end, called] :
         {std::pair{"_load", cuda::exported::kLoad}, {"_unload", cuda::exported::kUnload}}) {
      llvm::Function* function = begin(name + end, 1);
      finish(called, {data_, function->getArg(0)});
    }
  }

 private:
  llvm::Function* begin(const std::string& name, unsigned parameters) {
    const llvm::SmallVector<llvm::Type*, 16> types(parameters, b_.getPtrTy());
    auto* function = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false),
                                            llvm::GlobalValue::ExternalLinkage, name, module_);
    target_.set_attributes(function);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    return function;
  }

  void finish(const char* called, llvm::ArrayRef<llvm::Value*> passed) {
    const llvm::SmallVector<llvm::Type*, 8> types(passed.size(), b_.getPtrTy());
    llvm::FunctionCallee function =
        module_.getOrInsertFunction(called, llvm::FunctionType::get(b_.getInt32Ty(), types, false));
    llvm::cast<llvm::Function>(function.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
    b_.CreateRet(b_.CreateCall(function, passed));
  }

  llvm::GlobalVariable* add_global(llvm::Constant* value, bool is_constant) {
    auto* global =
        new llvm::GlobalVariable(module_, value->getType(), is_constant, llvm::GlobalValue::InternalLinkage, value);
    global->setAlignment(llvm::Align(kCacheLine));
    return global;
  }
  // Null where there are none.
  llvm::Constant* bytes(llvm::StringRef text) {
    if (text.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    return add_global(llvm::ConstantDataArray::getRaw(text, text.size(), b_.getInt8Ty()), true);
  }
  template <class Element>
  llvm::Constant* words(const std::vector<Element>& values) {
    static_assert(sizeof(Element) % sizeof(int64_t) == 0);
    if (values.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    const llvm::StringRef raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element));
    return add_global(llvm::ConstantDataArray::getRaw(raw, raw.size() / sizeof(int64_t), b_.getInt64Ty()), true);
  }

  // A `Program`, field by field.
  llvm::GlobalVariable* add_data() {
    std::string symbols;
    for (const std::string& symbol : program_.symbols) symbols += symbol + '\0';
    const auto size = [](const auto& values) { return static_cast<int64_t>(values.size()); };
    std::vector<llvm::Constant*> fields = {bytes(program_.ptx + '\0'),      bytes(symbols),
                                           words(program_.shared_bytes),    words(program_.products),
                                           words(program_.steps),           bytes(program_.constants),
                                           words(program_.constant_offsets)};
    for (const int64_t number :
         {size(program_.symbols), size(program_.products), size(program_.steps), size(program_.constant_offsets),
          size(program_.constants), program_.arguments, program_.workspace_bytes}) {
      fields.push_back(b_.getInt64(static_cast<uint64_t>(number)));
    }
    static_assert(offsetof(Program, kernel_count) == 7 * sizeof(void*));
    static_assert(offsetof(Program, state) == 7 * sizeof(void*) + 7 * sizeof(int64_t));
    static_assert(sizeof(cuda::exported::State) % sizeof(int64_t) == 0);
    llvm::Type* state = llvm::ArrayType::get(b_.getInt64Ty(), sizeof(cuda::exported::State) / sizeof(int64_t));
    fields.push_back(llvm::ConstantAggregateZero::get(state));
    return add_global(llvm::ConstantStruct::getAnon(fields), false);
  }

  llvm::Module& module_;
  const Target& target_;
  llvm::IRBuilder<> b_;
  const GpuProgram& program_;
  llvm::GlobalVariable* data_;
};

}  // namespace

absl::StatusOr<std::string> emit_gpu_object(const GpuProgram& program, const std::string& name,
                                            const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  std::unique_ptr<llvm::Module> module = (*target)->new_module(name);
  GpuFunctions(*module, **target, program).add(name);
  return (*target)->emit(*module);
}

}  // namespace ct::jit
