// Conversion of protobuf messages from and to bytes. For sources that include generated headers;
// see io/proto.
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace systole {

// Parses all of `bytes`. Errors start with `what` (a file, a key): DATA_LOSS if the bytes are not
// such a message.
void parse_message(std::string_view what, std::string_view bytes,
                   google::protobuf::MessageLite& message);

// Returns the bytes of `message`, equal for equal messages (maps are sorted).
std::string serialize_message(const google::protobuf::MessageLite& message);

// The text format, as in `checkpoint` and `graph.pbtxt`.
void parse_message_text(std::string_view what, std::string_view text,
                        google::protobuf::Message& message);
std::string print_message_text(const google::protobuf::Message& message);

}  // namespace systole
