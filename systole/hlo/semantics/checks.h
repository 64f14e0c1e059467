// Checks shared by many opcodes. Each throws INVALID_ARGUMENT `<opcode>: <what>, got <value>,
// expected <value>`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// Holds a sum of products of two 64-bit attributes, which may come from a hostile program text.
__extension__ using Wide = __int128;

// "[1, 2]"
std::string to_string(std::span<const int64_t> values);

// "pad: edge_padding_low, got 3 values, expected 2"
void check_count(Opcode opcode, std::string_view what, size_t got, int64_t expected);
// Checks that every axis is in [0, rank).
void check_axes(Opcode opcode, std::string_view what, std::span<const int64_t> axes, int64_t rank);
void check_unique(Opcode opcode, std::string_view what, std::span<const int64_t> values);
void check_sorted(Opcode opcode, std::string_view what, std::span<const int64_t> values);
void check_at_least(Opcode opcode, std::string_view what, std::span<const int64_t> values,
                    int64_t minimum);
// Checks a computed dimension: 0 <= value < 2^63.
int64_t check_dim(Opcode opcode, std::string_view what, Wide value);
void check_dtype(Opcode opcode, std::string_view what, DType got, DType expected);
void check_integer(Opcode opcode, std::string_view what, const TensorType& type);
void check_scalar(Opcode opcode, std::string_view what, const TensorType& type);
void check_shape(Opcode opcode, std::string_view what, const Shape& got, const Shape& expected);

// reduce and reduce_window: inputs of one shape, followed by one scalar of the same element type
// per input. Returns the element types. Errors: also UNIMPLEMENTED for arrays as initial values.
std::vector<DType> check_inputs_and_initial_values(const InferContext& context);

// The operands of a product have one element type, or are real numbers of two, as XLA allows: their
// product is that of a common type.
void check_product_dtypes(const InferContext& context);

// Returns the element type of a product of operands of `dtype`: the declared one if there is one
// (XLA's preferred element type: bf16 products may be kept as f32, s8 products as s32), otherwise
// `dtype`.
DType declared_product_dtype(const InferContext& context, DType dtype);

// At most one precision per operand.
void check_precision_config(Opcode opcode, std::span<const Precision> config);

// Checks a region that combines two tuples of scalars into one: (E0.., E0..) -> (E0..), where each
// of `dtypes` is promotable to its Ei. Returns the Ei.
std::vector<DType> check_reducer(const InferContext& context, int region,
                                 std::span<const DType> dtypes);
// Checks a region (E0, E0, E1, E1...) -> pred with exactly these dtypes.
void check_predicate(const InferContext& context, int region, std::span<const DType> dtypes);

// Concatenates the two.
Dims concat(const Dims& a, const Dims& b);
bool contains(std::span<const int64_t> values, int64_t value);
// Returns the axes of [0, rank) that are not in `axes`, ascending.
Dims other_axes(int rank, std::span<const int64_t> axes);

}  // namespace systole::hlo
