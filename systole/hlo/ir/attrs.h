// The attributes of instructions: one struct per opcode that has attributes, with the field names
// of the StableHLO specification. opcodes.def names each opcode's struct; opcodes without
// attributes have NoAttrs.
//
// Each struct's describe() passes its fields, with their names in text, to a visitor. The parser
// and the printer are the two visitors. A visitor has
//   required(name, field)   the reader throws INVALID_ARGUMENT if the attribute is missing
//   optional(name, field, default)   not printed when equal to the default; unchanged if missing
//   structure(name, attribute, fill)   #stablehlo.gather<...>; `fill` gets a visitor of its fields
//   optional_structure(name, attribute, present, fill)   the same, printed only when `present`
//   convolution(name, attrs)   #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
//   flag(name, field)   printed as the name alone when true
//   window_padding(name, pairs), callee(name, function), callees(name, functions)
//   rest(fields)   all attributes not named before
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::hlo {

// The names of an enum's values in text, and of its attribute: #stablehlo<comparison_direction LT>.
template <class E>
struct EnumNames;

struct NoAttrs {
  template <class V>
  void describe(V&) {}
  friend bool operator==(const NoAttrs&, const NoAttrs&) = default;
};

// An attribute that no code reads, as MLIR text; "" if it is missing.
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
  int index = 0;  // the position in the text; not written
  template <class V>
  void describe(V&) {}
  friend bool operator==(const ParameterAttrs&, const ParameterAttrs&) = default;
};

struct ConstantAttrs {
  Tensor value;
  template <class V>
  void describe(V& v) {
    v.required("value", value);
  }
  friend bool operator==(const ConstantAttrs& a, const ConstantAttrs& b) {
    return a.value.identical(b.value);
  }
};

struct CallAttrs {
  std::string callee;  // a function of the module
  template <class V>
  void describe(V& v) {
    v.callee("callee", callee);
  }
  friend bool operator==(const CallAttrs&, const CallAttrs&) = default;
};

// An operation that a function of the module defines.
struct CompositeAttrs {
  std::string name;  // "namespace.op"
  AttrText composite_attributes;
  std::string decomposition;  // a function of the module
  int version = 0;
  template <class V>
  void describe(V& v) {
    v.required("name", name);
    v.optional("composite_attributes", composite_attributes, AttrText());
    v.callee("decomposition", decomposition);
    v.optional("version", version, 0);
  }
  friend bool operator==(const CompositeAttrs&, const CompositeAttrs&) = default;
};

struct IotaAttrs {
  int64_t iota_dimension = 0;
  template <class V>
  void describe(V& v) {
    v.required("iota_dimension", iota_dimension);
  }
  friend bool operator==(const IotaAttrs&, const IotaAttrs&) = default;
};

enum class ComparisonDirection : uint8_t { eq, ne, ge, gt, le, lt };
template <>
struct EnumNames<ComparisonDirection> {
  static constexpr std::string_view kind = "comparison_direction";
  static constexpr std::array<std::string_view, 6> names = {"EQ", "NE", "GE", "GT", "LE", "LT"};
};
enum class ComparisonType : uint8_t { notype, float_, totalorder, signed_, unsigned_ };
template <>
struct EnumNames<ComparisonType> {
  static constexpr std::string_view kind = "comparison_type";
  static constexpr std::array<std::string_view, 5> names = {"NOTYPE", "FLOAT", "TOTALORDER",
                                                            "SIGNED", "UNSIGNED"};
};
struct CompareAttrs {
  ComparisonDirection direction = ComparisonDirection::eq;
  ComparisonType compare_type = ComparisonType::notype;
  template <class V>
  void describe(V& v) {
    v.required("comparison_direction", direction);
    v.optional("compare_type", compare_type, ComparisonType::notype);
  }
  friend bool operator==(const CompareAttrs&, const CompareAttrs&) = default;
};

struct ReducePrecisionAttrs {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  template <class V>
  void describe(V& v) {
    v.required("exponent_bits", exponent_bits);
    v.required("mantissa_bits", mantissa_bits);
  }
  friend bool operator==(const ReducePrecisionAttrs&, const ReducePrecisionAttrs&) = default;
};

