// CRC-32C (Castagnoli), the checksum of TFRecord files, tensor bundles and leveldb tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace systole {

// The checksum of `bytes`, or, with the checksum `before` of what comes before them, of both
// together: crc32c(b, crc32c(a)) == crc32c(a + b). crc32c("123456789") is 0xe3069283. Runs at the
// speed of the processor's own instruction where it has one. Thread-safe.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

// The checksum of two parts, the second of `second_bytes` bytes, from those of each: what is read
// or written in parallel has one checksum too. Thread-safe.
uint32_t crc32c_joined(uint32_t first, uint32_t second, uint64_t second_bytes);

// As files keep checksums: a checksum over bytes that hold checksums would tell little.
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

// The same by tables, as on a processor without the instruction. For tests.
uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before = 0);

}  // namespace systole
