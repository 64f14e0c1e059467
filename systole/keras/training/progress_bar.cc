#include "systole/keras/training/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace systole::keras {
namespace {

std::string eta_text(double seconds) {
  const auto s = static_cast<int64_t>(seconds);
  if (s > 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60);
  if (s > 60) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}s", s);
}

std::string per_sample_text(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.0f}s/sample", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/sample", seconds * 1e3);
  return fmt::format("{:.0f}us/sample", seconds * 1e6);
}

}  // namespace

std::string values_text(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) {
    text += std::abs(value) > 1e-3 ? fmt::format(" - {}: {:.4f}", name, value)
                                   : fmt::format(" - {}: {:.4e}", name, value);
  }
  return text;
}

ProgressBar::ProgressBar(std::FILE* out, int64_t target)
    : out_(out),
      terminal_(isatty(fileno(out)) == 1),
      target_(target),
      start_(std::chrono::steady_clock::now()) {}

double ProgressBar::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string ProgressBar::line(int64_t done, int64_t target, double seconds, const Logs& logs) {
  constexpr int64_t kWidth = 30;
  const size_t digits = std::to_string(target).size();
  std::string text = fmt::format("{:>{}}/{} [", done, digits, target);
  const int64_t filled = target > 0 ? kWidth * done / target : kWidth;
  if (filled > 0) {
    text.append(static_cast<size_t>(filled - 1), '=');
    text += done < target ? '>' : '=';
  }
  text.append(static_cast<size_t>(kWidth - filled), '.');
  text += ']';
  const double each = done > 0 ? seconds / static_cast<double>(done) : 0;
  if (done < target) {
    text += " - ETA: " + eta_text(each * static_cast<double>(target - done));
  } else {
    text += fmt::format(" - {:.0f}s {}", seconds, per_sample_text(each));
  }
  return text + values_text(logs);
}

void ProgressBar::update(int64_t done, const Logs& logs) {
  if (!terminal_ || done >= target_) return;
  const double now = elapsed();
  if (drawn_at_ >= 0 && now - drawn_at_ < 0.05) return;
  drawn_at_ = now;
  std::string text = line(done, target_, now, logs);
  const size_t width = text.size();
  if (width < width_) text.append(width_ - width, ' ');
  width_ = width;
  fmt::print(out_, "\r{}", text);
  std::fflush(out_);
}

void ProgressBar::finish(const Logs& logs) {
  std::string text = line(target_, target_, elapsed(), logs);
  if (text.size() < width_) text.append(width_ - text.size(), ' ');
  fmt::print(out_, "{}{}\n", terminal_ ? "\r" : "", text);
  std::fflush(out_);
}

}  // namespace systole::keras