struct BroadcastInDimAttrs {
  Dims broadcast_dimensions;  // operand axis -> result axis
  template <class V>
  void describe(V& v) {
    v.required("broadcast_dimensions", broadcast_dimensions);
  }
  friend bool operator==(const BroadcastInDimAttrs&, const BroadcastInDimAttrs&) = default;
};

struct TransposeAttrs {
  Dims permutation;  // result axis i is operand axis permutation[i]
  template <class V>
  void describe(V& v) {
    v.required("permutation", permutation);
  }
  friend bool operator==(const TransposeAttrs&, const TransposeAttrs&) = default;
};

// reverse: the axes to reverse. reduce: the axes to remove. map: all axes.
struct DimensionsAttrs {
  Dims dimensions;
  template <class V>
  void describe(V& v) {
    v.required("dimensions", dimensions);
  }
  friend bool operator==(const DimensionsAttrs&, const DimensionsAttrs&) = default;
};

struct ConcatenateAttrs {
  int64_t dimension = 0;
  template <class V>
  void describe(V& v) {
    v.required("dimension", dimension);
  }
  friend bool operator==(const ConcatenateAttrs&, const ConcatenateAttrs&) = default;
};

struct SliceAttrs {
  Dims start_indices;
  Dims limit_indices;
  Dims strides;
  template <class V>
  void describe(V& v) {
    v.required("start_indices", start_indices);
    v.required("limit_indices", limit_indices);
    v.required("strides", strides);
  }
  friend bool operator==(const SliceAttrs&, const SliceAttrs&) = default;
};

struct DynamicSliceAttrs {
  Dims slice_sizes;
  template <class V>
  void describe(V& v) {
    v.required("slice_sizes", slice_sizes);
  }
  friend bool operator==(const DynamicSliceAttrs&, const DynamicSliceAttrs&) = default;
};

struct PadAttrs {
  Dims edge_padding_low;  // may be negative
  Dims edge_padding_high;
  Dims interior_padding;
  template <class V>
  void describe(V& v) {
    v.required("edge_padding_low", edge_padding_low);
    v.required("edge_padding_high", edge_padding_high);
    v.required("interior_padding", interior_padding);
  }
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
  // Empty lists are not printed, so that plugins without batching dimensions can read the rest.
  template <class V>
  void describe(V& v) {
    v.structure("dimension_numbers", "stablehlo.gather", [this](auto& s) {
      s.optional("offset_dims", offset_dims, Dims());
      s.optional("collapsed_slice_dims", collapsed_slice_dims, Dims());
      s.optional("operand_batching_dims", operand_batching_dims, Dims());
      s.optional("start_indices_batching_dims", start_indices_batching_dims, Dims());
      s.optional("start_index_map", start_index_map, Dims());
      s.optional("index_vector_dim", index_vector_dim, int64_t{0});
    });
    v.required("slice_sizes", slice_sizes);
    v.optional("indices_are_sorted", indices_are_sorted, false);
  }
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
  template <class V>
  void describe(V& v) {
    v.structure("scatter_dimension_numbers", "stablehlo.scatter", [this](auto& s) {
      s.optional("update_window_dims", update_window_dims, Dims());
      s.optional("inserted_window_dims", inserted_window_dims, Dims());
      s.optional("input_batching_dims", input_batching_dims, Dims());
      s.optional("scatter_indices_batching_dims", scatter_indices_batching_dims, Dims());
      s.optional("scatter_dims_to_operand_dims", scatter_dims_to_operand_dims, Dims());
      s.optional("index_vector_dim", index_vector_dim, int64_t{0});
    });
    v.optional("indices_are_sorted", indices_are_sorted, false);
    v.optional("unique_indices", unique_indices, false);
  }
  friend bool operator==(const ScatterAttrs&, const ScatterAttrs&) = default;
};

// reduce_window and select_and_scatter (which has no dilations). All lists have the operand's rank.
struct WindowAttrs {
  Dims window_dimensions;
  Dims window_strides;
  Dims base_dilations;
  Dims window_dilations;
  std::vector<std::pair<int64_t, int64_t>> padding;  // low, high; may be negative
  // Dilations of 1 are not printed: select_and_scatter has no dilations.
  template <class V>
  void describe(V& v) {
    v.required("window_dimensions", window_dimensions);
    v.optional("window_strides", window_strides, Dims());
    v.optional("base_dilations", base_dilations, Dims(base_dilations.size(), 1));
    v.optional("window_dilations", window_dilations, Dims(window_dilations.size(), 1));
    v.window_padding("padding", padding);
  }
  // Sets lists that the text leaves out: strides and dilations of 1, no padding.
  void set_window_defaults(int operand_rank);
  friend bool operator==(const WindowAttrs&, const WindowAttrs&) = default;
};

