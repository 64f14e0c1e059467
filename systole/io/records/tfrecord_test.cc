#include "systole/io/records/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/crc32c.h"
#include "systole/io/wire/crypto.h"

namespace systole {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Records = std::vector<std::string>;

constexpr Compression kCompressions[] = {Compression::none, Compression::zlib, Compression::gzip};

std::string file_of(const Records& records, Compression compression = Compression::none) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "f", {.compression = compression});
  for (const std::string& record : records) writer.write(record);
  writer.close();
  return read_file(fs, "f");
}

Records records_of(const std::string& bytes, RecordReaderOptions options = {}) {
  MemoryFileSystem fs({{"f", bytes}});
  RecordReader reader(fs, "f", options);
  Records records;
  while (const auto record = reader.next()) records.emplace_back(*record);
  return records;
}

std::string record_error(const std::string& bytes, RecordReaderOptions options = {}) {
  try {
    records_of(bytes, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Records some_records() {
  return {"first", "", std::string(10'000, 'x'), std::string(1, '\0'), "the last"};
}

TEST(TfrecordTest, BytesAreTensorFlows) {
  // Length 3 and its checksum, "abc" and its checksum.
  EXPECT_EQ(file_of({"abc"}), std::string("\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                                          "abc"
                                          "\x6e\x57\xf1\x21",
                                          19));
}

TEST(TfrecordTest, ReadsWhatWasWritten) {
  for (const Compression compression : kCompressions) {
    for (const size_t buffer_bytes : {size_t{1}, size_t{4096}, size_t{1} << 20U}) {
      EXPECT_EQ(records_of(file_of(some_records(), compression),
                           {.compression = compression, .buffer_bytes = buffer_bytes}),
                some_records());
    }
    EXPECT_EQ(records_of(file_of({}, compression), {.compression = compression}), Records{});
  }
}

TEST(TfrecordTest, SeeksToEveryOffset) {
  const Records records = some_records();
  for (const Compression compression : kCompressions) {
    MemoryFileSystem fs({{"f", file_of(records, compression)}});
    RecordReader reader(fs, "f", {.compression = compression});
    std::vector<uint64_t> offsets;
    for (size_t i = 0; i <= records.size(); ++i) {
      offsets.push_back(reader.offset());
      EXPECT_EQ(reader.next().has_value(), i < records.size());
    }
    for (const size_t i : {4, 0, 2, 5, 3, 1}) {
      reader.seek(offsets[i]);
      EXPECT_EQ(reader.offset(), offsets[i]);
      const auto record = reader.next();
      ASSERT_EQ(record.has_value(), i < records.size());
      EXPECT_EQ(record.value_or(""), i < records.size() ? records[i] : "");

      RecordReader fresh(fs, "f", {.compression = compression});
      fresh.seek(offsets[i]);
      EXPECT_EQ(fresh.next().has_value(), i < records.size());
    }
    EXPECT_THROW(reader.seek(1'000'000), Error);
  }
}

TEST(TfrecordTest, CutAtEveryByte) {
  const Records records = {"first", "", "third record"};
  for (const Compression compression : kCompressions) {
    const std::string bytes = file_of(records, compression);
    const uint64_t ends[] = {0, 21, 37, 65};
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string error =
          record_error(bytes.substr(0, size), {.compression = compression, .buffer_bytes = 1});
      const bool whole = compression == Compression::none
                             ? std::ranges::find(ends, size) != std::end(ends)
                             : size == 0;
      if (whole) {
        EXPECT_EQ(error, "no error") << size;
      } else {
        EXPECT_THAT(error, AllOf(HasSubstr("DATA_LOSS: f: "), HasSubstr("offset"))) << size;
      }
    }
  }
}

TEST(TfrecordTest, EveryFlippedBitIsFound) {
  const std::string bytes = file_of({"first", "", "third record"});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(record_error(flipped), HasSubstr("DATA_LOSS: f: checksum of the ")) << bit;
  }
}

TEST(TfrecordTest, ErrorsNameTheRecord) {
  std::string bytes = file_of({"first", "second"});
  bytes[21 + 12] = 'S';
  EXPECT_THAT(record_error(bytes), HasSubstr("f: checksum of the data of the record at offset 21"));
  MemoryFileSystem fs({{"f", bytes}});
  RecordReader reader(fs, "f");
  EXPECT_TRUE(reader.next());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(reader.next(), Error);
    EXPECT_EQ(reader.offset(), 21U);
  }
}

std::string header_of(uint64_t length) {
  std::string header(reinterpret_cast<const char*>(&length), 8);
  const uint32_t crc = mask_crc32c(crc32c(header));
  return header.append(reinterpret_cast<const char*>(&crc), 4);
}

TEST(TfrecordTest, AbsurdLengthsAreRefusedBeforeMemoryIsAskedFor) {
  for (const uint64_t length :
       {uint64_t{1} << 60U, ~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 31U}) {
    EXPECT_THAT(record_error(header_of(length) + "some data", {.max_record_bytes = ~uint64_t{0}}),
                AllOf(HasSubstr("DATA_LOSS: f: record at offset 0, got 21 bytes to the end"),
                      HasSubstr(std::to_string(length))));
  }
  // How long a compressed stream is, nobody knows.
  MemoryFileSystem fs;
  const auto file = fs.create("f");
  const auto stream = compress_into(*file, Compression::gzip, "f");
  stream->append(header_of(uint64_t{1} << 60U));
  stream->append(std::string(1000, 'x'));
  stream->close();
  const std::string bytes = read_file(fs, "f");
  EXPECT_THAT(record_error(bytes, {.compression = Compression::gzip}),
              HasSubstr("RESOURCE_EXHAUSTED: f: record at offset 0"));
  EXPECT_THAT(
      record_error(bytes, {.compression = Compression::gzip, .max_record_bytes = ~uint64_t{0}}),
      HasSubstr("DATA_LOSS: f: record at offset 0, got 1012 bytes"));
}

TEST(TfrecordTest, ReadsAFileThatGrows) {
  MemoryFileSystem fs;
  RecordWriter writer(fs, "f", {.atomic = false});
  RecordReader reader(fs, "f");
  EXPECT_FALSE(reader.next());
  for (const std::string record : {"one", "two", "three"}) {
    writer.write(record);
    writer.flush();
    EXPECT_EQ(reader.next().value_or("none"), record);
    EXPECT_FALSE(reader.next());
  }
}

TEST(TfrecordTest, AtomicFilesAppearCompleteOrNotAtAll) {
  MemoryFileSystem fs({{"d/f", "old"}});
  { RecordWriter(fs, "d/f").write("lost"); }
  EXPECT_EQ(read_file(fs, "d/f"), "old");
  fs.inject({.at_byte = 30, .code = Code::resource_exhausted});
  EXPECT_THROW(
      {
        RecordWriter writer(fs, "d/f");
        for (int i = 0; i < 10; ++i) writer.write("record");
        writer.close();
      },
      Error);
  EXPECT_EQ(read_file(fs, "d/f"), "old");
  EXPECT_THAT(fs.list("d"), ElementsAre("f"));
  RecordWriter writer(fs, "d/f");
  writer.write("new");
  EXPECT_EQ(writer.records(), 1);
  EXPECT_EQ(writer.bytes(), 19U);
  writer.close();
  fs.lose_unsynced();
  EXPECT_EQ(records_of(read_file(fs, "d/f")), Records{"new"});
}

TEST(TfrecordTest, ReadErrorsArePassedOn) {
  MemoryFileSystem fs({{"f", file_of(some_records())}});
  RecordReader reader(fs, "f");
  fs.inject({.at_operation = 0});
  EXPECT_THROW(reader.next(), Error);
  EXPECT_EQ(reader.next().value_or("none"), "first");
  EXPECT_THROW(RecordReader(fs, "missing"), Error);
}

TEST(TfrecordTest, SniffsCompression) {
  // A length whose first bytes could begin a zlib stream.
  EXPECT_EQ(file_of({std::string(376, 'x')})[0], '\x78');
  for (const Compression compression : kCompressions) {
    MemoryFileSystem fs({{"f", file_of({std::string(376, 'x')}, compression)}});
    EXPECT_EQ(sniff_record_compression(*fs.open("f")), compression);
  }
}

class GoldenRecordsTest : public testing::GoldenTest {};

TEST_P(GoldenRecordsTest, EveryFileReadsAsExpected) {
  FileSystem& fs = local_file_system();
  const std::map<std::string, Compression> compressions = {
      {"none", Compression::none}, {"gzip", Compression::gzip}, {"zlib", Compression::zlib}};
  for (const auto& [name, expected] : golden().expected("tfrecord").items()) {
    SCOPED_TRACE(name);
    auto file = fs.open(golden().path(name));
    const Compression compression = sniff_record_compression(*file);
    EXPECT_EQ(compression, compressions.at(expected["compression"]));
    RecordReader reader(std::move(file), {.compression = compression, .buffer_bytes = 4096});
    std::string payloads;
    std::vector<size_t> sizes;
    while (const auto record = reader.next()) {
      payloads += *record;
      sizes.push_back(record->size());
    }
    ASSERT_EQ(sizes.size(), expected["n"].get<size_t>());
    EXPECT_EQ(sizes.front(), expected["first_len"].get<size_t>());
    EXPECT_EQ(sizes.back(), expected["last_len"].get<size_t>());
    EXPECT_EQ(reader.offset(), expected["uncompressed_bytes"].get<uint64_t>());
    EXPECT_EQ(crypto::hex_text(crypto::sha256(payloads)),
              expected["sha256_of_concatenated_payloads"].get<std::string>());
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenRecordsTest, testing::golden_folders(),
                         testing::golden_name);

}  // namespace
}  // namespace systole
