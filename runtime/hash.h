// The one hash mixer of the structural hashes (avals, attributes, graphs): stable across processes, so that keys
// can name files of the disk cache.
#pragma once

#include <cstdint>
#include <string_view>

namespace ct {

inline uint64_t hash_combine(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
  return x ^ (x >> 32);
}

inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325ull) {
  for (unsigned char c : bytes) seed = (seed ^ c) * 0x100000001b3ull;
  return hash_combine(seed, bytes.size());
}

}  // namespace ct
