#include "systole/base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "systole/base/standard_streams.h"

namespace systole {
namespace {

constexpr double kTerminalSeconds = 0.1;
constexpr double kLineSeconds = 5;
constexpr int kBarWidth = 30;

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(const std::string& name, int64_t done, int64_t total, double seconds,
                          int width) {
  if (total < 0) return fmt::format("{}  {}", name, done);
  const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  std::string line = name + "  ";
  if (width > 0) {
    const auto filled = static_cast<size_t>(part * width);
    std::string bar(filled, '=');
    if (done < total) bar += '>';
    bar.resize(static_cast<size_t>(width), ' ');
    line += fmt::format("[{}]  ", bar);
  }
  line += fmt::format("{:3.0f} %  {} of {}", 100 * part, done, total);
  return seconds < 0 ? line : line + fmt::format(", {} left", duration_text(seconds));
}

Progress::Progress(Clock& clock, std::FILE* out, bool terminal, std::string name, int64_t total,
                   int64_t already)
    : clock_(clock),
      out_(out),
      terminal_(terminal),
      name_(std::move(name)),
      total_(total),
      already_(already),
      done_(already),
      start_(clock.steady_now()),
      shown_(start_) {}

double Progress::seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(clock_.steady_now() - then).count();
}

void Progress::add(int64_t count) {
  done_ += count;
  if (out_ == nullptr) return;
  if (seconds_since(shown_) >= (terminal_ ? kTerminalSeconds : kLineSeconds)) show();
}

void Progress::show() {
  shown_ = clock_.steady_now();
  shown_done_ = done_;
  const int64_t here = done_ - already_;
  const double left =
      here == 0 || done_ == total_ || total_ < 0
          ? -1
          : seconds_since(start_) * static_cast<double>(total_ - done_) / static_cast<double>(here);
  std::string line = progress_line(name_, done_, total_, left, terminal_ ? kBarWidth : 0);
  if (!note_.empty()) line += "  " + note_;
  // Clears the rest of a longer previous line.
  write_ignoring_errors(
      out_, fmt::format("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\x1b[K" : "\n"));
}

void Progress::finish(bool plain_line) {
  if (out_ == nullptr || finished_) return;
  finished_ = true;
  if (terminal_ || (plain_line && shown_done_ != done_)) show();
  if (terminal_) write_ignoring_errors(out_, "\n");
}

}  // namespace systole
