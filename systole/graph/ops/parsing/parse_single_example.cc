#include "systole/graph/host_op.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole {

Nest<Output> parse_single_example(const Input& serialized, const FeatureSpecs& features,
                                  const NameOptions& options) {
  return add_parser("ParseSingleExample", serialized, features, options);
}

namespace ops {
extern const OpDef op_parse_single_example;
const OpDef op_parse_single_example{
    .name = "ParseSingleExample",
    .doc = "The features of one record.",
    .infer = [](const InferContext& c) { return infer_parser(c, 0); },
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
