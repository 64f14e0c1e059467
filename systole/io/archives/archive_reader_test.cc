#include "systole/io/archives/archive_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/testing/archive_builder.h"

namespace systole {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

testing::ArchiveFiles read_all_files(const std::string& bytes) {
  MemoryFileSystem fs({{"f", bytes}});
  ArchiveReader reader(fs, "f");
  testing::ArchiveFiles files;
  while (reader.next()) {
    const std::string name = reader.name();
    files.emplace_back(name, reader.read());
  }
  return files;
}

const testing::ArchiveFiles& sample_files() {
  static const testing::ArchiveFiles files = {
      {"a/1.txt", "first"}, {"a/empty", ""}, {"b.bin", std::string(3000, 'x') + "y"}};
  return files;
}

TEST(ArchiveReaderTest, ReadsTarGzipAndZip) {
  testing::ArchiveFiles with_folder = sample_files();
  with_folder.insert(with_folder.begin(), {"a/", ""});
  EXPECT_EQ(read_all_files(testing::tar_of(with_folder)), sample_files());
  EXPECT_EQ(read_all_files(testing::gzip_of(testing::tar_of(sample_files()))), sample_files());
  EXPECT_EQ(read_all_files(testing::zip_of(sample_files(), true)), sample_files());
  EXPECT_EQ(read_all_files(testing::zip_of(sample_files(), false)), sample_files());
}

TEST(ArchiveReaderTest, SkipsFilesThatAreNotRead) {
  MemoryFileSystem fs({{"f", testing::tar_of(sample_files())}});
  ArchiveReader reader(fs, "f");
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.name(), "b.bin");
  EXPECT_EQ(reader.read().size(), 3001U);
  EXPECT_FALSE(reader.next());
}

TEST(ArchiveReaderTest, ErrorsNameTheFile) {
  EXPECT_THAT(testing::error_of([] { read_all_files("no archive at all, just text"); }),
              StartsWith("INVALID_ARGUMENT: f: archive"));
  EXPECT_THAT(testing::error_of([] { read_all_files(""); }), HasSubstr("f: archive"));
  MemoryFileSystem fs({{"f", testing::zip_of(sample_files())}});
  EXPECT_THAT(testing::error_of([&] { ArchiveReader(fs, "g"); }), StartsWith("NOT_FOUND"));
  ArchiveReader reader(fs, "f");
  ASSERT_TRUE(reader.next());
  EXPECT_THAT(testing::error_of([&] { reader.read(2); }),
              HasSubstr("size of 'a/1.txt', got more than 2 bytes"));
}

TEST(ArchiveReaderTest, ErrorsOfTheFileSystemPass) {
  MemoryFileSystem fs({{"f", testing::tar_of(sample_files())}});
  fs.inject({.path_contains = "f", .at_operation = 1, .stays = true});
  EXPECT_THAT(testing::error_of([&] {
                ArchiveReader reader(fs, "f");
                while (reader.next()) (void)reader.read();
              }),
              StartsWith("UNAVAILABLE"));
}

// Wherever a compressed archive ends early, that is an error, and a wrong checksum is one too.
TEST(ArchiveReaderTest, CutAndDamagedArchivesAreErrors) {
  for (const std::string& bytes :
       {testing::gzip_of(testing::tar_of(sample_files())), testing::zip_of(sample_files())}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(testing::error_of([&] { read_all_files(bytes.substr(0, size)); }),
                  AnyOf(StartsWith("DATA_LOSS: f"), StartsWith("INVALID_ARGUMENT: f")))
          << size;
    }
  }
  std::string stored = testing::zip_of(sample_files(), false);
  stored[stored.find("first")] = 'F';
  EXPECT_THAT(testing::error_of([&] { read_all_files(stored); }), StartsWith("DATA_LOSS: f"));
}

}  // namespace
}  // namespace systole
