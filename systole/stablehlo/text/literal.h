// Constants in MLIR text: dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>.
#pragma once

#include <string>
#include <variant>

#include "systole/base/tensor.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::text {

// Prints dense<...> : tensor<...>. Equal elements are printed once. More than `max_elements`
// elements become a string of little-endian hexadecimal digits; both forms preserve every bit. i1
// is never hexadecimal, because MLIR versions disagree on packing eight elements into a byte.
std::string literal_text(const Tensor& value, int64_t max_elements);

// Prints "0.001 : f32", or the bits of a number that is not finite.
std::string float_text(float value);

// A large tensor of equal elements, which a short text can describe.
struct Splat {
  Tensor element;  // a scalar
  TensorType type;
};
// Returns the splat as a full tensor.
Tensor elements_of(const Splat& splat);

// Reads dense<...> : tensor<...> in each of its forms, and dense_resource<name> : tensor<...>,
// whose elements are at the end of the text.
std::variant<Tensor, Splat> read_literal(Lexer& lexer);
// Reads a number with its type, 3.2 : f32.
Tensor read_scalar(Lexer& lexer);

}  // namespace systole::hlo::text
