// Attacks of a client that has the token, with what a session holds.
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/program.h"

namespace systole::hostile {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// All places, for as long as the worker allows.
void lease_grabbing(const Target& target) {
  Program program(target);
  for (int64_t i = 0; i < target.turns(2000); ++i) program.hello();
}

void sessions_that_are_left(const Target& target) {
  std::vector<std::unique_ptr<Program>> programs;
  for (int64_t i = 0; i < 16; ++i) {
    programs.push_back(std::make_unique<Program>(target));
    if (!programs.back()->hello() || !programs.back()->open()) break;
    v1::Reply reply;
    programs.back()->run(Program::put(1, 60'000), reply);
  }
}

void strange_names(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    Program program(target);
    program.hello("a\nb\x1b[31m\r" + std::string(60'000, 'x'));
    v1::CloseReply reply;
    program.stub().Close(program.context().get(), program.key(), &reply);
  }
}

void unknown_sessions(const Target& target) {
  Program program(target);
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < target.turns(5000); ++i) {
    v1::SessionKey key;
    key.set_id(random());
    key.set_token(std::string(16, static_cast<char>(i)));
    v1::CloseReply reply;
    program.stub().Close(program.context().get(), key, &reply);
  }
}

void forged_keys(const Target& target) {
  Program owner(target);
  if (!owner.hello()) return;
  Program program(target);
  for (int64_t i = 0; i < target.turns(5000); ++i) {
    v1::SessionKey key = owner.key();
    (*key.mutable_token())[i % 16] ^= static_cast<char>(1 + i / 16 % 255);
    v1::CloseReply reply;
    program.stub().Close(program.context().get(), key, &reply);
  }
}

void operations_out_of_order(const Target& target) {
  for (int64_t i = 0; i < target.turns(200); ++i) {
    Program program(target);
    if (!program.hello() || !program.open()) continue;
    v1::Request request;
    request.mutable_nothing();
    request.set_op_id(2 + static_cast<uint64_t>(i) * 1'000'000'007);
    program.send(request);
    v1::Reply reply;
    program.read(reply);
  }
}

void acknowledged_replies_that_were_not_sent(const Target& target) {
  for (int64_t i = 0; i < target.turns(200); ++i) {
    Program program(target);
    if (!program.hello() || !program.open()) continue;
    v1::Request request;
    request.set_acknowledged(~uint64_t{0});
    program.send(request);
    v1::Reply reply;
    program.run(Program::put(1, 100), reply);
  }
}

// The stream of one session, opened again and again.
void streams_of_one_session(const Target& target) {
  Program program(target);
  if (!program.hello()) return;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::Request, v1::Reply>>> streams;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    contexts.push_back(program.context());
    streams.push_back(program.stub().Session(contexts.back().get()));
    v1::Request request;
    *request.mutable_open()->mutable_session() = program.key();
    streams.back()->Write(request);
  }
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) static_cast<void>(stream->Finish());
}

void heartbeats(const Target& target) {
  Program program(target);
  if (!program.hello() || !program.open()) return;
  for (int64_t i = 0; i < target.turns(50'000) && program.send({}); ++i) {
  }
}

// More operations than the queue holds.
void full_queue(const Target& target) {
  for (int64_t i = 0; i < target.turns(20); ++i) {
    Program program(target);
    if (!program.hello() || !program.open()) continue;
    v1::Request request;
    request.mutable_nothing();
    for (int k = 0; k < 5000; ++k) {
      request.set_op_id(program.next_op());
      if (!program.send(request)) break;
    }
  }
}

// Large values are asked for, and the replies are not read.
void replies_not_read(const Target& target) {
  std::vector<std::unique_ptr<Program>> programs;
  for (int64_t i = 0; i < 4; ++i) {
    programs.push_back(std::make_unique<Program>(target));
    Program& program = *programs.back();
    if (!program.hello() || !program.open()) continue;
    v1::Reply reply;
    program.run(Program::put(1, 60'000), reply);
    for (int64_t k = 0; k < target.turns(1500); ++k) {
      v1::Request request;
      request.set_op_id(program.next_op());
      request.mutable_fetch()->set_buffer(1);
      if (!program.send(request)) break;
    }
  }
  pause(2 * target.scale);
}

void uploads_begun_and_left(const Target& target) {
  Program program(target);
  if (!program.hello()) return;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::Chunk>>> writers;
  for (int64_t i = 0; i < 60; ++i) {
    contexts.push_back(program.context());
    writers.push_back(
        program.begin_upload(*contexts.back(), static_cast<uint64_t>(i + 1), 64 * kMiB));
    v1::Chunk chunk;
    chunk.set_data(std::string(static_cast<size_t>(kMiB), 'x'));
    writers.back()->Write(chunk);
  }
  pause(2 * target.scale);
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& writer : writers) static_cast<void>(writer->Finish());
}

void uploads_of_one_name(const Target& target) {
  Program program(target);
  if (!program.hello()) return;
  for (int64_t i = 0; i < target.turns(500); ++i) program.upload(7, 4 * kMiB);
}

void uploads_that_are_cancelled(const Target& target) {
  Program program(target);
  if (!program.hello()) return;
  for (int64_t i = 0; i < target.turns(2000); ++i) {
    const auto context = program.context();
    const auto writer = program.begin_upload(*context, static_cast<uint64_t>(i + 1), 16 * kMiB);
    context->TryCancel();
    static_cast<void>(writer->Finish());
  }
}

// An array is fetched many times at once, and none of the streams is read.
void downloads_not_read(const Target& target) {
  Program program(target);
  if (!program.hello() || !program.open() || !program.upload(1, 64 * kMiB)) return;
  v1::Reply reply;
  v1::Request put;
  put.mutable_put()->set_buffer(1);
  put.mutable_put()->mutable_type()->set_dtype("ui8");
  put.mutable_put()->mutable_type()->add_dims(64 * kMiB);
  put.mutable_put()->mutable_value()->set_transfer(1);
  put.mutable_put()->mutable_value()->set_size(static_cast<uint64_t>(64 * kMiB));
  program.run(put, reply);
  v1::Request fetch;
  fetch.mutable_fetch()->set_buffer(1);
  fetch.mutable_fetch()->set_transfer(2);
  program.run(fetch, reply);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Chunk>>> readers;
  v1::DownloadRequest request;
  *request.mutable_session() = program.key();
  request.set_transfer(2);
  for (int64_t i = 0; i < 60; ++i) {
    contexts.push_back(program.context());
    readers.push_back(program.stub().Download(contexts.back().get(), request));
  }
  pause(2 * target.scale);
  // The session ends before the streams do.
  v1::CloseReply closed;
  program.stub().Close(program.context().get(), program.key(), &closed);
  pause(0.5 * target.scale);
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : readers) static_cast<void>(reader->Finish());
}

void recordings(const Target& target) {
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::ProfileRequest, v1::ProfileReply>>>
      streams;
  for (int64_t i = 0; i < target.turns(50); ++i) {
    programs.push_back(std::make_unique<Program>(target));
    contexts.push_back(programs.back()->context());
    streams.push_back(programs.back()->stub().Profile(contexts.back().get()));
    v1::ProfileRequest request;
    request.mutable_begin()->set_min_version(2);
    request.mutable_begin()->set_max_version(2);
    request.mutable_begin()->set_max_bytes(int64_t{1} << 62);
    request.mutable_begin()->set_max_seconds(1e300);
    streams.back()->Write(request);
  }
  pause(2 * target.scale);
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) static_cast<void>(stream->Finish());
}

}  // namespace

std::vector<Attack> session_attacks() {
  return {
      {"all places, with long leases", true, lease_grabbing},
      {"sessions that are left", true, sessions_that_are_left},
      {"strange names", true, strange_names},
      {"unknown sessions", true, unknown_sessions},
      {"forged keys", true, forged_keys},
      {"operations out of order", true, operations_out_of_order},
      {"replies acknowledged before they are sent", true, acknowledged_replies_that_were_not_sent},
      {"many streams of one session", true, streams_of_one_session},
      {"50,000 heartbeats", true, heartbeats},
      {"more operations than the queue holds", true, full_queue},
      {"replies that are not read", true, replies_not_read},
      {"uploads begun and left", true, uploads_begun_and_left},
      {"uploads of one name", true, uploads_of_one_name},
      {"uploads that are cancelled", true, uploads_that_are_cancelled},
      {"downloads that are not read", true, downloads_not_read},
      {"fifty recordings", true, recordings}};
}

}  // namespace systole::hostile
