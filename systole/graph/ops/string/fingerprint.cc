#include "systole/graph/ops/string/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace systole {
namespace {

constexpr uint64_t kPrime0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kPrime1 = 0xb492b66fbe98f273;
constexpr uint64_t kPrime2 = 0x9ae16a3b2f90404f;

uint64_t load64(const char* s) {
  uint64_t value = 0;
  std::memcpy(&value, s, sizeof value);
  return value;
}

uint64_t load32(const char* s) {
  uint32_t value = 0;
  std::memcpy(&value, s, sizeof value);
  return value;
}

uint64_t rotate(uint64_t value, int by) { return std::rotr(value, by); }
uint64_t fold(uint64_t value) { return value ^ (value >> 47U); }

uint64_t combine(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = fold((u ^ v) * factor);
  return fold((v ^ a) * factor) * factor;
}

uint64_t up_to_16(const char* s, size_t size) {
  const uint64_t factor = kPrime2 + size * 2;
  if (size >= 8) {
    const uint64_t a = load64(s) + kPrime2;
    const uint64_t b = load64(s + size - 8);
    return combine(rotate(b, 37) * factor + a, (rotate(a, 25) + b) * factor, factor);
  }
  if (size >= 4) return combine(size + (load32(s) << 3U), load32(s + size - 4), factor);
  if (size == 0) return kPrime2;
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(s[i])}; };
  const uint32_t y = byte(0) + (byte(size >> 1U) << 8U);
  const uint32_t z = static_cast<uint32_t>(size) + (byte(size - 1) << 2U);
  return fold(y * kPrime2 ^ z * kPrime0) * kPrime2;
}

uint64_t up_to_32(const char* s, size_t size) {
  const uint64_t factor = kPrime2 + size * 2;
  const uint64_t a = load64(s) * kPrime1;
  const uint64_t b = load64(s + 8);
  const uint64_t c = load64(s + size - 8) * factor;
  const uint64_t d = load64(s + size - 16) * kPrime2;
  return combine(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + kPrime2, 18) + c, factor);
}

uint64_t up_to_64(const char* s, size_t size) {
  const uint64_t factor = kPrime2 + size * 2;
  const uint64_t a = load64(s) * kPrime2;
  const uint64_t b = load64(s + 8);
  const uint64_t c = load64(s + size - 8) * factor;
  const uint64_t d = load64(s + size - 16) * kPrime2;
  const uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
  const uint64_t z = combine(y, a + rotate(b + kPrime2, 18) + c, factor);
  const uint64_t e = load64(s + 16) * factor;
  const uint64_t f = load64(s + 24);
  const uint64_t g = (y + load64(s + size - 32)) * factor;
  const uint64_t h = (z + load64(s + size - 24)) * factor;
  return combine(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, factor);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair weak_32(const char* s, uint64_t a, uint64_t b) {
  const uint64_t w = load64(s);
  const uint64_t z = load64(s + 24);
  a += w;
  b = rotate(b + a + z, 21);
  const uint64_t c = a;
  a += load64(s + 8);
  a += load64(s + 16);
  b += rotate(a, 44);
  return {a + z, b + c};
}

// What the loop over blocks of 64 bytes carries.
struct State {
  uint64_t x, y, z;
  Pair v, w;

  void add_block(const char* s, uint64_t factor, uint64_t weight) {
    x = rotate(x + y + v.first + load64(s + 8), 37) * factor;
    y = rotate(y + v.second + load64(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + load64(s + 40);
    z = rotate(z + w.first, 33) * factor;
    v = weak_32(s, v.second * factor, x + w.first);
    w = weak_32(s + 32, z + w.second, y + load64(s + 16));
    std::swap(z, x);
  }
};

uint64_t long_text(const char* s, size_t size) {
  constexpr uint64_t kSeed = 81;
  State state{
      .x = kSeed * kPrime2 + load64(s), .y = kSeed * kPrime1 + 113, .z = 0, .v = {}, .w = {}};
  state.z = fold(state.y * kPrime2 + 113) * kPrime2;
  const size_t blocks = (size - 1) / 64;
  for (size_t i = 0; i < blocks; ++i) state.add_block(s + i * 64, kPrime1, 1);
  const uint64_t factor = kPrime1 + ((state.z & 0xffU) << 1U);
  state.w.first += (size - 1) & 63U;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.add_block(s + size - 64, factor, 9);
  return combine(combine(state.v.first, state.w.first, factor) + fold(state.y) * kPrime0 + state.z,
                 combine(state.v.second, state.w.second, factor) + state.x, factor);
}

}  // namespace

uint64_t fingerprint64(std::string_view text) {
  const char* const s = text.data();
  const size_t size = text.size();
  if (size <= 16) return up_to_16(s, size);
  if (size <= 32) return up_to_32(s, size);
  if (size <= 64) return up_to_64(s, size);
  return long_text(s, size);
}

}  // namespace systole
