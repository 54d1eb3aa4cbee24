#include "jit/llvm/target.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Scalar.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "jit/llvm/memory.h"
#include "jit/llvm/passes.h"
#include "jit/llvm/tiles.h"
#include "jit/llvm/warm_up.h"
#include "runtime/error.h"
#include "runtime/process.h"

namespace ct::jit {

namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    throw_from_llvm();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();  // of cpu_words.cc's instructions
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// Machines that libraries are exported for and nothing else: what LLVM registers of them takes time, too.
void initialize_llvm_for(const llvm::Triple& triple) {
  static std::once_flag arm, riscv, wasm;
  if (triple.isARM() || triple.isThumb()) {
    std::call_once(arm, [] {
      LLVMInitializeARMTargetInfo();
      LLVMInitializeARMTarget();
      LLVMInitializeARMTargetMC();
      LLVMInitializeARMAsmPrinter();
    });
  } else if (triple.isRISCV()) {
    std::call_once(riscv, [] {
      LLVMInitializeRISCVTargetInfo();
      LLVMInitializeRISCVTarget();
      LLVMInitializeRISCVTargetMC();
      LLVMInitializeRISCVAsmPrinter();
    });
  } else if (triple.isWasm()) {
    std::call_once(wasm, [] {
      LLVMInitializeWebAssemblyTargetInfo();
      LLVMInitializeWebAssemblyTarget();
      LLVMInitializeWebAssemblyTargetMC();
      LLVMInitializeWebAssemblyAsmPrinter();
    });
  }
}

// Asking the processor is slow on virtual machines, so it is asked once.
const llvm::StringMap<bool>& host_features() {
  static const auto& features = *new llvm::StringMap<bool>(llvm::sys::getHostCPUFeatures());
  return features;
}
const std::string& host_cpu() {
  static const auto& name = *new std::string(llvm::sys::getHostCPUName());
  return name;
}

// What this machine has or lacks unlike other processors of its name. LLVM works through such a list several times; one
// of all features would be a fifth of the time to a first result.
std::string host_features_unlike(const llvm::MCSubtargetInfo& usual) {
  std::string list;
  for (const llvm::SubtargetFeatureKV& feature : usual.getAllProcessorFeatures()) {
    const auto host = host_features().find(feature.Key);
    if (host == host_features().end() || host->second == usual.getFeatureBits()[feature.Value]) continue;
    list += (list.empty() ? "" : ",") + std::string(host->second ? "+" : "-") + feature.Key;
  }
  return list;
}

bool has_feature(const llvm::TargetMachine& machine, const char* name) {
  return machine.getMCSubtargetInfo()->checkFeatures(std::string("+") + name);
}

constexpr TargetFacts kKernelFacts{TargetFacts::Arch::kNvptx, 0, 0, false, false, true, true, true};

TargetFacts find_facts(const llvm::TargetMachine& machine, const TargetOptions& options) {
  const llvm::Triple& triple = machine.getTargetTriple();
  TargetFacts facts{};
  if (triple.isNVPTX()) {
    facts = kKernelFacts;
  } else if (triple.isAArch64()) {
    facts = {TargetFacts::Arch::kAArch64, 128, 32, false, false, true, true, true};
  } else if (triple.isRISCV()) {
    facts = {TargetFacts::Arch::kRiscv, 128, 16, false, false, true, false, false};
  } else if (triple.isARM() || triple.isThumb()) {
    facts = {TargetFacts::Arch::kArm, 128, 16, false, false, true, false, false};
    facts.doubles = has_feature(machine, "fp64");
    facts.wide_products = false;
  } else if (triple.isWasm()) {
    facts = {TargetFacts::Arch::kWasm, 128, 16, false, false, false, false, true};
    facts.wide_products = false;
  } else {
    bool avx = has_feature(machine, "avx"), avx2 = has_feature(machine, "avx2");
    bool avx512 = has_feature(machine, "avx512f") && has_feature(machine, "avx512bw") &&
                  has_feature(machine, "avx512vl") && has_feature(machine, "avx512dq");
    facts.arch = TargetFacts::Arch::kX86;
    facts.vector_bits = avx512 ? 512 : avx2 ? 256 : 128;
    if (options.vector_bits != 0) facts.vector_bits = std::min(facts.vector_bits, options.vector_bits);
    facts.vector_registers = avx512 ? 32 : 16;
    facts.masks_any_size = avx512;
    facts.masks_words = avx;
    facts.fma = has_feature(machine, "fma");
    facts.rounds = has_feature(machine, "sse4.1");
    facts.half_conversions = has_feature(machine, "f16c") || avx512;
    facts.bfloat16_tiles = avx512 && has_feature(machine, "avx512bf16") && has_feature(machine, "amx-bf16");
  }
  if (options.portable) {
    // What decides about the order of sums is the same everywhere.
    facts.vector_bits = 128;
    facts.vector_registers = 16;
    facts.masks_any_size = facts.masks_words = facts.fma = facts.bfloat16_tiles = false;
  } else if (options.triple.empty()) {
    if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) facts.l1_bytes = bytes;
    if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) facts.l2_bytes = bytes;
  }
  return facts;
}

