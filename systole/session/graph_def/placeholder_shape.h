// The shapes of placeholders of a GraphDef message.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <optional>
#include <string_view>

#include "systole/base/shape.h"

namespace tensorflow {
class NodeDef;
}  // namespace tensorflow

namespace systole {

// The shape that a placeholder declares; nullopt for one of unknown rank, without the attribute, or
// written as a scalar by a `producer` (versions.producer of the message) that wrote every unknown
// shape so. Errors: those of shape_from_message.
std::optional<Shape> declared_shape(std::string_view what, const tensorflow::NodeDef& placeholder,
                                    int producer);

// The number of dimensions that the users of a placeholder need, such as 4 of an image in front of
// a Conv2D, also behind ops that keep the number; nullopt when none tells it.
std::optional<int> rank_from_users(
    const tensorflow::NodeDef& placeholder,
    const google::protobuf::RepeatedPtrField<tensorflow::NodeDef>& nodes);

}  // namespace systole
