#include "systole/worker/worker_profile.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "systole/base/error.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/profile_stream.h"

namespace systole::worker {
namespace {

constexpr double kAskEvery = 0.02;  // seconds
constexpr double kMargin = 10;      // seconds: this side ends the recording, not the worker

using SteadyClock = std::chrono::steady_clock;

}  // namespace

tracing::WorkerRecording profile_worker(const std::string& address,
                                        const WorkerProfileOptions& options) {
  const auto addresses = parse_addresses(address);
  if (addresses.size() != 1) {
    throw invalid_argument("worker: address, got '{}', expected one", address);
  }
  v1::ProfileBegin begin;
  begin.set_max_seconds(options.seconds + kMargin);
  ProfileStream stream(addresses.front(), with_environment({}), begin);
  const auto began = SteadyClock::now();
  ProfileStream::Progress progress;
  bool enough = false;
  double left = options.seconds;
  while (left > 0 && !enough && !progress.ended) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kAskEvery)));
    progress = stream.ask();
    enough = options.steps && progress.steps >= *options.steps;
    left = options.seconds - std::chrono::duration<double>(SteadyClock::now() - began).count();
  }
  tracing::WorkerRecording result = stream.finish();
  if (options.steps && !enough) {
    std::string& remark = result.recording.remark;
    remark += fmt::format("{}{} of {} steps ended within {:.0f} s.", remark.empty() ? "" : " ",
                          progress.steps, *options.steps, options.seconds);
  }
  return result;
}

}  // namespace systole::worker
