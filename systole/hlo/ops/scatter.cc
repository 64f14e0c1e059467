#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/dynamic_start.h"
#include "systole/hlo/semantics/lifted_region.h"
#include "systole/hlo/semantics/reducer.h"

namespace systole::hlo::ops {
namespace {

void check_input_axes(const InferContext& context, const ScatterAttrs& attrs) {
  const Opcode opcode = context.opcode;
  const int rank = context.operand(0).shape.rank();
  check_count(opcode, "update_window_dims, inserted_window_dims and input_batching_dims",
              attrs.update_window_dims.size() + attrs.inserted_window_dims.size() +
                  attrs.input_batching_dims.size(),
              rank);  // C2
  check_unique(opcode, "inserted_window_dims and input_batching_dims",
               concat(attrs.inserted_window_dims, attrs.input_batching_dims));   // C9
  check_sorted(opcode, "inserted_window_dims", attrs.inserted_window_dims);      // C10
  check_axes(opcode, "inserted_window_dims", attrs.inserted_window_dims, rank);  // C11
  check_sorted(opcode, "input_batching_dims", attrs.input_batching_dims);        // C12
  check_axes(opcode, "input_batching_dims", attrs.input_batching_dims, rank);    // C13
  check_unique(opcode, "scatter_dims_to_operand_dims and input_batching_dims",
               concat(attrs.scatter_dims_to_operand_dims, attrs.input_batching_dims));  // C20
  check_axes(opcode, "scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims,
             rank);  // C21
}

void check_scatter_indices(const InferContext& context, const ScatterAttrs& attrs,
                           const Shape& indices) {
  const Opcode opcode = context.opcode;
  const Shape& input = context.operand(0).shape;
  const Dims& batching = attrs.scatter_indices_batching_dims;
  check_unique(opcode, "scatter_indices_batching_dims", batching);                // C14
  check_axes(opcode, "scatter_indices_batching_dims", batching, indices.rank());  // C15
  if (contains(batching, attrs.index_vector_dim)) {                               // C16
    throw invalid_argument(
        "scatter: scatter_indices_batching_dims, got {}, expected without index_vector_dim {}",
        to_string(batching), attrs.index_vector_dim);
  }
  check_count(opcode, "scatter_indices_batching_dims", batching.size(),
              static_cast<int64_t>(attrs.input_batching_dims.size()));  // C17
  for (size_t i = 0; i < batching.size(); ++i) {                        // C18
    const int64_t in_input = input[static_cast<int>(attrs.input_batching_dims[i])];
    const int64_t in_indices = indices[static_cast<int>(batching[i])];
    if (in_input != in_indices) {
      throw invalid_argument("scatter: size of batching dim {}, got {} and {}, expected equal", i,
                             in_input, in_indices);
    }
  }
  check_axes(opcode, "index_vector_dim", {&attrs.index_vector_dim, 1}, indices.rank() + 1);  // C22
  check_count(opcode, "scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims.size(),
              attrs.index_vector_dim < indices.rank()
                  ? indices[static_cast<int>(attrs.index_vector_dim)]
                  : 1);  // C19
}

// Returns the input axes that an update window covers.
Dims scattered_axes(const ScatterAttrs& attrs, int rank) {
  return other_axes(rank, concat(attrs.inserted_window_dims, attrs.input_batching_dims));
}

// C4: each axis of the updates is an axis of the indices, or of a window that is not larger than
// the input.
void check_update_shape(const InferContext& context, const ScatterAttrs& attrs,
                        const Shape& indices, const Shape& update) {
  const Shape& input = context.operand(0).shape;
  const Dims batch = batch_shape(indices, attrs.index_vector_dim);
  check_count(context.opcode, "shape of update 0", update.dims().size(),
              static_cast<int64_t>(batch.size() + attrs.update_window_dims.size()));
  check_unique(context.opcode, "update_window_dims", attrs.update_window_dims);  // C7
  check_sorted(context.opcode, "update_window_dims", attrs.update_window_dims);
  check_axes(context.opcode, "update_window_dims", attrs.update_window_dims, update.rank());  // C8
  const Dims window = scattered_axes(attrs, input.rank());
  for (int d = 0, next_batch = 0, next_window = 0; d < update.rank(); ++d) {
    const bool in_window = contains(attrs.update_window_dims, d);
    const int64_t bound =
        in_window ? input[static_cast<int>(window[next_window++])] : batch[next_batch++];
    if (update[d] == bound || (in_window && update[d] < bound)) continue;
    throw invalid_argument("scatter: axis {} of update 0, got size {}, expected {}{}", d, update[d],
                           in_window ? "at most " : "", bound);
  }
}

std::vector<TensorType> infer_scatter(const InferContext& context) {
  if (context.num_operands() % 2 == 0) {  // C5
    throw invalid_argument(
        "scatter: number of operands, got {}, expected inputs, indices, as many updates",
        context.num_operands());
  }
  const ScatterAttrs& attrs = context.get<ScatterAttrs>();
  const int num_inputs = context.num_operands() / 2;
  const TensorType& indices = context.operand(num_inputs);
  check_integer(context.opcode, "scatter_indices", indices);  // I2
  std::vector<DType> dtypes;
  for (int i = 0; i < num_inputs; ++i) {
    const TensorType& input = context.operand(i);
    const TensorType& update = context.operand(num_inputs + 1 + i);
    check_shape(context.opcode, fmt::format("input {}", i), input.shape,
                context.operand(0).shape);  // C1
    check_shape(context.opcode, fmt::format("update {}", i), update.shape,
                context.operand(num_inputs + 1).shape);                                   // C3
    check_dtype(context.opcode, fmt::format("update {}", i), update.dtype, input.dtype);  // C6
    dtypes.push_back(input.dtype);
  }
  check_input_axes(context, attrs);
  check_scatter_indices(context, attrs, indices.shape);
  check_update_shape(context, attrs, indices.shape, context.operand(num_inputs + 1).shape);
  std::vector<TensorType> results;
  for (const DType dtype : check_reducer(context, 0, dtypes)) {  // C23
    results.push_back({dtype, context.operand(0).shape});        // C24, C25
  }
  return results;
}

bool keeps_update(const Computation& region) {
  return region.num_parameters() == 2 && region.results()[0] == region.parameter(1);
}

// Applies update windows to the results. Rounds to the element type after each step: the
// specification allows any order of steps, each of which yields an element.
class Combiner {
 public:
  Combiner(const Instruction& scatter, const Evaluator& evaluator, std::vector<Tensor>& results,
           const std::vector<Tensor>& updates)
      : region_(scatter.region()), evaluator_(evaluator), results_(results), updates_(updates) {}

