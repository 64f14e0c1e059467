// Types in MLIR text: tensor<2x3xf32>, !stablehlo.token, tuple<...>.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"
#include "systole/hlo/text/lexer.h"

namespace systole::hlo::text {

// The type of a name in text: a value's, or a tuple of such types. Modules have no tuples: the
// leaves of one stand for it, in order, wherever it does.
struct TypeTree {
  TensorType leaf;  // of what is no tuple
  bool is_tuple = false;
  std::vector<TypeTree> elements;

  size_t num_leaves() const;
  friend bool operator==(const TypeTree&, const TypeTree&) = default;
};

// "tensor<2x3xf32>"
std::string type_text(const TensorType& type);

// The element type that a text calls so: f32, ui8, index, which is as wide as a pointer. nullopt
// for any other.
std::optional<DType> element_type_of(std::string_view name);

// Reads tensor<...>. Errors: UNIMPLEMENTED for dynamic shapes, encodings and element types that we
// do not have; INVALID_ARGUMENT.
TensorType read_tensor_type(Lexer& lexer);
// Reads any type of a value, or the name of one, !name.
TypeTree read_type(Lexer& lexer);
// T, or (T, ...); `what` names what is being read.
std::vector<TypeTree> read_types(Lexer& lexer, std::string_view what);

// The leaves of all, in order.
std::vector<TensorType> flatten(std::span<const TypeTree> types);

}  // namespace systole::hlo::text
