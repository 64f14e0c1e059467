// The RPCs of a worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "systole/worker/protocol/worker.grpc.pb.h"
#include "systole/worker/recorder.h"
#include "systole/worker/session.h"

namespace systole::worker {

// Uploads and downloads get their messages as bytes, and use no thread while they wait.
using RawService = v1::Worker::WithRawCallbackMethod_Upload<
    v1::Worker::WithRawCallbackMethod_Download<v1::Worker::Service>>;

// Thread-safe.
class WorkerService final : public RawService {
 public:
  // `context` must outlive it.
  WorkerService(const SessionContext& context, const WorkerOptions& options, std::string note);
  ~WorkerService() override;

  grpc::Status Hello(grpc::ServerContext* context, const v1::HelloRequest* request,
                     v1::HelloReply* reply) override;
  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::Reply, v1::Request>* stream) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* Upload(grpc::CallbackServerContext* context,
                                                    grpc::ByteBuffer* reply) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Download(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) override;
  grpc::Status Close(grpc::ServerContext* context, const v1::SessionKey* key,
                     v1::CloseReply* reply) override;
  grpc::Status Status(grpc::ServerContext* context, const v1::StatusRequest* request,
                      v1::StatusReply* reply) override;
  grpc::Status Profile(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::ProfileReply, v1::ProfileRequest>* stream) override;

  // Errors: UNAUTHENTICATED.
  void check_token(const grpc::ServerContextBase& context) const;
  // Errors: NOT_FOUND for a session that does not exist; PERMISSION_DENIED for a wrong token.
  std::shared_ptr<WorkerSession> find(const v1::SessionKey& key) const;

  // Refuses new sessions, and tells the others.
  void preempt(const std::string& why, double grace_seconds);
  // Ends what is stale, frees what is closed.
  void check();
  // Ends all sessions.
  void close_all();
  // Sessions whose client is connected.
  int64_t num_connected() const;

 private:
  v1::SessionKey add_session(const v1::HelloRequest& request, double lease_seconds);
  std::unique_ptr<Recorder::Active> begin_recording(v1::ProfileBegin& begin,
                                                    grpc::ServerContext& context);
  std::string encoded_recording(Recorder::Active& active, const v1::ProfileBegin& begin) const;
  std::string remark_of_idle() const;
  // What the process of a session recorded. Ends its recording.
  static RecordingPart end_part(WorkerSession& session, int64_t max_bytes);
  // That of all processes; of the session `only` alone, unless that is 0.
  std::vector<RecordingPart> collect_parts(uint64_t only, int64_t max_bytes) const;
  int64_t recorded_steps() const;
  std::vector<std::shared_ptr<WorkerSession>> sessions() const;

  const SessionContext context_;
  const WorkerOptions& options_;
  const std::string note_;
  const uint64_t incarnation_;
  const WorkerSession::Clock::time_point begin_ = WorkerSession::Clock::now();
  std::atomic<bool> preempted_ = false;
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<WorkerSession>> sessions_;
};

}  // namespace systole::worker
