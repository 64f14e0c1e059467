// The graph nodes by which TensorFlow saves and restores variables.
#pragma once

#include <vector>

#include "systole/graph/core/variable.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace systole {

// Adds save/SaveV2, save/RestoreV2 and their inputs to the graph of `message`, and a saver_def that
// names them. They are for TensorFlow only.
void add_saver_nodes(const std::vector<Variable>& variables, tensorflow::MetaGraphDef& message);

}  // namespace systole
