#include "jit/llvm/compiler.h"

#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "device/cpu/cpu.h"
#include "jit/llvm/debugging.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/memory.h"
#include "jit/llvm/tiles.h"
#include "jit/machine/product_plan.h"
#include "runtime/cores.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/process.h"

namespace ct::jit {

namespace {

// CT_CHECK_LLVM=1 in the environment verifies what the emitter produced: slow, for tests and bug hunts.
bool verification_wanted() {
  static const bool wanted = std::getenv("CT_CHECK_LLVM") != nullptr;
  return wanted;
}

// Whether what is compiled of a product is a call.
bool is_ready_made(const loop::Program& program, const Target& target, const loop::Gemm& gemm) {
  const DType dtype = program.buffers[gemm.c.buffer].dtype;
  if (target.ready_level() == 0 || is_complex(dtype) || !ready_tiles_pay(gemm.m, gemm.n, gemm.k)) return false;
  const auto strides = [](const loop::Matrix& matrix) {
    return ProductStrides{matrix.row_stride, matrix.column_stride};
  };
  const ProductShape shape{gemm.m, gemm.n, gemm.k, strides(gemm.a), strides(gemm.b), strides(gemm.c)};
  const int64_t size = dtype == DType::kFloat64 ? 8 : 4;
  return plan_product(target.facts(), shape, size).form == ProductForm::kTiles;
}

Outline outline_for(const loop::Program& program, const Target& target, bool in_process) {
  CostModel cost(program);
  Outline result = outline(
      program,
      {
          .vectorized =
              [&](const loop::For& loop) { return choose_vectorization(program, target.facts(), loop).width != 0; },
          .decided_by_extent =
              [&](const loop::For& loop) { return decided_by_extent(program, target.facts(), cost, loop); },
          .ready_made = [&](const loop::Gemm& gemm) { return in_process && is_ready_made(program, target, gemm); },
      });
  result.may_take_long = may_take_long(program);
  return result;
}

struct Emitted {
  std::unique_ptr<llvm::Module> module;
  int64_t arena_bytes;
  bool shares_loops = false;
};

// One module of the outline, or without a number the whole program as one.
absl::StatusOr<Emitted> emit_module(const loop::Program& program, const Outline& outline, std::string_view symbol,
                                    Target& target, Sharing::Threads threads,
                                    std::optional<uint32_t> number = std::nullopt) {
  Emitted emitted{target.new_module(program.name), 0};
  try {
    CpuEmission emission(program, outline, target, *emitted.module, threads);
    emit_module(emission, symbol, number);
    emitted.arena_bytes = emission.sharing.arena_bytes;
    emitted.shares_loops = emission.sharing.shared_loops;
    if (debugging_wanted()) add_debug_information(*emitted.module, program, outline, symbol);
  } catch (...) {
    static_cast<void>(emitted.module.release());
    throw;
  }
  if (verification_wanted()) {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(*emitted.module, &stream)) return absl::InternalError("malformed LLVM IR: " + problem);
  }
  return emitted;
}

// Its IR stays where it is if that throws.
std::string emit_text(Target& target, Emitted& emitted, bool as_text = false) {
  return abandon_if_thrown([&] { return target.emit(*emitted.module, as_text); }, emitted.module);
}

// Runs what makes code on this target. What is thrown through LLVM becomes a status, and the target is not used again.
template <class Body>
auto guarded(Target& target, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    target.abandon();
    return out_of_memory();
  } catch (const Error& error) {
    target.abandon();
    return absl::InternalError(error.what());
  }
}

int64_t largest_module(const Outline& outline) {
  std::vector<int64_t> weights(outline.modules);
  for (const OutlinedFunction& f : outline.functions) weights[f.module] += f.weight;
  return *std::ranges::max_element(weights);
}

// Modules one after the other, by as many threads as take part.
class ObjectMaker {
 public:
  ObjectMaker(const loop::Program& program, const Outline& outline, std::string_view symbol,
              const TargetOptions& options)
      : program_(program), outline_(outline), symbol_(symbol), options_(options) {
    plan_.name = program.name;
    plan_.target = "cpu";
    plan_.codes.resize(outline.modules);
    plan_.blocks = {{NativeStep{symbol_}}};
  }

