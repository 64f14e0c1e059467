// Which op takes a node of a GraphDef message.
#pragma once

#include <string_view>

#include "systole/graph/core/op_def.h"

namespace tensorflow {
class NodeDef;
}  // namespace tensorflow

namespace systole {

// The attribute that marks a node of an op that TensorFlow has in another form (TensorFlowOp).
inline constexpr std::string_view kMarkOfOurs = "_systole";

// Null when there is no op of that name.
const OpDef* find_op_or_null(std::string_view name);

// The op that takes a node: one of ours, by its name or an alias, or a translation of another op of
// TensorFlow. Null when there is none.
const OpDef* op_for_import(const tensorflow::NodeDef& node);

// TensorFlow's ops that become several nodes of ours. Their only rule is `import_node`.
std::span<const OpDef> translated_ops();

}  // namespace systole
