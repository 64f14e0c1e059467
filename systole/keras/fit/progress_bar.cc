#include "systole/keras/fit/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace systole::keras {
namespace {

std::string eta_text(double seconds) {
  const auto s = static_cast<int64_t>(seconds);
  if (s > 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60);
  if (s > 60) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}s", s);
}

std::string time_text(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.0f}s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms", seconds * 1e3);
  return fmt::format("{:.0f}us", seconds * 1e6);
}

constexpr int64_t kBarWidth = 30;

// " 3200/25000 [==>...........................]", or "   3200/Unknown".
std::string bar_text(int64_t done, int64_t target) {
  if (target <= 0) return fmt::format("{:>7}/Unknown", done);
  std::string text = fmt::format("{:>{}}/{} [", done, std::to_string(target).size(), target);
  const int64_t filled = std::min(kBarWidth * done / target, kBarWidth);
  if (filled > 0) {
    text.append(static_cast<size_t>(filled - 1), '=');
    text += done < target ? '>' : '=';
  }
  text.append(static_cast<size_t>(kBarWidth - filled), '.');
  return text + "]";
}

thread_local ProgressOutput* current_output = nullptr;

}  // namespace

ProgressOutput::ProgressOutput(std::FILE* file, bool terminal)
    : enclosing_(current_output), file_(file), terminal_(terminal) {
  current_output = this;
}

ProgressOutput::~ProgressOutput() { current_output = enclosing_; }

std::FILE* ProgressOutput::file() {
  return current_output != nullptr ? current_output->file_ : stdout;
}

bool ProgressOutput::is_terminal() {
  return current_output != nullptr ? current_output->terminal_ : isatty(STDOUT_FILENO) == 1;
}

std::string values_text(const Logs& logs) {
  std::string text;
  for (const auto& [name, given] : logs) {
    const double value = std::isnan(given) ? std::abs(given) : given;  // without a sign
    text += std::abs(value) > 1e-3 ? fmt::format(" - {}: {:.4f}", name, value)
                                   : fmt::format(" - {}: {:.4e}", name, value);
  }
  return text;
}

ProgressBar::ProgressBar(int64_t target, std::string unit)
    : out_(ProgressOutput::file()),
      terminal_(ProgressOutput::is_terminal()),
      target_(target),
      unit_(std::move(unit)),
      start_(std::chrono::steady_clock::now()) {}

double ProgressBar::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string ProgressBar::line(int64_t done, int64_t target, double seconds, const Logs& logs,
                              const std::string& unit) {
  std::string text = bar_text(done, target);
  const double each = done > 0 ? seconds / static_cast<double>(done) : 0;
  if (done < target) {
    text += " - ETA: " + eta_text(each * static_cast<double>(target - done));
  } else {
    text += fmt::format(" - {:.0f}s {}/{}", seconds, time_text(each), unit);
  }
  return text + values_text(logs);
}

// Over the text before it: back to its begin, and blanks over what remains.
void ProgressBar::draw(const std::string& text) {
  if (terminal_) fmt::print(out_, "{}\r", std::string(width_, '\b'));
  fmt::print(out_, "{}", text);
  if (terminal_ && text.size() < width_) fmt::print(out_, "{:{}}", "", width_ - text.size());
  width_ = text.size();
}

void ProgressBar::update(int64_t done, const Logs& logs) {
  done_ = done;
  if (!terminal_ || (target_ > 0 && done >= target_)) return;
  const double now = elapsed();
  if (drawn_at_ >= 0 && now - drawn_at_ < 0.05) return;
  drawn_at_ = now;
  draw(line(done, target_, now, logs, unit_));
  std::fflush(out_);
}

void ProgressBar::finish(const Logs& logs) {
  const int64_t done = target_ > 0 ? target_ : done_;
  draw(line(done, target_, elapsed(), logs, unit_));
  fmt::print(out_, "\n");
  std::fflush(out_);
}

void ProgressBar::finish_without_bar(const Logs& logs) {
  fmt::print(out_, " - {:.0f}s{}\n", elapsed(), values_text(logs));
  std::fflush(out_);
}

}  // namespace systole::keras
