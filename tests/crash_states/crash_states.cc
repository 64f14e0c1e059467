#include "tests/crash_states/crash_states.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "systole/base/log.h"

namespace systole::testing {
namespace {

// The disk after an operation, and the last save that had been acknowledged by then.
struct Moment {
  std::unique_ptr<MemoryFileSystem> disk = std::make_unique<MemoryFileSystem>();
  int acknowledged = 0;
};

std::vector<Moment> record(const CrashSubject& subject, int saves) {
  std::vector<Moment> moments;
  int acknowledged = 0;
  subject.files->copy_from(MemoryFileSystem());
  const auto note = [&] {
    moments.emplace_back().disk->copy_from(*subject.files);
    moments.back().acknowledged = acknowledged;
  };
  subject.files->observe(note);
  for (int number = 1; number <= saves; ++number) {
    subject.save(number);
    if (subject.durable) acknowledged = number;
    note();
  }
  subject.files->observe(nullptr);
  return moments;
}

size_t hash_of(const std::map<std::string, std::string>& contents, int acknowledged) {
  size_t hash = static_cast<size_t>(acknowledged);
  const auto add = [&](const std::string& text) {
    hash = hash * 0x9E3779B97F4A7C15 + std::hash<std::string>()(text);
  };
  for (const auto& [path, bytes] : contents) {
    add(path);
    add(bytes);
  }
  return hash;
}

std::string listed(const std::map<std::string, std::string>& contents) {
  std::string text;
  for (const auto& [path, bytes] : contents) text += fmt::format(" {} ({})", path, bytes.size());
  return text;
}

// Returns what is wrong with a state, "" for nothing.
std::string examine(const CrashSubject& subject, int acknowledged) {
  try {
    const int found = subject.read();
    if (found >= acknowledged) return "";
    return fmt::format("save {} was acknowledged, {} is found", acknowledged, found);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string go_on(const CrashSubject& subject, int number) {
  try {
    subject.save(number);
    const int found = subject.read();
    return !subject.durable || found == number ? ""
                                               : fmt::format("a later save is read as {}", found);
  } catch (const std::exception& error) {
    return fmt::format("a later save fails: {}", error.what());
  }
}

}  // namespace

CrashReport crash(const CrashSubject& subject, int saves, int64_t states) {
  constexpr size_t kMaxFailures = 5;
  constexpr int64_t kContinuedShare = 16;  // of the states, since a save takes longer than a look
  const std::vector<Moment> moments = record(subject, saves);
  CrashReport report{.operations = static_cast<int64_t>(moments.size())};
  const int64_t each = states / report.operations + 1;
  std::set<size_t> seen;
  for (size_t at = 0; at < moments.size(); ++at) {
    for (int64_t draw = 0; draw < each; ++draw) {
      ++report.states;
      subject.files->copy_from(*moments[at].disk);
      subject.files->lose_power(static_cast<uint64_t>(at) << 32U | static_cast<uint64_t>(draw));
      const auto contents = subject.files->contents();
      if (!seen.insert(hash_of(contents, moments[at].acknowledged)).second) continue;
      ++report.distinct;
      std::string wrong = examine(subject, moments[at].acknowledged);
      if (wrong.empty() && report.distinct % kContinuedShare == 1) {
        ++report.continued;
        wrong = go_on(subject, saves + 1);
      }
      if (wrong.empty()) continue;
      report.failures.push_back(fmt::format("{}: operation {}, draw {}: {}; the disk has{}",
                                            subject.name, at, draw, wrong, listed(contents)));
      if (report.failures.size() == kMaxFailures) return report;
    }
  }
  return report;
}

int64_t crash_states() {
  constexpr int64_t kSample = 600;
  const char* wanted = std::getenv("SYSTOLE_CRASH_STATES");  // NOLINT(concurrency-mt-unsafe)
  return wanted != nullptr ? std::max<int64_t>(std::atoll(wanted), 1) : kSample;
}

void expect_survives(const CrashSubject& subject, int saves) {
  set_log_level(LogLevel::off);  // thousands of warnings about damaged files
  const CrashReport report = crash(subject, saves, crash_states());
  set_log_level(LogLevel::info);
  fmt::print(
      "{:<34} {:>4} operations, {:>9} states, {:>8} of them distinct, {:>7} continued, {} lost\n",
      subject.name, report.operations, report.states, report.distinct, report.continued,
      report.failures.size());
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
}

CrashSubject one_file(std::string name, MemoryFileSystem& files, std::string path,
                      std::function<void(int number)> write) {
  const auto versions = std::make_shared<std::map<std::string, int>>();
  return {.name = std::move(name),
          .files = &files,
          .save =
              [=, &files](int number) {
                write(number);
                (*versions)[read_file(files, path)] = number;
              },
          .read =
              [=, &files] {
                if (!files.exists(path)) return 0;
                const auto found = versions->find(read_file(files, path));
                if (found == versions->end()) {
                  throw make_error(Code::data_loss, "{}: got a file that nobody wrote", path);
                }
                return found->second;
              }};
}

}  // namespace systole::testing