  absl::StatusOr<Plan> run(TargetHandle target) {
    std::vector<std::thread> helpers;
    // A thread whose target is still to be made needs more than one module to be worth it.
    const auto ready = static_cast<uint32_t>(outline_.modules > 1 ? idle_targets(options_) : 0);
    uint32_t most = std::min(static_cast<uint32_t>(usable_cores()),
                             std::max((outline_.modules + 1) / 2, std::min(outline_.modules, ready + 1)));
    if (absl::Status enough = check_memory(largest_module(outline_), most); !enough.ok()) return enough;
    while (helpers.size() + 1 < most) {
      try {
        helpers.emplace_back([this, stops = interrupt_flag()] {
          const Working compiles(Work::kCompile);
          const HelpsComputation helps(stops);
          try {
            absl::StatusOr<TargetHandle> own = borrow_another_target(options_);
            if (own.ok()) work(**own);
          } catch (const std::exception&) {
            // There is less help.
          }
        });
      } catch (const std::exception&) {
        break;  // no thread to be had, or no memory for one
      }
    }
    work(*target);
    {
      const NotWorking waits;
      for (std::thread& helper : helpers) helper.join();
    }
    throw_if_stopped();
    if (!status_.ok()) return status_;
    return std::move(plan_);
  }

 private:
  void work(Target& target) {
    for (uint32_t next; (next = next_.fetch_add(1)) < outline_.modules;) {
      const uint32_t module = outline_.longest_first[next];
      let_others_fork();
      if (!go_on()) {
        next_ = outline_.modules;
        return;
      }
      std::string object;
      absl::StatusOr<Emitted> emitted = guarded(target, [&]() -> absl::StatusOr<Emitted> {
        absl::StatusOr<Emitted> made =
            emit_module(program_, outline_, symbol_, target, Sharing::Threads::kProcess, module);
        if (made.ok()) object = emit_text(target, *made);
        return made;
      });
      std::lock_guard lock(mutex_);
      if (!emitted.ok()) {
        status_.Update(emitted.status());
        next_ = outline_.modules;  // the rest is of no use
        return;
      }
      plan_.codes[module].bytes = std::move(object);
      plan_.arena_bytes = std::max(plan_.arena_bytes, emitted->arena_bytes);
    }
  }

  const loop::Program& program_;
  const Outline& outline_;
  const std::string symbol_;
  const TargetOptions& options_;
  std::atomic<uint32_t> next_ = 0;
  std::mutex mutex_;
  Plan plan_;
  absl::Status status_;
};

// The whole program, to be read.
absl::StatusOr<Emitted> emit_program(const loop::Program& program, std::string_view symbol, Target& target) {
  return emit_module(program, outline_for(program, target, true), symbol, target, Sharing::Threads::kProcess);
}

}  // namespace

absl::StatusOr<Plan> emit_object(const loop::Program& program, std::string_view name, const TargetOptions& options) {
  const std::string symbol = debugging_wanted() ? readable_symbol(program, name) : std::string(name);
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  const Outline functions = outline_for(program, **target, true);
  return ObjectMaker(program, functions, symbol, options).run(*std::move(target));
}

absl::StatusOr<LibraryEntry> emit_library_entry(const loop::Program& program, std::string_view symbol,
                                                const TargetOptions& options, bool may_share) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  return guarded(**target, [&]() -> absl::StatusOr<LibraryEntry> {
    Outline functions = outline_for(program, **target, false);
    functions.asks_caller = functions.may_take_long;
    uint32_t one = 1;
    int64_t weight = 0;
    for (const OutlinedFunction& f : functions.functions) weight += f.weight;
    if (absl::Status enough = check_memory(weight, one); !enough.ok()) return enough;
    absl::StatusOr<Emitted> emitted = emit_module(program, functions, symbol, **target,
                                                  may_share ? Sharing::Threads::kCaller : Sharing::Threads::kNone);
    if (!emitted.ok()) return emitted.status();
    const llvm::StringRef name(symbol.data(), symbol.size());
    emitted->module->getFunction(name)->setVisibility(llvm::GlobalValue::HiddenVisibility);
    const bool shares_loops = emitted->shares_loops;
    const int64_t arena_bytes = emitted->arena_bytes;
    return LibraryEntry{emit_text(**target, *emitted), arena_bytes, shares_loops};
  });
}

absl::StatusOr<LoadedPtr> compile(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<Plan> plan = emit_object(program, "entry", options);
  if (!plan.ok()) return plan.status();
  return cpu_device().load(*plan);
}

absl::StatusOr<std::string> emit_llvm_ir(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  return guarded(**target, [&]() -> absl::StatusOr<std::string> {
    absl::StatusOr<Emitted> emitted = emit_program(program, "entry", **target);
    if (!emitted.ok()) return emitted.status();
    std::string text;
    llvm::raw_string_ostream stream(text);
    emitted->module->print(stream, nullptr);
    return text;
  });
}

absl::StatusOr<std::string> emit_assembly(const loop::Program& program, const TargetOptions& options) {
  absl::StatusOr<TargetHandle> target = borrow_target(options);
  if (!target.ok()) return target.status();
  return guarded(**target, [&]() -> absl::StatusOr<std::string> {
    absl::StatusOr<Emitted> emitted = emit_program(program, "entry", **target);
    if (!emitted.ok()) return emitted.status();
    return emit_text(**target, *emitted, /*as_text=*/true);
  });
}

}  // namespace ct::jit
