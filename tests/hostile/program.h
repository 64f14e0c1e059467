// A client that has the token and does what it likes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "systole/base/tensor.h"
#include "systole/worker/protocol/worker.grpc.pb.h"
#include "tests/hostile/attacks.h"

namespace systole::hostile {

namespace v1 = worker::v1;

// One connection, and one session if hello() was called.
class Program {
 public:
  explicit Program(const Target& target);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Makes a session with the longest lease that there is.
  bool hello(const std::string& name = "hostile");
  // Opens its stream.
  bool open();
  bool send(const v1::Request& request) { return stream_ != nullptr && stream_->Write(request); }
  // Reads until the reply of an operation. Returns false at the end of the stream.
  bool read(v1::Reply& reply);
  // Sends an operation and waits for its reply.
  bool run(v1::Request request, v1::Reply& reply);
  uint64_t next_op() { return ++op_; }
  // An array for a buffer, within the request.
  static v1::Request put(uint64_t buffer, int64_t bytes);
  // Begins an upload of so many bytes: sends the header and no data.
  std::unique_ptr<grpc::ClientWriter<v1::Chunk>> begin_upload(grpc::ClientContext& context,
                                                              uint64_t id, int64_t bytes);
  // Uploads an array.
  bool upload(uint64_t id, int64_t bytes);

  // A context with the token, and a deadline.
  std::unique_ptr<grpc::ClientContext> context(double seconds = 20) const;
  v1::Worker::Stub& stub() { return *stub_; }
  const v1::SessionKey& key() const { return hello_.session(); }
  v1::UploadReply& upload_reply() { return upload_reply_; }

 private:
  std::string token_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  v1::HelloReply hello_;
  v1::UploadReply upload_reply_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Request, v1::Reply>> stream_;
  uint64_t op_ = 0;
};

}  // namespace systole::hostile
