// Attacks of a client that has the token, with calls and messages.
#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "systole/worker/testing/raw_http2.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/program.h"

namespace systole::hostile {
namespace {

using worker::testing::frame;
using worker::testing::RawHttp2;

constexpr const char* kService = "/systole.worker.v1.Worker/";
constexpr int64_t kMiB = int64_t{1} << 20;

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::string random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

std::string path(const char* method) { return std::string(kService) + method; }

// Streams of a method to which nothing is sent.
void silent_streams(const Target& target, const char* method) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(20); ++i) {
    connections.emplace_back(target.port);
    for (int k = 0; k < 60; ++k) connections.back().call(path(method), target.token);
    connections.back().receive(0);
  }
  pause(3 * target.scale);
}

void silent_sessions(const Target& target) { silent_streams(target, "Session"); }
void silent_profiles(const Target& target) { silent_streams(target, "Profile"); }
void silent_uploads(const Target& target) { silent_streams(target, "Upload"); }

// Messages whose first part is sent.
void half_sent(const Target& target, const char* method) {
  const std::string part(static_cast<size_t>(7 * kMiB), 'x');
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(20); ++i) {
    connections.emplace_back(target.port);
    RawHttp2& connection = connections.back();
    for (int k = 0; k < 4 && !connection.closed(); ++k) {
      connection.message(connection.call(path(method), target.token), 8 * kMiB, part, 0.2);
    }
  }
  pause(target.scale);
}

void half_sent_hellos(const Target& target) { half_sent(target, "Hello"); }
void half_sent_sessions(const Target& target) { half_sent(target, "Session"); }
void half_sent_uploads(const Target& target) { half_sent(target, "Upload"); }

void connections_with_the_token(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    connections.emplace_back(target.port);
    connections.back().call(path("Session"), target.token);
  }
  pause(target.scale);
}

void rapid_reset(const Target& target) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(8 * target.scale);
  while (std::chrono::steady_clock::now() < end) {
    RawHttp2 connection(target.port);
    while (!connection.closed() && std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < 50; ++i) connection.reset(connection.call(path("Session"), target.token));
      connection.receive(0);
    }
  }
}

void small_calls(const Target& target) {
  const Program program(target);
  for (int64_t i = 0; i < target.turns(20'000); ++i) {
    v1::StatusReply reply;
    const_cast<Program&>(program).stub().Status(program.context().get(), {}, &reply);
  }
}

void unknown_methods(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 20 && !connection.closed(); ++k) {
      connection.call(path("Nothing"), target.token);
      connection.receive(0);
    }
  }
}

// Messages of random bytes to every method.
void random_messages(const Target& target) {
  const char* const methods[] = {"Hello", "Session", "Upload", "Download",
                                 "Close", "Status",  "Profile"};
  for (int64_t i = 0; i < target.turns(2000); ++i) {
    RawHttp2 connection(target.port);
    for (const char* method : methods) {
      const std::string bytes = random_bytes(200, static_cast<uint32_t>(i));
      const uint32_t stream = connection.call(path(method), target.token);
      connection.message(stream, static_cast<int64_t>(bytes.size()), bytes);
    }
    connection.receive(0.001);
  }
}

// Messages that say they are 4 GB.
void huge_messages(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(200); ++i) {
    connections.emplace_back(target.port);
    for (int k = 0; k < 8; ++k) {
      connections.back().message(connections.back().call(path("Session"), target.token), 0xffffffff,
                                 "x");
    }
  }
}

// A message of 8 MiB that decompresses to gigabytes.
void compressed_messages(const Target& target) {
  Program program(target);
  for (int64_t i = 0; i < target.turns(50); ++i) {
    const auto context = program.context();
    context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    v1::HelloRequest request;
    request.set_client(std::string(static_cast<size_t>(64 * kMiB), 'x'));
    v1::HelloReply reply;
    program.stub().Hello(context.get(), request, &reply);
  }
}

void many_headers(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    Program program(target);
    const auto context = program.context();
    for (int k = 0; k < 60; ++k)
      context->AddMetadata("x-" + std::to_string(k), std::string(100, 'x'));
    v1::StatusReply reply;
    program.stub().Status(context.get(), {}, &reply);
  }
}

// A window of nothing: the worker cannot answer.
void answers_without_a_window(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(50); ++i) {
    connections.emplace_back(target.port, false);
    RawHttp2& connection = connections.back();
    connection.send(std::string(worker::testing::kPreface) +
                    frame(4, 0, 0, std::string("\0\4\0\0\0\0", 6)));
    for (int k = 0; k < 60; ++k) {
      connection.message(connection.call(path("Status"), target.token), 0, "");
    }
  }
  pause(2 * target.scale);
}

void watches(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(50); ++i) {
    connections.emplace_back(target.port);
    for (int k = 0; k < 60; ++k) {
      connections.back().call("/grpc.health.v1.Health/Watch", target.token);
    }
  }
  pause(target.scale);
}

}  // namespace

std::vector<Attack> client_attacks() {
  return {{"streams of sessions without a message", true, silent_sessions},
          {"streams of profiles without a message", true, silent_profiles},
          {"streams of uploads without a message", true, silent_uploads},
          {"half-sent Hellos with the token", true, half_sent_hellos},
          {"half-sent sessions with the token", true, half_sent_sessions},
          {"half-sent uploads with the token", true, half_sent_uploads},
          {"1,000 connections with the token", true, connections_with_the_token},
          {"rapid reset with the token", true, rapid_reset},
          {"20,000 small calls", true, small_calls},
          {"unknown methods with the token", true, unknown_methods},
          {"messages of random bytes", true, random_messages},
          {"messages of 4 GB", true, huge_messages},
          {"compressed messages", true, compressed_messages},
          {"many headers", true, many_headers},
          {"answers without a window", true, answers_without_a_window},
          {"watches of the health service", true, watches}};
}

}  // namespace systole::hostile