  void combine(std::span<const int64_t> extents, const StridedView& to, const StridedView& from) {
    if (results_.size() == 1 && keeps_update(region_)) {
      copy_strided(results_[0], to, updates_[0], from, extents);
      return;
    }
    const bool done = results_.size() == 1 && combine_typed(extents, to, from);
    if (!done) collect(extents, to, from);
  }

  // Ends the last walk.
  void finish() {
    std::vector<Tensor> updates;
    for (const Tensor& update : updates_) updates.push_back(elements_at(update, sources_));
    fold_into(results_, targets_, updates, LiftedRegion(region_, evaluator_));
  }

 private:
  bool combine_typed(std::span<const int64_t> extents, const StridedView& to,
                     const StridedView& from) {
    return visit_dtype(results_[0].dtype(), [&]<class T>() {
      using A = Accumulator<T>;
      const auto function = combiner_of<A>(region_);
      if (function == nullptr) return false;
      T* const out = results_[0].data<T>().data();
      const T* const in = updates_[0].data<T>().data();
      for_each_row<2>(extents, {to, from}, [&](const auto& at, const auto& steps, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          T& target = out[at[0] + i * steps[0]];
          const T update = in[at[1] + i * steps[1]];
          target =
              convert_element<T>(function(convert_element<A>(target), convert_element<A>(update)));
        }
      });
      return true;
    });
  }

  void collect(std::span<const int64_t> extents, const StridedView& to, const StridedView& from) {
    for_each_row<2>(extents, {to, from}, [&](const auto& at, const auto& steps, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        targets_.push_back(at[0] + i * steps[0]);
        sources_.push_back(at[1] + i * steps[1]);
      }
    });
  }

  const Computation& region_;
  const Evaluator& evaluator_;
  std::vector<Tensor>& results_;
  const std::vector<Tensor>& updates_;
  // Updates that wait for the region.
  std::vector<int64_t> targets_;
  std::vector<int64_t> sources_;
};

