#include "python_bindings/exchange.h"

#include <cstdint>
#include <cstring>

namespace ct::python {
namespace {

// So many bytes at once, in one register of any processor.
using Block = uint8_t __attribute__((vector_size(16)));

Block load(const uint8_t* from) {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

}  // namespace

void copy_elements(DType dtype, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (!is_bool(dtype)) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto* result = static_cast<uint8_t*>(to);
  const auto* source = static_cast<const uint8_t*>(from);
  size_t i = 0;
  for (; i + sizeof(Block) <= bytes; i += sizeof(Block)) {
    const Block truth = reinterpret_cast<Block>(load(source + i) != 0) & 1;
    std::memcpy(result + i, &truth, sizeof truth);
  }
  for (; i < bytes; ++i) result[i] = source[i] != 0;
}

bool canonical_bools(const void* data, size_t bytes) {
  const auto* source = static_cast<const uint8_t*>(data);
  Block others{};
  size_t i = 0;
  for (; i + sizeof(Block) <= bytes; i += sizeof(Block)) others |= load(source + i);
  uint8_t other = 0;
  for (; i < bytes; ++i) other |= source[i];
  for (size_t k = 0; k < sizeof(Block); ++k) other |= others[k];
  return other <= 1;
}

}  // namespace ct::python
