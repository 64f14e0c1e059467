// Attributes of nodes as TensorFlow's messages have them.
#pragma once

#include <string>
#include <string_view>

#include "systole/graph/api/graph.h"
#include "systole/graph/op_def.h"

namespace tensorflow {
class AttrValue;
class NodeDef;
}  // namespace tensorflow

namespace systole {

// The attributes of a message, and those with defaults that it leaves out. Attributes of kinds that
// no op of ours reads (functions, lists of floats) are dropped. Errors, which begin with `what`:
// those of tensor_from_message.
AttrMap attrs_from_message(std::string_view what, const tensorflow::NodeDef& node);

// Writes one attribute but functions.
void attr_to_message(const AttrValue& value, tensorflow::AttrValue& message);

// Attributes that TensorFlow requires and that nodes made by gradients leave out: T, N.
void add_required_attrs(const Node& node, tensorflow::NodeDef& message);

}  // namespace systole
