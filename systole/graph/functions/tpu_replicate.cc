#include "systole/graph/functions/tpu_replicate.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole::tpu {
namespace {

using Lists = std::vector<std::vector<Output>>;

void check_inputs(const Lists& inputs) {
  if (inputs.empty()) {
    throw invalid_argument("tpu.replicate: inputs, got no list, expected one a replica");
  }
  for (size_t r = 1; r < inputs.size(); ++r) {
    if (inputs[r].size() != inputs[0].size()) {
      throw invalid_argument(
          "tpu.replicate: inputs of replica {}, got {}, expected {} as for replica 0", r,
          inputs[r].size(), inputs[0].size());
    }
    for (size_t i = 0; i < inputs[r].size(); ++i) {
      const TensorType& first = inputs[0][i].type();
      const TensorType& type = inputs[r][i].type();
      if (type.dtype == first.dtype && type.shape.compatible_with(first.shape)) continue;
      throw invalid_argument(
          "tpu.replicate: input {} of replica {}, got {}, expected {} as for replica 0", i, r, type,
          first);
    }
  }
}

Node* add_metadata(int64_t num_replicas, SourceLocation where) {
  return Graph::current().add_node("TPUReplicateMetadata", {}, {{"num_replicas", num_replicas}},
                                   where);
}

// What the replica that runs it has been given.
Output replicated_input(const Lists& inputs, size_t i, SourceLocation where) {
  std::vector<Output> of_replicas;
  for (const std::vector<Output>& list : inputs) of_replicas.push_back(list[i]);
  const auto count = static_cast<int64_t>(inputs.size());
  AttrMap attrs{{"N", count}, {"T", of_replicas[0].dtype()}};
  return Graph::current()
      .add_node("TPUReplicatedInput", of_replicas, std::move(attrs), where)
      ->output();
}

std::vector<Output> replicated_output(const Output& value, int64_t count, SourceLocation where) {
  return Graph::current()
      .add_node("TPUReplicatedOutput", {value}, {{"num_replicas", count}, {"T", value.dtype()}},
                where)
      ->outputs();
}

std::vector<int64_t> axes_for(const std::vector<int64_t>& given, size_t count,
                              std::string_view what) {
  if (given.empty()) return std::vector<int64_t>(count, 0);
  if (given.size() == count) return given;
  throw invalid_argument("tpu.shard: {}, got {} axes, expected {}", what, given.size(), count);
}

std::vector<Output> split_input(const Output& input, int64_t axis, int num_shards) {
  const int rank = input.shape().rank();
  if (axis < 0 || axis >= rank) {
    throw invalid_argument("tpu.shard: axis of input '{}', got {}, expected in [0, {})",
                           input.name(), axis, rank);
  }
  const int64_t size = input.shape()[static_cast<int>(axis)];
  if (size == kUnknown || size % num_shards != 0) {
    throw invalid_argument(
        "tpu.shard: size of axis {} of input '{}', got {}, expected a multiple of num_shards {}",
        axis, input.name(), size == kUnknown ? "one not known" : std::to_string(size), num_shards);
  }
  return split(input, num_shards, {.axis = axis});
}

Output join_outputs(const std::vector<Output>& shards, int64_t axis) {
  if (shards[0].shape().rank() == 0) return stack(shards);
  return concat(shards, axis);
}

}  // namespace

bool is_replicated(const Node& node) {
  return std::ranges::any_of(node.control_inputs(), [](const Node* control) {
    return control->op_name() == "TPUReplicateMetadata";
  });
}

