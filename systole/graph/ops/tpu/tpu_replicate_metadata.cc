#include "systole/graph/core/op_def.h"

namespace systole::ops {

extern const OpDef op_tpu_replicate_metadata{
    .name = "TPUReplicateMetadata",
    .doc = "How many replicas run what depends on it.",
    .attrs = "num_replicas: int",
    .infer =
        [](const InferContext& c) {
          const int64_t count = c.attr<int64_t>("num_replicas");
          if (count < 1) throw invalid_argument("num_replicas, got {}, expected at least 1", count);
          return std::vector<TensorType>{};
        },
    .lower = [](LowerContext&) { return std::vector<hlo::Value>{}; },
    .traits = {.stateful = true},
};

}  // namespace systole::ops
