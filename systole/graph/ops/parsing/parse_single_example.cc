#include <algorithm>

#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/host_op.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole {
namespace {

// Features of one length in every record: the parser of batches gives the same rows.
BatchResults batch_parse_single_example(const BatchContext& c) {
  const auto& shapes = c.node.attr<std::vector<std::string>>("dense_shapes");
  const bool ragged = !c.node.attr<std::vector<std::string>>("sparse_keys").empty() ||
                      std::ranges::any_of(shapes, [](const std::string& s) { return s[1] == '?'; });
  if (ragged || !c.only_first_batched()) return std::nullopt;
  ExampleSchema schema(c.attrs);
  for (size_t i = 0; i < c.bytes_as.size(); ++i) schema.dense[i].raw = c.bytes_as[i];
  return c.rebuild(c.values(), schema.attrs(), "ParseExample");
}

std::vector<Output> import_parse_single_example(const ImportContext& c) { return import_parser(c); }

}  // namespace

Nest<Output> parse_single_example(const Input& serialized, const FeatureSpecs& features,
                                  const NameOptions& options) {
  return add_parser("ParseSingleExample", serialized, features, options);
}

namespace ops {
extern const OpDef op_parse_single_example{
    .name = "ParseSingleExample",
    .doc = "The features of one record.",
    .inputs = "serialized: string, dense_defaults: Tdense",
    .attrs =
        "sparse_keys: list(string), sparse_types: list(string), dense_keys: list(string), "
        "Tdense: list(string), dense_shapes: list(string)",
    .graph_def = {.import_node = import_parse_single_example, .tensorflow = TensorFlowOp::other},
    .infer = [](const InferContext& c) { return infer_parser(c, 0); },
    .host = kernel_of_session,
    .batch = {.rule = batch_parse_single_example, .gives_bytes = true},
};
}  // namespace ops
}  // namespace systole
