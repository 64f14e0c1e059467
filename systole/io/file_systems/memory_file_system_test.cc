#include "systole/io/file_systems/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

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

// The files after power failures of many seeds.
std::set<std::map<std::string, std::string>> failures(const MemoryFileSystem& fs) {
  std::set<std::map<std::string, std::string>> disks;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    MemoryFileSystem failed;
    failed.copy_from(fs);
    failed.lose_power(seed);
    disks.insert(failed.contents());
  }
  return disks;
}

using Files = std::map<std::string, std::string>;

TEST(MemoryFileSystemTest, NamesSurviveFromTheSyncOfTheirDirectory) {
  MemoryFileSystem fs;
  fs.make_directories("d");
  const auto file = fs.create("d/a");
  file->append("A");
  file->sync();
  EXPECT_THAT(failures(fs), UnorderedElementsAre(Files{}, Files{{"d/a", "A"}}));
  write_file_atomically(fs, "d/b", "B");  // syncs the directory
  EXPECT_THAT(failures(fs), UnorderedElementsAre(Files{{"d/a", "A"}, {"d/b", "B"}}));
  fs.remove("d/a");
  fs.remove("d/b");
  EXPECT_EQ(failures(fs).size(), 4U);  // in any order
  EXPECT_TRUE(fs.contents().empty());
}

TEST(MemoryFileSystemTest, UnsyncedBytesSurviveInAnySectors) {
  MemoryFileSystem fs({{"a", "old"}});
  const auto file = fs.create("a");
  EXPECT_THAT(failures(fs), UnorderedElementsAre(Files{{"a", "old"}}, Files{{"a", ""}}));
  file->append(std::string(600, 's'));
  file->sync();
  EXPECT_THAT(failures(fs), UnorderedElementsAre(Files{{"a", std::string(600, 's')}}));
  file->append(std::string(600, 'n'));
  bool hole = false;
  for (const Files& disk : failures(fs)) {
    const std::string& bytes = disk.at("a");
    ASSERT_GE(bytes.size(), 600U);
    ASSERT_LE(bytes.size(), 1200U);
    EXPECT_EQ(bytes.substr(0, 600), std::string(600, 's'));
    if (bytes.size() == 1200) hole = hole || (bytes[700] != 'n' && bytes[1100] == 'n');
  }
  EXPECT_TRUE(hole);
}

TEST(MemoryFileSystemTest, ARenamedDirectoryKeepsWhatIsInIt) {
  MemoryFileSystem fs;
  fs.make_directories("d/temporary");
  write_file_atomically(fs, "d/temporary/a", "A");
  fs.rename("d/temporary", "d/final");
  EXPECT_THAT(failures(fs), UnorderedElementsAre(Files{{"d/final/a", "A"}}));
  fs.lose_power(1);
  EXPECT_EQ(read_file(fs, "d/final/a"), "A");
  write_file_atomically(fs, "d/final/b", "B");
  EXPECT_EQ(fs.list("d/final").size(), 2U);
}

// Also between the steps of one operation.
TEST(MemoryFileSystemTest, ShowsEachState) {
  MemoryFileSystem fs;
  std::set<Files> disks;
  fs.observe([&] { disks.merge(failures(fs)); });
  fs.make_directories("d/e");
  write_file_atomically(fs, "d/e/a", "A");
  EXPECT_TRUE(fs.exists("d/e/a"));
  fs.observe(nullptr);
  const auto whole = [](const Files& disk) { return disk == Files{{"d/e/a", "A"}}; };
  EXPECT_EQ(std::ranges::count_if(disks, whole), 1);
  EXPECT_EQ(std::ranges::count_if(disks, [](const Files& disk) { return disk.size() > 1; }), 1)
      << "the file under both names";
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
