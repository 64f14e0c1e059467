// Messages of protobuf from and to bytes. For sources that include generated headers; see io/proto.
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace systole {

// Reads `message` from all of `bytes`. `what` begins the error's text: a file, a key.
// Errors: DATA_LOSS when the bytes are no such message.
void parse_message(std::string_view what, std::string_view bytes,
                   google::protobuf::MessageLite& message);

// The bytes of `message`, the same for equal messages (maps are sorted).
std::string serialize_message(const google::protobuf::MessageLite& message);

// Text format, as of `checkpoint` and `graph.pbtxt`.
// Errors: INVALID_ARGUMENT with the line and the column.
void parse_message_text(std::string_view what, std::string_view text,
                        google::protobuf::Message& message);
std::string print_message_text(const google::protobuf::Message& message);

}  // namespace systole
