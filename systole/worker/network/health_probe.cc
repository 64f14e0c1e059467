#include "systole/worker/network/health_probe.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <future>

namespace systole::worker {

bool answers_health(int socket, double seconds) {
  grpc::GenericStub stub(grpc::CreateInsecureChannelFromFd("worker", socket));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           std::chrono::duration<double>(seconds)));
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &reply,
                 [&](const grpc::Status& status) { ended.set_value(status); });
  return ended.get_future().get().ok();
}

}  // namespace systole::worker
