#include "tests/hostile/program.h"

#include <string>
#include <utility>

#include "systole/io/wire/crc32c.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/convert.h"

namespace systole::hostile {

Program::Program(const Target& target)
    : token_(target.token),
      stub_(v1::Worker::NewStub(worker::make_channel(target.address, {.token = target.token}))) {}

Program::~Program() {
  if (context_ != nullptr) context_->TryCancel();
  if (stream_ != nullptr) static_cast<void>(stream_->Finish());
}

std::unique_ptr<grpc::ClientContext> Program::context(double seconds) const {
  auto made = std::make_unique<grpc::ClientContext>();
  worker::prepare(*made, {.token = token_}, seconds);
  return made;
}

bool Program::hello(const std::string& name) {
  v1::HelloRequest request;
  request.set_min_version(worker::kNewestVersion);
  request.set_max_version(worker::kNewestVersion);
  request.set_client(name);
  request.set_lease_seconds(3600);
  return stub_->Hello(context().get(), request, &hello_).ok();
}

bool Program::open() {
  context_ = context(50);
  stream_ = stub_->Session(context_.get());
  v1::Request request;
  *request.mutable_open()->mutable_session() = key();
  v1::Reply reply;
  return stream_->Write(request) && stream_->Read(&reply);
}

bool Program::read(v1::Reply& reply) {
  while (stream_ != nullptr && stream_->Read(&reply)) {
    if (reply.op_id() != 0) return true;
  }
  return false;
}

bool Program::run(v1::Request request, v1::Reply& reply) {
  request.set_op_id(next_op());
  request.set_acknowledged(op_ - 1);
  return send(request) && read(reply);
}

v1::Request Program::put(uint64_t buffer, int64_t bytes) {
  v1::Request request;
  request.mutable_put()->set_buffer(buffer);
  worker::to_wire(TensorType{DType::u8, {bytes}}, *request.mutable_put()->mutable_type());
  worker::set_bytes(std::string(static_cast<size_t>(bytes), 'x'),
                    *request.mutable_put()->mutable_value());
  return request;
}

std::unique_ptr<grpc::ClientWriter<v1::Chunk>> Program::begin_upload(grpc::ClientContext& context,
                                                                     uint64_t id, int64_t bytes) {
  auto writer = stub_->Upload(&context, &upload_reply_);
  v1::Chunk chunk;
  *chunk.mutable_header()->mutable_session() = key();
  chunk.mutable_header()->set_transfer(id);
  worker::to_wire(TensorType{DType::u8, {bytes}}, *chunk.mutable_header()->mutable_type());
  writer->Write(chunk);
  return writer;
}

bool Program::upload(uint64_t id, int64_t bytes) {
  const auto made = context();
  const auto writer = begin_upload(*made, id, bytes);
  const std::string part(static_cast<size_t>(worker::kChunkBytes), 'x');
  uint32_t sum = 0;
  for (int64_t sent = 0; sent < bytes;) {
    v1::Chunk chunk;
    chunk.set_data(
        part.substr(0, static_cast<size_t>(std::min(bytes - sent, worker::kChunkBytes))));
    sum = crc32c(chunk.data(), sum);
    sent += static_cast<int64_t>(chunk.data().size());
    if (!writer->Write(chunk)) break;
  }
  v1::Chunk end;
  end.mutable_end()->set_crc32c(sum);
  writer->Write(end);
  writer->WritesDone();
  return writer->Finish().ok();
}

}  // namespace systole::hostile
