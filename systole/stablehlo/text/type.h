// Types in MLIR text: tensor<2x3xf32>, !stablehlo.token, tuple<...>.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::text {

// The type of a value in text, or a tuple of such types. Modules have no tuples: a tuple is
// replaced by its leaves, in order.
struct TypeTree {
  TensorType leaf;  // if it is not a tuple
  bool is_tuple = false;
  std::vector<TypeTree> elements;

  size_t num_leaves() const;
  friend bool operator==(const TypeTree&, const TypeTree&) = default;
};

// "tensor<2x3xf32>"
std::string type_text(const TensorType& type);

// Returns the element type of that name: f32, ui8; index is i64. Returns nullopt for other names.
std::optional<DType> element_type_of(std::string_view name);

// Reads tensor<...>. Errors: UNIMPLEMENTED for dynamic shapes, encodings and unsupported element
// types; INVALID_ARGUMENT.
TensorType read_tensor_type(Lexer& lexer);
// Reads a type, or an alias !name.
TypeTree read_type(Lexer& lexer);
// Reads T or (T, ...). `what` names the construct being read.
std::vector<TypeTree> read_types(Lexer& lexer, std::string_view what);

// Returns the leaves of all types, in order.
std::vector<TensorType> flatten(std::span<const TypeTree> types);

}  // namespace systole::hlo::text