struct GetDimensionSizeAttrs {
  int64_t dimension = 0;
  template <class V>
  void describe(V& v) {
    v.required("dimension", dimension);
  }
  friend bool operator==(const GetDimensionSizeAttrs&, const GetDimensionSizeAttrs&) = default;
};

struct BatchNormAttrs {
  float epsilon = 0;
  int64_t feature_index = 0;
  template <class V>
  void describe(V& v) {
    v.required("epsilon", epsilon);
    v.required("feature_index", feature_index);
  }
  friend bool operator==(const BatchNormAttrs&, const BatchNormAttrs&) = default;
};

struct SortAttrs {
  int64_t dimension = -1;
  bool is_stable = false;
  template <class V>
  void describe(V& v) {
    v.optional("dimension", dimension, int64_t{-1});
    v.optional("is_stable", is_stable, false);
  }
  friend bool operator==(const SortAttrs&, const SortAttrs&) = default;
};

// How a dot is computed from smaller products. The default value stands for no algorithm. The types
// are texts such as tf32. No backend reads it: products are at least as exact as any algorithm.
struct DotAlgorithm {
  AttrText lhs_precision_type = {};
  AttrText rhs_precision_type = {};
  AttrText accumulation_type = {};
  int64_t lhs_component_count = 0;
  int64_t rhs_component_count = 0;
  int64_t num_primitive_operations = 0;
  bool allow_imprecise_accumulation = false;
  template <class V>
  void describe(V& v) {
    v.optional_structure("algorithm", "stablehlo.dot_algorithm", *this != DotAlgorithm(),
                         [this](auto& s) {
                           s.required("lhs_precision_type", lhs_precision_type);
                           s.required("rhs_precision_type", rhs_precision_type);
                           s.required("accumulation_type", accumulation_type);
                           s.required("lhs_component_count", lhs_component_count);
                           s.required("rhs_component_count", rhs_component_count);
                           s.required("num_primitive_operations", num_primitive_operations);
                           s.required("allow_imprecise_accumulation", allow_imprecise_accumulation);
                         });
  }
  friend bool operator==(const DotAlgorithm&, const DotAlgorithm&) = default;
};

// The precision of a product, as XLA names it; one value per operand.
enum class Precision : uint8_t { default_, high, highest };
template <>
struct EnumNames<Precision> {
  static constexpr std::string_view kind = "precision";
  static constexpr std::array<std::string_view, 3> names = {"DEFAULT", "HIGH", "HIGHEST"};
};

struct DotAttrs {
  Dims lhs_batching_dimensions;
  Dims rhs_batching_dimensions;
  Dims lhs_contracting_dimensions;
  Dims rhs_contracting_dimensions;
  std::vector<Precision> precision_config = {};  // empty, or one for each operand
  DotAlgorithm algorithm = {};
  template <class V>
  void describe(V& v) {
    v.structure("dot_dimension_numbers", "stablehlo.dot", [this](auto& s) {
      s.optional("lhs_batching_dimensions", lhs_batching_dimensions, Dims());
      s.optional("rhs_batching_dimensions", rhs_batching_dimensions, Dims());
      s.optional("lhs_contracting_dimensions", lhs_contracting_dimensions, Dims());
      s.optional("rhs_contracting_dimensions", rhs_contracting_dimensions, Dims());
    });
    v.optional("precision_config", precision_config, std::vector<Precision>());
    algorithm.describe(v);
  }
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
  template <class V>
  void describe(V& v) {
    v.convolution("dimension_numbers", *this);
    v.optional("window_strides", window_strides, Dims());
    v.window_padding("padding", padding);
    v.optional("lhs_dilation", lhs_dilation, Dims());
    v.optional("rhs_dilation", rhs_dilation, Dims());
    v.optional("window_reversal", window_reversal, std::vector<bool>());
    v.required("feature_group_count", feature_group_count);
    v.required("batch_group_count", batch_group_count);
    v.optional("precision_config", precision_config, std::vector<Precision>());
  }
  // Sets lists that the text leaves out: strides and dilations of 1, no padding, no reversal.
  void set_window_defaults(int operand_rank);
  friend bool operator==(const ConvolutionAttrs&, const ConvolutionAttrs&) = default;
};

