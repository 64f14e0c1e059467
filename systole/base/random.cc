#include "systole/base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace systole {

std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter) {
  constexpr std::array<int, 8> kRotations = {13, 15, 26, 6, 17, 29, 16, 24};
  const std::array<uint32_t, 3> keys = {key[0], key[1], 0x1BD11BDAU ^ key[0] ^ key[1]};
  uint32_t x0 = counter[0] + keys[0];
  uint32_t x1 = counter[1] + keys[1];
  for (uint32_t round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, kRotations[round % 8]) ^ x0;
    if (round % 4 == 3) {
      const uint32_t group = round / 4 + 1;
      x0 += keys[group % 3];
      x1 += keys[(group + 1) % 3] + group;
    }
  }
  return {x0, x1};
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53U} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

RandomStream::RandomStream(uint64_t seed, uint64_t stream)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(stream) {}

void RandomStream::fill_block() {
  const uint64_t index = position_ / 4;
  block_ = philox4x32(key_, {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                             static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)});
}

void RandomStream::seek(uint64_t position) {
  position_ = position;
  if (position_ % 4 != 0) fill_block();
}

uint32_t RandomStream::next_u32() {
  if (position_ % 4 == 0) fill_block();
  return block_[position_++ % 4];
}

uint64_t RandomStream::next_u64() {
  const uint64_t low = next_u32();
  return low | (uint64_t{next_u32()} << 32);
}

uint64_t RandomStream::next_below(uint64_t bound) {
  // Lemire, "Fast random integer generation in an interval", 2019: returns the high half of a
  // product and rejects the few low halves that would bias the result.
  __extension__ using Product = unsigned __int128;
  while (true) {
    const Product product = static_cast<Product>(next_u64()) * bound;
    const auto low = static_cast<uint64_t>(product);
    // Rejected values are below the bound, so others need no division.
    if (low >= bound || low >= -bound % bound) return static_cast<uint64_t>(product >> 64);
  }
}

double RandomStream::next_uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double RandomStream::next_normal() {
  // Box-Muller, using one of its two results, so that the position is the whole state.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - next_uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * next_uniform());
}

}  // namespace systole
