#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/dynamic_start.h"

namespace systole::hlo::ops {
namespace {

void check_gather_operand(const InferContext& context, const GatherAttrs& attrs) {
  const Opcode opcode = context.opcode;
  const int rank = context.operand(0).shape.rank();
  check_count(opcode, "offset_dims, collapsed_slice_dims and operand_batching_dims",
              attrs.offset_dims.size() + attrs.collapsed_slice_dims.size() +
                  attrs.operand_batching_dims.size(),
              rank);  // C1
  check_unique(opcode, "collapsed_slice_dims and operand_batching_dims",
               concat(attrs.collapsed_slice_dims, attrs.operand_batching_dims));   // C6
  check_sorted(opcode, "collapsed_slice_dims", attrs.collapsed_slice_dims);        // C7
  check_axes(opcode, "collapsed_slice_dims", attrs.collapsed_slice_dims, rank);    // C8
  check_sorted(opcode, "operand_batching_dims", attrs.operand_batching_dims);      // C10
  check_axes(opcode, "operand_batching_dims", attrs.operand_batching_dims, rank);  // C11
  check_unique(opcode, "start_index_map and operand_batching_dims",
               concat(attrs.start_index_map, attrs.operand_batching_dims));  // C18
  check_axes(opcode, "start_index_map", attrs.start_index_map, rank);        // C19
}

void check_gather_indices(const InferContext& context, const GatherAttrs& attrs) {
  const Opcode opcode = context.opcode;
  const Shape& operand = context.operand(0).shape;
  const Shape& indices = context.operand(1).shape;
  const Dims& batching = attrs.start_indices_batching_dims;
  check_axes(opcode, "index_vector_dim", {&attrs.index_vector_dim, 1}, indices.rank() + 1);  // C2
  check_count(opcode, "start_index_map", attrs.start_index_map.size(),
              attrs.index_vector_dim < indices.rank()
                  ? indices[static_cast<int>(attrs.index_vector_dim)]
                  : 1);                                                         // C3
  check_unique(opcode, "start_indices_batching_dims", batching);                // C13
  check_axes(opcode, "start_indices_batching_dims", batching, indices.rank());  // C14
  if (contains(batching, attrs.index_vector_dim)) {                             // C15
    throw invalid_argument(
        "gather: start_indices_batching_dims, got {}, expected without index_vector_dim {}",
        to_string(batching), attrs.index_vector_dim);
  }
  check_count(opcode, "start_indices_batching_dims", batching.size(),
              static_cast<int64_t>(attrs.operand_batching_dims.size()));  // C16
  for (size_t i = 0; i < batching.size(); ++i) {                          // C17
    const int64_t in_operand = operand[static_cast<int>(attrs.operand_batching_dims[i])];
    const int64_t in_indices = indices[static_cast<int>(batching[i])];
    if (in_operand != in_indices) {
      throw invalid_argument("gather: size of batching dim {}, got {} and {}, expected equal", i,
                             in_operand, in_indices);
    }
  }
}

void check_sizes(const InferContext& context, const GatherAttrs& attrs) {
  const Shape& operand = context.operand(0).shape;
  check_count(context.opcode, "slice_sizes", attrs.slice_sizes.size(), operand.rank());  // C20
  check_slice_sizes(context.opcode, "slice_sizes", attrs.slice_sizes, operand);          // C21
  for (const int64_t axis : concat(attrs.collapsed_slice_dims, attrs.operand_batching_dims)) {
    const int64_t size = attrs.slice_sizes[axis];  // C9, C12
    if (size > 1) {
      throw invalid_argument("gather: slice_sizes[{}], got {}, expected <= 1 for a dropped axis",
                             axis, size);
    }
  }
}

// Returns the operand axes that a slice keeps.
Dims window_axes(const GatherAttrs& attrs) {
  return other_axes(static_cast<int>(attrs.slice_sizes.size()),
                    concat(attrs.collapsed_slice_dims, attrs.operand_batching_dims));
}

std::vector<TensorType> infer_gather(const InferContext& context) {
  const GatherAttrs& attrs = context.get<GatherAttrs>();
  check_integer(context.opcode, "start_indices", context.operand(1));  // I2
  check_gather_operand(context, attrs);
  check_gather_indices(context, attrs);
  check_sizes(context, attrs);
  const Dims batch = batch_shape(context.operand(1).shape, attrs.index_vector_dim);
  const size_t rank = batch.size() + attrs.offset_dims.size();
  check_unique(context.opcode, "offset_dims", attrs.offset_dims);  // C4
  check_sorted(context.opcode, "offset_dims", attrs.offset_dims);
  check_axes(context.opcode, "offset_dims", attrs.offset_dims, static_cast<int64_t>(rank));  // C5
  const Dims window = window_axes(attrs);
  Dims dims;  // C22
  for (size_t d = 0, next_batch = 0, next_offset = 0; d < rank; ++d) {
    if (contains(attrs.offset_dims, static_cast<int64_t>(d))) {
      dims.push_back(attrs.slice_sizes[window[next_offset++]]);
    } else {
      dims.push_back(batch[next_batch++]);
    }
  }
  return {{context.operand(0).dtype, Shape(std::move(dims))}};  // C23
}

// indices_are_sorted is only a hint; the value does not depend on it.
std::vector<Tensor> evaluate_gather(const Instruction& instruction,
                                    std::span<const Tensor> operands, const Evaluator&) {
  const GatherAttrs& attrs = instruction.attrs<GatherAttrs>();
  const Tensor& operand = operands[0];
  Tensor result(instruction.type());
  if (result.num_elements() == 0) return {result};  // of any number of empty slices
  const Dims operand_strides = operand.shape().strides();
  const Dims result_strides = result.shape().strides();
  StridedView from;
  StridedView to;
  Dims extents;
  const Dims window = window_axes(attrs);
  for (size_t i = 0; i < window.size(); ++i) {
    extents.push_back(attrs.slice_sizes[window[i]]);
    from.strides.push_back(operand_strides[window[i]]);
    to.strides.push_back(result_strides[attrs.offset_dims[i]]);
  }
  const Dims batch_dims = other_axes(result.rank(), attrs.offset_dims);
  const std::vector<Dims> starts =
      slice_starts(operands[1], operand.rank(),
                   {attrs.operand_batching_dims, attrs.start_indices_batching_dims,
                    attrs.start_index_map, attrs.index_vector_dim});
  size_t next = 0;
  for_each_index(batch_shape(operands[1].shape(), attrs.index_vector_dim), [&](const Dims& batch) {
    const Dims& start = starts[next++];
    from.offset = 0;
    for (size_t d = 0; d < start.size(); ++d) {
      const int64_t last_start = operand.dim(static_cast<int>(d)) - attrs.slice_sizes[d];
      from.offset += std::clamp<int64_t>(start[d], 0, last_start) * operand_strides[d];
    }
    to.offset = 0;
    for (size_t d = 0; d < batch.size(); ++d) {
      to.offset += batch[d] * result_strides[batch_dims[d]];
    }
    copy_strided(result, to, operand, from, extents);
  });
  return {result};
}

}  // namespace

extern const OpSemantics gather_semantics{
    .infer = infer_gather,
    .evaluate = evaluate_gather,
    .example =
        OpExample{
            .parameters = "%a: tensor<4x$T>, %i: tensor<3x1xi32>",
            .results = "tensor<3x$T>",
            .body =
                R"(%r = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<4x$T>, tensor<3x1xi32>) -> tensor<3x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::moves},
    .vectorize = replicas::vectorize_gather,
    .shard = spmd::shard_gather};

}  // namespace systole::hlo::ops
