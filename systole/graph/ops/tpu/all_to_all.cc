#include <numeric>

#include "systole/graph/core/composition.h"
#include "systole/graph/ops/tpu/tpu_groups.h"

namespace systole {
namespace {

std::vector<TensorType> infer_all_to_all(const InferContext& c) {
  check_groups_input(c, 1);
  TensorType type = c.input(0);
  const int rank = type.shape.rank();
  const auto axis = [&](std::string_view name) {
    const int64_t value = c.attr<int64_t>(name);
    if (value >= 0 && value < rank) return static_cast<int>(value);
    throw invalid_argument("{}, got {}, expected in [0, {})", name, value, rank);
  };
  const int64_t count = c.attr<int64_t>("split_count");
  if (count < 1) throw invalid_argument("split_count, got {}, expected at least 1", count);
  const int split = axis("split_dimension");
  const int concat = axis("concat_dimension");
  if (type.shape[split] != kUnknown) {
    if (type.shape[split] % count != 0) {
      throw invalid_argument("size of split_dimension, got {}, expected a multiple of {}",
                             type.shape[split], count);
    }
    type.shape.set_dim(split, type.shape[split] / count);
  }
  if (type.shape[concat] != kUnknown) type.shape.set_dim(concat, type.shape[concat] * count);
  return {type};
}

std::vector<hlo::Value> lower_all_to_all(LowerContext& c) {
  hlo::AllToAllAttrs attrs{.split_dimension = c.attr<int64_t>("split_dimension"),
                           .concat_dimension = c.attr<int64_t>("concat_dimension"),
                           .split_count = c.attr<int64_t>("split_count"),
                           .groups = collective_attrs(c, 1)};
  // Empty groups are one group of all replicas, which StableHLO's all_to_all lists.
  Tensor& groups = attrs.groups.replica_groups;
  if (groups.dim(0) == 0) {
    groups = Tensor(DType::s64, {1, attrs.split_count});
    std::iota(groups.data<int64_t>().begin(), groups.data<int64_t>().end(), int64_t{0});
  }
  return {c.b.op(hlo::Opcode::all_to_all, {c.input(0)}, attrs)->result()};
}

struct Dimensions {
  int64_t concat, split, count;
};

Output add_exchange(const Output& x, const Output& groups, const Dimensions& d,
                    SourceLocation where = {}, std::string_view name = {}) {
  AttrMap attrs{{"T", x.dtype()},
                {"concat_dimension", d.concat},
                {"split_dimension", d.split},
                {"split_count", d.count}};
  return Graph::current()
      .add_node("AllToAll", {x, groups}, std::move(attrs), where, name)
      ->output();
}

// Everything goes back to where it came from.
std::vector<Output> all_to_all_gradient(GradientContext& c) {
  const Dimensions back{.concat = c.attr<int64_t>("split_dimension"),
                        .split = c.attr<int64_t>("concat_dimension"),
                        .count = c.attr<int64_t>("split_count")};
  return {add_exchange(c.grad(), c.input(1), back), Output()};
}

}  // namespace

namespace tpu {

Output all_to_all(const Input& x, const AllToAllOptions& options) {
  const CompositionScope scope(x, options.name, "AllToAll");
  const Output value = resolve("AllToAll", x);
  const Output groups = group_constant("AllToAll", options.group_assignment, x.where());
  return add_exchange(value, groups,
                      {options.concat_dimension, options.split_dimension, options.split_count},
                      x.where(), scope.result().name);
}

}  // namespace tpu

namespace ops {
extern const OpDef op_all_to_all{
    .name = "AllToAll",
    .doc = "Parts of a tensor, exchanged between the replicas of a group.",
    .inputs = "input: T, group_assignment: int32",
    .outputs = "output: T",
    .attrs = "concat_dimension: int, split_dimension: int, split_count: int",
    .infer = infer_all_to_all,
    .lower = lower_all_to_all,
    .gradient = all_to_all_gradient,
};
}  // namespace ops
}  // namespace systole
