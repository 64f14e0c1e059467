// The messages of an upload or download: v1::Chunk, written and read without copying an array into
// a message.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "systole/worker/protocol/worker.pb.h"

namespace systole::worker {

// A message of another kind as its bytes.
grpc::ByteBuffer to_buffer(const google::protobuf::MessageLite& message);
// Returns whether the bytes are a message of this type, and one that takes no large multiple of its
// bytes in memory.
bool from_buffer(grpc::ByteBuffer& buffer, google::protobuf::Message& message);

// Writes the chunks of one array: its bytes, then the end with their checksum.
class ChunkWriter {
 public:
  // `owner` keeps the memory at `data`, which must not change, until gRPC has sent it.
  ChunkWriter(const void* data, int64_t size, std::shared_ptr<const void> owner);
  // The next message; none after the end.
  std::optional<grpc::ByteBuffer> next();

 private:
  const char* data_;
  int64_t size_;
  std::shared_ptr<const void> owner_;
  int64_t sent_ = 0;
  uint32_t crc_ = 0;
  bool ended_ = false;
};

// Reads the chunks of an array of known size into its memory.
class ChunkReader {
 public:
  ChunkReader(void* target, int64_t size) : target_(static_cast<char*>(target)), size_(size) {}
  // Takes a message. Returns true for the end. Errors: DATA_LOSS for more or fewer bytes than
  // `size` and for a wrong checksum; INVALID_ARGUMENT for bytes that are no chunk.
  bool take(grpc::ByteBuffer& message);

 private:
  char* target_;
  int64_t size_;
  int64_t received_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace systole::worker
