#include "systole/worker/protocol/clock_offset.h"

#include <algorithm>

namespace systole::worker {

std::optional<ClockOffset> best_offset(std::span<const ClockSample> samples) {
  std::optional<ClockOffset> best;
  for (const ClockSample& s : samples) {
    constexpr int64_t kLatest = int64_t{1} << 61;  // the other side may send any number
    if (s.received < 0 || s.received > kLatest || s.replied < 0 || s.replied > kLatest) continue;
    const int64_t delay = (s.arrived - s.sent) - (s.replied - s.received);
    if (s.arrived < s.sent || s.replied < s.received || delay < 0) continue;
    const int64_t error = delay / 2 + 1;  // and rounding
    if (best && best->error <= error) continue;
    const int64_t there = s.sent - s.received;
    const int64_t back = s.arrived - s.replied;
    best = {.at = s.received + (s.replied - s.received) / 2,
            .offset = there + (back - there) / 2,
            .error = error};
  }
  return best;
}

int64_t ClockLine::to_ours(int64_t theirs) const {
  const int64_t length = last_.at - first_.at;
  if (length <= 0) return theirs + first_.offset;
  const int64_t at = std::clamp<int64_t>(theirs - first_.at, 0, length);
  const double share = static_cast<double>(at) / static_cast<double>(length);
  const auto drift = static_cast<double>(last_.offset - first_.offset);
  return theirs + first_.offset + static_cast<int64_t>(drift * share);
}

int64_t ClockLine::error() const { return std::max(first_.error, last_.error); }

}  // namespace systole::worker
