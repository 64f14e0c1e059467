#include "systole/worker/protocol/chunks.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <array>

#include "systole/base/error.h"
#include "systole/io/wire/crc32c.h"
#include "systole/worker/protocol/convert.h"

namespace systole::worker {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kDataTag =
    WireFormatLite::MakeTag(v1::Chunk::kDataFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

// A slice of memory that `owner` keeps.
grpc::Slice borrowed_slice(const char* data, size_t size, std::shared_ptr<const void> owner) {
  const auto release = [](void* held) { delete static_cast<std::shared_ptr<const void>*>(held); };
  return {const_cast<char*>(data), size, release,
          new std::shared_ptr<const void>(std::move(owner))};
}

// Messages up to this size are parsed whatever they hold.
constexpr size_t kUncountedBytes = size_t{64} << 10;
// Fields of a larger message and of the messages within it. A field of two bytes on the wire may
// take a hundred in memory.
constexpr int64_t kMaxFields = 262'144;

// Whether the rest of `input`, a message of type `type`, has at most `left` fields, which are
// counted off, and is well formed.
bool has_few_fields(CodedInputStream& input, const google::protobuf::Descriptor& type,
                    int64_t& left) {
  while (const uint32_t tag = input.ReadTag()) {
    if (--left < 0) return false;
    const google::protobuf::FieldDescriptor* const field =
        type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool is_message =
        field != nullptr && field->message_type() != nullptr &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!is_message) {
      if (!WireFormatLite::SkipField(&input, tag)) return false;
      continue;
    }
    const auto limit = input.ReadLengthAndPushLimit();
    if (!has_few_fields(input, *field->message_type(), left)) return false;
    if (input.BytesUntilLimit() > 0) return false;
    input.PopLimit(limit);
  }
  return true;
}

}  // namespace

grpc::ByteBuffer to_buffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

bool from_buffer(grpc::ByteBuffer& buffer, google::protobuf::Message& message) {
  if (buffer.Length() > kUncountedBytes) {
    grpc::ProtoBufferReader reader(&buffer);
    CodedInputStream input(&reader);
    int64_t left = kMaxFields;
    if (!reader.status().ok() || !has_few_fields(input, *message.GetDescriptor(), left)) {
      return false;
    }
  }
  grpc::ProtoBufferReader reader(&buffer);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

ChunkWriter::ChunkWriter(const void* data, int64_t size, std::shared_ptr<const void> owner)
    : data_(static_cast<const char*>(data)), size_(size), owner_(std::move(owner)) {}

std::optional<grpc::ByteBuffer> ChunkWriter::next() {
  if (ended_) return std::nullopt;
  if (sent_ == size_) {
    ended_ = true;
    v1::Chunk chunk;
    chunk.mutable_end()->set_crc32c(crc_);
    return to_buffer(chunk);
  }
  const auto bytes = static_cast<size_t>(std::min(kChunkBytes, size_ - sent_));
  std::array<uint8_t, 16> head{};
  uint8_t* end = CodedOutputStream::WriteTagToArray(kDataTag, head.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes), end);
  const char* const begin = data_ + sent_;
  crc_ = crc32c({begin, bytes}, crc_);
  sent_ += static_cast<int64_t>(bytes);
  const std::array<grpc::Slice, 2> slices = {
      grpc::Slice(head.data(), static_cast<size_t>(end - head.data())),
      borrowed_slice(begin, bytes, owner_)};
  return grpc::ByteBuffer(slices.data(), slices.size());
}

bool ChunkReader::take(grpc::ByteBuffer& message) {
  grpc::ProtoBufferReader reader(&message);
  CodedInputStream input(&reader);
  uint32_t length = 0;
  const uint32_t tag = reader.status().ok() ? input.ReadTag() : 0;
  if (tag == kDataTag && input.ReadVarint32(&length)) {
    if (length > size_ - received_) {
      throw make_error(Code::data_loss, "worker: transfer, got more than the {} bytes declared",
                       size_);
    }
    char* const place = target_ + received_;
    if (!input.ReadRaw(place, static_cast<int>(length)) || input.ReadTag() != 0) {
      throw invalid_argument("worker: transfer, got a damaged message");
    }
    crc_ = crc32c({place, length}, crc_);
    received_ += length;
    return false;
  }
  v1::Chunk chunk;
  if (!from_buffer(message, chunk) || !chunk.has_end()) {
    throw invalid_argument("worker: transfer, got a message without data, expected a chunk");
  }
  if (received_ != size_ || chunk.end().crc32c() != crc_) {
    throw make_error(Code::data_loss,
                     "worker: transfer, got {} bytes with CRC-32C {:08x}, expected {} with {:08x}",
                     received_, crc_, size_, chunk.end().crc32c());
  }
  return true;
}

}  // namespace systole::worker
