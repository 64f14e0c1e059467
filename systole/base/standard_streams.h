// Writing to standard error without the risk that a full disk or a closed pipe ends the program.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace systole {

// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed. Without it the next file
// that the program opens gets the free number, and log lines land in it. Reads from standard input
// end at once; writes to standard output still fail, and CommandLine::run reports that. It runs
// before main in every program that can log; a program that closes one later may call it again.
void open_missing_standard_streams();

// Writes and flushes. Ignores every failure and raises no SIGPIPE: for text that nobody may be
// there to read. Thread-safe.
void write_ignoring_errors(std::FILE* file, std::string_view text) noexcept;

// Formats a message and writes it to standard error, as write_ignoring_errors does.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_ignoring_errors(stderr, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace systole
