// What lld's driver refers to and this library never runs: the code generators of every target LLVM was built with (its
// link-time optimiser would need them) and Debian's Polly extension. Empty definitions keep some 100 MB out of the
// extension module. The linker itself reads only ELF, so nothing is lost by it.
//
// The targets that we do link (llvm_components in meson.build) are not in the list: X86, AArch64, NVPTX.
#if __has_include(<llvm/Plugins/PassPlugin.h>)
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }

// clang-format off
#define CT_NOT_LINKED(X)                                                                     \
  X(AMDGPU) X(ARM) X(AVR) X(BPF) X(Hexagon) X(Lanai) X(LoongArch) X(M68k) X(Mips) X(MSP430)  \
  X(PowerPC) X(RISCV) X(Sparc) X(SPIRV) X(SystemZ) X(VE) X(WebAssembly) X(XCore) X(Xtensa)
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
}
