// Arrays on streams of their own.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "systole/base/shape.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/worker.pb.h"

namespace systole::remote {

// What the streams of a session need.
struct TransferContext {
  std::shared_ptr<grpc::Channel> channel;
  worker::Credentials credentials;
  worker::v1::SessionKey session;
  double stall_seconds;  // a transfer has this time, and a second for each MB
};

// Sends the elements at `data` as transfer `id`, and returns when the worker has them all. Nothing
// reads `data` after that. Returns the status of the RPC.
grpc::Status upload(const TransferContext& context, uint64_t id, const TensorType& type,
                    const void* data);

// Fetches transfer `id` into `size` bytes at `target`. Calls `done`, on another thread, when it has
// ended; nothing writes to `target` after that.
void download(const TransferContext& context, uint64_t id, void* target, int64_t size,
              std::function<void(const grpc::Status&)> done);

}  // namespace systole::remote
