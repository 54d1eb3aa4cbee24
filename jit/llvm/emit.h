// The emitter: loop IR to LLVM IR by IRBuilder, one statement at a time, for every target.
//
// Vectorising is a way of emitting, not a pass. While a loop is being vectorised (`lanes_`), its variable is the first
// of `width` consecutive values and each loop IR value is either uniform (an LLVM scalar) or one per lane (an LLVM
// vector), whichever its operands make it: `values_` says which, by type. Loads and stores look at the coefficient of
// the loop variable in their index: 0 is a uniform access, 1 a contiguous vector, -1 a reversed one, 2 of a complex
// buffer an interleaved one, anything else a gather or scatter. Lanes can be masked: by the loop's tail, and by the
// branches of a divergent If or While.
//
// Start at emit_for (emit_loop.cc); emit.cc has statements and memory, emit_scalar.cc arithmetic, gemm.cc matrix
// products.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <vector>

#include "jit/cost/cost.h"
#include "jit/llvm/outline.h"
#include "jit/llvm/target.h"
#include "jit/loop/loop.h"

namespace ct::jit {

// How a value of `dtype` is held: as in registers (bool is i1, the small floats are float), or as it lies in memory.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);

// Arithmetic on scalars or vectors alike (emit_scalar.cc). Operands of one call have equal types.
class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilder<>& builder, const TargetFacts& facts) : b_(builder), facts_(facts) {}

  llvm::Value* apply(ScalarOp op, DType operand_dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* scale(llvm::Value* x, llvm::Value* exponent, llvm::Value* exponent_as_float);
  llvm::Value* mul_high(llvm::Value* a, llvm::Value* b);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);
  // Between the forms in memory and in registers.
  llvm::Value* decode(llvm::Value* stored, DType dtype);
  llvm::Value* encode(llvm::Value* value, DType dtype);
  llvm::Value* constant(DType dtype, uint64_t bits);
  // The neutral element of a reduction.
  llvm::Value* identity(ScalarOp op, DType dtype);

 private:
  llvm::Type* like(llvm::Type* element, llvm::Value* shape);
  llvm::Value* round_to(llvm::Value* value, DType dtype);
  llvm::Value* decode_small(llvm::Value* stored, DType dtype);
  llvm::Value* encode_small(llvm::Value* value, DType dtype);
  llvm::Value* apply_integer(ScalarOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* apply_float(ScalarOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* round_without_instruction(ScalarOp op, llvm::Value* a);

  llvm::IRBuilder<>& b_;
  const TargetFacts& facts_;
};

// Where vectors begin must not depend on where threads' pieces of a loop do, which are multiples of this: no vector has
// more lanes.
inline constexpr int64_t kVectorMultiple = 64;

// How a loop is vectorised on a target (vectorize.cc).
struct Vectorization {
  unsigned width = 0;  // 0: the loop stays scalar
  unsigned unroll = 1;
  bool masked_tail = false;
  bool one_body = false;  // with masked_tail: every vector is masked
};
// Whether `width` elements this far apart are better loaded with what lies between them than gathered one by one.
bool is_near(const TargetFacts& facts, int64_t width, int64_t stride);
Vectorization choose_vectorization(const loop::Program& program, const TargetFacts& facts, const loop::For& loop);
// Of an elementwise loop, all that the emitter does differently for other extents. Empty: it is no such loop, or so
// long that threads' pieces, questions and caches count.
std::vector<uint64_t> decided_by_extent(const loop::Program& program, const TargetFacts& facts, CostModel& cost,
                                        const loop::For& loop);

class Emitter {
 public:
  // `shares_loops`: where the code runs there is a pool of threads (device/cpu/pool.h).
  Emitter(const loop::Program& program, const Outline& outline, Target& target, llvm::Module& module,
          bool shares_loops);

  // The functions of the outline that are in one of its modules; or all, if this is the only one. The entry has type
  // EntryPoint and is called `symbol`.
  void emit_module(std::string_view symbol, uint32_t module);
  void emit_whole(std::string_view symbol);
  int64_t arena_bytes() const { return arena_bytes_; }

 private:
  friend class GemmEmitter;
  friend class KernelEmitter;  // ptx.cc

  struct Lanes {
    loop::Value variable;
    unsigned width;
    llvm::Value* mask;  // null: all lanes are active
    // Of a mask that most vectors have all lanes of: that mask, and whether they are all active.
    llvm::Value* tail = nullptr;
    llvm::Value* whole = nullptr;
  };
  // The lanes' addresses: uniform + lane * stride + varying.
  struct Address {
    llvm::Value* uniform;
    int64_t stride = 0;
    llvm::Value* varying = nullptr;
    bool is_uniform() const { return stride == 0 && varying == nullptr; }
  };

  // emit_function.cc.
  llvm::Function* declare(uint32_t function);
  void emit_function(uint32_t function);
  void begin_function(llvm::Function* function);
  void emit_call(const OutlinedCall& call);
  llvm::GlobalVariable* table_of(const OutlinedCall& call);
  void go_on_if(llvm::Value* succeeded);  // else the function returns, and with it the program
  llvm::Value* original_base(loop::BufferId buffer);
  llvm::Value* base_by_table(loop::BufferId buffer);
  // Of what the statement and those inside it use, until `forget_bases`.
  llvm::SmallVector<loop::BufferId, 16> know_bases(const loop::Statement& statement);
  void forget_bases(absl::Span<const loop::BufferId> buffers);
  void set_base(loop::BufferId buffer, llvm::Value* is);
  llvm::GlobalVariable* table(loop::BufferId constant);
  void know(loop::Value value, llvm::Value* is);
  // The same for what a statement computes: values that other functions need go to their slots, too.
  void define(loop::Value value, llvm::Value* is);
  llvm::Value* arena_at(int64_t offset);
  llvm::Value* slot_of(loop::Value value);
  llvm::Value* load_slot(loop::Value value);

  // emit.cc: statements.
  void emit_block(loop::BlockId block);
  void emit_statements(loop::BlockId block, uint32_t begin, uint32_t end, absl::Span<const OutlinedCall> calls);
  void emit_statement(const loop::Statement& statement, const loop::Statement* following, bool* took_following);
  void emit_range(const loop::Statement& statement);
  void emit_swap(loop::BufferId a, loop::BufferId b);
  void emit_host_call(const loop::HostCall& call);
  llvm::Value* emit_instruction(const loop::Statement& statement);
  // Of the variable being vectorised, the lanes' values; its first lane is values_[variable].
  llvm::Value* value(loop::Value value) {
    return lanes_.width != 0 && value == lanes_.variable ? index_value(loop::Index::of(value)) : values_[value];
  }
  llvm::Value* widen(llvm::Value* value);  // scalar -> all lanes; vectors pass
  llvm::Value* hoisted(llvm::Value* value);
  // Gives all the same shape: vectors if any is one.
  void unify(std::initializer_list<llvm::Value**> values);
  Address address(const loop::Index& index);
  llvm::Value* index_value(const loop::Index& index);    // i64, or vector of i64
  llvm::Value* uniform_index(const loop::Index& index);  // i64; the index does not depend on lanes
  llvm::Value* extent_of(const loop::For& loop);
  llvm::Value* lane_numbers(llvm::Type* element, unsigned width);
  llvm::Value* base(loop::BufferId buffer);
  llvm::Value* element_pointer(loop::BufferId buffer, llvm::Value* index);
  llvm::Value* load(loop::BufferId buffer, const loop::Index& index, bool any_lane_may);
  llvm::Value* load_near(llvm::Value* pointer, llvm::FixedVectorType* type, int64_t stride, llvm::Align align);
  void store(loop::BufferId buffer, const loop::Index& index, llvm::Value* value);
  void store_complex(loop::BufferId buffer, const loop::Index& index, llvm::Value* re, llvm::Value* im);
  llvm::Value* interleaved_mask();
  void if_whole(llvm::function_ref<void()> plain, llvm::function_ref<void()> masked);
  void store_whole(llvm::Value* stored, llvm::Value* pointer, llvm::Align align);
  void store_masked(llvm::Value* stored, llvm::Value* pointer, llvm::Align align, llvm::Value* mask);
  llvm::Value* load_masked(llvm::FixedVectorType* vector, llvm::Value* pointer, llvm::Align align);
  llvm::Value* any_lane(llvm::Value* mask);

  // emit_loop.cc: control.
  void emit_for(const loop::For& loop);
  // Iterations [begin, end), where begin is a multiple of any vector's width.
  void emit_scalar_for(const loop::For& loop, llvm::Value* begin, llvm::Value* end);
  class VectorLoop;  // emit_vectors.cc
  void emit_vector_for(const loop::For& loop, Vectorization how, llvm::Value* begin, llvm::Value* end);
  void emit_while(const loop::While& loop);
  void emit_if(const loop::If& branch);
  llvm::Value* combine(ScalarOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* combine_lanes(ScalarOp op, DType dtype, llvm::Value* vector);
  // for (i = begin; i < end; i += step) carries = body(i, carries). No code for loops known to run zero times, no loop
  // for once.
  using Values = llvm::SmallVector<llvm::Value*, 4>;
  Values run_loop(llvm::Value* begin, llvm::Value* end, int64_t step, Values carries,
                  llvm::function_ref<Values(llvm::Value*, const Values&)> body);
  bool swaps_within(loop::BlockId block) const;

  // emit_memory.cc: large results past the caches, and blocks turned over in registers.
  bool streams(loop::BufferId buffer);
  bool fills_lines(const loop::For& loop, const loop::Statement& store) const;
  bool streams_from(const loop::For& loop, unsigned width);
  void store_past_caches(llvm::Value* stored, llvm::Value* pointer);
  Values in_both_ways(const loop::For& loop, llvm::Value* begin, const Values& sums,
                      llvm::function_ref<Values(const Values&)> emit);
  void finish_streams();
  bool emit_transposed_copy(const loop::For& loop);

  // emit_repeats.cc: elements that are stored several times in a row, by an inner loop.
  struct Repeats {
    const loop::For* inner;
    unsigned width;
  };
  std::optional<Repeats> find_repeats(const loop::For& loop) const;
  // All whole vectors from `begin` on; returns where they end.
  llvm::Value* emit_repeats(const loop::For& loop, const Repeats& repeats, llvm::Value* begin, llvm::Value* end);

  // emit_registers.cc: small arrays that a loop keeps in registers from one iteration to the next.
  struct HeldArray {
    unsigned width = 0;  // elements of a register
    int64_t elements = 0;
    llvm::SmallVector<llvm::AllocaInst*, 4> registers{};  // stack slots until the function is complete
  };
  // Those that the statements of these blocks, which are the body of a loop, only use whole.
  std::vector<loop::BufferId> find_held(std::initializer_list<loop::BlockId> body);
  void hold(absl::Span<const loop::BufferId> buffers);
  void release(absl::Span<const loop::BufferId> buffers);
  // Null: the access is one to memory.
  llvm::Value* load_held(loop::BufferId buffer, const Address& address, DType dtype);
  bool store_held(loop::BufferId buffer, const Address& address, llvm::Value* stored);
  llvm::Constant* held_lanes(const HeldArray& held, int64_t first);
  bool uses_held(const loop::For& loop) const;
  void promote_registers();

  // emit_rare.cc: branches that lanes rarely take. Lanes out of `active` have any results.
  bool is_rare(loop::BlockId block) const;
  Values emit_rare(loop::BlockId block, llvm::Value* active, absl::Span<const loop::Value> results);
  llvm::Function* rare_function(loop::BlockId block, absl::Span<const loop::Value> captured,
                                absl::Span<const loop::Value> results);

  // emit_parallel.cc: loops that threads share.
  bool is_shared(const loop::For& loop);
  bool may_share(loop::BlockId block) const;
  bool shares_inside(loop::BlockId block);
  void emit_shared_for(const loop::For& loop, Vectorization how);
  // Iterations [0, extent) of `body`, cut at multiples of `multiple`; alone where sharing is not possible.
  // `nanoseconds` is an iteration's cost; `scratch_used` bytes of scratch memory are taken.
  void share_range(llvm::Value* extent, double nanoseconds, int64_t multiple, int64_t scratch_used,
                   llvm::function_ref<void(llvm::Value* begin, llvm::Value* end)> body);

  // emit_polls.cc: whether the program is to go on. `nanoseconds` is what was done since the last question.
  double time_if_long(const loop::For& loop);  // of an iteration; 0: the loop needs no questions
  void poll(double nanoseconds);
  void poll_anywhere(double nanoseconds);
  void count_time(const loop::Statement& statement, double& pending);
  bool may_stop(loop::BlockId block, uint32_t begin, uint32_t end);
  // After what takes so long and may have returned early.
  void stop_if_told(double nanoseconds);
  llvm::Value* ask_to_go_on();
  llvm::Value* read_stop_flag();
  // run_loop, with questions where a step takes `nanoseconds`; none if that is 0.
  Values run_long_loop(llvm::Value* begin, llvm::Value* end, int64_t step, Values carries, double nanoseconds,
                       llvm::function_ref<Values(llvm::Value*, const Values&)> body);

  llvm::BasicBlock* new_block(const char* name);
  int64_t reserve_scratch(int64_t bytes);  // offset in the arena past the program's own

  const loop::Program& program_;
  const Outline& outline_;
  Target& target_;
  const TargetFacts& facts_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  std::string symbol_;
  uint32_t module_number_ = 0;
  llvm::GlobalValue::LinkageTypes linkage_ = llvm::GlobalValue::InternalLinkage;  // between functions of the program
  llvm::Function* function_ = nullptr;
  CostModel cost_;
  bool shares_loops_;
  bool polls_ = false;                     // emit_polls.cc
  llvm::AllocaInst* time_left_ = nullptr;  // until this function asks again
  // In a function of a range: its own scratch memory, and how much it uses.
  bool in_range_ = false;
  llvm::Value* range_scratch_ = nullptr;
  int64_t range_scratch_bytes_ = 0;
  llvm::BasicBlock* failed_ = nullptr;                                     // where a host call that fails goes: returns
  bool is_shared_ = false;                                                 // the function
  llvm::Value *inputs_ = nullptr, *outputs_ = nullptr, *arena_ = nullptr;  // a shared one has only the last
  std::vector<llvm::Value*> values_;
  // Null: of a constant, of a buffer that swaps, or of one that is looked up at the next statement that uses it.
  std::vector<llvm::Value*> bases_;
  std::vector<loop::Value> known_values_;                      // those that this function has set
  std::vector<loop::BufferId> known_bases_, swapping_;         // buffers of this function
  llvm::DenseMap<loop::Value, llvm::Value*> result_pointers_;  // of a shared function
  llvm::Value* table_ = nullptr;                               // of a part
  llvm::DenseMap<loop::BufferId, uint64_t> table_entries_;     // where the part's arrays are in it
  bool bases_known_ = false;                                   // inside a statement: of all that it uses
  const loop::For* any_extent_ = nullptr;                      // whose extent is a parameter
  llvm::Value* extent_ = nullptr;
  llvm::DenseMap<loop::Value, llvm::Value*> varied_;  // constants that are a shared function's parameters
  std::vector<llvm::GlobalVariable*> globals_;        // of constant buffers
  Lanes lanes_{loop::kNoValue, 0, nullptr};
  // Where the vector constants of the loop being vectorised are set up, and those that have been.
  llvm::BasicBlock* constants_block_ = nullptr;
  llvm::DenseMap<llvm::Value*, llvm::Value*> constants_;
  std::vector<bool> streams_;    // by buffer; empty: not known yet
  bool streaming_ = false;       // the loop being emitted stores past the caches
  bool stores_pending_ = false;  // such stores await a fence
  int depth_ = 0;                // of loops
  llvm::DenseMap<loop::BufferId, HeldArray> held_;
  std::vector<llvm::AllocaInst*> promoted_;                                               // of all functions so far
  std::map<std::pair<unsigned, std::vector<uint64_t>>, llvm::Function*> rare_functions_;  // by lanes and form
  int64_t arena_bytes_;
  llvm::IntegerType* i64_;
};

// What NAME_stop of a library sets, an int32.
llvm::GlobalVariable* stop_flag(llvm::Module& module);
// The functions of an exported library (c_functions.cc) around the module's entry point, which becomes private.
void add_c_functions(llvm::Module& module, const Target& target, const loop::Program& program,
                     std::string_view entry_symbol, const std::string& name, int64_t arena_bytes,
                     absl::Span<const BoundedInput> bounded, int64_t stop_slot);

}  // namespace ct::jit
