// IDX files (MNIST's format), gzipped or not.
//   file  := 0 0 type rank size{rank} data      type, rank := u8; size := u32, big-endian
//   type  := 8 (u8) | 9 (s8) | 11 (s16) | 12 (s32) | 13 (f32) | 14 (f64)
//   data  := the elements, row-major, big-endian
#pragma once

#include <memory>
#include <string>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"
#include "systole/io/wire/compression.h"

namespace systole {

// Reads an array in parts along its first dimension. Not thread-safe. Errors: those of the file;
// INVALID_ARGUMENT for a file that is not IDX or is longer than its array; DATA_LOSS, with the
// bytes, for one that ends early, before memory is allocated if the file size shows it.
class IdxReader {
 public:
  // Detects gzip by its first bytes.
  IdxReader(FileSystem& file_system, const std::string& path);

  // The type of the whole array. Its rank is at least 1.
  const TensorType& type() const { return type_; }
  // The number of slices read along the first dimension.
  int64_t position() const { return position_; }
  // Reads the next `count` slices of the first dimension, or the remaining ones.
  Tensor read(int64_t count);
  // Continues at slice `position` of the first dimension. Errors: OUT_OF_RANGE.
  void seek(int64_t position);

  const std::string& path() const { return source_->path(); }

 private:
  void read_header(uint64_t file_bytes, bool compressed);

  std::unique_ptr<ByteSource> source_;
  TensorType type_;
  int64_t row_bytes_ = 0;
  int64_t position_ = 0;
};

// Reads the whole array.
Tensor read_idx(FileSystem& file_system, const std::string& path);

// Errors: INVALID_ARGUMENT for a dtype that IDX does not have, a scalar, or a size beyond 32 bits.
void write_idx(FileSystem& file_system, const std::string& path, const Tensor& tensor,
               Compression compression = Compression::none);

}  // namespace systole
