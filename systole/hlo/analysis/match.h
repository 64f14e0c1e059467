// Matchers of constants, splats and neutral elements.
#pragma once

#include <optional>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns `value`'s definition if it has that opcode, else nullptr.
Instruction* match(Value value, Opcode opcode);

// Returns the tensor of a constant, else nullptr.
const Tensor* constant_of(Value value);

// Returns the one-element tensor of a constant with one element, or of a broadcast of one; else
// nullptr. Constants with several equal elements are not recognised: the simplifier turns them into
// broadcasts.
const Tensor* splat_of(Value value);

// Returns whether `value` is a constant or a splat of one. Constant folding merges such values into
// one constant.
bool is_known(Value value);

// Returns whether splat_of(value) is exactly `number`; -0.0 is not 0.0. False for complex types.
bool is_splat(Value value, double number);

// Returns the scalar e with op(x, e) == x bit for bit for every x of `dtype`, including -0,
// infinities and NaN (except NaN payloads). Returns nullopt if there is none, and for complex
// types.
std::optional<Tensor> right_neutral(Opcode opcode, DType dtype);

// Returns the scalar z with op(x, z) == z bit for bit for every x of `dtype`; nullopt if there is
// none.
std::optional<Tensor> right_absorbing(Opcode opcode, DType dtype);

// Returns whether the only elements of both are equal; shapes are ignored.
bool same_element(const Tensor& a, const Tensor& b);

// Returns whether regrouping and reordering op over elements of `dtype` changes no bit: integers,
// and maximum and minimum of floats.
bool regroups_exactly(Opcode opcode, DType dtype);

// Returns whether `value` is known not to be -0.0, the only float that x + 0.0 changes.
bool never_negative_zero(Value value);

}  // namespace systole::hlo
