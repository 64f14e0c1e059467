// A tensor that is a part of something larger: of a stack of batches that a device is given.
#pragma once

#include <span>
#include <utility>

#include "systole/base/tensor.h"

namespace systole {

// Where the elements of a tensor are.
struct BorrowedMemory {
  DType dtype = DType::invalid;  // of numbers
  void* data = nullptr;
};

// REQUIRES: one element.
template <>
Tensor Tensor::of<BorrowedMemory>(Shape shape, std::span<const BorrowedMemory> memory);

// Numbers in memory that the caller keeps alive while any copy of the result lives. Unlike that of
// Tensor::view it is there to be written to: the result is unique() until it is copied.
inline Tensor tensor_in(DType dtype, Shape shape, void* data) {
  const BorrowedMemory memory{.dtype = dtype, .data = data};
  return Tensor::of<BorrowedMemory>(std::move(shape), std::span(&memory, 1));
}

}  // namespace systole