enum class FftType : uint8_t { fft, ifft, rfft, irfft };
template <>
struct EnumNames<FftType> {
  static constexpr std::string_view kind = "fft_type";
  static constexpr std::array<std::string_view, 4> names = {"FFT", "IFFT", "RFFT", "IRFFT"};
};
struct FftAttrs {
  FftType fft_type = FftType::fft;
  Dims fft_length;
  template <class V>
  void describe(V& v) {
    v.required("fft_type", fft_type);
    v.required("fft_length", fft_length);
  }
  friend bool operator==(const FftAttrs&, const FftAttrs&) = default;
};

struct CholeskyAttrs {
  bool lower = false;
  template <class V>
  void describe(V& v) {
    v.optional("lower", lower, false);
  }
  friend bool operator==(const CholeskyAttrs&, const CholeskyAttrs&) = default;
};

enum class Transpose : uint8_t { transpose_invalid, no_transpose, transpose, adjoint };
template <>
struct EnumNames<Transpose> {
  static constexpr std::string_view kind = "transpose";
  static constexpr std::array<std::string_view, 4> names = {"TRANSPOSE_INVALID", "NO_TRANSPOSE",
                                                            "TRANSPOSE", "ADJOINT"};
};
struct TriangularSolveAttrs {
  bool left_side = true;
  bool lower = false;
  bool unit_diagonal = false;
  Transpose transpose_a = Transpose::no_transpose;
  template <class V>
  void describe(V& v) {
    v.required("left_side", left_side);
    v.required("lower", lower);
    v.required("unit_diagonal", unit_diagonal);
    v.required("transpose_a", transpose_a);
  }
  friend bool operator==(const TriangularSolveAttrs&, const TriangularSolveAttrs&) = default;
};

enum class RngDistribution : uint8_t { uniform, normal };
template <>
struct EnumNames<RngDistribution> {
  static constexpr std::string_view kind = "rng_distribution";
  static constexpr std::array<std::string_view, 2> names = {"UNIFORM", "NORMAL"};
};
struct RngAttrs {
  RngDistribution rng_distribution = RngDistribution::uniform;
  template <class V>
  void describe(V& v) {
    v.required("rng_distribution", rng_distribution);
  }
  friend bool operator==(const RngAttrs&, const RngAttrs&) = default;
};

enum class RngAlgorithm : uint8_t { default_, three_fry, philox };
template <>
struct EnumNames<RngAlgorithm> {
  static constexpr std::string_view kind = "rng_algorithm";
  static constexpr std::array<std::string_view, 3> names = {"DEFAULT", "THREE_FRY", "PHILOX"};
};
struct RngBitGeneratorAttrs {
  RngAlgorithm rng_algorithm = RngAlgorithm::default_;
  template <class V>
  void describe(V& v) {
    v.required("rng_algorithm", rng_algorithm);
  }
  friend bool operator==(const RngBitGeneratorAttrs&, const RngBitGeneratorAttrs&) = default;
};

// The channel of a communication. With handle <= 0, replicas communicate. Communication between
// partitions requires a positive handle.
struct ChannelHandle {
  int64_t handle = 0;
  int64_t type = 0;
  template <class V>
  void describe(V& v) {
    v.optional_structure("channel_handle", "stablehlo.channel_handle", *this != ChannelHandle(),
                         [this](auto& s) {
                           s.required("handle", handle);
                           s.required("type", type);
                         });
  }
  friend bool operator==(const ChannelHandle&, const ChannelHandle&) = default;
};

// The groups of processes that communicate: the attributes of all_reduce, and a part of those of
// other collectives.
struct CollectiveAttrs {
  Tensor
      replica_groups;  // s64, one row a group; -1 fills short rows; no elements: all in one group
  ChannelHandle channel_handle;
  bool use_global_device_ids = false;
  template <class V>
  void describe(V& v) {
    v.required("replica_groups", replica_groups);
    channel_handle.describe(v);
    v.flag("use_global_device_ids", use_global_device_ids);
  }
  friend bool operator==(const CollectiveAttrs& a, const CollectiveAttrs& b) {
    return a.replica_groups.identical(b.replica_groups) && a.channel_handle == b.channel_handle &&
           a.use_global_device_ids == b.use_global_device_ids;
  }
};

