// The checks that the constraints of many opcodes have in common. Each throws INVALID_ARGUMENT
// `<opcode>: <what>, got <value>, expected <value>`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {

// Wide enough for a sum of products of two 64-bit attributes, which may come from a hostile program
// text.
__extension__ using Wide = __int128;

// "[1, 2]"
std::string to_string(std::span<const int64_t> values);

// "pad: edge_padding_low, got 3 values, expected 2"
void check_count(Opcode opcode, std::string_view what, size_t got, int64_t expected);
// Every axis is in [0, rank).
void check_axes(Opcode opcode, std::string_view what, std::span<const int64_t> axes, int64_t rank);
void check_unique(Opcode opcode, std::string_view what, std::span<const int64_t> values);
void check_sorted(Opcode opcode, std::string_view what, std::span<const int64_t> values);
void check_at_least(Opcode opcode, std::string_view what, std::span<const int64_t> values,
                    int64_t minimum);
// 0 <= value < 2^63: a dimension's size that an opcode computed.
int64_t check_dim(Opcode opcode, std::string_view what, Wide value);
void check_dtype(Opcode opcode, std::string_view what, DType got, DType expected);
void check_integer(Opcode opcode, std::string_view what, const TensorType& type);
void check_scalar(Opcode opcode, std::string_view what, const TensorType& type);
void check_shape(Opcode opcode, std::string_view what, const Shape& got, const Shape& expected);

// reduce and reduce_window: inputs of one shape, and as many scalars of their element types behind
// them. Returns the element types.
std::vector<DType> check_inputs_and_initial_values(const InferContext& context);

// The element type of a product of operands of `dtype`: theirs, or what was declared (XLA calls it
// the preferred one: products of bf16 may be kept as f32, of s8 as s32).
DType declared_product_dtype(const InferContext& context, DType dtype);

// At most one precision for each of two operands.
void check_precision_config(Opcode opcode, std::span<const Precision> config);

// A region that combines two tuples of scalars of `dtypes` into one: (E0.., E0..) -> (E0..), where
// each of `dtypes` is promotable to its Ei. Returns the Ei.
std::vector<DType> check_reducer(const InferContext& context, int region,
                                 std::span<const DType> dtypes);
// A region (E0, E0, E1, E1...) -> pred with exactly these dtypes.
void check_predicate(const InferContext& context, int region, std::span<const DType> dtypes);

// The two one after the other.
Dims concat(const Dims& a, const Dims& b);
bool contains(std::span<const int64_t> values, int64_t value);
// The axes of [0, rank) that are not in `axes`, ascending.
Dims other_axes(int rank, std::span<const int64_t> axes);

}  // namespace systole::hlo
