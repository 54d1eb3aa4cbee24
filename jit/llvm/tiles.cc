#include "jit/llvm/tiles.h"

#include <algorithm>
#include <charconv>

#include "jit/llvm/gemm.h"
#include "jit/llvm/memory.h"

namespace ct::jit {

namespace {

constexpr std::string_view kPrefix = "ct_ready_";

}  // namespace

int64_t tile_number(const TileKind& kind) {
  const int64_t bytes = kind.lanes * dtype_size(kind.dtype);
  int64_t number = kind.dtype == DType::kFloat64 ? 1 : 0;
  number = number * 3 + (bytes == 64 ? 2 : bytes == 32 ? 1 : 0);
  number = number * 2 + (kind.a_by_columns ? 1 : 0);
  number = number * 2 + (kind.masked ? 1 : 0);
  number = number * kMostTileVectors + kind.vectors - 1;
  return number * kMostTileRows + kind.rows - 1;
}

int64_t transpose_number(DType dtype, unsigned lanes) {
  return kTileKinds + (dtype == DType::kFloat64 ? 3 : 0) + (lanes == 8 ? 2 : lanes == 4 ? 1 : 0);
}

int ready_level(const llvm::Module& module) {
  const auto* level = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kReadyLevel));
  return level == nullptr ? 0 : static_cast<int>(level->getZExtValue());
}

std::string ready_symbol(int level, int64_t number) {
  return std::string(kPrefix) + std::to_string(level) + "_" + std::to_string(number);
}

bool is_ready(int level, int64_t number) {
  const int32_t* table = ready_table(level);
  return table != nullptr && table[number] != 0;
}

const void* find_ready(std::string_view symbol) {
  if (symbol == kReadyBlockSymbol) return reinterpret_cast<const void*>(&multiply_ready_block);
  if (!symbol.starts_with(kPrefix)) return nullptr;
  int level = 0;
  int64_t number = -1;
  const char* end = symbol.data() + symbol.size();
  const auto [middle, error] = std::from_chars(symbol.data() + kPrefix.size(), end, level);
  if (error != std::errc() || middle == end || *middle != '_') return nullptr;
  if (std::from_chars(middle + 1, end, number).ptr != end || number < 0 || number >= kReadyFunctions) return nullptr;
  const int32_t* table = ready_table(level);
  if (table == nullptr || table[number] == 0) return nullptr;
  return ready_function(table, number);
}

void multiply_ready_block(const ReadyBlock* block, const char* a, const char* b, char* c, int64_t k_count,
                          int64_t first, int64_t last, int64_t begin, int64_t end) {
  const int32_t* table = ready_table(static_cast<int>(block->level));
  for (int64_t panel = begin; panel < end; ++panel) {
    const ReadyBlock::Part* parts = block->parts + (panel < block->full_panels ? 0 : 2);
    auto strips = [&](const ReadyBlock::Part& part, int64_t from, int64_t to) {
      if (from >= to) return;
      using Tile = void (*)(const char*, const char*, char*, int64_t, int64_t, const int64_t*);
      const auto tile = reinterpret_cast<Tile>(reinterpret_cast<uintptr_t>(ready_function(table, part.tile)));
      tile(a + from * block->a_row, b + panel * block->b_panel, c + from * block->c_row + panel * block->c_panel,
           to - from, k_count, part.parameters);
    };
    strips(parts[0], first, std::min(last, block->full_rows));
    strips(parts[1], std::max(first, block->full_rows), last);
  }
}

absl::StatusOr<std::string> make_ready(int level) {
  const std::string cpu = "x86-64-v" + std::to_string(level);
  absl::StatusOr<TargetHandle> target = borrow_target({.triple = "", .cpu = cpu, .vector_bits = 0});
  if (!target.ok()) return target.status();
  const std::unique_ptr<llvm::Module> module = (*target)->new_module("tiles");
  if (ready_level(*module) != level) return absl::InvalidArgumentError("no tiles are for the processor " + cpu);
  llvm::LLVMContext& context = (*target)->context();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::ArrayType::get(i32, kReadyFunctions);
  auto* table = new llvm::GlobalVariable(*module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr,
                                         "ct_ready_v" + std::to_string(level));
  table->setVisibility(llvm::GlobalValue::HiddenVisibility);
  std::vector<llvm::Constant*> places(kReadyFunctions, llvm::ConstantInt::get(i32, 0));
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    // Tiles are emitted as the products of a program are.
    loop::Builder b("tiles");
    const loop::BufferId in = b.input(dtype, 1), out = b.output(dtype, 1);
    b.gemm(1, 1, 1, {in, 0, 1, 1}, {in, 0, 1, 1}, {out, 0, 1, 1}, false);
    const loop::Program program = b.finish();
    const Outline none;
    CpuEmission emission(program, none, **target, *module, Sharing::Threads::kNone);
    GemmEmitter gemm(emission, program.gemms[0]);
    auto set = [&](int64_t number, llvm::Function* function) {
      function->setName(ready_symbol(level, number));
      llvm::Constant* from_table = llvm::ConstantExpr::getSub(llvm::ConstantExpr::getPtrToInt(function, i64),
                                                              llvm::ConstantExpr::getPtrToInt(table, i64));
      places[static_cast<size_t>(number)] = llvm::ConstantExpr::getTrunc(from_table, i32);
    };
    for (const TileKind& kind : gemm.ready_kinds()) set(tile_number(kind), gemm.emit_ready_tile(kind));
    for (unsigned lanes : gemm.transposed_lanes()) set(transpose_number(dtype, lanes), gemm.transpose_function(lanes));
  }
  table->setInitializer(llvm::ConstantArray::get(type, places));
  return (*target)->emit(*module);
}

}  // namespace ct::jit
