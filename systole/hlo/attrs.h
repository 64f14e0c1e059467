// The attributes of instructions: one typed struct for each opcode that has any, named and laid out
// as the StableHLO specification names them. Opcodes without a struct here have NoAttrs.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hlo {

struct NoAttrs {
  friend bool operator==(const NoAttrs&, const NoAttrs&) = default;
};

struct ParameterAttrs {
  int index = 0;
  friend bool operator==(const ParameterAttrs&, const ParameterAttrs&) = default;
};

struct ConstantAttrs {
  Tensor value;
  friend bool operator==(const ConstantAttrs& a, const ConstantAttrs& b) {
    return a.value.identical(b.value);
  }
};

struct CallAttrs {
  std::string callee;  // a function of the module
  friend bool operator==(const CallAttrs&, const CallAttrs&) = default;
};

struct IotaAttrs {
  int64_t iota_dimension = 0;
  friend bool operator==(const IotaAttrs&, const IotaAttrs&) = default;
};

enum class ComparisonDirection : uint8_t { eq, ne, ge, gt, le, lt };
enum class ComparisonType : uint8_t { notype, float_, totalorder, signed_, unsigned_ };
struct CompareAttrs {
  ComparisonDirection direction = ComparisonDirection::eq;
  ComparisonType compare_type = ComparisonType::notype;
  friend bool operator==(const CompareAttrs&, const CompareAttrs&) = default;
};

struct ReducePrecisionAttrs {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  friend bool operator==(const ReducePrecisionAttrs&, const ReducePrecisionAttrs&) = default;
};

struct BroadcastInDimAttrs {
  Dims broadcast_dimensions;  // operand axis -> result axis
  friend bool operator==(const BroadcastInDimAttrs&, const BroadcastInDimAttrs&) = default;
};

struct TransposeAttrs {
  Dims permutation;  // result axis i is operand axis permutation[i]
  friend bool operator==(const TransposeAttrs&, const TransposeAttrs&) = default;
};

// reverse and reduce: the axes reversed or removed.
struct DimensionsAttrs {
  Dims dimensions;
  friend bool operator==(const DimensionsAttrs&, const DimensionsAttrs&) = default;
};

struct ConcatenateAttrs {
  int64_t dimension = 0;
  friend bool operator==(const ConcatenateAttrs&, const ConcatenateAttrs&) = default;
};

struct SliceAttrs {
  Dims start_indices;
  Dims limit_indices;
  Dims strides;
  friend bool operator==(const SliceAttrs&, const SliceAttrs&) = default;
};

struct DynamicSliceAttrs {
  Dims slice_sizes;
  friend bool operator==(const DynamicSliceAttrs&, const DynamicSliceAttrs&) = default;
};

struct PadAttrs {
  Dims edge_padding_low;  // may be negative
  Dims edge_padding_high;
  Dims interior_padding;
  friend bool operator==(const PadAttrs&, const PadAttrs&) = default;
};

struct GatherAttrs {
  Dims offset_dims;
  Dims collapsed_slice_dims;
  Dims operand_batching_dims;
  Dims start_indices_batching_dims;
  Dims start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  friend bool operator==(const GatherAttrs&, const GatherAttrs&) = default;
};

struct ScatterAttrs {
  Dims update_window_dims;
  Dims inserted_window_dims;
  Dims input_batching_dims;
  Dims scatter_indices_batching_dims;
  Dims scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  friend bool operator==(const ScatterAttrs&, const ScatterAttrs&) = default;
};

// reduce_window and select_and_scatter (which has no dilations). All have the operand's rank.
struct WindowAttrs {
  Dims window_dimensions;
  Dims window_strides;
  Dims base_dilations;
  Dims window_dilations;
  std::vector<std::pair<int64_t, int64_t>> padding;  // low, high; may be negative
  friend bool operator==(const WindowAttrs&, const WindowAttrs&) = default;
};

struct SortAttrs {
  int64_t dimension = -1;
  bool is_stable = false;
  friend bool operator==(const SortAttrs&, const SortAttrs&) = default;
};

struct DotAttrs {
  Dims lhs_batching_dimensions;
  Dims rhs_batching_dimensions;
  Dims lhs_contracting_dimensions;
  Dims rhs_contracting_dimensions;
  friend bool operator==(const DotAttrs&, const DotAttrs&) = default;
};

struct ConvolutionAttrs {
  Dims window_strides;
  std::vector<std::pair<int64_t, int64_t>> padding;  // low, high of each spatial dimension
  Dims lhs_dilation;
  Dims rhs_dilation;
  std::vector<bool> window_reversal;
  int64_t input_batch_dimension = 0;
  int64_t input_feature_dimension = 0;
  Dims input_spatial_dimensions;
  int64_t kernel_input_feature_dimension = 0;
  int64_t kernel_output_feature_dimension = 0;
  Dims kernel_spatial_dimensions;
  int64_t output_batch_dimension = 0;
  int64_t output_feature_dimension = 0;
  Dims output_spatial_dimensions;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  friend bool operator==(const ConvolutionAttrs&, const ConvolutionAttrs&) = default;
};

enum class RngAlgorithm : uint8_t { default_, three_fry, philox };
struct RngBitGeneratorAttrs {
  RngAlgorithm rng_algorithm = RngAlgorithm::default_;
  friend bool operator==(const RngBitGeneratorAttrs&, const RngBitGeneratorAttrs&) = default;
};

using Attrs = std::variant<NoAttrs, ParameterAttrs, ConstantAttrs, CallAttrs, IotaAttrs,
                           CompareAttrs, ReducePrecisionAttrs, BroadcastInDimAttrs, TransposeAttrs,
                           DimensionsAttrs, ConcatenateAttrs, SliceAttrs, DynamicSliceAttrs,
                           PadAttrs, GatherAttrs, ScatterAttrs, WindowAttrs, SortAttrs, DotAttrs,
                           ConvolutionAttrs, RngBitGeneratorAttrs>;

}  // namespace systole::hlo
