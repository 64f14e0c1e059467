// The nodes by which TensorFlow itself saves and restores a graph's variables.
#pragma once

#include <vector>

#include "systole/graph/api/variable.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace systole {

// Adds save/SaveV2, save/RestoreV2 and what belongs to them to the graph of `message`, and the
// saver_def that names them. Ours never runs them.
void add_saver_nodes(const std::vector<Variable>& variables, tensorflow::MetaGraphDef& message);

}  // namespace systole