// LLVM 22's registry takes triples, LLVM 19's their text.
#if LLVM_VERSION_MAJOR >= 22
const llvm::Triple& registry_key(const llvm::Triple& triple) { return triple; }
#else
const std::string& registry_key(const llvm::Triple& triple) { return triple.str(); }
#endif

// Compute capabilities, and the least PTX that is made for them: older drivers read no newer one.
struct Architecture {
  int capability, ptx;
};
constexpr Architecture kArchitectures[] = {{121, 88}, {120, 87}, {110, 90}, {103, 88}, {101, 86}, {100, 86},
                                           {90, 78},  {89, 78},  {87, 78},  {86, 78},  {80, 78}};

std::string ptx_version(const std::string& architecture) {
  const int number = std::atoi(architecture.c_str() + std::min<size_t>(architecture.size(), 3));
  for (const Architecture& one : kArchitectures) {
    if (number == one.capability) return "+ptx" + std::to_string(one.ptx);
  }
  return "+ptx78";
}

}  // namespace

std::string kernel_architecture(int capability, int ptx) {
  initialize_llvm();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* description = llvm::TargetRegistry::lookupTarget(registry_key(triple), error);
  CT_CHECK(description != nullptr);
  const std::unique_ptr<llvm::MCSubtargetInfo> known(description->createMCSubtargetInfo(triple, "", ""));
  for (const Architecture& one : kArchitectures) {
    const std::string name = "sm_" + std::to_string(one.capability);
    if (one.capability <= capability && one.ptx <= ptx && known->isCPUStringValid(name)) return name;
  }
  return "sm_80";
}