// Maps update windows to the input.
struct Placement {
  Dims window_axes;  // of the input
  Dims window_extents;
  Dims scatter_axes;         // of the update
  std::vector<Dims> starts;  // by scatter index
};

Placement place(const ScatterAttrs& attrs, const Shape& input, const Tensor& indices,
                const Shape& update) {
  Placement p;
  p.window_axes = scattered_axes(attrs, input.rank());
  for (const int64_t axis : attrs.update_window_dims) {
    p.window_extents.push_back(update[static_cast<int>(axis)]);
  }
  p.scatter_axes = other_axes(update.rank(), attrs.update_window_dims);
  p.starts = slice_starts(indices, input.rank(),
                          {attrs.input_batching_dims, attrs.scatter_indices_batching_dims,
                           attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim});
  return p;
}

// Returns the part of the window at `start` that is inside `input`; elements outside are dropped.
// Returns false if no element is inside.
bool clip(const Placement& p, const Dims& start, const Shape& input, StridedView& to,
          StridedView& from, Dims& extents) {
  extents = p.window_extents;
  const Dims strides = input.strides();
  for (size_t d = 0; d < start.size(); ++d) {
    if (contains(p.window_axes, static_cast<int64_t>(d))) continue;
    if (start[d] < 0 || start[d] >= input[static_cast<int>(d)]) return false;
    to.offset += start[d] * strides[d];
  }
  for (size_t i = 0; i < p.window_axes.size(); ++i) {
    const auto axis = static_cast<size_t>(p.window_axes[i]);
    const Wide first = std::max<Wide>(0, -Wide{start[axis]});
    const Wide last = std::min<Wide>(extents[i], Wide{input[static_cast<int>(axis)]} - start[axis]);
    if (first >= last) return false;
    extents[i] = static_cast<int64_t>(last - first);
    to.offset += static_cast<int64_t>(start[axis] + first) * strides[axis];
    from.offset += static_cast<int64_t>(first) * from.strides[i];
  }
  return true;
}

// indices_are_sorted and unique_indices are only hints; the value does not depend on them.
std::vector<Tensor> evaluate_scatter(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator& evaluator) {
  const ScatterAttrs& attrs = instruction.attrs<ScatterAttrs>();
  const size_t num_inputs = operands.size() / 2;
  std::vector<Tensor> results;
  std::vector<Tensor> updates;
  for (size_t k = 0; k < num_inputs; ++k) {
    const DType dtype = instruction.results()[k].dtype;
    results.push_back(operands[k].dtype() == dtype ? operands[k].clone() : operands[k].cast(dtype));
    updates.push_back(operands[num_inputs + 1 + k].cast(dtype));
  }
  const Shape& input = operands[0].shape();
  const Shape& update = updates[0].shape();
  if (updates[0].num_elements() == 0) return results;  // any number of empty windows
  const Tensor& indices = operands[num_inputs];
  const Placement p = place(attrs, input, indices, update);
  const Dims input_strides = input.strides();
  const Dims update_strides = update.strides();
  Combiner combiner(instruction, evaluator, results, updates);
  size_t next = 0;
  for_each_index(batch_shape(indices.shape(), attrs.index_vector_dim), [&](const Dims& batch) {
    StridedView to;
    StridedView from;
    for (size_t i = 0; i < p.window_axes.size(); ++i) {
      to.strides.push_back(input_strides[p.window_axes[i]]);
      from.strides.push_back(update_strides[attrs.update_window_dims[i]]);
    }
    for (size_t d = 0; d < batch.size(); ++d) {
      from.offset += batch[d] * update_strides[p.scatter_axes[d]];
    }
    Dims extents;
    if (clip(p, p.starts[next++], input, to, from, extents)) combiner.combine(extents, to, from);
  });
  combiner.finish();
  return results;
}

}  // namespace

extern const OpSemantics scatter_semantics{
    .infer = infer_scatter,
    .evaluate = evaluate_scatter,
    .example = OpExample{.parameters = "%a: tensor<4x$T>, %i: tensor<3x1xi32>, %u: tensor<3x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.scatter"(%a, %i, %u) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x$T>, tensor<3x1xi32>, tensor<3x$T>) -> tensor<4x$T>)"},
    .vectorize = replicas::vectorize_scatter,
    .sum_over_replicas = replicas::sum_scatter,
    .shard = spmd::shard_scatter};

}  // namespace systole::hlo::ops
