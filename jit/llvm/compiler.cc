#include "jit/llvm/compiler.h"

#include <llvm/IR/Verifier.h>

#include <cstdlib>

#include "ir/error.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/load.h"

namespace ct::jit {

namespace {

struct Emitted {
  std::unique_ptr<llvm::Module> module;
  int64_t arena_bytes;
};

// CT_CHECK_LLVM=1 in the environment verifies what the emitter produced: slow, for tests and bug hunts.
bool verification_wanted() {
  static const bool wanted = std::getenv("CT_CHECK_LLVM") != nullptr;
  return wanted;
}

absl::StatusOr<Emitted> emit_module(const loop::Program& program, std::string_view symbol, Target& target) {
  Emitted emitted{target.new_module(program.name), 0};
  try {
    Emitter emitter(program, target, *emitted.module);
    emitter.emit_entry(symbol);
    emitted.arena_bytes = emitter.arena_bytes();
  } catch (const Error& error) {
    return absl::InternalError(error.what());
  }
  if (verification_wanted()) {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(*emitted.module, &stream)) return absl::InternalError("malformed LLVM IR: " + problem);
  }
  return emitted;
}

}  // namespace

absl::StatusOr<ObjectCode> emit_object(const loop::Program& program, std::string_view symbol,
                                       const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  absl::StatusOr<Emitted> emitted = emit_module(program, symbol, **target);
  if (!emitted.ok()) return emitted.status();
  return ObjectCode{(*target)->emit(*emitted->module), std::string(symbol), emitted->arena_bytes};
}

absl::StatusOr<ObjectCode> emit_c_object(const loop::Program& program, std::string_view name,
                                         const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  const std::string entry = std::string(name) + "_entry";
  absl::StatusOr<Emitted> emitted = emit_module(program, entry, **target);
  if (!emitted.ok()) return emitted.status();
  add_c_functions(*emitted->module, **target, program, entry, std::string(name), emitted->arena_bytes);
  return ObjectCode{(*target)->emit(*emitted->module), std::string(name), emitted->arena_bytes};
}

absl::StatusOr<CompiledFunction> compile(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<ObjectCode> object = emit_object(program, "entry", options);
  if (!object.ok()) return object.status();
  return load_object(*object);
}

absl::StatusOr<CompiledFunction> load_object(const ObjectCode& object) { return load_elf(object); }

absl::StatusOr<std::string> emit_llvm_ir(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  absl::StatusOr<Emitted> emitted = emit_module(program, "entry", **target);
  if (!emitted.ok()) return emitted.status();
  std::string text;
  llvm::raw_string_ostream stream(text);
  emitted->module->print(stream, nullptr);
  return text;
}

absl::StatusOr<std::string> emit_assembly(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  absl::StatusOr<Emitted> emitted = emit_module(program, "entry", **target);
  if (!emitted.ok()) return emitted.status();
  return (*target)->emit(*emitted->module, /*as_text=*/true);
}

}  // namespace ct::jit
