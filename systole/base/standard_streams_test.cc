#include "systole/base/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/temp_folder.h"

namespace systole {
namespace {

using systole::testing::TempFolder;

// Runs `body` in a child process and returns its wait status: 0 if it returned.
template <class Body>
int status_of(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

void log_much() {
  for (int i = 0; i < 100; ++i) {
    log_error("message {}", i);
    print_error("text {}\n", i);
  }
}

TEST(StandardStreamsTest, AFullDiskDoesNotEndTheProgram) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(status_of([] {
              ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO);
              log_much();
            }),
            0);
}

TEST(StandardStreamsTest, AClosedPipeDoesNotEndTheProgram) {
  EXPECT_EQ(status_of([] {
              std::signal(SIGPIPE, SIG_DFL);
              int ends[2] = {};
              if (::pipe(ends) != 0) ::_exit(1);
              ::close(ends[0]);
              ::dup2(ends[1], STDERR_FILENO);
              log_much();
            }),
            0);
}

TEST(StandardStreamsTest, ClosedDescriptorsAreNotGivenToFiles) {
  const TempFolder folder;
  const std::string path = folder / "file";
  EXPECT_EQ(status_of([&] {
              for (const int descriptor : {0, 1, 2}) ::close(descriptor);
              open_missing_standard_streams();
              const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
              log_much();
              char byte = 0;
              const bool kept = file > 2 && ::lseek(file, 0, SEEK_END) == 0 &&
                                ::read(0, &byte, 1) == 0 && ::write(1, "x", 1) < 0;
              ::_exit(kept ? 0 : 1);
            }),
            0);
}

// The next test runs this one again, in a program that a shell starts without descriptors.
TEST(StandardStreamsTest, AFileGetsANumberAboveThem) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_GT(file, STDERR_FILENO) << "log lines would land in it";
}

TEST(StandardStreamsTest, AProgramStartsWithAllDescriptors) {
  const std::string command = "'" + std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --gtest_filter='*AFileGetsANumberAboveThem' ";
  EXPECT_EQ(std::system((command + "2>&-").c_str()), 0);
  EXPECT_EQ(std::system((command + "<&- 2>&-").c_str()), 0);
}

TEST(StandardStreamsTest, OpenDescriptorsAreLeftAlone) {
  EXPECT_EQ(status_of([] {
              int ends[2] = {};
              if (::pipe(ends) != 0) ::_exit(1);
              ::dup2(ends[1], STDERR_FILENO);
              open_missing_standard_streams();
              print_error("{}", "seen");
              char text[5] = {};
              ::_exit(::read(ends[0], text, 4) == 4 && std::string_view(text) == "seen" ? 0 : 1);
            }),
            0);
}

}  // namespace
}  // namespace systole
