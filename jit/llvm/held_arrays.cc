// Small arrays in registers: through memory, each iteration would wait until the store of the one before it has reached
// the load.
//
// A loop that runs one iteration after the other (`find_held`) may hold an array of a few vectors if its body touches
// that array only in vectorised loops over all of it, element i in iteration i. Such loops are written out, one vector
// after the other, so that every access names its register. Until the function is complete a register is a slot on the
// stack, which LLVM then replaces by values (`promote_registers`).
#include "jit/llvm/held_arrays.h"

#include <map>

#include "jit/llvm/emission.h"
#include "jit/loop/visit.h"
#include "jit/machine/vectorize.h"

namespace ct::jit {

using loop::BlockId;
using loop::BufferId;
using loop::For;
using loop::Index;
using loop::Statement;
using loop::StatementKind;

namespace {

constexpr int64_t kMostVectors = 4;    // of one array
constexpr int64_t kMostRegisters = 8;  // of one loop: the rest is for what it computes

DType stored_dtype(const loop::Buffer& buffer) {
  const DType dtype = real_dtype(buffer.dtype);
  return dtype == DType::kKey ? DType::kUInt64 : dtype;
}

// In the arena: the first byte, and the first one after it.
std::pair<int64_t, int64_t> place_of(const loop::Buffer& temporary) {
  return {temporary.position, temporary.position + temporary.elements * dtype_size(temporary.dtype)};
}

// The buffers that statements touch, each with the width of the vectors in which that happens.
class Accesses {
 public:
  Accesses(const loop::Program& program, const TargetFacts& facts) : program_(program), facts_(facts) {}

  struct Found {
    unsigned width = 0;  // 0: none known yet
    bool written = false;
    bool whole = true;
  };
  std::map<BufferId, Found> found;
  bool plain = true;  // the statements stay in this function

  void look(BlockId block) {
    for (const Statement& s : program_.blocks[block].statements) {
      switch (s.kind) {
        case StatementKind::kLoad:
          // A number of it, known by its place.
          if (!s.index.is_constant() || is_complex(program_.buffers[s.buffer].dtype)) touch(s.buffer).whole = false;
          break;
        case StatementKind::kStore:
          touch(s.buffer).whole = false;
          break;
        case StatementKind::kFor: {
          const For& loop = program_.fors[s.detail];
          const Vectorization how = choose_vectorization(program_, facts_, loop);
          if (how.width == 0) {
            look(loop.body);
          } else {
            look_inside(loop, how);
          }
          break;
        }
        case StatementKind::kGemm: {
          const loop::Gemm& gemm = program_.gemms[s.detail];
          for (const loop::Matrix* matrix : {&gemm.a, &gemm.b, &gemm.c}) touch(matrix->buffer).whole = false;
          break;
        }
        case StatementKind::kFill:
        case StatementKind::kCopy:
          touch(program_.ranges[s.detail].destination).whole = false;
          touch(program_.ranges[s.detail].source).whole = false;
          break;
        case StatementKind::kSwap:
          touch(s.buffer).whole = touch(s.other).whole = false;
          break;
        case StatementKind::kHostCall:
          plain = false;
          break;
        default:
          loop::visit_blocks_of(program_, s, [&](BlockId inner) { look(inner); });
      }
    }
  }

 private:
  Found& touch(BufferId buffer) { return found[buffer]; }

  void look_inside(const For& loop, const Vectorization& how) {
    bool elements = how.masked_tail || (loop.extent.is_constant() && loop.extent.constant() % how.width == 0);
    for (const Statement& s : program_.blocks[loop.body].statements) {
      elements = elements && (loop::is_instruction(s) || s.kind == StatementKind::kStore);
    }
    loop::visit_statements(program_, loop.body, [&](const Statement& s) {
      if (s.kind == StatementKind::kGemm || s.kind == StatementKind::kHostCall) plain = false;
      if (s.kind != StatementKind::kLoad && s.kind != StatementKind::kStore) return;
      const loop::Buffer& buffer = program_.buffers[s.buffer];
      Found& at = touch(s.buffer);
      at.written = at.written || s.kind == StatementKind::kStore;
      at.whole = at.whole && elements && !is_complex(buffer.dtype) && loop.extent == Index(buffer.elements) &&
                 s.index == Index::of(loop.variable) && (at.width == 0 || at.width == how.width);
      at.width = how.width;
    });
  }

