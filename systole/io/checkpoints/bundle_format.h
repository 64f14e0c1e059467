// The format of tensor bundles. A bundle `prefix` consists of
//   prefix.index                  a table (table.h) of key -> message
//     ""                          BundleHeaderProto: number of shards, byte order, version
//     name of a tensor            BundleEntryProto: dtype, shape, shard, offset, size, checksum; of
//                                 a tensor in parts: dtype, shape and the slices
//     slice key                   BundleEntryProto of one part
//   prefix.data-NNNNN-of-NNNNN    shards: the tensors' bytes, without gaps or a header
//     numbers                     row-major, little-endian
//     strings                     varint64 length*, u32 masked CRC-32C of the lengths (each as u32
//                                 or, from 2^32 on, u64), bytes*
//   slice key := ordered number 0, ordered text name, ordered number rank, (ordered signed start,
//                ordered signed length or -1 for all)*
// The checksum of a tensor is the masked CRC-32C of its bytes. For strings, the lengths count as
// u32 or u64 instead of varints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/wire/crc32c.h"

namespace systole {

// The key of the header, which sorts before all names.
inline constexpr std::string_view kBundleHeaderKey;
inline constexpr int kBundleVersion = 1;

// Returns the key of a part.
std::string bundle_slice_key(std::string_view name, const TensorSlice& slice);

// Extends the checksum of strings by one length.
inline uint32_t crc32c_of_length(uint64_t length, uint32_t before) {
  const bool narrow = length <= 0xffffffffU;
  return crc32c({reinterpret_cast<const char*>(&length), narrow ? size_t{4} : size_t{8}}, before);
}

}  // namespace systole
