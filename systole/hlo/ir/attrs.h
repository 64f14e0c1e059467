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

// An attribute that no pass looks into, as MLIR text: kept as it was read. "" when there is none.
struct AttrText {
  std::string text;
  friend bool operator==(const AttrText&, const AttrText&) = default;
};
struct NamedAttrText {
  std::string name;
  AttrText attribute;
  friend bool operator==(const NamedAttrText&, const NamedAttrText&) = default;
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

// An operation with a meaning of its own that a function of the module spells out.
struct CompositeAttrs {
  std::string name;  // "namespace.op"
  AttrText composite_attributes;
  std::string decomposition;  // a function of the module
  int version = 0;
  friend bool operator==(const CompositeAttrs&, const CompositeAttrs&) = default;
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

// reverse, reduce and map: the axes reversed, removed or, all of them, mapped along.
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

struct GetDimensionSizeAttrs {
  int64_t dimension = 0;
  friend bool operator==(const GetDimensionSizeAttrs&, const GetDimensionSizeAttrs&) = default;
};

struct BatchNormAttrs {
  float epsilon = 0;
  int64_t feature_index = 0;
  friend bool operator==(const BatchNormAttrs&, const BatchNormAttrs&) = default;
};

struct SortAttrs {
  int64_t dimension = -1;
  bool is_stable = false;
  friend bool operator==(const SortAttrs&, const SortAttrs&) = default;
};

// How exact a product must be, as XLA names it; one for each operand.
enum class Precision : uint8_t { default_, high, highest };

struct DotAttrs {
  Dims lhs_batching_dimensions;
  Dims rhs_batching_dimensions;
  Dims lhs_contracting_dimensions;
  Dims rhs_contracting_dimensions;
  std::vector<Precision> precision_config = {};  // empty, or one for each operand
  AttrText algorithm = {};
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
  std::vector<Precision> precision_config = {};  // empty, or one for each operand
  friend bool operator==(const ConvolutionAttrs&, const ConvolutionAttrs&) = default;
};

enum class FftType : uint8_t { fft, ifft, rfft, irfft };
struct FftAttrs {
  FftType fft_type = FftType::fft;
  Dims fft_length;
  friend bool operator==(const FftAttrs&, const FftAttrs&) = default;
};

struct CholeskyAttrs {
  bool lower = false;
  friend bool operator==(const CholeskyAttrs&, const CholeskyAttrs&) = default;
};

enum class Transpose : uint8_t { transpose_invalid, no_transpose, transpose, adjoint };
struct TriangularSolveAttrs {
  bool left_side = true;
  bool lower = false;
  bool unit_diagonal = false;
  Transpose transpose_a = Transpose::no_transpose;
  friend bool operator==(const TriangularSolveAttrs&, const TriangularSolveAttrs&) = default;
};

enum class RngDistribution : uint8_t { uniform, normal };
struct RngAttrs {
  RngDistribution rng_distribution = RngDistribution::uniform;
  friend bool operator==(const RngAttrs&, const RngAttrs&) = default;
};

enum class RngAlgorithm : uint8_t { default_, three_fry, philox };
struct RngBitGeneratorAttrs {
  RngAlgorithm rng_algorithm = RngAlgorithm::default_;
  friend bool operator==(const RngBitGeneratorAttrs&, const RngBitGeneratorAttrs&) = default;
};

// The channel of a communication. With handle <= 0 replicas talk to each other; a positive one is
// needed for processes of different partitions.
struct ChannelHandle {
  int64_t handle = 0;
  int64_t type = 0;
  friend bool operator==(const ChannelHandle&, const ChannelHandle&) = default;
};

// Which processes of the grid work together: all_reduce and what other collectives share.
struct CollectiveAttrs {
  Tensor
      replica_groups;  // s64, one row a group; -1 fills short rows; no elements: all in one group
  ChannelHandle channel_handle;
  bool use_global_device_ids = false;
  friend bool operator==(const CollectiveAttrs& a, const CollectiveAttrs& b) {
    return a.replica_groups.identical(b.replica_groups) && a.channel_handle == b.channel_handle &&
           a.use_global_device_ids == b.use_global_device_ids;
  }
};

struct AllGatherAttrs {
  int64_t all_gather_dim = 0;
  CollectiveAttrs groups;
  friend bool operator==(const AllGatherAttrs&, const AllGatherAttrs&) = default;
};

struct AllToAllAttrs {
  int64_t split_dimension = 0;
  int64_t concat_dimension = 0;
  int64_t split_count = 1;
  CollectiveAttrs groups;
  friend bool operator==(const AllToAllAttrs&, const AllToAllAttrs&) = default;
};

struct ReduceScatterAttrs {
  int64_t scatter_dimension = 0;
  CollectiveAttrs groups;
  friend bool operator==(const ReduceScatterAttrs&, const ReduceScatterAttrs&) = default;
};

// collective_broadcast and collective_reduce: one of each group, the first or the one that the last
// operand tells, is the source or gets the result.
struct RootedCollectiveAttrs {
  CollectiveAttrs groups;
  bool has_dynamic_root = false;
  friend bool operator==(const RootedCollectiveAttrs&, const RootedCollectiveAttrs&) = default;
};

struct CollectivePermuteAttrs {
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  ChannelHandle channel_handle;
  friend bool operator==(const CollectivePermuteAttrs&, const CollectivePermuteAttrs&) = default;
};

struct InfeedAttrs {
  std::string infeed_config;
  AttrText layout;
  friend bool operator==(const InfeedAttrs&, const InfeedAttrs&) = default;
};

struct OutfeedAttrs {
  std::string outfeed_config;
  friend bool operator==(const OutfeedAttrs&, const OutfeedAttrs&) = default;
};

// send and recv.
struct TransferAttrs {
  ChannelHandle channel_handle;
  bool is_host_transfer = false;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  friend bool operator==(const TransferAttrs&, const TransferAttrs&) = default;
};

struct CustomCallAttrs {
  std::string call_target_name;
  bool has_side_effect = false;
  AttrText backend_config;  // a string or a dictionary
  int api_version = 1;
  std::vector<std::string> called_computations;  // functions of the module
  AttrText operand_layouts;
  AttrText result_layouts;
  AttrText output_operand_aliases;
  std::vector<NamedAttrText> others;  // what the target alone knows
  friend bool operator==(const CustomCallAttrs&, const CustomCallAttrs&) = default;
};

using Attrs =
    std::variant<NoAttrs, ParameterAttrs, ConstantAttrs, CallAttrs, CompositeAttrs, IotaAttrs,
                 CompareAttrs, ReducePrecisionAttrs, BroadcastInDimAttrs, TransposeAttrs,
                 DimensionsAttrs, ConcatenateAttrs, SliceAttrs, DynamicSliceAttrs, PadAttrs,
                 GatherAttrs, ScatterAttrs, WindowAttrs, GetDimensionSizeAttrs, BatchNormAttrs,
                 SortAttrs, DotAttrs, ConvolutionAttrs, FftAttrs, CholeskyAttrs,
                 TriangularSolveAttrs, RngAttrs, RngBitGeneratorAttrs, CollectiveAttrs,
                 AllGatherAttrs, AllToAllAttrs, ReduceScatterAttrs, RootedCollectiveAttrs,
                 CollectivePermuteAttrs, InfeedAttrs, OutfeedAttrs, TransferAttrs, CustomCallAttrs>;

}  // namespace systole::hlo
