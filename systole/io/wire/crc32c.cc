#include "systole/io/wire/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected: bit 31 is x^0

using Table = std::array<uint32_t, 256>;

// tables[k][b]: the effect of byte b on the checksum, k bytes before the end.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

uint64_t load64(const char* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

#if defined(__x86_64__)

// x^(8 * bytes - 33) modulo the polynomial. A checksum times this, carry-less, is what the crc
// instruction turns into that checksum moved over `bytes` zero bytes: the instruction itself
// multiplies by x^32, and a product of two reflected numbers stands one bit too low.
constexpr uint64_t shift_factor(size_t bytes) {
  uint32_t power = 0x80000000;
  for (size_t i = 0; i < 8 * bytes - 33; ++i) {
    power = (power >> 1) ^ ((power & 1) != 0 ? kPolynomial : 0);
  }
  return power;
}

template <size_t kBytes>
[[gnu::target("sse4.2,pclmul")]] inline uint64_t shifted(uint64_t crc) {
  static constexpr uint64_t kFactor = shift_factor(kBytes);
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                                               _mm_cvtsi64_si128(kFactor), 0);
  return _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product)));
}

// Three lanes of kBytes at a time: the instruction takes three cycles, and one can start in each.
template <size_t kBytes>
[[gnu::target("sse4.2,pclmul")]] inline uint64_t three_lanes(const char*& at, size_t& size,
                                                             uint64_t crc) {
  while (size >= 3 * kBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kBytes; i += 8) {
      crc = _mm_crc32_u64(crc, load64(at + i));
      second = _mm_crc32_u64(second, load64(at + kBytes + i));
      third = _mm_crc32_u64(third, load64(at + 2 * kBytes + i));
    }
    crc = shifted<2 * kBytes>(crc) ^ shifted<kBytes>(second) ^ third;
    at += 3 * kBytes;
    size -= 3 * kBytes;
  }
  return crc;
}

[[gnu::target("sse4.2,pclmul")]] uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                uint32_t before) {
  const char* at = bytes.data();
  size_t size = bytes.size();
  uint64_t crc = ~before;
  if (size >= 96) {
    crc = three_lanes<1024>(at, size, crc);
    crc = three_lanes<128>(at, size, crc);
    crc = three_lanes<32>(at, size, crc);
  }
  for (; size >= 8; size -= 8, at += 8) crc = _mm_crc32_u64(crc, load64(at));
  auto narrow = static_cast<uint32_t>(crc);
  if (size >= 4) {
    uint32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    narrow = _mm_crc32_u32(narrow, value);
    at += 4;
    size -= 4;
  }
  for (; size > 0; --size, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}

// False during static initialization before this file's: then the tables are used.
const bool kHasInstruction =
    __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;

#endif

// The product of two polynomials modulo that of the checksum.
uint32_t times(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

uint32_t crc32c_joined(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t power = 0x80000000 >> 8;  // x^8: of one byte, of two, of four...
  for (; second_bytes != 0; second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) first = times(first, power);
    power = times(power, power);
  }
  return first ^ second;
}

uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before) {
  const char* at = bytes.data();
  size_t size = bytes.size();
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t value = load64(at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(value >> (8 * k)) & 0xff];
  }
  for (; size > 0; --size, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  }
  return ~crc;
}

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  if (kHasInstruction) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_tables(bytes, before);
}

}  // namespace systole
