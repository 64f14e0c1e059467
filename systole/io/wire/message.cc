#include "systole/io/wire/message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <limits>

#include "systole/base/error.h"

namespace systole {
namespace {

// Keeps the first error; later ones follow from it.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text.empty()) text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }

  std::string text;
};

}  // namespace

void parse_message(std::string_view what, std::string_view bytes,
                   google::protobuf::MessageLite& message) {
  constexpr size_t kLimit = std::numeric_limits<int>::max();
  if (bytes.size() > kLimit) {
    throw make_error(Code::resource_exhausted, "{}: {}, got {} bytes, expected at most {}", what,
                     message.GetTypeName(), bytes.size(), kLimit);
  }
  const google::protobuf::LogSilencer silent;  // the error says it
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw make_error(Code::data_loss, "{}: message, got {} bytes that do not parse, expected a {}",
                     what, bytes.size(), message.GetTypeName());
  }
}

std::string serialize_message(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

void parse_message_text(std::string_view what, std::string_view text,
                        google::protobuf::Message& message) {
  const google::protobuf::LogSilencer silent;
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);  // of later versions, as where messages are bytes
  if (!parser.ParseFromString(std::string(text), &message)) {
    throw invalid_argument("{}: text of a {}, got {}", what, message.GetTypeName(), errors.text);
  }
}

std::string print_message_text(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

}  // namespace systole