struct AllGatherAttrs {
  int64_t all_gather_dim = 0;
  CollectiveAttrs groups;
  template <class V>
  void describe(V& v) {
    v.required("all_gather_dim", all_gather_dim);
    groups.describe(v);
  }
  friend bool operator==(const AllGatherAttrs&, const AllGatherAttrs&) = default;
};

struct AllToAllAttrs {
  int64_t split_dimension = 0;
  int64_t concat_dimension = 0;
  int64_t split_count = 1;
  CollectiveAttrs groups;
  template <class V>
  void describe(V& v) {
    v.required("split_dimension", split_dimension);
    v.required("concat_dimension", concat_dimension);
    v.required("split_count", split_count);
    groups.describe(v);
  }
  friend bool operator==(const AllToAllAttrs&, const AllToAllAttrs&) = default;
};

struct ReduceScatterAttrs {
  int64_t scatter_dimension = 0;
  CollectiveAttrs groups;
  template <class V>
  void describe(V& v) {
    v.required("scatter_dimension", scatter_dimension);
    groups.describe(v);
  }
  friend bool operator==(const ReduceScatterAttrs&, const ReduceScatterAttrs&) = default;
};

// collective_broadcast and collective_reduce. The root of each group sends or receives: its first
// member, or the one that the last operand gives.
struct RootedCollectiveAttrs {
  CollectiveAttrs groups;
  bool has_dynamic_root = false;
  template <class V>
  void describe(V& v) {
    groups.describe(v);
    v.optional("has_dynamic_root", has_dynamic_root, false);
  }
  friend bool operator==(const RootedCollectiveAttrs&, const RootedCollectiveAttrs&) = default;
};

struct CollectivePermuteAttrs {
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  ChannelHandle channel_handle;
  template <class V>
  void describe(V& v) {
    v.required("source_target_pairs", source_target_pairs);
    channel_handle.describe(v);
  }
  friend bool operator==(const CollectivePermuteAttrs&, const CollectivePermuteAttrs&) = default;
};

struct InfeedAttrs {
  std::string infeed_config;
  std::optional<std::vector<Dims>> layout;  // minor to major, one list for each tensor
  template <class V>
  void describe(V& v) {
    v.optional("infeed_config", infeed_config, std::string());
    v.optional("layout", layout, std::optional<std::vector<Dims>>());
  }
  friend bool operator==(const InfeedAttrs&, const InfeedAttrs&) = default;
};

struct OutfeedAttrs {
  std::string outfeed_config;
  template <class V>
  void describe(V& v) {
    v.optional("outfeed_config", outfeed_config, std::string());
  }
  friend bool operator==(const OutfeedAttrs&, const OutfeedAttrs&) = default;
};

// send and recv.
struct TransferAttrs {
  ChannelHandle channel_handle;
  bool is_host_transfer = false;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  template <class V>
  void describe(V& v) {
    channel_handle.describe(v);
    v.optional("is_host_transfer", is_host_transfer, false);
    v.optional("source_target_pairs", source_target_pairs,
               std::vector<std::pair<int64_t, int64_t>>());
  }
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

  // Returns the target's settings as MLIR text, a dictionary in most programs; "" if there are
  // none. JAX writes them into mhlo.backend_config.
  std::string_view settings() const;

  template <class V>
  void describe(V& v) {
    v.required("call_target_name", call_target_name);
    v.optional("has_side_effect", has_side_effect, false);
    v.optional("backend_config", backend_config, AttrText());
    v.optional("api_version", api_version, 1);
    v.callees("called_computations", called_computations);
    v.optional("operand_layouts", operand_layouts, AttrText());
    v.optional("result_layouts", result_layouts, AttrText());
    v.optional("output_operand_aliases", output_operand_aliases, AttrText());
    v.rest(others);
  }
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

// Returns the attributes of `opcode` with default values.
Attrs default_attrs(Opcode opcode);

// Calls set_window_defaults() if the attributes have a window.
void set_window_defaults(Attrs& attrs, int operand_rank);

}  // namespace systole::hlo