absl::StatusOr<std::unique_ptr<Target>> Target::create(const TargetOptions& options) {
  initialize_llvm();
  llvm::Triple triple(options.triple.empty() ? llvm::sys::getDefaultTargetTriple() : options.triple);
  initialize_llvm_for(triple);
  std::string cpu = options.cpu, features = options.features, error;
  const llvm::Target* description = llvm::TargetRegistry::lookupTarget(registry_key(triple), error);
  if (description == nullptr) {
    return absl::InvalidArgumentError("cannot compile for \"" + triple.str() + "\": " + error);
  }
  const bool is_host = cpu.empty() && options.triple.empty();
  if (is_host) {
    cpu = host_cpu();
  } else if (cpu.empty()) {
    cpu = triple.isX86() ? "x86-64-v2" : triple.isNVPTX() ? "sm_80" : "generic";
  }
  // An unknown cpu is found before the machine is made, which would complain on stderr. LLVM knows its own host.
  std::unique_ptr<llvm::MCSubtargetInfo> known(description->createMCSubtargetInfo(triple, is_host ? cpu : "", ""));
  if (known == nullptr || !known->isCPUStringValid(cpu)) {
    return absl::InvalidArgumentError("unknown cpu \"" + cpu + "\" for " + triple.str());
  }
  if (!is_host && triple.getArch() == llvm::Triple::x86_64) {
    // LLVM would end the process on a 32-bit processor.
    const std::unique_ptr<llvm::MCSubtargetInfo> named(description->createMCSubtargetInfo(triple, cpu, ""));
    if (!named->checkFeatures("+64bit"))
      return absl::InvalidArgumentError("the cpu \"" + cpu + "\" has no 64-bit mode");
  }
  if (is_host) features = host_features_unlike(*known);
  if (triple.isNVPTX()) features = ptx_version(cpu);
  llvm::TargetOptions machine_options;
  // A multiply and an add stay two roundings unless the program says fma: tiers agree, targets agree.
  machine_options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine_options.EmitStackSizeSection = options.tells_stack;
  if (triple.isRISCV64()) machine_options.MCOptions.ABIName = "lp64d";
  // What runs without an operating system, or is a module of its own, is nowhere else than where it is linked.
  const bool is_arm = triple.isARM() || triple.isThumb();
  const bool fixed = triple.isWasm() || (is_arm && triple.getOS() == llvm::Triple::UnknownOS);
  auto target = std::make_unique<Target>();
  target->machine_.reset(description->createTargetMachine(registry_key(triple), cpu, features, machine_options,
                                                          fixed ? llvm::Reloc::Static : llvm::Reloc::PIC_,
                                                          llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (target->machine_ == nullptr) return absl::InvalidArgumentError("cannot generate code for " + triple.str());
  target->new_context();
  target->machine_facts_ = target->facts_ = find_facts(*target->machine_, options);
  if (options.emulates_kernels) target->facts_ = kKernelFacts;
  return target;
}

void Target::new_context() {
  context_ = std::make_unique<llvm::LLVMContext>();
  // LLVM prints errors and ends the process.
  context_->setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo* info, void*) {
    if (info->getSeverity() != llvm::DS_Error) return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    throw Error(ErrorKind::kInternal, "the code generator failed: " + text);
  });
}

bool Target::has_feature(const char* name) const { return jit::has_feature(*machine_, name); }

std::unique_ptr<llvm::Module> Target::new_module(std::string_view name) {
  // Types and constants live as long as their context; start afresh now and then so that it does not grow without end.
  if (++modules_ > 1000) {
    object_pipeline_.reset();
    new_context();
    modules_ = 1;
  }
  auto module = std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), *context_);
  module->setTargetTriple(registry_key(machine_->getTargetTriple()));
  module->setDataLayout(machine_->createDataLayout());
  if (machine_->isPositionIndependent()) module->setPICLevel(llvm::PICLevel::BigPIC);
  if (machine_->getTargetTriple().isRISCV64()) {
    module->addModuleFlag(llvm::Module::Error, "target-abi", llvm::MDString::get(*context_, "lp64d"));
  }
  if (const int level = ready_level(); level != 0) {
    module->addModuleFlag(llvm::Module::Warning, kReadyLevel, static_cast<uint32_t>(level));
  }
  return module;
}

int Target::ready_level() const {
  if (facts_.arch != TargetFacts::Arch::kX86) return 0;
  // Between the levels a multiply-add may be rounded once where the level below rounds twice.
  if (has_feature("avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe")) return facts_.masks_any_size ? 4 : 3;
  return facts_.masks_words || facts_.fma ? 0 : 2;
}

void Target::set_attributes(llvm::Function* function) const {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-trapping-math", "true");
  if (facts_.arch == TargetFacts::Arch::kX86) {
    // Otherwise LLVM splits 512-bit vectors on cpus where it believes them slow.
    function->addFnAttr("prefer-vector-width", std::to_string(facts_.vector_bits));
    function->addFnAttr("min-legal-vector-width", std::to_string(facts_.vector_bits));
  }
}

std::unique_ptr<Target::Pipeline> Target::build_pipeline(bool as_text, std::vector<std::string>* unknown_names) {
  auto pipeline = std::make_unique<Pipeline>();
  // First of all, so that no pass asks a default machine: that one has no masked loads, and takes them apart.
  pipeline->passes.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
  pipeline->passes.add(llvm::createEarlyCSEPass());
  PassFilter filter(pipeline->passes, machine_facts_);
  bool failed = machine_->addPassesToEmitFile(
      filter, pipeline->stream, nullptr,
      as_text ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true);
  if (unknown_names != nullptr) {
    for (std::string_view name : filter.unknown_names()) unknown_names->emplace_back(name);
  }
  return failed ? nullptr : std::move(pipeline);
}

