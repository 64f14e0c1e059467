// Recognises what rewrites look for: constants, splats, neutral elements.
#pragma once

#include <optional>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// `value`'s definition when it is of that opcode, else nullptr.
Instruction* match(Value value, Opcode opcode);

// The tensor of a constant, else nullptr.
const Tensor* constant_of(Value value);

// When every element of `value` is seen to be the same constant (a constant with one element, or a
// broadcast of one): that constant, with one element. Else nullptr. A constant with several equal
// elements does not count: the simplifier turns it into a broadcast.
const Tensor* splat_of(Value value);

// A constant or a splat of one: what constant folding turns into one constant with its equals.
bool is_known(Value value);

// splat_of(value) equals `number`, told apart from it by nothing: -0.0 is not 0.0. False for
// complex types.
bool is_splat(Value value, double number);

// The element e with op(x, e) == x to the bit for every x of `dtype`, -0, infinities and NaN
// included (but for the payload of a NaN); a scalar. nullopt when there is none, and for complex
// types.
std::optional<Tensor> right_neutral(Opcode opcode, DType dtype);

// The element z with op(x, z) == z to the bit for every x of `dtype`. A scalar; nullopt when there
// is none.
std::optional<Tensor> right_absorbing(Opcode opcode, DType dtype);

// The same element, whatever the shapes: both have one.
bool same_element(const Tensor& a, const Tensor& b);

// Regrouping and reordering op over any elements of `dtype` gives the same to the bit: integers,
// and maximum and minimum of floats.
bool regroups_exactly(Opcode opcode, DType dtype);

// Known never to be -0.0: the only float that x + 0.0 changes.
bool never_negative_zero(Value value);

}  // namespace systole::hlo
