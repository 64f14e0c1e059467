// Estimates the offset between the clocks of two machines from request and reply times, as NTP
// does.
//
// A message leaves here at `sent`, arrives there at `received`, its answer leaves there at
// `replied` and arrives here at `arrived`. Of the delay, (arrived - sent) - (replied - received),
// an unknown share is that of the first message. So the offset from their clock to ours is
// ((sent - received) + (arrived - replied)) / 2, wrong by at most half of the delay.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace systole::worker {

// Nanoseconds of the clock of the side on which each happened.
struct ClockSample {
  int64_t sent = 0;
  int64_t received = 0;
  int64_t replied = 0;
  int64_t arrived = 0;
};

struct ClockOffset {
  int64_t at = 0;      // on their clock
  int64_t offset = 0;  // ours - theirs
  int64_t error = 0;   // by so much the offset may be wrong, in either direction
};

// Returns the offset of the sample with the smallest delay; none without samples. Samples whose
// times run backwards are left out.
std::optional<ClockOffset> best_offset(std::span<const ClockSample> samples);

// The offset at each time, between one found at first and one found last: clocks drift.
class ClockLine {
 public:
  ClockLine() = default;
  ClockLine(const ClockOffset& first, const ClockOffset& last) : first_(first), last_(last) {}
  // Returns the time on our clock.
  int64_t to_ours(int64_t theirs) const;
  int64_t error() const;

 private:
  ClockOffset first_;
  ClockOffset last_;
};

}  // namespace systole::worker
