// A client's side of the call Profile: a recording of a worker, on the clock of this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "systole/tracing/recording.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/clock_offset.h"
#include "systole/worker/protocol/worker.grpc.pb.h"

namespace systole::worker {

// On one thread.
class ProfileStream {
 public:
  // Begins the recording; `begin` names the session, if any, and limits. Errors: those of
  // make_channel(); UNAVAILABLE if nobody answers within some seconds; UNIMPLEMENTED for a worker
  // of an older version; those of the call.
  ProfileStream(const std::string& address, const Credentials& credentials,
                const v1::ProfileBegin& begin);
  // Ends the recording, if finish() did not.
  ~ProfileStream();
  ProfileStream(const ProfileStream&) = delete;
  ProfileStream& operator=(const ProfileStream&) = delete;

  // The time that the worker allows.
  double max_seconds() const { return max_seconds_; }

  struct Progress {
    int64_t steps = 0;   // of programs, so far
    bool ended = false;  // the time that the worker allows is over
  };
  // Compares the clocks once more. Errors: those of the call.
  Progress ask();
  // Ends the recording. Its times are of this process's steady clock: `start_steady_ns` is where
  // they begin. Events are without `calls`. Errors: those of the call; DATA_LOSS.
  tracing::WorkerRecording finish();

 private:
  using Stream = grpc::ClientReaderWriter<v1::ProfileRequest, v1::ProfileReply>;
  v1::ProfileReply exchange(const v1::ProfileRequest& request);
  // Errors: why the stream has ended.
  [[noreturn]] void fail();
  ClockOffset compare_clocks();
  tracing::Recording receive();

  const std::string address_;
  const Credentials credentials_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  double max_seconds_ = 0;
  std::vector<ClockSample> samples_;  // since the last compare_clocks()
  ClockOffset first_;
};

// Where a worker is, as part of a file name: "tpu1_8470".
std::string host_of_worker(const std::string& host, const std::string& address);

}  // namespace systole::worker
