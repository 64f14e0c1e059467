#include "systole/io/testing/sha256.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

namespace systole::testing {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
std::array<uint32_t, 64> make_constants() {
  std::array<uint32_t, 64> constants{};
  size_t found = 0;
  for (int number = 2; found < constants.size(); ++number) {
    bool prime = true;
    for (int divisor = 2; divisor * divisor <= number; ++divisor) prime &= number % divisor != 0;
    if (!prime) continue;
    const long double root = std::cbrt(static_cast<long double>(number));
    constants[found++] = static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
  }
  return constants;
}

}  // namespace

void Sha256::update(std::string_view bytes) {
  total_ += bytes.size();
  for (const char byte : bytes) {
    pending_[used_++] = static_cast<unsigned char>(byte);
    if (used_ == pending_.size()) block();
  }
}

std::string Sha256::finish() {
  const uint64_t bits = total_ * 8;
  update(std::string_view("\x80", 1));
  while (used_ != 56) update(std::string_view("\0", 1));
  for (int shift = 56; shift >= 0; shift -= 8) {
    const char byte = static_cast<char>(bits >> shift);
    update({&byte, 1});
  }
  std::string text;
  for (const uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

void Sha256::block() {
  static const std::array<uint32_t, 64> constants = make_constants();
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t k = 0; k < 4; ++k) w[i] = w[i] << 8 | pending_[4 * i + k];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = std::exchange(g, std::exchange(f, std::exchange(e, d + t1)));
    d = std::exchange(c, std::exchange(b, std::exchange(a, t1 + t2)));
  }
  const std::array<uint32_t, 8> step = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += step[i];
  used_ = 0;
}

}  // namespace systole::testing
