#include "systole/io/file_systems/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(MemoryFileSystemTest, StartsWithFiles) {
  MemoryFileSystem fs({{"d/a", "A"}, {"/x/y", "Y"}});
  EXPECT_EQ(read_file(fs, "d/a"), "A");
  EXPECT_EQ(read_file(fs, "/x/y"), "Y");
  EXPECT_THAT(fs.list("."), ElementsAre("d"));
  EXPECT_THAT(fs.list("/"), ElementsAre("x"));
}

// Whichever operation fails, the file is the old or the new one and no temporary file is left that
// could be removed.
TEST(MemoryFileSystemTest, AtomicWriteSurvivesAFailureAtEveryOperation) {
  int64_t operations = 1;
  for (int64_t i = 0; i < operations; ++i) {
    MemoryFileSystem fs({{"d/a", "old"}});
    fs.inject({.at_operation = i});
    EXPECT_THROW(write_file_atomically(fs, "d/a", "new"), Error) << i;
    fs.clear_fault();
    EXPECT_THAT(fs.contents(), ElementsAre(Pair("d/a", "old"))) << i;
    fs.inject({});
    write_file_atomically(fs, "d/a", "new");
    operations = fs.operations();
  }
  EXPECT_GE(operations, 5);
}

TEST(MemoryFileSystemTest, AtomicWriteSurvivesAFullDiskAtEveryByte) {
  for (int64_t i = 0; i < 3; ++i) {
    MemoryFileSystem fs({{"a", "old"}});
    fs.inject({.at_byte = i, .code = Code::resource_exhausted});
    try {
      write_file_atomically(fs, "a", "new");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::resource_exhausted);
    }
    EXPECT_THAT(fs.contents(), ElementsAre(Pair("a", "old")));
  }
}

TEST(MemoryFileSystemTest, AtomicWriteSyncsBeforeItRenames) {
  MemoryFileSystem fs({{"a", "old"}});
  write_file_atomically(fs, "a", "new");
  fs.lose_unsynced();
  EXPECT_EQ(read_file(fs, "a"), "new");
}

TEST(MemoryFileSystemTest, UnsyncedBytesAreLost) {
  MemoryFileSystem fs;
  const auto file = fs.create("a");
  file->append("synced");
  file->sync();
  file->append(" not");
  file->flush();
  EXPECT_EQ(read_file(fs, "a"), "synced not");
  fs.lose_unsynced();
  EXPECT_EQ(read_file(fs, "a"), "synced");
}

TEST(MemoryFileSystemTest, AFaultAtAByteWritesTheBytesBeforeIt) {
  MemoryFileSystem fs;
  const auto file = fs.create("a");
  fs.inject({.at_byte = 5});
  file->append("abc");
  EXPECT_THROW(file->append("defg"), Error);
  EXPECT_EQ(read_file(fs, "a"), "abcde");
  EXPECT_THROW(file->append("x"), Error);  // the file has failed
  EXPECT_EQ(read_file(fs, "a"), "abcde");
  write_file_atomically(fs, "b", "a longer text");  // the fault is over
}

TEST(MemoryFileSystemTest, AFaultThatStays) {
  MemoryFileSystem fs({{"a", "A"}});
  fs.inject({.at_operation = 1, .stays = true, .code = Code::permission_denied});
  EXPECT_TRUE(fs.exists("a"));
  for (int i = 0; i < 3; ++i) EXPECT_THROW(fs.exists("a"), Error);
  fs.clear_fault();
  EXPECT_TRUE(fs.exists("a"));
}

TEST(MemoryFileSystemTest, AFaultOfSomePaths) {
  MemoryFileSystem fs({{"a", "A"}, {"b", "B"}});
  fs.inject({.path_contains = "b", .at_operation = 0, .stays = true});
  EXPECT_EQ(read_file(fs, "a"), "A");
  try {
    read_file(fs, "b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "UNAVAILABLE: b: operation 0 fails, got 'an injected fault'");
  }
}

TEST(MemoryFileSystemTest, ReadsFailToo) {
  MemoryFileSystem fs({{"a", "A"}});
  const auto file = fs.open("a");
  fs.inject({.at_operation = 0});
  char c = 0;
  EXPECT_THROW((void)file->read(0, 1, &c), Error);
  EXPECT_EQ(file->read(0, 1, &c), 1U);
}

TEST(MemoryFileSystemTest, FromManyThreads) {
  MemoryFileSystem fs;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&fs, i] {
      for (int j = 0; j < 50; ++j) {
        write_file_atomically(fs, "shared", std::to_string(i));
        EXPECT_EQ(read_file(fs, "shared").size(), 1U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(fs.list("."), ElementsAre("shared"));
}

}  // namespace
}  // namespace systole
