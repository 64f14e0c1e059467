// The format of TFRecord files.
//   file    := record*                  the whole of it may be one zlib or gzip stream
//   record  := length length_crc data data_crc
//   length  := u64 little-endian: the bytes of data
//   *_crc   := u32 little-endian: the masked CRC-32C of the 8 bytes of length, and of data
// There is no header, footer or separator.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace systole {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

inline constexpr size_t kRecordLengthBytes = 8;
inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr size_t kRecordFooterBytes = 4;

}  // namespace systole
