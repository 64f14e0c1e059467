#include "systole/io/archives/zip_writer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole {
namespace {

using ZippedFiles = std::vector<std::pair<std::string, std::string>>;

std::string zip_written(const ZippedFiles& files) {
  ZipWriter writer("z.zip");
  for (const auto& [path, bytes] : files) writer.add(path, bytes);
  return writer.finish();
}

TEST(ZipWriterTest, WritesWhatTheReaderReads) {
  const ZippedFiles files = {
      {"metadata.json", "{}"}, {"folder/empty", ""}, {"large.bin", std::string(3'000'000, 'x')}};
  const std::string bytes = zip_written(files);
  EXPECT_TRUE(looks_like_zip(bytes));
  EXPECT_EQ(bytes, zip_written(files));
  MemoryFileSystem fs({{"z.zip", bytes}});
  ArchiveReader reader(fs, "z.zip");
  ZippedFiles read;
  while (reader.next()) {
    const std::string name = reader.name();
    read.emplace_back(name, reader.read());
  }
  EXPECT_EQ(read, files);
  // Stored: the bytes stand in the archive.
  EXPECT_NE(bytes.find(files[2].second), std::string::npos);
  EXPECT_FALSE(looks_like_zip("\x89HDF\r\n"));
}

}  // namespace
}  // namespace systole
