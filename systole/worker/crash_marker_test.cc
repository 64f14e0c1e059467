#include "systole/worker/crash_marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"

namespace systole::worker {
namespace {

using ::testing::HasSubstr;

// Runs `body` in a process that ends by itself if `body` does not end it.
void in_another_process(void (*body)(const std::string&), const std::string& folder) {
  const pid_t process = ::fork();
  if (process == 0) {
    body(folder);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
}

TEST(CrashMarker, TellsHowTheLastWorkerEnded) {
  const systole::testing::TempFolder folder;
  const std::string path = folder.path() + "/state";
  in_another_process(
      [](const std::string& where) {
        const CrashMarker note(where);
        ::raise(SIGSEGV);
      },
      path);
  EXPECT_THAT(CrashMarker(path).last_exit(), HasSubstr("was ended by SIGSEGV"));
  EXPECT_EQ(CrashMarker(path).last_exit(), "") << "that one shut down";
  in_another_process(
      [](const std::string& where) {
        const CrashMarker note(where);
        ::raise(SIGKILL);
      },
      path);
  EXPECT_THAT(CrashMarker(path).last_exit(), HasSubstr("without a note"));
}

TEST(CrashMarker, FollowsNoLink) {
  const systole::testing::TempFolder folder;
  const std::string precious = folder.path() + "/precious";
  std::ofstream(precious) << "data";
  for (const bool hard : {false, true}) {
    const std::string state = folder.path() + (hard ? "/hard" : "/soft");
    std::filesystem::create_directory(state);
    if (hard) {
      std::filesystem::create_hard_link(precious, state + "/worker");
    } else {
      std::filesystem::create_symlink(precious, state + "/worker");
    }
    EXPECT_THAT(systole::testing::error_of([&] { CrashMarker note(state); }),
                HasSubstr(state + "/worker: "));
  }
  EXPECT_EQ(std::filesystem::file_size(precious), 4U);
}

TEST(CrashMarker, SaysWhyAWorkerEndedItself) {
  const systole::testing::TempFolder folder;
  in_another_process(
      [](const std::string& where) {
        const CrashMarker note(where);
        note.add("ended because of a test");
        ::_exit(75);
      },
      folder.path());
  EXPECT_THAT(CrashMarker(folder.path()).last_exit(), HasSubstr(", ended because of a test"));
}

TEST(CrashMarker, BelongsToOneWorker) {
  const systole::testing::TempFolder folder;
  const CrashMarker first(folder.path());
  EXPECT_THAT(systole::testing::error_of([&] { CrashMarker second(folder.path()); }),
              HasSubstr("another worker uses"));
}

}  // namespace
}  // namespace systole::worker
