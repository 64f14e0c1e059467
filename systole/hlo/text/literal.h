// Constants in MLIR text: dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>.
#pragma once

#include <string>
#include <variant>

#include "systole/base/tensor.h"
#include "systole/hlo/text/lexer.h"

namespace systole::hlo::text {

// dense<...> : tensor<...>. Equal elements are written once. More than `max_elements` become a
// string of hexadecimal digits, little-endian, which reads back bit for bit as the decimal form
// does, too. But i1 never does: MLIR has packed eight of them into a byte of that string in some
// versions and not in others.
std::string literal_text(const Tensor& value, int64_t max_elements);

// "0.001 : f32", or its bits where it is not finite.
std::string float_text(float value);

// A large tensor of equal elements, which a few letters of text can be.
struct Splat {
  Tensor element;  // a scalar
  TensorType type;
};
// All of its elements.
Tensor elements_of(const Splat& splat);

// Reads dense<...> : tensor<...> in each of its forms, and dense_resource<name> : tensor<...>,
// whose elements stand at the end of the text.
std::variant<Tensor, Splat> read_literal(Lexer& lexer);
// Reads a number with its type, 3.2 : f32.
Tensor read_scalar(Lexer& lexer);

}  // namespace systole::hlo::text
