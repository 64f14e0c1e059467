#include "systole/worker/protocol/profile_stream.h"

#include <chrono>
#include <utility>

#include "systole/base/clock.h"
#include "systole/base/error.h"
#include "systole/io/wire/crc32c.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/convert_recording.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {
namespace {

constexpr auto kConnectTime = std::chrono::seconds(5);
constexpr int kRoundTrips = 16;
constexpr int64_t kMaxRecordingBytes = int64_t{256} << 20;

// Waits until the channel is ready or failed to connect; false after kConnectTime. After a failure
// the next call reports its cause.
bool answers(grpc::Channel& channel) {
  const auto end = std::chrono::system_clock::now() + kConnectTime;
  grpc_connectivity_state state = channel.GetState(true);
  while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    if (!channel.WaitForStateChange(state, end)) return false;
    state = channel.GetState(true);
  }
  return true;
}

// Moves what was recorded on the worker's clock to ours.
void move_to_our_clock(const ClockLine& clock, tracing::Recording& recording) {
  const int64_t theirs = recording.start_steady_ns;
  const int64_t ours = clock.to_ours(theirs);
  for (tracing::ThreadEvents& thread : recording.threads) {
    for (tracing::Event& event : thread.events) {
      event.begin = clock.to_ours(theirs + event.begin) - ours;
      event.end = clock.to_ours(theirs + event.end) - ours;
    }
  }
  recording.start_steady_ns = ours;
  const auto now =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  recording.start_unix_ns = now - (steady_ns() - ours);
}

}  // namespace

ProfileStream::ProfileStream(const std::string& address, const Credentials& credentials,
                             const v1::ProfileBegin& begin)
    : address_(address), credentials_(credentials) {
  const auto channel = make_channel(address, credentials);
  if (!answers(*channel)) {
    throw make_error(Code::unavailable, "worker {}: no profile: nobody answers{}", address,
                     credentials.ca.empty() ? kTlsHint : "");
  }
  stub_ = v1::Worker::NewStub(channel);
  prepare(context_, credentials, 0);
  stream_ = stub_->Profile(&context_);
  v1::ProfileRequest request;
  *request.mutable_begin() = begin;
  request.mutable_begin()->set_min_version(kProfileVersion);
  request.mutable_begin()->set_max_version(kNewestVersion);
  request.mutable_begin()->set_client(client_name());
  if (begin.max_bytes() == 0) request.mutable_begin()->set_max_bytes(kMaxRecordingBytes);
  max_seconds_ = exchange(request).max_seconds();
  first_ = compare_clocks();
}

ProfileStream::~ProfileStream() {
  if (stream_ == nullptr) return;
  context_.TryCancel();
  static_cast<void>(stream_->Finish());
}

void ProfileStream::fail() {
  const grpc::Status status = std::exchange(stream_, nullptr)->Finish();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    throw unimplemented("worker {}: no profile: its version of the protocol is below {}", address_,
                        kProfileVersion);
  }
  if (status.ok()) {
    throw make_error(Code::unavailable, "worker {}: no profile: the stream has ended", address_);
  }
  throw call_error(status, fmt::format("worker {}: no profile", address_), credentials_);
}

v1::ProfileReply ProfileStream::exchange(const v1::ProfileRequest& request) {
  if (stream_ == nullptr) {
    throw make_error(Code::unavailable, "worker {}: no profile: the stream has ended", address_);
  }
  v1::ProfileReply reply;
  const int64_t sent = steady_ns();
  if (!stream_->Write(request) || !stream_->Read(&reply)) fail();
  samples_.push_back({sent, reply.received_ns(), reply.sent_ns(), steady_ns()});
  return reply;
}

ProfileStream::Progress ProfileStream::ask() {
  v1::ProfileRequest request;
  request.mutable_clock();
  const v1::ProfileReply reply = exchange(request);
  return {reply.steps(), reply.ended()};
}

ClockOffset ProfileStream::compare_clocks() {
  samples_.clear();
  for (int i = 0; i < kRoundTrips; ++i) ask();
  const auto best = best_offset(samples_);
  samples_.clear();
  if (best) return *best;
  throw make_error(Code::data_loss, "worker {}: clock, got times that run backwards", address_);
}

tracing::Recording ProfileStream::receive() {
  std::string bytes;
  v1::ProfileReply piece;
  do {
    if (!stream_->Read(&piece)) fail();
    if (static_cast<int64_t>(bytes.size() + piece.data().size()) > kMaxRecordingBytes) {
      throw make_error(Code::resource_exhausted, "worker {}: recording, got more than {} bytes",
                       address_, kMaxRecordingBytes);
    }
    bytes += piece.data();
  } while (!piece.last());
  if (const uint32_t sum = crc32c(bytes); sum != piece.crc32c()) {
    throw make_error(Code::data_loss, "worker {}: recording, got CRC-32C {:08x}, expected {:08x}",
                     address_, sum, piece.crc32c());
  }
  return decode_recording(bytes);
}

tracing::WorkerRecording ProfileStream::finish() {
  v1::ProfileRequest request;
  request.mutable_end();
  exchange(request);  // first: the recording ends now
  tracing::WorkerRecording result{.address = address_};
  result.recording = receive();
  ClockOffset last = compare_clocks();
  stream_->WritesDone();
  if (!std::exchange(stream_, nullptr)->Finish().ok()) last = first_;
  const ClockLine clock(first_, last);
  result.clock_offset_ns = first_.offset;
  result.clock_error_ns = clock.error();
  move_to_our_clock(clock, result.recording);
  result.recording.host = host_of_worker(result.recording.host, address_);
  return result;
}

std::string host_of_worker(const std::string& host, const std::string& address) {
  std::string name = host.substr(0, 100) + "_" + address.substr(address.rfind(':') + 1);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-') c = '_';
  }
  return name;
}

}  // namespace systole::worker
