// CRC-32C (Castagnoli), the checksum of TFRecord files, tensor bundles and leveldb tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace systole {

// Returns the checksum of `bytes`, continuing from the checksum `before` of preceding bytes:
// crc32c(b, crc32c(a)) == crc32c(a + b). crc32c("123456789") is 0xe3069283. Uses the CPU's
// instruction if it has one. Thread-safe.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

// Returns the checksum of two consecutive parts from the checksums of each; the second has
// `second_bytes` bytes. For parts read or written in parallel. Thread-safe.
uint32_t crc32c_joined(uint32_t first, uint32_t second, uint64_t second_bytes);

// Masks a checksum as files store it: a checksum over bytes that contain checksums is weak.
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

// The same by tables, as on a CPU without the instruction. For tests.
uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before = 0);

}  // namespace systole
