// Kernels of elementwise opcodes. A kernel computes one element, with one function per family of
// element types. Inference and evaluation follow from it.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// Elements are widened to the family's type before the call, and rounded (floating) or wrapped
// (integers) to the element type after it. A null member means that the opcode is not defined for
// that family.
struct UnaryKernel {
  double (*floating)(double) = nullptr;  // f16, bf16, f32, f64
  std::complex<double> (*complex)(std::complex<double>) = nullptr;
  int64_t (*signed_integer)(int64_t) = nullptr;
  uint64_t (*unsigned_integer)(uint64_t) = nullptr;
  // Signed and unsigned integers as `width` unsigned bits; for operations that wrap.
  uint64_t (*bits)(uint64_t, int width) = nullptr;
  bool (*pred)(bool) = nullptr;
};

struct BinaryKernel {
  double (*floating)(double, double) = nullptr;
  std::complex<double> (*complex)(std::complex<double>, std::complex<double>) = nullptr;
  int64_t (*signed_integer)(int64_t, int64_t) = nullptr;
  uint64_t (*unsigned_integer)(uint64_t, uint64_t) = nullptr;
  uint64_t (*bits)(uint64_t, uint64_t, int width) = nullptr;
  bool (*pred)(bool, bool) = nullptr;
};

// C1: operands and result have equal types. I1, I2: the kernel supports the element type.
std::vector<TensorType> infer_elementwise(const InferContext& context, const UnaryKernel& kernel);
std::vector<TensorType> infer_elementwise(const InferContext& context, const BinaryKernel& kernel);

Tensor map_elements(const UnaryKernel& kernel, std::span<const Tensor> operands);
Tensor map_elements(const BinaryKernel& kernel, std::span<const Tensor> operands);

// Returns the semantics of an opcode whose types and values its kernel defines. `others` has the
// fields besides `infer` and `evaluate`.
template <const auto& Kernel>
constexpr OpSemantics elementwise(OpSemantics others = {}) {
  others.infer = [](const InferContext& context) { return infer_elementwise(context, Kernel); };
  others.evaluate = [](const Instruction&, std::span<const Tensor> operands, const Evaluator&) {
    return std::vector<Tensor>{map_elements(Kernel, operands)};
  };
  return others;
}

// Broadcasts a scalar to `shape`. Returns a tensor that already has this shape unchanged.
Tensor splat_to(const Tensor& x, const Shape& shape);

// Returns the bits of element `index` of a numeric, non-complex tensor, zero-extended.
uint64_t element_bits(const Tensor& x, int64_t index);
void set_element_bits(Tensor& x, int64_t index, uint64_t bits);

}  // namespace systole::hlo