Lists replicate(const Computation& computation, const Lists& inputs,
                const ReplicateOptions& options, Input::Where where) {
  const WhereScope line(where);
  check_inputs(inputs);
  const auto count = static_cast<int64_t>(inputs.size());
  const NameScope scope(options.name);
  Node* const metadata = add_metadata(count, where);
  if (is_replicated(*metadata)) {
    throw invalid_argument(
        "tpu.replicate: TPU computations cannot be nested, got one inside of another");
  }
  std::vector<Output> own;
  for (size_t i = 0; i < inputs[0].size(); ++i) own.push_back(replicated_input(inputs, i, where));
  std::vector<Output> outputs;
  {
    const ControlDependencies inside({Operation(metadata)});
    std::optional<ShardContext> shards;
    if (!get_tpu_context().number_of_shards()) shards.emplace(static_cast<int>(count));
    outputs = computation(own);
    // Values that the computation only hands on are replicated, too.
    for (Output& output : outputs) output = identity(output);
  }
  Lists results(inputs.size());
  for (const Output& output : outputs) {
    const std::vector<Output> of_replicas = replicated_output(output, count, where);
    for (size_t r = 0; r < results.size(); ++r) results[r].push_back(of_replicas[r]);
  }
  return results;
}

std::vector<Output> rewrite(const Computation& computation, const std::vector<Output>& inputs,
                            Input::Where where) {
  return replicate(computation, {inputs}, {.name = "TPURewrite"}, where)[0];
}

std::vector<Output> shard(const Computation& computation, const std::vector<Output>& inputs,
                          const ShardOptions& options, Input::Where where) {
  if (options.num_shards < 1) {
    throw invalid_argument("tpu.shard: num_shards, got {}, expected a positive number",
                           options.num_shards);
  }
  const auto input_axes = axes_for(options.input_shard_axes, inputs.size(), "input_shard_axes");
  Lists parts(static_cast<size_t>(options.num_shards));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto split = split_input(inputs[i], input_axes[i], options.num_shards);
    for (size_t r = 0; r < parts.size(); ++r) parts[r].push_back(split[r]);
  }
  const Lists outputs = replicate(computation, parts, {.name = "TPUShard"}, where);
  if (!options.outputs_from_all_shards) return outputs[0];
  const auto output_axes =
      axes_for(options.output_shard_axes, outputs[0].size(), "output_shard_axes");
  std::vector<Output> results;
  for (size_t k = 0; k < outputs[0].size(); ++k) {
    std::vector<Output> shards;
    for (const std::vector<Output>& of_shard : outputs) shards.push_back(of_shard[k]);
    results.push_back(join_outputs(shards, output_axes[k]));
  }
  return results;
}

std::vector<Output> batch_parallel(const Computation& computation,
                                   const std::vector<Output>& inputs, int num_shards,
                                   Input::Where where) {
  return shard(computation, inputs, {.num_shards = num_shards}, where);
}

std::vector<Output> repeat(int64_t n, const LoopBodyFn& body, const InputList& inputs) {
  if (n < 0) throw invalid_argument("tpu.repeat: n, got {}, expected at least 0", n);
  std::vector<Output> variables{constant(Tensor(int64_t{0}))};
  for (const Input& input : inputs.inputs()) variables.push_back(input.resolve());
  const auto goes_on = [&](const std::vector<Output>& v) { return less(v[0], Tensor(n)); };
  const auto step = [&](const std::vector<Output>& v) {
    std::vector<Output> next = body({v.begin() + 1, v.end()});
    if (next.size() + 1 != v.size()) {
      throw invalid_argument("tpu.repeat: results of the body, got {}, expected {}", next.size(),
                             v.size() - 1);
    }
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i].dtype() == v[i + 1].dtype()) continue;
      throw invalid_argument("tpu.repeat: result {} of the body, got {}, expected {}", i,
                             next[i].type(), v[i + 1].type());
    }
    next.insert(next.begin(), add(v[0], Tensor(int64_t{1})));
    return next;
  };
  std::vector<Output> last = systole::while_loop(goes_on, step, variables, {.name = "repeat"});
  last.erase(last.begin());
  return last;
}

std::vector<Output> while_loop(const LoopConditionFn& condition, const LoopBodyFn& body,
                               const InputList& inputs) {
  return systole::while_loop(condition, body, inputs);
}

std::vector<Output> outside_compilation(const std::function<std::vector<Output>()>& fn) {
  const NameScope scope("outside_compilation");
  // What runs before the program cannot wait for it to begin.
  const ControlDependencies outside(nullptr);
  return fn();
}

}  // namespace systole::tpu
