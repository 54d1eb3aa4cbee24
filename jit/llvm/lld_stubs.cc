// What lld's driver refers to and this library never runs: the code generators of every target LLVM was built with (its
// link-time optimiser would need them) and Debian's Polly extension. Empty definitions keep some 100 MB out of the
// extension module. The linker itself reads only ELF, so nothing is lost by it. With LLVM 22 the link-time optimiser
// itself is left out, too, and with it all optimisation passes that code generation does not use.
//
// The targets that we do link (llvm_components in meson.build) are not in the list. Of those the
// assemblers are left out: the emitter writes no inline assembly.
#if __has_include(<llvm/Plugins/PassPlugin.h>)
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif

#include <llvm/Config/llvm-config.h>
#include <llvm/LTO/LTO.h>

#include <memory>

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }

// clang-format off
#define CT_NOT_LINKED(X)                                                                     \
  X(AMDGPU) X(AVR) X(BPF) X(Hexagon) X(Lanai) X(LoongArch) X(M68k) X(Mips) X(MSP430)  \
  X(PowerPC) X(Sparc) X(SPIRV) X(SystemZ) X(VE) X(XCore) X(Xtensa)
// clang-format on

extern "C" {
#define CT_EMPTY(name) \
  void name();         \
  void name() {}
#define CT_STUBS(target)                       \
  CT_EMPTY(LLVMInitialize##target##TargetInfo) \
  CT_EMPTY(LLVMInitialize##target##Target)     \
  CT_EMPTY(LLVMInitialize##target##TargetMC)   \
  CT_EMPTY(LLVMInitialize##target##AsmPrinter) \
  CT_EMPTY(LLVMInitialize##target##AsmParser)  \
  CT_EMPTY(LLVMInitialize##target##Disassembler)
CT_NOT_LINKED(CT_STUBS)
CT_EMPTY(LLVMInitializeAArch64AsmParser)
CT_EMPTY(LLVMInitializeARMAsmParser)
CT_EMPTY(LLVMInitializeRISCVAsmParser)
CT_EMPTY(LLVMInitializeWebAssemblyAsmParser)
}

#if LLVM_VERSION_MAJOR >= 22
// For files of bitcode, of which there are none: nothing is what they compile to.
namespace lld::elf {
struct Ctx;
class BitcodeFile;
struct Nothing {};  // for lld's InputFile, whose definition is not public; a function's name does not tell its result
class BitcodeCompiler {
 public:
  explicit BitcodeCompiler(Ctx& ctx);
  ~BitcodeCompiler();
  void add(BitcodeFile& file);
  llvm::SmallVector<std::unique_ptr<Nothing>, 0> compile();
};
BitcodeCompiler::BitcodeCompiler(Ctx&) {}
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile&) {}
llvm::SmallVector<std::unique_ptr<Nothing>, 0> BitcodeCompiler::compile() { return {}; }
}  // namespace lld::elf

namespace lld::wasm {
class BitcodeFile;
class BitcodeCompiler {
 public:
  BitcodeCompiler();
  ~BitcodeCompiler();
  void add(BitcodeFile& file);
  llvm::SmallVector<void*, 0> compile();
};
BitcodeCompiler::BitcodeCompiler() = default;
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile&) {}
llvm::SmallVector<void*, 0> BitcodeCompiler::compile() { return {}; }
}  // namespace lld::wasm

namespace llvm::lto {
Expected<std::unique_ptr<InputFile>> InputFile::create(MemoryBufferRef) {
  return createStringError("bitcode cannot be linked");
}
InputFile::~InputFile() = default;
SmallVector<const char*> LTO::getRuntimeLibcallSymbols(const Triple&) { return {}; }
}  // namespace llvm::lto
#endif
