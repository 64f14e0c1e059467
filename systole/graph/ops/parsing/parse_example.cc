#include "systole/graph/host_op.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole {

Nest<Output> parse_example(const Input& serialized, const FeatureSpecs& features,
                           const NameOptions& options) {
  return add_parser("ParseExample", serialized, features, options);
}

namespace ops {
extern const OpDef op_parse_example;
const OpDef op_parse_example{
    .name = "ParseExample",
    .doc = "The features of a batch of records.",
    .infer = [](const InferContext& c) { return infer_parser(c, 1); },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
