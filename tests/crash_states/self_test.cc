// Writers with known mistakes lose saves, and the test says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crash_states/crash_states.h"

namespace systole::testing {
namespace {

using ::testing::HasSubstr;

// The first failure of a writer of one file.
std::string first_failure(MemoryFileSystem& fs, const std::function<void(int number)>& write) {
  constexpr int kSaves = 3;
  constexpr int64_t kStates = 2000;
  const auto failures = crash(one_file("wrong", fs, "d/file", write), kSaves, kStates).failures;
  return failures.empty() ? "none" : failures.front();
}

void write_unsynced(MemoryFileSystem& fs, const std::string& path, int number) {
  const auto file = fs.create(path);
  file->append(std::string(600, static_cast<char>(number)));
  file->close();
}

TEST(CrashStatesSelfTest, AFileThatIsNotSynced) {
  MemoryFileSystem fs;
  const std::string failure = first_failure(fs, [&](int number) {
    fs.make_directories("d");
    write_unsynced(fs, "d/temporary", number);
    fs.rename("d/temporary", "d/file");
  });
  EXPECT_THAT(failure, HasSubstr("d/file: got a file that nobody wrote"));
}

TEST(CrashStatesSelfTest, AFileThatIsRemovedFirst) {
  MemoryFileSystem fs;
  const std::string failure = first_failure(fs, [&](int number) {
    fs.make_directories("d");
    if (fs.exists("d/file")) fs.remove("d/file");
    write_file_atomically(fs, "d/file", std::to_string(number));
  });
  EXPECT_THAT(failure, HasSubstr("was acknowledged, 0 is found"));
}

TEST(CrashStatesSelfTest, ANameThatIsNotSynced) {
  MemoryFileSystem fs;
  const std::string failure = first_failure(fs, [&](int number) {
    fs.make_directories("d");
    const auto file = fs.create("d/file");
    file->append(std::to_string(number));
    file->sync();
  });
  EXPECT_NE(failure, "none");
}

}  // namespace
}  // namespace systole::testing
