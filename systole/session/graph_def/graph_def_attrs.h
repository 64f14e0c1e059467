// Attributes of nodes as TensorFlow's messages have them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_signature.h"

namespace tensorflow {
class AttrValue;
class NodeDef;
}  // namespace tensorflow

namespace systole {

// The attributes of a message that `signature` declares, with defaults for those it leaves out;
// functions are dropped. Errors: INVALID_ARGUMENT, after `what`, for an attribute of another kind;
// UNIMPLEMENTED for a value other than the only one supported; those of tensor_from_message.
AttrMap attrs_from_message(std::string_view what, const OpSignature& signature,
                           const tensorflow::NodeDef& node);
// Errors: INVALID_ARGUMENT, after `what`, names an attribute that an op must have and `attrs` lack.
void check_required_attrs(std::string_view what, const OpSignature& signature,
                          const AttrMap& attrs);

// Writes one attribute; a function is left out.
void attr_to_message(const AttrValue& value, tensorflow::AttrValue& message);
// The same for an attribute that an op declares: a list of names may be of types or shapes.
void attr_to_message(const AttrValue& value, const SignatureAttr* declared,
                     tensorflow::AttrValue& message);

}  // namespace systole
