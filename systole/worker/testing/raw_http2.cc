#include "systole/worker/testing/raw_http2.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "systole/worker/testing/proxy.h"

namespace systole::worker::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kPing = 6;
constexpr uint8_t kWindowUpdate = 8;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr size_t kFrameHead = 9;
constexpr int kSendMs = 1000;

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

uint32_t read_big_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

// An integer of HPACK with a prefix of 7 bits.
std::string length(size_t value) {
  if (value < 127) return std::string(1, static_cast<char>(value));
  std::string text(1, '\x7f');
  for (value -= 127; value >= 128; value /= 128) text += static_cast<char>(value % 128 + 128);
  return text + static_cast<char>(value);
}

}  // namespace

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string text = big_endian(payload.size(), 3);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  text += big_endian(stream, 4);
  return text.append(payload);
}

std::string header_field(std::string_view name, std::string_view value) {
  std::string text(1, '\0');
  text.append(length(name.size())).append(name);
  return text.append(length(value.size())).append(value);
}

RawHttp2::RawHttp2(int port, bool preface) : socket_(connect_to(port)) {
  closed_ = socket_ < 0;
  if (closed_) return;
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  if (preface) send(std::string(kPreface) + frame(kSettings, 0, 0, ""));
}

RawHttp2::~RawHttp2() {
  if (socket_ >= 0) ::close(socket_);
}

RawHttp2::RawHttp2(RawHttp2&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      closed_(other.closed_),
      next_stream_(other.next_stream_),
      buffer_(std::move(other.buffer_)),
      received_(other.received_),
      window_(other.window_),
      initial_window_(other.initial_window_),
      windows_(std::move(other.windows_)),
      ended_(std::move(other.ended_)) {}

bool RawHttp2::send(std::string_view bytes) {
  while (!bytes.empty() && !closed_) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno != EAGAIN) {
      closed_ = true;
      break;
    }
    pollfd ready{.fd = socket_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, kSendMs) <= 0) return false;
  }
  return !closed_;
}

std::string RawHttp2::call_frame(std::string_view method, std::string_view token) {
  std::string fields = header_field(":method", "POST") + header_field(":scheme", "http") +
                       header_field(":path", method) + header_field(":authority", "worker") +
                       header_field("te", "trailers") +
                       header_field("content-type", "application/grpc");
  if (!token.empty()) fields += header_field("authorization", "Bearer " + std::string(token));
  const uint32_t stream = std::exchange(next_stream_, next_stream_ + 2);
  windows_[stream] = initial_window_;
  return frame(kHeaders, kEndHeaders, stream, fields);
}

uint32_t RawHttp2::call(std::string_view method, std::string_view token) {
  const uint32_t stream = next_stream_;
  send(call_frame(method, token));
  return stream;
}

int64_t RawHttp2::message(uint32_t stream, int64_t size, std::string_view bytes, double seconds) {
  std::string text(1, '\0');
  text += big_endian(static_cast<uint64_t>(size), 4);
  text.append(bytes);
  std::string_view left = text;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!left.empty() && !closed_) {
    constexpr int64_t kMaxFrame = 16384;
    const int64_t allowed = std::min({window_, windows_[stream], kMaxFrame});
    if (allowed <= 0) {
      if (Clock::now() > end) break;
      receive(0.01);
      continue;
    }
    const std::string_view part = left.substr(0, static_cast<size_t>(allowed));
    data(stream, part);
    left.remove_prefix(part.size());
    take_frames();
  }
  return static_cast<int64_t>(text.size() - left.size());
}

void RawHttp2::data(uint32_t stream, std::string_view bytes, bool last) {
  window_ -= static_cast<int64_t>(bytes.size());
  windows_[stream] -= static_cast<int64_t>(bytes.size());
  send(frame(kData, last ? kEndStream : 0, stream, bytes));
}

void RawHttp2::reset(uint32_t stream) { send(frame(kReset, 0, stream, big_endian(8, 4))); }

void RawHttp2::receive(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!closed_) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(std::max<int64_t>(left, 0))) <= 0) return;
    take_frames();
  }
}

bool RawHttp2::closes(double seconds) {
  receive(seconds);
  return closed_;
}

bool RawHttp2::ended(uint32_t stream) const { return ended_.contains(stream); }

void RawHttp2::take_frames() {
  std::array<char, 65536> bytes;
  ssize_t size = 0;
  while ((size = ::recv(socket_, bytes.data(), bytes.size(), 0)) > 0) {
    received_ += size;
    buffer_.append(bytes.data(), static_cast<size_t>(size));
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) closed_ = true;
  size_t at = 0;
  while (buffer_.size() - at >= kFrameHead) {
    const std::string_view head = std::string_view(buffer_).substr(at);
    const size_t payload_size = read_big_endian(head.substr(0, 3));
    if (head.size() < kFrameHead + payload_size) break;
    const std::string_view payload = head.substr(kFrameHead, payload_size);
    const auto type = static_cast<uint8_t>(head[3]);
    const auto flags = static_cast<uint8_t>(head[4]);
    const uint32_t stream = read_big_endian(head.substr(5, 4));
    if (type == kWindowUpdate && payload.size() == 4) {
      (stream == 0 ? window_ : windows_[stream]) += read_big_endian(payload);
    } else if (type == kSettings && (flags & kAck) == 0) {
      for (size_t i = 0; i + 6 <= payload.size(); i += 6) {
        if (read_big_endian(payload.substr(i, 2)) == 4) {
          const int64_t given = read_big_endian(payload.substr(i + 2, 4));
          for (auto& [id, window] : windows_) window += given - initial_window_;
          initial_window_ = given;
        }
      }
      send(frame(kSettings, kAck, 0, ""));
    } else if (type == kPing && (flags & kAck) == 0) {
      send(frame(kPing, kAck, 0, payload));
    } else if (type == kReset || (type == kHeaders && (flags & kEndStream) != 0)) {
      ended_[stream] = true;
    }
    at += kFrameHead + payload_size;
  }
  buffer_.erase(0, at);
}

}  // namespace systole::worker::testing
