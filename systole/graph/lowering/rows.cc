#include "systole/graph/lowering/rows.h"

#include <functional>

namespace systole {
namespace {

hlo::Value scatter_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids, hlo::Value rows, bool unique,
                        const std::function<void(hlo::Computation&)>& combine) {
  hlo::ScatterAttrs attrs;
  for (int axis = 1; axis < x.shape().rank(); ++axis) attrs.update_window_dims.push_back(axis);
  attrs.inserted_window_dims = {0};
  attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  attrs.unique_indices = unique;
  return b
      .op_with_regions(hlo::Opcode::scatter, {x, ids, rows}, attrs,
                       [&](hlo::Instruction& scatter) { combine(scatter.add_region()); })
      ->result();
}

}  // namespace

hlo::Value gather_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids) {
  hlo::GatherAttrs attrs;
  for (int axis = 1; axis < x.shape().rank(); ++axis) attrs.offset_dims.push_back(axis);
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = x.shape().dims();
  attrs.slice_sizes[0] = 1;
  return b.op(hlo::Opcode::gather, {x, ids}, attrs)->result();
}

hlo::Value add_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids, hlo::Value rows) {
  return scatter_rows(b, x, ids, rows, /*unique=*/false, [&](hlo::Computation& region) {
    hlo::fill_reducer(region, hlo::Opcode::add, x.dtype());
  });
}

hlo::Value replace_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids, hlo::Value rows) {
  return scatter_rows(b, x, ids, rows, /*unique=*/true, [&](hlo::Computation& region) {
    region.add_parameter({x.dtype(), {}});
    region.set_results({region.add_parameter({x.dtype(), {}})});
  });
}

}  // namespace systole
