#include "systole/hlo/text/attrs.h"

#include <algorithm>

namespace systole::hlo::text {
namespace {

struct Row {
  Opcode opcode;
  Attrs (*make)();
};

template <class T>
Attrs make() {
  return T();
}

// Opcodes that are not here have NoAttrs.
constexpr Row kRows[] = {
    {Opcode::parameter, make<ParameterAttrs>},
    {Opcode::call, make<CallAttrs>},
    {Opcode::composite, make<CompositeAttrs>},
    {Opcode::constant, make<ConstantAttrs>},
    {Opcode::iota, make<IotaAttrs>},
    {Opcode::reduce_precision, make<ReducePrecisionAttrs>},
    {Opcode::compare, make<CompareAttrs>},
    {Opcode::broadcast_in_dim, make<BroadcastInDimAttrs>},
    {Opcode::concatenate, make<ConcatenateAttrs>},
    {Opcode::dynamic_slice, make<DynamicSliceAttrs>},
    {Opcode::gather, make<GatherAttrs>},
    {Opcode::get_dimension_size, make<GetDimensionSizeAttrs>},
    {Opcode::pad, make<PadAttrs>},
    {Opcode::reverse, make<DimensionsAttrs>},
    {Opcode::slice, make<SliceAttrs>},
    {Opcode::transpose, make<TransposeAttrs>},
    {Opcode::map, make<DimensionsAttrs>},
    {Opcode::reduce, make<DimensionsAttrs>},
    {Opcode::reduce_window, make<WindowAttrs>},
    {Opcode::scatter, make<ScatterAttrs>},
    {Opcode::select_and_scatter, make<WindowAttrs>},
    {Opcode::sort, make<SortAttrs>},
    {Opcode::batch_norm_grad, make<BatchNormAttrs>},
    {Opcode::batch_norm_inference, make<BatchNormAttrs>},
    {Opcode::batch_norm_training, make<BatchNormAttrs>},
    {Opcode::cholesky, make<CholeskyAttrs>},
    {Opcode::convolution, make<ConvolutionAttrs>},
    {Opcode::dot_general, make<DotAttrs>},
    {Opcode::fft, make<FftAttrs>},
    {Opcode::triangular_solve, make<TriangularSolveAttrs>},
    {Opcode::rng, make<RngAttrs>},
    {Opcode::rng_bit_generator, make<RngBitGeneratorAttrs>},
    {Opcode::all_gather, make<AllGatherAttrs>},
    {Opcode::all_reduce, make<CollectiveAttrs>},
    {Opcode::all_to_all, make<AllToAllAttrs>},
    {Opcode::collective_broadcast, make<RootedCollectiveAttrs>},
    {Opcode::collective_reduce, make<RootedCollectiveAttrs>},
    {Opcode::collective_permute, make<CollectivePermuteAttrs>},
    {Opcode::reduce_scatter, make<ReduceScatterAttrs>},
    {Opcode::custom_call, make<CustomCallAttrs>},
    {Opcode::infeed, make<InfeedAttrs>},
    {Opcode::outfeed, make<OutfeedAttrs>},
    {Opcode::recv, make<TransferAttrs>},
    {Opcode::send, make<TransferAttrs>},
};

void fill_if_empty(Dims& dims, size_t rank) {
  if (dims.empty()) dims.assign(rank, 1);
}

}  // namespace

Attrs empty_attrs(Opcode opcode) {
  const auto row = std::ranges::find(kRows, opcode, &Row::opcode);
  return row == std::end(kRows) ? NoAttrs() : row->make();
}

void complete_window(Attrs& attrs, int operand_rank) {
  if (auto* window = std::get_if<WindowAttrs>(&attrs)) {
    const auto rank = static_cast<size_t>(operand_rank);
    fill_if_empty(window->window_strides, rank);
    fill_if_empty(window->base_dilations, rank);
    fill_if_empty(window->window_dilations, rank);
    if (window->padding.empty()) window->padding.resize(rank);
  }
  if (auto* convolution = std::get_if<ConvolutionAttrs>(&attrs)) {
    const auto rank = static_cast<size_t>(std::max(operand_rank - 2, 0));
    fill_if_empty(convolution->window_strides, rank);
    fill_if_empty(convolution->lhs_dilation, rank);
    fill_if_empty(convolution->rhs_dilation, rank);
    if (convolution->padding.empty()) convolution->padding.resize(rank);
    if (convolution->window_reversal.empty()) convolution->window_reversal.resize(rank);
  }
}

}  // namespace systole::hlo::text
