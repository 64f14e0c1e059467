// A tensor that is a part of something larger: of a stack of batches that a device is given.
#pragma once

#include <span>
#include <utility>

#include "systole/base/tensor.h"

namespace systole {

// Where the elements of a tensor are that does not own them.
struct BorrowedMemory {
  DType dtype = DType::invalid;  // of numbers
  void* data = nullptr;
};

// REQUIRES: one element.
template <>
Tensor Tensor::of<BorrowedMemory>(Shape shape, std::span<const BorrowedMemory> memory);
// None of a tensor that was not made of such.
template <>
std::span<const BorrowedMemory> Tensor::data<BorrowedMemory>() const;

// Numbers in memory that the caller keeps alive while any copy of the result lives. Unlike that of
// Tensor::view it is there to be written to: the result is unique() until it is copied.
inline Tensor tensor_in(DType dtype, Shape shape, void* data) {
  const BorrowedMemory memory{.dtype = dtype, .data = data};
  return Tensor::of<BorrowedMemory>(std::move(shape), std::span(&memory, 1));
}

// Whether tensor_in() made it, or what it is a copy or a part of.
inline bool is_borrowed(const Tensor& tensor) { return !tensor.data<BorrowedMemory>().empty(); }

}  // namespace systole