std::vector<std::string> Target::unknown_pass_names() {
  std::vector<std::string> names;
  build_pipeline(false, &names);
  return names;
}

std::string Target::emit(llvm::Module& module, bool as_text) {
  std::unique_ptr<Pipeline> text_pipeline;
  if (as_text) {
    text_pipeline = build_pipeline(true);
  } else if (object_pipeline_ == nullptr) {
    object_pipeline_ = build_pipeline(false);
  }
  Pipeline* pipeline = as_text ? text_pipeline.get() : object_pipeline_.get();
  pipeline->bytes.clear();
  pipeline->passes.run(module);
  return std::string(pipeline->bytes.begin(), pipeline->bytes.end());
}

namespace {

struct TargetPool {
  ProcessMutex mutex;
  std::map<std::string, std::vector<std::unique_ptr<Target>>> idle;
  std::map<const Target*, std::string> keys;

  static TargetPool& instance() {
    static auto& pool = *new TargetPool;  // outlives every thread
    return pool;
  }
  static std::string key_of(const TargetOptions& options) {
    return options.triple + "|" + options.cpu + "|" + std::to_string(options.vector_bits) + "|" + options.features +
           (options.portable ? "|portable" : "") + (options.emulates_kernels ? "|kernels" : "") +
           (options.tells_stack ? "|stack" : "");
  }
};

}  // namespace

absl::StatusOr<TargetHandle> borrow_target(const TargetOptions& options) {
  await_warm_up();
  return borrow_another_target(options);
}

absl::StatusOr<TargetHandle> borrow_another_target(const TargetOptions& options) {
  TargetPool& pool = TargetPool::instance();
  const std::string key = TargetPool::key_of(options);
  auto give_back = [](Target* target) {
    if (target->abandoned()) return;
    TargetPool& pool = TargetPool::instance();
    std::lock_guard lock(pool.mutex);
    pool.idle[pool.keys[target]].emplace_back(target);
  };
  {
    std::lock_guard lock(pool.mutex);
    auto& idle = pool.idle[key];
    if (!idle.empty()) {
      Target* target = idle.back().release();
      idle.pop_back();
      return TargetHandle(target, give_back);
    }
  }
  absl::StatusOr<std::unique_ptr<Target>> target = Target::create(options);
  if (!target.ok()) return target.status();
  std::lock_guard lock(pool.mutex);
  pool.keys[target->get()] = key;
  return TargetHandle(target->release(), give_back);
}

absl::StatusOr<TargetFacts> target_facts(const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  return (*target)->facts();
}

size_t idle_targets(const TargetOptions& options) {
  TargetPool& pool = TargetPool::instance();
  std::lock_guard lock(pool.mutex);
  const auto at = pool.idle.find(TargetPool::key_of(options));
  return at == pool.idle.end() ? 0 : at->second.size();
}

void add_idle_target(const TargetOptions& options, std::unique_ptr<Target> target) {
  TargetPool& pool = TargetPool::instance();
  const std::string key = TargetPool::key_of(options);
  std::lock_guard lock(pool.mutex);
  pool.keys[target.get()] = key;
  pool.idle[key].insert(pool.idle[key].begin(), std::move(target));
}

std::vector<std::string> unknown_pass_names() {
  absl::StatusOr<TargetHandle> target = borrow_target({});
  return target.ok() ? (*target)->unknown_pass_names() : std::vector<std::string>{target.status().ToString()};
}

bool host_has_bfloat16_tiles() {
  const auto has = [](const char* feature) { return host_features().lookup(feature); };
  return has("amx-bf16") && has("avx512bf16");
}

const std::string& host_cpu_features() {
  static const auto& text = *new std::string([] {
    std::vector<std::string> features;
    for (const auto& feature : host_features()) {
      if (feature.second) features.push_back(" +" + feature.first().str());
    }
    std::sort(features.begin(), features.end());  // equal machines give equal strings
    std::string all = llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArchName().str() + " " + host_cpu();
    for (const std::string& feature : features) all += feature;
    return all + " llvm-" LLVM_VERSION_STRING;
  }());
  return text;
}

}  // namespace ct::jit
