#include "jit/llvm/modules.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "jit/loop/visit.h"

namespace ct::jit {

using loop::Statement;
using loop::StatementKind;

namespace {

constexpr int64_t kLargestModule = 4 * kChunkWeight;
constexpr int64_t kReadyProductWeight = 32;  // where its tiles are there already

// Of the function's own statements, those that are products.
int64_t products_in(const loop::Program& program, const OutlinedFunction& f) {
  int64_t products = 0;
  const auto count = [&](const Statement& s) { products += s.kind == StatementKind::kGemm; };
  auto call = f.calls.begin();
  for (uint32_t i = f.begin; i < f.end; ++i) {
    if (call != f.calls.end() && call->begin == i) {
      i = (call++)->end - 1;
      continue;
    }
    const Statement& statement = program.blocks[f.block].statements[i];
    count(statement);
    loop::visit_blocks_of(program, statement,
                          [&](loop::BlockId inner) { loop::visit_statements(program, inner, count); });
  }
  return products;
}

}  // namespace

// Many small modules use many cores; each costs more than a small function does.
void bundle_modules(const loop::Program& program, Outline& outline) {
  int64_t total = 0;
  for (const OutlinedFunction& f : outline.functions) total += f.weight;
  const int64_t most = std::clamp(total / 32, 2 * kChunkWeight, kLargestModule);
  int64_t weight = 0;
  std::vector<int64_t> effort = {0};
  for (OutlinedFunction& f : outline.functions) {
    if (weight > 0 && weight + f.weight > most) {
      effort.push_back(0);
      weight = 0;
    }
    f.module = static_cast<uint32_t>(effort.size() - 1);
    weight += f.weight;
    effort.back() += f.weight - products_in(program, f) * (kProductWeight - kReadyProductWeight);
  }
  outline.modules = static_cast<uint32_t>(effort.size());
  outline.longest_first.resize(effort.size());
  std::iota(outline.longest_first.begin(), outline.longest_first.end(), 0);
  std::ranges::stable_sort(outline.longest_first, std::greater<>(), [&](uint32_t module) { return effort[module]; });
}

}  // namespace ct::jit
