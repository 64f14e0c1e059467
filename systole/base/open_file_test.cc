#include "systole/base/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/file_kinds.h"
#include "systole/base/testing/temp_folder.h"

namespace systole {
namespace {

using systole::testing::all_file_kinds;
using systole::testing::error_of;
using systole::testing::FileKind;
using systole::testing::make_file_of_kind;
using systole::testing::name_of;
using systole::testing::TempFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OpenFileTest : public ::testing::Test {
 protected:
  OpenFileTest() { std::ofstream(victim_) << "outside"; }

  const TempFolder folder_;
  const std::string victim_ = folder_ / "victim";
};

// What is written, locked or executed.
TEST_F(OpenFileTest, WritesToNoOtherKindThanAFile) {
  const std::map<FileKind, std::string> expected = {
      {FileKind::pipe, "got a named pipe, expected a file"},
      {FileKind::device, "got a symbolic link, expected a file"},
      {FileKind::socket, "got a socket, expected a file"},
      {FileKind::link, "got a symbolic link, expected a file"},
      {FileKind::dangling_link, "got a symbolic link, expected a file"},
      {FileKind::directory, "got 'Is a directory'"}};
  for (const auto& [kind, text] : expected) {
    const std::string path = folder_ / name_of(kind);
    make_file_of_kind(kind, path, victim_);
    for (const int flags : {O_WRONLY | O_CREAT | O_TRUNC, O_RDWR | O_CREAT}) {
      EXPECT_EQ(error_of([&] { open_file(path, {.flags = flags, .follow_link = false}); }),
                "FAILED_PRECONDITION: " + path + ": cannot open, " + text);
    }
  }
  EXPECT_EQ(contents(victim_), "outside");
  EXPECT_FALSE(std::filesystem::exists(victim_ + ".none"));
}

TEST_F(OpenFileTest, ReadsNoOtherKindThanAFileAndNeverBlocks) {
  const std::map<FileKind, std::string> expected = {
      {FileKind::pipe, "got a named pipe, expected a file"},
      {FileKind::device, "got a device, expected a file"},
      {FileKind::socket, "got a socket, expected a file"},
      {FileKind::dangling_link, "got 'No such file or directory'"},
      {FileKind::directory, "got 'Is a directory'"}};
  for (const auto& [kind, text] : expected) {
    const std::string path = folder_ / name_of(kind);
    make_file_of_kind(kind, path, victim_);
    EXPECT_THAT(error_of([&] { open_file(path); }), HasSubstr(path + ": cannot open, " + text));
  }
  make_file_of_kind(FileKind::link, folder_ / "link", victim_);
  EXPECT_GE(open_file(folder_ / "link").get(), 0);
}

TEST_F(OpenFileTest, TheNullDeviceIsAnEmptyFile) {
  char byte = 0;
  EXPECT_EQ(::read(open_file("/dev/null").get(), &byte, 1), 0);
  EXPECT_EQ(::write(open_file("/dev/null", {.flags = O_WRONLY}).get(), "x", 1), 1);
}

TEST_F(OpenFileTest, AFileWithOtherNamesIsNotChanged) {
  const std::string path = folder_ / "hard";
  ASSERT_EQ(::link(victim_.c_str(), path.c_str()), 0);
  EXPECT_THAT(error_of([&] { open_file(path, {.flags = O_RDWR | O_TRUNC, .other_names = false}); }),
              HasSubstr("got a file with 2 names"));
  EXPECT_EQ(contents(victim_), "outside");
}

TEST_F(OpenFileTest, OwnFilesAreWritableByNobodyElse) {
  ASSERT_EQ(::chmod(victim_.c_str(), 0620), 0);
  EXPECT_EQ(error_of([&] { open_file(victim_, {.own = true}); }),
            "PERMISSION_DENIED: " + victim_ +
                ": cannot open, got a file that others can write (mode 620), expected mode 600");
  ASSERT_EQ(::chmod(victim_.c_str(), 0644), 0);
  EXPECT_EQ(error_of([&] { open_file(victim_, {.own = true}); }), "no error");
  if (::chown(victim_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_EQ(error_of([&] { open_file(victim_, {.own = true}); }),
            fmt::format("PERMISSION_DENIED: {}: cannot open, got a file of user 65534, expected "
                        "user {}",
                        victim_, ::geteuid()));
}

// Kept from a file that is made; emptied only once it is known.
TEST_F(OpenFileTest, MakesAndEmptiesFiles) {
  const std::string path = folder_ / "new";
  open_file(path, {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = 0600, .own = true});
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  open_file(victim_, {.flags = O_WRONLY | O_TRUNC});
  EXPECT_EQ(contents(victim_), "");
}

TEST_F(OpenFileTest, TheLimitOfFileSizeIsAnErrorAndNoSignal) {
  const std::string path = folder_ / "limited";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{10, 10};
    const FileDescriptor file = open_file(path, {.flags = O_WRONLY | O_CREAT});
    const bool reported = ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                          ::write(file.get(), "0123456789", 10) == 10 &&
                          ::write(file.get(), "x", 1) < 0 && errno == EFBIG;
    ::_exit(reported ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace systole
