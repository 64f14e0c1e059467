// The call Profile.
#include <algorithm>
#include <set>
#include <string>

#include "systole/base/clock.h"
#include "systole/base/environment.h"
#include "systole/base/mutex.h"
#include "systole/io/wire/crc32c.h"
#include "systole/tracing/recorder.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/convert_recording.h"
#include "systole/worker/service.h"

namespace systole::worker {
namespace {

// Keeps the events of one thread, and the programs that it ran.
void keep_thread(int64_t id, tracing::Recording& recording) {
  std::erase_if(recording.threads, [&](const auto& thread) { return thread.id != id; });
  std::set<int64_t> used;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    for (const tracing::Event& event : thread.events) used.insert(event.arg("program"));
  }
  std::erase_if(recording.programs, [&](const auto& entry) { return !used.contains(entry.first); });
}

void send_pieces(const std::string& bytes, ProfilePeer& peer) {
  size_t sent = 0;
  v1::ProfileReply piece;
  do {
    piece.set_data(bytes.substr(sent, static_cast<size_t>(kChunkBytes)));
    sent += piece.data().size();
    piece.set_last(sent == bytes.size());
    if (piece.last()) piece.set_crc32c(crc32c(bytes));
    if (!peer.write(piece)) return;
  } while (!piece.last());
}

}  // namespace

// Says what there was to record, where nothing was.
std::string WorkerService::remark_of_idle() const {
  const MutexLock lock(mutex_);
  const auto connected = std::ranges::count_if(
      sessions_, [](const auto& entry) { return entry.second.session->status().connected(); });
  if (connected == 0) return "No program is connected to the worker.";
  return fmt::format("{} program{} connected to the worker, and sent no work that ended meanwhile.",
                     connected, connected == 1 ? " is" : "s are");
}

RecordingPart WorkerService::end_part(WorkerSession& session, int64_t max_bytes) {
  return {.bytes = session.process()->end_recording(max_bytes),
          .thread = session.process()->process(),
          .name = "session of " + session.client()};
}

std::vector<RecordingPart> WorkerService::collect_parts(uint64_t only, int64_t max_bytes) const {
  std::vector<RecordingPart> parts;
  for (const auto& session : sessions()) {
    if (session->process() == nullptr) continue;
    RecordingPart part = end_part(*session, max_bytes);
    if (only == 0 || session->id() == only) parts.push_back(std::move(part));
  }
  return parts;
}

// Ends the recording and returns its bytes.
std::string WorkerService::encoded_recording(Recorder::Active& active,
                                             const v1::ProfileBegin& begin) const {
  const bool over = active.over();
  Recorder::Recorded recorded = active.end();
  tracing::Recording& recording = recorded.own;
  if (begin.has_session()) keep_thread(find(begin.session())->thread_id(), recording);
  for (const auto& session : sessions()) {
    for (tracing::ThreadEvents& thread : recording.threads) {
      if (session->thread_id() == thread.id) thread.name = "session of " + session->client();
    }
    // The session's process has a thread of that name, with its work.
    if (session->process() != nullptr) {
      std::erase_if(recording.threads,
                    [&](const auto& thread) { return thread.id == session->thread_id(); });
    }
  }
  recording.host = host_name();
  std::erase_if(recorded.parts, [](const RecordingPart& part) { return !has_events(part); });
  if (recording.threads.empty() && recorded.parts.empty()) recording.remark = remark_of_idle();
  if (over) {
    recording.remark += fmt::format("{}The recording ended after {:.2f} s, the worker's limit.",
                                    recording.remark.empty() ? "" : " ",
                                    1e-9 * static_cast<double>(recording.duration_ns));
  }
  if (options_.peaks) recording.peaks = options_.peaks();
  return join_recordings(encode_recording(recording, begin.max_bytes()), recorded.parts,
                         begin.max_bytes());
}

int64_t WorkerService::recorded_steps() const {
  int64_t steps = tracing::recorded_steps();
  for (const auto& session : sessions()) {
    if (session->process() != nullptr) steps += session->process()->recorded_steps();
  }
  return steps;
}

// Begins a recording within the worker's limits, which it writes to `begin`.
std::unique_ptr<Recorder::Active> WorkerService::begin_recording(v1::ProfileBegin& begin,
                                                                 ProfilePeer& peer) {
  check_versions(begin.min_version(), begin.max_version());
  if (begin.has_session()) static_cast<void>(find(begin.session()));
  const WorkerLimits& limits = options_.limits;
  const double seconds = begin.max_seconds() > 0 ? begin.max_seconds() : limits.max_profile_seconds;
  begin.set_max_seconds(std::min(seconds, limits.max_profile_seconds));
  const int64_t bytes = begin.max_bytes() > 0 ? begin.max_bytes() : limits.max_profile_bytes;
  begin.set_max_bytes(std::min(bytes, limits.max_profile_bytes));
  const int64_t threads = limits.max_sessions + 1;  // each session has one of its own
  const int64_t events = begin.max_bytes() / static_cast<int64_t>(sizeof(tracing::Event)) / threads;
  const int64_t part_bytes = begin.max_bytes() / (begin.has_session() ? 1 : limits.max_sessions);
  auto active = recorder_.begin({.client = clean_name(begin.client()),
                                 .seconds = begin.max_seconds(),
                                 .events_per_thread = events,
                                 .cancel = peer.canceller(),
                                 .collect = [this, only = begin.session().id(), part_bytes] {
                                   return collect_parts(only, part_bytes);
                                 }});
  for (const auto& session : sessions()) {
    if (session->process() != nullptr) session->process()->begin_recording(events);
  }
  return active;
}

void WorkerService::profile(ProfilePeer& peer) {
  v1::ProfileRequest request;
  if (!peer.read(request)) return;
  if (!request.has_begin()) {
    throw invalid_argument("worker: first request of a profile, got another, expected begin");
  }
  v1::ProfileBegin begin = request.begin();
  auto active = begin_recording(begin, peer);
  v1::ProfileReply reply;
  reply.set_max_seconds(begin.max_seconds());
  int64_t received = steady_ns();
  while (true) {
    std::string bytes;
    if (active != nullptr && request.has_end()) {
      bytes = encoded_recording(*active, begin);
      active.reset();
    } else if (active != nullptr) {
      active->heard();
      reply.set_steps(recorded_steps());
      reply.set_ended(active->over());
    }
    reply.set_received_ns(received);
    reply.set_sent_ns(steady_ns());
    if (!peer.write(reply)) return;
    if (!bytes.empty()) send_pieces(bytes, peer);
    reply.Clear();
    if (!peer.read(request)) return;
    received = steady_ns();
  }
}

}  // namespace systole::worker