  const loop::Program& program_;
  const TargetFacts& facts_;
};

llvm::Constant* held_lanes(Emission& e, const HeldArray& held, int64_t first) {
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (int64_t i = 0; i < held.width; ++i) lanes.push_back(e.b.getInt1(first + i < held.elements));
  return llvm::ConstantVector::get(lanes);
}

}  // namespace

std::vector<BufferId> find_held(Emission& e, std::initializer_list<BlockId> body) {
  std::vector<BufferId> result;
  if (e.lanes.width != 0 || e.code.facts.arch == TargetFacts::Arch::kNvptx) return result;
  Accesses accesses(e.program, e.code.facts);
  for (BlockId block : body) {
    if (!e.outline.calls_in(block).empty()) return result;
    bool calls = false;
    loop::visit_statements(e.program, block, [&](const Statement& s) {
      loop::visit_blocks_of(e.program, s, [&](BlockId inner) { calls = calls || !e.outline.calls_in(inner).empty(); });
    });
    if (calls) return result;
    accesses.look(block);
  }
  if (!accesses.plain) return result;
  // Whoever shares the array's place in memory would be overwritten when the array goes back there.
  auto alone = [&](BufferId id) {
    if (e.program.buffers[id].kind != loop::BufferKind::kTemporary) return true;
    const auto [begin, end] = place_of(e.program.buffers[id]);
    for (const auto& [other_id, _] : accesses.found) {
      const loop::Buffer& other = e.program.buffers[other_id];
      if (other_id == id || other.kind != loop::BufferKind::kTemporary) continue;
      const auto [other_begin, other_end] = place_of(other);
      if (begin < other_end && other_begin < end) return false;
    }
    return true;
  };
  int64_t registers = 0;
  for (const auto& [id, found] : accesses.found) {
    const loop::Buffer& buffer = e.program.buffers[id];
    if (!found.whole || !found.written || e.held.contains(id) || e.addresses.known_base(id) == nullptr ||
        buffer.elements > kMostVectors * found.width || !alone(id)) {
      continue;
    }
    registers += (buffer.elements + found.width - 1) / found.width;
    if (registers > kMostRegisters) break;
    e.held[id] = {found.width, buffer.elements};
    result.push_back(id);
  }
  return result;
}

// The array's registers, from memory.
void hold(Emission& e, absl::Span<const BufferId> buffers) {
  for (BufferId id : buffers) {
    HeldArray& held = e.held[id];
    const DType dtype = stored_dtype(e.program.buffers[id]);
    llvm::Type* element = memory_type(e.code.context, dtype);
    auto* vector = llvm::FixedVectorType::get(element, held.width);
    const llvm::Align align(dtype_size(dtype));
    for (int64_t first = 0; first < held.elements; first += held.width) {
      held.registers.push_back(e.code.new_register(vector));
      llvm::Value* pointer =
          e.b.CreateConstInBoundsGEP1_64(element, e.addresses.known_base(id), static_cast<uint64_t>(first));
      e.b.CreateStore(e.b.CreateMaskedLoad(vector, pointer, align, held_lanes(e, held, first),
                                           llvm::Constant::getNullValue(vector)),
                      held.registers.back());
    }
  }
}

// Back to memory.
void release(Emission& e, absl::Span<const BufferId> buffers) {
  for (BufferId id : buffers) {
    const HeldArray held = e.held[id];
    e.held.erase(id);
    const DType dtype = stored_dtype(e.program.buffers[id]);
    llvm::Type* element = memory_type(e.code.context, dtype);
    auto* vector = llvm::FixedVectorType::get(element, held.width);
    for (size_t i = 0; i < held.registers.size(); ++i) {
      const int64_t first = static_cast<int64_t>(i) * held.width;
      llvm::Value* pointer =
          e.b.CreateConstInBoundsGEP1_64(element, e.addresses.known_base(id), static_cast<uint64_t>(first));
      e.b.CreateMaskedStore(e.b.CreateLoad(vector, held.registers[i]), pointer, llvm::Align(dtype_size(dtype)),
                            held_lanes(e, held, first));
    }
  }
}

llvm::Value* load_held(Emission& e, BufferId buffer, const Address& address, DType dtype) {
  const auto at = e.held.find(buffer);
  if (at == e.held.end()) return nullptr;
  const HeldArray& held = at->second;
  const int64_t element = llvm::cast<llvm::ConstantInt>(address.uniform)->getSExtValue();
  auto* vector = llvm::FixedVectorType::get(memory_type(e.code.context, dtype), held.width);
  llvm::Value* all = e.b.CreateLoad(vector, held.registers[static_cast<size_t>(element / held.width)]);
  if (!address.is_uniform()) return all;
  return e.b.CreateExtractElement(all, static_cast<uint64_t>(element % held.width));
}

bool store_held(Emission& e, BufferId buffer, const Address& address, llvm::Value* stored) {
  const auto at = e.held.find(buffer);
  if (at == e.held.end()) return false;
  // Lanes past the array's end belong to nobody: no mask.
  const int64_t element = llvm::cast<llvm::ConstantInt>(address.uniform)->getSExtValue();
  e.b.CreateStore(stored, at->second.registers[static_cast<size_t>(element / at->second.width)]);
  return true;
}

bool uses_held(Emission& e, const For& loop) {
  bool uses = false;
  loop::visit_statements(e.program, loop.body, [&](const Statement& s) {
    const bool accesses = s.kind == StatementKind::kLoad || s.kind == StatementKind::kStore;
    uses = uses || (accesses && e.held.contains(s.buffer));
  });
  return uses;
}

}  // namespace ct::jit
