#include "jit/llvm/cpu_words.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <algorithm>

namespace ct::jit {
namespace {

enum Place : uint8_t { kEax, kEbx, kEcx, kEdx };
constexpr uint32_t kExtended = 0x8000'0000;
constexpr uint32_t kSaves = 27;  // of leaf 1, ecx: xgetbv is there
constexpr uint32_t kSavesVectors = 0x6, kSavesMasks = 0xe0, kSavesTiles = 0x60000;

struct Feature {
  const char* name;  // LLVM's
  uint32_t leaf, subleaf;
  Place place;
  uint8_t bit;
  uint32_t system = 0;
};

// Intel's Software Developer's Manual, volume 2, CPUID; AMD's Architecture Programmer's Manual, volume 3, appendix E.
// Those that LLVM's code generation uses by itself; others (aes, sha, rdrand) code has by intrinsics only.
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12, kSavesVectors},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4.1", 1, 0, kEcx, 19},
    {"sse4.2", 1, 0, kEcx, 20},
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"avx", 1, 0, kEcx, 28, kSavesVectors},
    {"f16c", 1, 0, kEcx, 29, kSavesVectors},
    {"bmi", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5, kSavesVectors},
    {"bmi2", 7, 0, kEbx, 8},
    {"avx512f", 7, 0, kEbx, 16, kSavesVectors | kSavesMasks},
    {"avx512dq", 7, 0, kEbx, 17},
    {"avx512ifma", 7, 0, kEbx, 21},
    {"avx512cd", 7, 0, kEbx, 28},
    {"avx512bw", 7, 0, kEbx, 30},
    {"avx512vl", 7, 0, kEbx, 31},
    {"avx512vbmi", 7, 0, kEcx, 1},
    {"avx512vbmi2", 7, 0, kEcx, 6},
    {"gfni", 7, 0, kEcx, 8},
    {"avx512vnni", 7, 0, kEcx, 11},
    {"avx512bitalg", 7, 0, kEcx, 12},
    {"avx512vpopcntdq", 7, 0, kEcx, 14},
    {"avx512vp2intersect", 7, 0, kEdx, 8},
    {"avx512fp16", 7, 0, kEdx, 23},
    {"amx-tile", 7, 0, kEdx, 24, kSavesTiles},
    {"amx-bf16", 7, 0, kEdx, 22, kSavesTiles},
    {"amx-int8", 7, 0, kEdx, 25, kSavesTiles},
    {"avxvnni", 7, 1, kEax, 4},
    {"avx512bf16", 7, 1, kEax, 5},
    {"avxifma", 7, 1, kEax, 23},
    {"sahf", kExtended + 1, 0, kEcx, 0},
    {"lzcnt", kExtended + 1, 0, kEcx, 5},
    {"sse4a", kExtended + 1, 0, kEcx, 6},
    {"xop", kExtended + 1, 0, kEcx, 11, kSavesVectors},
    {"fma4", kExtended + 1, 0, kEcx, 16, kSavesVectors},
    {"tbm", kExtended + 1, 0, kEcx, 21},
};

void add(std::vector<CpuWord>& words, uint32_t leaf, uint32_t subleaf, int place, uint32_t bits) {
  const auto known = std::ranges::find_if(
      words, [&](const CpuWord& w) { return w.leaf == leaf && w.subleaf == subleaf && w.place == place; });
  if (known == words.end()) {
    words.push_back({leaf, subleaf, place, bits});
  } else {
    known->bits |= bits;
  }
}

class Asking {
 public:
  Asking(llvm::Module& module, const Target& target, const CpuWords& words)
      : module_(module), b_(module.getContext()), words_(words) {
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt1Ty(), false),
                                       llvm::GlobalValue::InternalLinkage, "fits", module);
    target.set_attributes(function_);
    b_.SetInsertPoint(new_block("entry"));
  }

  llvm::Function* emit() {
    for (const CpuWord& word : words_.words) {
      // What a leaf above the highest says is that of another one.
      const uint32_t family = word.leaf & kExtended;
      if (word.leaf > 1) go_on_if(b_.CreateICmpUGE(cpuid(family, 0, kEax), b_.getInt32(word.leaf)));
      go_on_if(has(cpuid(word.leaf, word.subleaf, word.place), word.bits));
    }
    if (words_.system != 0) {
      go_on_if(has(cpuid(1, 0, kEcx), 1U << kSaves));
      llvm::Type* i32 = b_.getInt32Ty();
      llvm::Type* pair = llvm::StructType::get(i32, i32);
      auto* asked = llvm::InlineAsm::get(llvm::FunctionType::get(pair, {i32}, false), "xgetbv",
                                         "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true);
      go_on_if(has(b_.CreateExtractValue(b_.CreateCall(asked, {b_.getInt32(0)}), 0), words_.system));
    }
    b_.CreateRet(b_.getTrue());
    return function_;
  }

 private:
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function_);
  }
  llvm::Value* has(llvm::Value* word, uint32_t bits) {
    return b_.CreateICmpEQ(b_.CreateAnd(word, b_.getInt32(bits)), b_.getInt32(bits));
  }
  void go_on_if(llvm::Value* condition) {
    llvm::BasicBlock* next = new_block("next");
    if (lacks_ == nullptr) {
      lacks_ = new_block("lacks");
      llvm::IRBuilder<>(lacks_).CreateRet(b_.getFalse());
    }
    b_.CreateCondBr(condition, next, lacks_);
    b_.SetInsertPoint(next);
  }
  llvm::Value* cpuid(uint32_t leaf, uint32_t subleaf, int place) {
    llvm::Type* i32 = b_.getInt32Ty();
    llvm::Type* registers = llvm::StructType::get(i32, i32, i32, i32);
    auto* asked = llvm::InlineAsm::get(llvm::FunctionType::get(registers, {i32, i32}, false), "cpuid",
                                       "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}",
                                       /*hasSideEffects=*/true);
    llvm::Value* all = b_.CreateCall(asked, {b_.getInt32(leaf), b_.getInt32(subleaf)});
    return b_.CreateExtractValue(all, static_cast<unsigned>(place));
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const CpuWords& words_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* lacks_ = nullptr;
};

}  // namespace

CpuWords cpu_words(const Target& target) {
  CpuWords found;
  if (target.facts().arch != TargetFacts::Arch::kX86) return found;
  for (const Feature& feature : kFeatures) {
    if (!target.has_feature(feature.name)) continue;
    add(found.words, feature.leaf, feature.subleaf, feature.place, 1U << feature.bit);
    found.system |= feature.system;
  }
  return found;
}

llvm::Function* emit_fits(llvm::Module& module, const Target& target, const CpuWords& words) {
  return Asking(module, target, words).emit();
}

}  // namespace ct::jit
