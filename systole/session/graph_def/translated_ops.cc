#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/ops/state/variable_ops.h"
#include "systole/session/graph_def/importable_ops.h"

namespace systole {
namespace {

std::string imported_name(const ImportContext& c) { return std::string(c.name); }

std::vector<Output> add_translated(const ImportContext& c, std::string_view op,
                                   std::vector<Output> inputs) {
  return Graph::current().add_node(op, std::move(inputs), {}, {}, c.name)->outputs();
}

std::vector<Output> import_variable_v2(const ImportContext& c) {
  return {import_variable(c).value()};
}

std::vector<Output> import_pad(const ImportContext& c) {
  const Output& x = c.input(0);
  const Output zero = constant(Tensor::zeros(x.dtype(), {}));
  return Graph::current()
      .add_node("PadV2", {x, c.input(1), zero}, {{"T", x.dtype()}}, {}, c.name)
      ->outputs();
}

std::vector<Output> import_gather(const ImportContext& c) {
  return {gather(c.input(0), c.input(1), {.name = imported_name(c)})};
}

std::vector<Output> import_resource_gather(const ImportContext& c) {
  const Output table = c.variable().value();
  return {gather(table, c.input(1), {.name = imported_name(c)})};
}

std::vector<Output> import_div(const ImportContext& c) {
  const bool integers = is_integer(c.input(0).dtype());
  return add_translated(c, integers ? "TruncateDiv" : "RealDiv", {c.input(0), c.input(1)});
}

// Inference alone: the moving statistics are inputs 3 and 4. They are also what the other outputs
// hold then; a fetch finds each under the node's name.
std::vector<Output> import_batch_norm(const ImportContext& c) {
  if (c.attr<bool>("is_training")) {
    throw unimplemented("is_training, got true, expected a graph for inference");
  }
  const auto& format = c.attr<std::string>("data_format");
  const double epsilon = c.attr<double>("epsilon");
  const Output& x = c.input(0);
  const auto along_channels = [&](const Output& v) {
    return format == "NCHW" ? reshape(v, {-1, 1, 1}) : v;
  };
  const Output &scale = c.input(1), &offset = c.input(2), &mean = c.input(3);
  const NameScope scope(c.name);
  const Output factor = scale * rsqrt(c.input(4) + epsilon);
  const Output shift = offset - mean * factor;
  const Output y = x * along_channels(factor) + along_channels(shift);
  const Output& variance = c.input(4);
  return Graph::current()
      .add_node("IdentityN", {y, mean, variance, mean, variance}, {}, {}, scope.name())
      ->outputs();
}

constexpr std::string_view kVariableAttrs =
    "dtype: type, shape: shape, container: string = '', shared_name: string = ''";

const OpDef kTranslated[] = {
    {.name = "VariableV2",
     .outputs = "ref: dtype",
     .attrs = kVariableAttrs,
     .graph_def = {.aliases = "Variable", .import_node = import_variable_v2}},
    {.name = "Pad",
     .inputs = "input: T, paddings: Tpaddings",
     .outputs = "output: T",
     .graph_def = {.import_node = import_pad}},
    {.name = "Gather",
     .inputs = "params: Tparams, indices: Tindices",
     .outputs = "output: Tparams",
     .graph_def = {.import_node = import_gather}},
    {.name = "ResourceGather",
     .inputs = "resource: resource, indices: Tindices",
     .outputs = "output: dtype",
     .attrs = "batch_dims: int == 0, dtype: type",
     .graph_def = {.import_node = import_resource_gather}},
    {.name = "Div",
     .inputs = "x: T, y: T",
     .outputs = "z: T",
     .graph_def = {.import_node = import_div}},
    {.name = "FusedBatchNorm",
     .inputs = "x: T, scale: U, offset: U, mean: U, variance: U",
     .outputs = "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U",
     .attrs = "epsilon: float = 0.0001, data_format: string = 'NHWC', is_training: bool = true",
     .graph_def = {.aliases = "FusedBatchNormV2 FusedBatchNormV3",
                   .import_node = import_batch_norm}},
};

}  // namespace

std::span<const OpDef> translated_ops() { return kTranslated; }

}  // namespace systole
