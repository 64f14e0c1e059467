// The text form of the attributes of every opcode, written once: the printer and the parser are the
// two kinds of visitor that go through it. To give an opcode attributes: a struct in attrs.h,
// `describe` for it here, and a row in attrs.cc.
//
// A visitor has
//   required(name, field)   Errors (reading): INVALID_ARGUMENT when it is not there
//   optional(name, field, default)   not printed when equal to the default; keeps it when not there
//   structure(name, attribute, fill)   #stablehlo.gather<...>: `fill` gets a visitor of its fields
//   convolution(name, attrs)   #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
//   optional_structure(name, attribute, present, fill)   printed when `present`
//   flag(name, field)   a name alone, when true
//   rest(fields)   all attributes that nothing above asked for
//   window_padding(name, pairs), callee(name, function), callees(name, functions)
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::hlo::text {

// An enum's values in text, and the name of its attribute: #stablehlo<comparison_direction LT>.
template <class E>
struct EnumNames;
template <>
struct EnumNames<ComparisonDirection> {
  static constexpr std::string_view kind = "comparison_direction";
  static constexpr std::array<std::string_view, 6> names = {"EQ", "NE", "GE", "GT", "LE", "LT"};
};
template <>
struct EnumNames<ComparisonType> {
  static constexpr std::string_view kind = "comparison_type";
  static constexpr std::array<std::string_view, 5> names = {"NOTYPE", "FLOAT", "TOTALORDER",
                                                            "SIGNED", "UNSIGNED"};
};
template <>
struct EnumNames<RngAlgorithm> {
  static constexpr std::string_view kind = "rng_algorithm";
  static constexpr std::array<std::string_view, 3> names = {"DEFAULT", "THREE_FRY", "PHILOX"};
};
template <>
struct EnumNames<Precision> {
  static constexpr std::string_view kind = "precision";
  static constexpr std::array<std::string_view, 3> names = {"DEFAULT", "HIGH", "HIGHEST"};
};
template <>
struct EnumNames<FftType> {
  static constexpr std::string_view kind = "fft_type";
  static constexpr std::array<std::string_view, 4> names = {"FFT", "IFFT", "RFFT", "IRFFT"};
};
template <>
struct EnumNames<Transpose> {
  static constexpr std::string_view kind = "transpose";
  static constexpr std::array<std::string_view, 4> names = {"TRANSPOSE_INVALID", "NO_TRANSPOSE",
                                                            "TRANSPOSE", "ADJOINT"};
};
template <>
struct EnumNames<RngDistribution> {
  static constexpr std::string_view kind = "rng_distribution";
  static constexpr std::array<std::string_view, 2> names = {"UNIFORM", "NORMAL"};
};

// Nothing to read or write; a parameter's index is its place.
template <class V>
void describe(V&, NoAttrs&) {}
template <class V>
void describe(V&, ParameterAttrs&) {}

template <class V>
void describe(V& v, ConstantAttrs& a) {
  v.required("value", a.value);
}
template <class V>
void describe(V& v, CallAttrs& a) {
  v.callee("callee", a.callee);
}
template <class V>
void describe(V& v, CompositeAttrs& a) {
  v.required("name", a.name);
  v.optional("composite_attributes", a.composite_attributes, AttrText());
  v.callee("decomposition", a.decomposition);
  v.optional("version", a.version, 0);
}
template <class V>
void describe(V& v, IotaAttrs& a) {
  v.required("iota_dimension", a.iota_dimension);
}
template <class V>
void describe(V& v, CompareAttrs& a) {
  v.required("comparison_direction", a.direction);
  v.optional("compare_type", a.compare_type, ComparisonType::notype);
}
template <class V>
void describe(V& v, ReducePrecisionAttrs& a) {
  v.required("exponent_bits", a.exponent_bits);
  v.required("mantissa_bits", a.mantissa_bits);
}
template <class V>
void describe(V& v, BroadcastInDimAttrs& a) {
  v.required("broadcast_dimensions", a.broadcast_dimensions);
}
template <class V>
void describe(V& v, TransposeAttrs& a) {
  v.required("permutation", a.permutation);
}
template <class V>
void describe(V& v, DimensionsAttrs& a) {
  v.required("dimensions", a.dimensions);
}
template <class V>
void describe(V& v, ConcatenateAttrs& a) {
  v.required("dimension", a.dimension);
}
template <class V>
void describe(V& v, SliceAttrs& a) {
  v.required("start_indices", a.start_indices);
  v.required("limit_indices", a.limit_indices);
  v.required("strides", a.strides);
}
template <class V>
void describe(V& v, DynamicSliceAttrs& a) {
  v.required("slice_sizes", a.slice_sizes);
}
template <class V>
void describe(V& v, PadAttrs& a) {
  v.required("edge_padding_low", a.edge_padding_low);
  v.required("edge_padding_high", a.edge_padding_high);
  v.required("interior_padding", a.interior_padding);
}

// Empty lists in structures are left out: plugins that do not know batching dimensions read the
// rest.
template <class V>
void describe(V& v, GatherAttrs& a) {
  v.structure("dimension_numbers", "stablehlo.gather", [&a](auto& s) {
    s.optional("offset_dims", a.offset_dims, Dims());
    s.optional("collapsed_slice_dims", a.collapsed_slice_dims, Dims());
    s.optional("operand_batching_dims", a.operand_batching_dims, Dims());
    s.optional("start_indices_batching_dims", a.start_indices_batching_dims, Dims());
    s.optional("start_index_map", a.start_index_map, Dims());
    s.optional("index_vector_dim", a.index_vector_dim, int64_t{0});
  });
  v.required("slice_sizes", a.slice_sizes);
  v.optional("indices_are_sorted", a.indices_are_sorted, false);
}
template <class V>
void describe(V& v, ScatterAttrs& a) {
  v.structure("scatter_dimension_numbers", "stablehlo.scatter", [&a](auto& s) {
    s.optional("update_window_dims", a.update_window_dims, Dims());
    s.optional("inserted_window_dims", a.inserted_window_dims, Dims());
    s.optional("input_batching_dims", a.input_batching_dims, Dims());
    s.optional("scatter_indices_batching_dims", a.scatter_indices_batching_dims, Dims());
    s.optional("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims, Dims());
    s.optional("index_vector_dim", a.index_vector_dim, int64_t{0});
  });
  v.optional("indices_are_sorted", a.indices_are_sorted, false);
  v.optional("unique_indices", a.unique_indices, false);
}

// Lists left out are filled by complete() below. Dilations of ones are not printed:
// select_and_scatter has none.
template <class V>
void describe(V& v, WindowAttrs& a) {
  v.required("window_dimensions", a.window_dimensions);
  v.optional("window_strides", a.window_strides, Dims());
  v.optional("base_dilations", a.base_dilations, Dims(a.base_dilations.size(), 1));
  v.optional("window_dilations", a.window_dilations, Dims(a.window_dilations.size(), 1));
  v.window_padding("padding", a.padding);
}
template <class V>
void describe(V& v, GetDimensionSizeAttrs& a) {
  v.required("dimension", a.dimension);
}
template <class V>
void describe(V& v, BatchNormAttrs& a) {
  v.required("epsilon", a.epsilon);
  v.required("feature_index", a.feature_index);
}
template <class V>
void describe(V& v, SortAttrs& a) {
  v.optional("dimension", a.dimension, int64_t{-1});
  v.optional("is_stable", a.is_stable, false);
}
template <class V>
void describe(V& v, DotAttrs& a) {
  v.structure("dot_dimension_numbers", "stablehlo.dot", [&a](auto& s) {
    s.optional("lhs_batching_dimensions", a.lhs_batching_dimensions, Dims());
    s.optional("rhs_batching_dimensions", a.rhs_batching_dimensions, Dims());
    s.optional("lhs_contracting_dimensions", a.lhs_contracting_dimensions, Dims());
    s.optional("rhs_contracting_dimensions", a.rhs_contracting_dimensions, Dims());
  });
  v.optional("precision_config", a.precision_config, std::vector<Precision>());
  v.optional("algorithm", a.algorithm, AttrText());
}
template <class V>
void describe(V& v, ConvolutionAttrs& a) {
  v.convolution("dimension_numbers", a);
  v.optional("window_strides", a.window_strides, Dims());
  v.window_padding("padding", a.padding);
  v.optional("lhs_dilation", a.lhs_dilation, Dims());
  v.optional("rhs_dilation", a.rhs_dilation, Dims());
  v.optional("window_reversal", a.window_reversal, std::vector<bool>());
  v.required("feature_group_count", a.feature_group_count);
  v.required("batch_group_count", a.batch_group_count);
  v.optional("precision_config", a.precision_config, std::vector<Precision>());
}
template <class V>
void describe(V& v, RngBitGeneratorAttrs& a) {
  v.required("rng_algorithm", a.rng_algorithm);
}

template <class V>
void describe(V& v, FftAttrs& a) {
  v.required("fft_type", a.fft_type);
  v.required("fft_length", a.fft_length);
}
template <class V>
void describe(V& v, CholeskyAttrs& a) {
  v.optional("lower", a.lower, false);
}
template <class V>
void describe(V& v, TriangularSolveAttrs& a) {
  v.required("left_side", a.left_side);
  v.required("lower", a.lower);
  v.required("unit_diagonal", a.unit_diagonal);
  v.required("transpose_a", a.transpose_a);
}
template <class V>
void describe(V& v, RngAttrs& a) {
  v.required("rng_distribution", a.rng_distribution);
}

template <class V>
void describe(V& v, ChannelHandle& a) {
  v.optional_structure("channel_handle", "stablehlo.channel_handle", a != ChannelHandle(),
                       [&a](auto& s) {
                         s.required("handle", a.handle);
                         s.required("type", a.type);
                       });
}
template <class V>
void describe(V& v, CollectiveAttrs& a) {
  v.required("replica_groups", a.replica_groups);
  describe(v, a.channel_handle);
  v.flag("use_global_device_ids", a.use_global_device_ids);
}
template <class V>
void describe(V& v, AllGatherAttrs& a) {
  v.required("all_gather_dim", a.all_gather_dim);
  describe(v, a.groups);
}
template <class V>
void describe(V& v, AllToAllAttrs& a) {
  v.required("split_dimension", a.split_dimension);
  v.required("concat_dimension", a.concat_dimension);
  v.required("split_count", a.split_count);
  describe(v, a.groups);
}
template <class V>
void describe(V& v, ReduceScatterAttrs& a) {
  v.required("scatter_dimension", a.scatter_dimension);
  describe(v, a.groups);
}
template <class V>
void describe(V& v, RootedCollectiveAttrs& a) {
  describe(v, a.groups);
  v.optional("has_dynamic_root", a.has_dynamic_root, false);
}
template <class V>
void describe(V& v, CollectivePermuteAttrs& a) {
  v.required("source_target_pairs", a.source_target_pairs);
  describe(v, a.channel_handle);
}
template <class V>
void describe(V& v, InfeedAttrs& a) {
  v.optional("infeed_config", a.infeed_config, std::string());
  v.optional("layout", a.layout, AttrText());
}
template <class V>
void describe(V& v, OutfeedAttrs& a) {
  v.optional("outfeed_config", a.outfeed_config, std::string());
}
template <class V>
void describe(V& v, TransferAttrs& a) {
  describe(v, a.channel_handle);
  v.optional("is_host_transfer", a.is_host_transfer, false);
  v.optional("source_target_pairs", a.source_target_pairs,
             std::vector<std::pair<int64_t, int64_t>>());
}
template <class V>
void describe(V& v, CustomCallAttrs& a) {
  v.required("call_target_name", a.call_target_name);
  v.optional("has_side_effect", a.has_side_effect, false);
  v.optional("backend_config", a.backend_config, AttrText());
  v.optional("api_version", a.api_version, 1);
  v.callees("called_computations", a.called_computations);
  v.optional("operand_layouts", a.operand_layouts, AttrText());
  v.optional("result_layouts", a.result_layouts, AttrText());
  v.optional("output_operand_aliases", a.output_operand_aliases, AttrText());
  v.rest(a.others);
}

// The attributes that an opcode has, all at their defaults.
Attrs empty_attrs(Opcode opcode);

// What a text may leave out of a window of `rank` axes: no padding, strides and dilations of 1.
void complete_window(Attrs& attrs, int operand_rank);

}  // namespace systole::hlo::text
