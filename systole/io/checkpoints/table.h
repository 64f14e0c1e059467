// leveldb's sorted tables as TensorFlow uses them for the index of a tensor bundle.
//   file      := data* metaindex index footer
//   data, metaindex, index := block type crc     block := entry* restart* count
//   entry     := varint32 shared, varint32 unshared, varint32 value_size, key_suffix, value
//   restart   := u32, the offset of an entry that shares nothing      count := u32
//   type      := u8: 0 plain, 1 snappy            crc := u32, masked CRC-32C of block and type
//   footer    := handle handle, zeros up to 40 bytes, u64 0xdb4775248b80fb57
//   handle    := varint64 offset, varint64 size (of metaindex, then of index; values of index are
//                those of data)                   Numbers are little-endian.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole {

struct TableEntry {
  std::string key;
  std::string value;
};

// Returns all entries of the table `bytes`, in order. Checks the checksum of each block. Errors
// start with `path`: DATA_LOSS with the offset.
std::vector<TableEntry> read_table(const std::string& path, std::string_view bytes);

// Returns the bytes of a table as TensorFlow's BundleWriter makes it: uncompressed, with blocks of
// 256 KiB. REQUIRES: keys increase bytewise.
std::string write_table(const std::vector<TableEntry>& entries);

}  // namespace systole
