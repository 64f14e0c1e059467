// Values of this process as messages of the protocol, and back. Messages come from elsewhere: every
// function that reads one checks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"
#include "systole/runtime/client.h"
#include "systole/tracing/span.h"
#include "systole/worker/protocol/worker.pb.h"

namespace systole::worker {

// The versions of the protocol that this build speaks.
inline constexpr uint32_t kOldestVersion = 1;
inline constexpr uint32_t kNewestVersion = 2;
// The first version with the call Profile.
inline constexpr uint32_t kProfileVersion = 2;
// Bytes of an array in one message of an upload or download.
inline constexpr int64_t kChunkBytes = int64_t{1} << 20;
// The largest message that both sides take.
inline constexpr int kMaxMessageBytes = 8 << 20;
// The longest text of an error.
inline constexpr size_t kMaxErrorBytes = size_t{64} << 10;
// Arrays up to this size travel within requests and replies.
inline constexpr int64_t kInlineBytes = int64_t{64} << 10;

// The most replicas of one program: more than the largest TPU has cores.
inline constexpr int64_t kMaxReplicas = 65536;

// The name of the call's metadata that carries "Bearer <token>".
inline constexpr const char* kAuthorization = "authorization";

// The name and kind of an operation in recordings of the worker and of its client.
struct OperationSpan {
  const char* name;
  tracing::Kind kind;
};
OperationSpan span_of(const v1::Request& request);

// Checks the versions that a client speaks. Errors: FAILED_PRECONDITION if this build speaks none.
void check_versions(uint32_t oldest, uint32_t newest);

void to_wire(const TensorType& type, v1::Type& message);
// Errors: INVALID_ARGUMENT for types that no device has and for arrays of 2^62 bytes or more.
TensorType from_wire(const v1::Type& message);

void to_wire(const Error& error, v1::Error& message);
// An unknown code becomes UNKNOWN.
Error from_wire(const v1::Error& message);

void to_wire(const runtime::CompileOptions& options, v1::CompileOptions& message);
// Errors: INVALID_ARGUMENT for numbers that no device has.
runtime::CompileOptions from_wire(const v1::CompileOptions& message);

void to_wire(const runtime::Device& device, v1::Device& message);
runtime::Device from_wire(const v1::Device& message);

void to_wire(const runtime::ExecutableStats& stats, v1::Stats& message);
runtime::ExecutableStats from_wire(const v1::Stats& message);

void to_wire(const runtime::StepProfile& step, v1::StepProfile& message);
runtime::StepProfile from_wire(const v1::StepProfile& message);

// The bytes of a numeric tensor.
std::string_view bytes_of(const Tensor& tensor);

// Puts bytes into the message, with their checksum.
void set_bytes(std::string_view bytes, v1::Data& message);
// Returns the bytes within the message. Errors: DATA_LOSS, with `what`, for a wrong checksum;
// INVALID_ARGUMENT for a transfer.
std::string_view checked_bytes(const v1::Data& message, std::string_view what);
// Copies the bytes within the message to `target`. Errors: those of checked_bytes();
// INVALID_ARGUMENT for another number of bytes.
void copy_bytes(const v1::Data& message, Tensor& target, std::string_view what);

}  // namespace systole::worker
