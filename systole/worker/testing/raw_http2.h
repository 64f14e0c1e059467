// A connection on which a test sends the frames of HTTP/2 that it likes (RFC 9113).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace systole::worker::testing {

// Not thread-safe. A connection that the other side has closed stays usable: nothing is sent.
class RawHttp2 {
 public:
  // Connects to a port of this machine and sends the preface, if `preface`.
  explicit RawHttp2(int port, bool preface = true);
  ~RawHttp2();
  RawHttp2(RawHttp2&& other) noexcept;
  RawHttp2& operator=(RawHttp2&&) = delete;

  // Sends bytes as they are. Returns false when the connection is closed or does not take them.
  bool send(std::string_view bytes);
  // Begins a gRPC call. Returns the stream.
  uint32_t call(std::string_view method, std::string_view token = "");
  // The same as one frame, to be sent with others.
  std::string call_frame(std::string_view method, std::string_view token = "");
  // Sends a part of a message: the first `bytes` bytes of one that says it has `size`, as the
  // windows allow it, for `seconds` at most. Returns the bytes that were sent.
  int64_t message(uint32_t stream, int64_t size, std::string_view bytes, double seconds = 1);
  void data(uint32_t stream, std::string_view bytes, bool last = false);
  void reset(uint32_t stream);

  // Takes what has arrived, for `seconds`.
  void receive(double seconds);
  bool closed() const { return closed_; }
  // Receives until the other side closes the connection, for `seconds` at most. Returns whether it
  // did.
  bool closes(double seconds);
  // Trailers, or the only headers, of this stream have arrived.
  bool ended(uint32_t stream) const;
  int64_t received_bytes() const { return received_; }
  int socket() const { return socket_; }

 private:
  void take_frames();

  int socket_ = -1;
  bool closed_ = false;
  uint32_t next_stream_ = 1;
  std::string buffer_;  // received, not yet a frame
  int64_t received_ = 0;
  int64_t window_ = 65535;  // of the connection
  int64_t initial_window_ = 65535;
  std::map<uint32_t, int64_t> windows_;  // of streams
  std::map<uint32_t, bool> ended_;
};

// A frame.
std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload);
// A header field, literal and not indexed.
std::string header_field(std::string_view name, std::string_view value);

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace systole::worker::testing
