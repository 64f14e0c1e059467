// Data sets of files, in memory and as TensorFlow made them.
#include "systole/data/sources.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "systole/base/log.h"
#include "systole/data/stage.h"
#include "systole/data/testing/elements.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npy.h"
#include "systole/io/wire/compression.h"

namespace systole::data {
namespace {

void write_records(FileSystem& fs, const std::string& path, const std::vector<std::string>& texts,
                   Compression compression = Compression::none) {
  RecordWriter writer(fs, path, {.compression = compression});
  for (const std::string& text : texts) writer.write(text);
  writer.close();
}

// All elements, and that a state saved anywhere continues in the same way.
std::string checked(const Dataset& dataset) {
  const std::vector<std::string> all = elements(dataset);
  for (size_t position = 0; position <= all.size(); ++position) {
    Iterator saved(dataset);
    std::vector<std::string> got = rest(saved, static_cast<int64_t>(position));
    Iterator restored(dataset);
    restored.restore_state(saved.save_state());
    std::ranges::copy(rest(restored), std::back_inserter(got));
    EXPECT_EQ(got, all) << "at " << position;
  }
  return joined(dataset);
}

TEST(SourcesTest, TFRecords) {
  MemoryFileSystem fs;
  write_records(fs, "a", {"1", "2", "3"});
  write_records(fs, "b", {});
  write_records(fs, "c", {"4", "5"});
  write_records(fs, "z", {"6", "7"}, Compression::gzip);
  EXPECT_EQ(checked(TFRecordDataset({"a", "b", "c"}, {.buffer_size = 20, .file_system = &fs})),
            "1 2 3 4 5");
  EXPECT_EQ(
      checked(TFRecordDataset({"a", "b", "c"}, {.num_parallel_reads = 2, .file_system = &fs})),
      "1 2 4 3 5");
  EXPECT_EQ(checked(TFRecordDataset({"a", "c"}, {.num_parallel_reads = 2, .file_system = &fs})),
            "1 4 2 5 3");
  EXPECT_EQ(checked(TFRecordDataset("z", {.compression_type = "GZIP", .file_system = &fs})), "6 7");
}

// Two records of 10 bytes in "bad", damaged, and one in "good": what is read past the error, which
// is counted.
std::string past_the_damage(const std::string& bad) {
  MemoryFileSystem fs;
  write_records(fs, "good", {"ok"});
  write_file_atomically(fs, "bad", bad);
  const Dataset files = TFRecordDataset({"bad", "good"}, {.file_system = &fs});
  const LogCapture log;
  std::string left = joined(files.ignore_errors());
  EXPECT_EQ(log.messages().size(), 1U);
  for (const std::string& message : log.messages()) {
    EXPECT_TRUE(
        message.starts_with("warning: ignore_errors: dropped 1 element, the first for DATA_LOSS: "
                            "bad: "))
        << message;
  }
  return left;
}

TEST(SourcesTest, TFRecordsThatAreDamaged) {
  MemoryFileSystem fs;
  write_records(fs, "whole", {"0123456789", "abcdefghij"});
  const std::string bytes = read_file(fs, "whole");
  const size_t record = bytes.size() / 2;
  constexpr size_t kLengthBytes = 12;  // with its checksum
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    if (cut == record) continue;
    EXPECT_EQ(past_the_damage(bytes.substr(0, cut)), cut < record ? "ok" : "0123456789 ok") << cut;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    // Behind a damaged length nothing of the file is found; damaged data is one record lost.
    const std::string first = i < kLengthBytes ? "ok" : "abcdefghij ok";
    EXPECT_EQ(past_the_damage(flipped), i < record ? first : "0123456789 ok") << i;
  }
  write_records(fs, "good", {"ok"});
  EXPECT_EQ(elements(TFRecordDataset({"none", "good"}, {.file_system = &fs})).back(), "ok");
  EXPECT_TRUE(joined(TFRecordDataset("none", {.file_system = &fs})).starts_with("NOT_FOUND"));
}

TEST(SourcesTest, DamagedRecordsOfCompressedFilesArePassedOver) {
  MemoryFileSystem fs;
  write_records(fs, "plain", {"0123456789", "abcdefghij", "end"});
  std::string bytes = read_file(fs, "plain");
  bytes[14] = 'x';
  const auto file = fs.create("z");
  const auto stream = compress_into(*file, Compression::gzip, "z");
  stream->append(bytes);
  stream->close();
  const Dataset records = TFRecordDataset(
      "z", {.compression_type = "GZIP", .num_parallel_reads = 1, .file_system = &fs});
  const auto got = elements(records);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[0].starts_with("DATA_LOSS: z: checksum of the data")) << got[0];
  EXPECT_EQ(got[2], "end");
}

// What lies whole before the cut is read.
TEST(SourcesTest, CompressedFilesThatAreCut) {
  MemoryFileSystem fs;
  std::vector<std::string> texts(100);
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = fmt::format("{:x}", mix(7, uint64_t{i}));
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string type(tf_name(compression));
    write_records(fs, "z", texts, compression);
    const std::string bytes = read_file(fs, "z");
    write_file_atomically(fs, "z", bytes.substr(0, bytes.size() / 2));
    const auto got = elements(TFRecordDataset("z", {.compression_type = type, .file_system = &fs}));
    ASSERT_GT(got.size(), 30U) << type;
    EXPECT_TRUE(std::equal(got.begin(), got.end() - 1, texts.begin())) << type;
    EXPECT_TRUE(got.back().starts_with("DATA_LOSS: z: " + type + " stream at offset"))
        << got.back();
  }
}

TEST(SourcesTest, CompressedLinesAndFixedLengthRecords) {
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    MemoryFileSystem fs;
    const auto file = fs.create("z");
    const auto stream = compress_into(*file, compression, "z");
    stream->append("HH\naabbF");
    stream->close();
    file->close();
    const std::string type(tf_name(compression));
    EXPECT_EQ(checked(TextLineDataset(
                  "z", {.compression_type = type, .buffer_size = 3, .file_system = &fs})),
              "HH aabbF");
    EXPECT_EQ(checked(FixedLengthRecordDataset("z", 2,
                                               {.header_bytes = 3,
                                                .footer_bytes = 1,
                                                .compression_type = type,
                                                .buffer_size = 3,
                                                .file_system = &fs})),
              "aa bb");
  }
}

TEST(SourcesTest, TextLines) {
  MemoryFileSystem fs{{"a", "one\r\n\ntwo"}, {"b", ""}, {"c", "three\n"}};
  EXPECT_EQ(checked(TextLineDataset({"a", "b", "c"}, {.buffer_size = 2, .file_system = &fs})),
            "one  two three");
}

TEST(SourcesTest, FixedLengthRecords) {
  MemoryFileSystem fs{{"a", "HHaabbccF"}, {"b", "HHddF"}, {"c", "HHddeF"}, {"d", "HHF"}};
  const auto records = [&](const std::vector<std::string>& names) {
    return FixedLengthRecordDataset(
        names, 2, {.header_bytes = 2, .footer_bytes = 1, .buffer_size = 3, .file_system = &fs});
  };
  EXPECT_EQ(checked(records({"a", "d", "b"})), "aa bb cc dd");
  EXPECT_EQ(joined(records({"c"})),
            "dd DATA_LOSS: c: record at byte 4, got 2 bytes to the end, expected records of 2 and "
            "a footer of 1");
  // No error that a session takes for the end of input.
  write_file_atomically(fs, "e", "H");
  EXPECT_EQ(joined(records({"e", "b"})),
            "DATA_LOSS: e: header, got 1 bytes to the end, expected 2 dd");
}

TEST(SourcesTest, Csv) {
  MemoryFileSystem fs{{"a", "x,y,z\n1,2.5,\"a,b\"\n,3,c\nno,4,d\n5,6,e\n"}};
  const std::vector<Tensor> defaults{Tensor(int32_t{7}), Tensor(DType::f32, {0}),
                                     Tensor(DType::string, {0})};
  const std::vector<std::string> got =
      elements(CsvDataset("a", defaults, {.header = true, .file_system = &fs}));
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[0], "(1, 2.5, a,b)");
  EXPECT_EQ(got[1], "(7, 3, c)");
  EXPECT_TRUE(got[2].starts_with("INVALID_ARGUMENT: a:4:1:")) << got[2];
  EXPECT_EQ(got[3], "(5, 6, e)");
  EXPECT_EQ(checked(CsvDataset("a", {Tensor(0.0F)},
                               {.header = true, .select_cols = {1}, .file_system = &fs})),
            "(2.5,) (3,) (4,) (6,)");
}

// A record that is wrong is left out alone: with fields too few or too many, even as the first, or
// with a quote inside.
TEST(SourcesTest, CsvRecordsThatAreWrong) {
  MemoryFileSystem fs{{"a", "1\n1,2\n1,2,3\n3,x\"y\n\"4\"z,4\n5,6\r7\n8,9\n"}};
  const CsvDataset csv("a", {Tensor(0), Tensor(0)}, {.file_system = &fs});
  const std::vector<std::string> got = elements(csv);
  ASSERT_EQ(got.size(), 7U);
  EXPECT_EQ(got[0], "INVALID_ARGUMENT: a:1: number of fields, got 1, expected 2");
  EXPECT_EQ(got[1], "(1, 2)");
  EXPECT_EQ(got[2],
            "INVALID_ARGUMENT: a:3: number of fields, got 3, expected 2; select_cols chooses some");
  EXPECT_EQ(got[3],
            "INVALID_ARGUMENT: a:4:4: field, got a quote inside it, expected quotes around the "
            "field");
  EXPECT_TRUE(got[4].starts_with("INVALID_ARGUMENT: a:5:4: closing quote")) << got[4];
  EXPECT_TRUE(got[5].starts_with("INVALID_ARGUMENT: a:6:4: carriage return")) << got[5];
  EXPECT_EQ(got[6], "(8, 9)");
  EXPECT_EQ(checked(csv.ignore_errors()), "(1, 2) (8, 9)");
  EXPECT_EQ(checked(csv), joined(csv));
  // Columns after those that are wanted do not matter, as in TensorFlow.
  EXPECT_EQ(joined(CsvDataset("a", {Tensor(0)}, {.select_cols = {0}, .file_system = &fs}).take(3)),
            "(1,) (1,) (1,)");
}

TEST(SourcesTest, CsvOptions) {
  MemoryFileSystem fs{{"a", "1;NA;\"x\n2;3;y\"\n"}};
  const auto file = fs.create("z");
  const auto stream = compress_into(*file, Compression::gzip, "z");
  stream->append(read_file(fs, "a"));
  stream->close();
  file->close();
  const std::vector<Tensor> defaults{Tensor(0), Tensor(-1), Tensor("")};
  CsvDatasetOptions options{.buffer_size = 3,
                            .field_delim = ';',
                            .use_quote_delim = false,
                            .na_value = "NA",
                            .file_system = &fs};
  EXPECT_EQ(checked(CsvDataset("a", defaults, options)), "(1, -1, \"x) (2, 3, y\")");
  options.compression_type = "GZIP";
  EXPECT_EQ(checked(CsvDataset("z", defaults, options)), "(1, -1, \"x) (2, 3, y\")");
}

// As TensorFlow has it.
TEST(SourcesTest, CsvColumnsThatAreTooManyOrMissing) {
  MemoryFileSystem fs{{"a", "1,x,2\n3,,4\n"}};
  const auto first = [&](const std::vector<Tensor>& defaults, std::vector<size_t> columns = {}) {
    return elements(
        CsvDataset("a", defaults, {.select_cols = std::move(columns), .file_system = &fs}));
  };
  const Tensor number(int32_t{0});
  EXPECT_EQ(first({number, Tensor("")})[0],
            "INVALID_ARGUMENT: a:1: number of fields, got 3, expected 2; select_cols chooses some");
  EXPECT_EQ(first({number, Tensor("none")}, {0, 1})[1], "(3, none)");
  EXPECT_EQ(first({number, Tensor("")}, {0, 1})[1], "(3, )");
  EXPECT_EQ(first({number, Tensor(DType::string, {0})}, {0, 1})[1],
            "INVALID_ARGUMENT: a:2:3: field, got none, expected a value: it has no default");
}

// A record of another number of fields is one record lost, and where quotes are wrong, its line.
TEST(SourcesTest, CsvGoesOnBehindARecordOfAnotherWidth) {
  MemoryFileSystem fs{
      {"a", "1,2\n3\n4,5\n6,7,8\n9,10\n"}, {"b", "1,2\n\"3\"x,4\n5,6\n"}, {"c", "7,8\n"}};
  const std::vector<Tensor> defaults{Tensor(int32_t{0}), Tensor(int32_t{0})};
  const Dataset ragged = CsvDataset({"a", "c"}, defaults, {.file_system = &fs});
  const std::vector<std::string> got = elements(ragged);
  ASSERT_EQ(got.size(), 6U);
  EXPECT_TRUE(got[1].starts_with("INVALID_ARGUMENT: a:2: number of fields")) << got[1];
  EXPECT_TRUE(got[3].starts_with("INVALID_ARGUMENT: a:4: number of fields")) << got[3];
  EXPECT_EQ(checked(ragged.ignore_errors()), "(1, 2) (4, 5) (9, 10) (7, 8)");
  EXPECT_EQ(checked(CsvDataset({"b", "c"}, defaults, {.file_system = &fs}).ignore_errors()),
            "(1, 2) (5, 6) (7, 8)");
}

TEST(SourcesTest, Arrays) {
  MemoryFileSystem fs;
  const Tensor rows = Tensor::of<uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  write_idx(fs, "a.idx", rows, Compression::gzip);
  write_npy(fs, "a.npy", rows);
  EXPECT_EQ(checked(IdxDataset("a.idx", &fs)), "[1 2] [3 4] [5 6]");
  EXPECT_EQ(checked(NpyDataset("a.npy", &fs)), "[1 2] [3 4] [5 6]");
  EXPECT_EQ(IdxDataset("a.idx", &fs).element_spec().to_string(), "u8[2]");
}

TEST(SourcesTest, ListFiles) {
  MemoryFileSystem fs{{"d/a-1.txt", ""}, {"d/a-2.txt", ""}, {"d/b-1.txt", ""}, {"e/a-1.txt", ""}};
  const auto list = [&](const std::string& pattern) {
    return joined(Dataset::list_files(pattern, {.shuffle = false, .file_system = &fs}));
  };
  EXPECT_EQ(list("d/a-*.txt"), "d/a-1.txt d/a-2.txt");
  EXPECT_EQ(list("?/*[0-1].txt"), "d/a-1.txt d/b-1.txt e/a-1.txt");
  EXPECT_EQ(list("d/[!a]*"), "d/b-1.txt");
  EXPECT_EQ(list("e/a-1.txt"), "e/a-1.txt");
  EXPECT_THROW(list("d/c*"), Error);
  const Dataset shuffled = Dataset::list_files("d/*", {.seed = 1, .file_system = &fs});
  EXPECT_EQ(elements(shuffled).size(), 3U);
  checked(shuffled);
}

TEST(SourcesTest, CacheInAFile) {
  MemoryFileSystem fs;
  int calls = 0;
  const Dataset counted = Dataset::range(3).map_cpp(
      [&](const Element& x) {
        ++calls;
        return x;
      },
      TensorType{DType::s64, {}});
  EXPECT_EQ(joined(counted.cache("c", &fs).take(2)), "0 1");
  EXPECT_FALSE(fs.exists("c"));
  calls = 0;
  EXPECT_EQ(joined(counted.cache("c", &fs).repeat(3)), "0 1 2 0 1 2 0 1 2");
  EXPECT_EQ(joined(counted.cache("c", &fs)), "0 1 2");
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(checked(counted.cache("c", &fs).repeat(2)), "0 1 2 0 1 2");
  EXPECT_TRUE(
      joined(Dataset::range(2).batch(2).cache("c", &fs)).starts_with("FAILED_PRECONDITION"));
}

// An epoch that was being written is finished without the file.
TEST(SourcesTest, CacheInAFileRestoresWhileItIsWritten) {
  for (const int64_t threads : {0, 2}) {
    for (int64_t position = 0; position <= 10; ++position) {
      MemoryFileSystem fs;
      const Dataset cached =
          Dataset::range(5)
              .map_cpp([](const Element& x) { return x; }, TensorType{DType::s64, {}},
                       {.num_parallel_calls = threads})
              .cache("c", &fs)
              .repeat(2);
      Iterator saved(cached);
      std::vector<std::string> got = rest(saved, position);
      Iterator restored(cached);
      restored.restore_state(saved.save_state());
      std::ranges::copy(rest(restored), std::back_inserter(got));
      EXPECT_EQ(got, (std::vector<std::string>{"0", "1", "2", "3", "4", "0", "1", "2", "3", "4"}))
          << "at " << position;
    }
  }
}

TEST(SourcesTest, CacheOnADiskThatFills) {
  const Dataset range = Dataset::range(20);
  for (int64_t full_at = 0; full_at < 400; full_at += 7) {
    MemoryFileSystem fs;
    fs.inject({.at_byte = full_at, .stays = true, .code = Code::resource_exhausted});
    const auto got = elements(range.cache("c", &fs));
    EXPECT_TRUE(std::ranges::any_of(got, [](const std::string& text) {
      return text.starts_with("RESOURCE_EXHAUSTED");
    })) << full_at;
    fs.clear_fault();
    EXPECT_FALSE(fs.exists("c"));
  }
}

// Whichever operation it is that fails: closing the file, looking for it in the second epoch, and
// reading it among them.
TEST(SourcesTest, CacheThatCannotBeWrittenOrReadSaysSoOnce) {
  const auto cached = [](FileSystem& fs) { return Dataset::range(3).cache("c", &fs).repeat(2); };
  MemoryFileSystem sound;
  elements(cached(sound));
  const int64_t operations = sound.operations();
  ASSERT_GT(operations, 9);
  for (int64_t operation = 0; operation < operations; ++operation) {
    MemoryFileSystem fs;
    fs.inject({.at_operation = operation});
    const auto got = elements(cached(fs));
    EXPECT_LE(got.size(), 7U) << operation;
    EXPECT_EQ(std::ranges::count_if(
                  got, [](const std::string& text) { return text.starts_with("UNAVAILABLE"); }),
              1)
        << operation;
  }
}

// Damaged data is one element lost, a damaged length the rest of the file.
TEST(SourcesTest, CacheInAFileThatIsDamaged) {
  MemoryFileSystem fs;
  const auto cache = [&](int64_t n, const char* path) {
    elements(Dataset::range(n).cache(path, &fs));
    return read_file(fs, path);
  };
  const std::string bytes = cache(3, "c");
  const size_t record = bytes.size() - cache(2, "two").size();
  const auto read_flipped = [&](size_t at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    write_file_atomically(fs, "c", flipped);
    return elements(Dataset::range(3).cache("c", &fs));
  };
  constexpr size_t kDataEnd = 5;  // before the end of its record
  auto got = read_flipped(bytes.size() - record - kDataEnd);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[1].starts_with("DATA_LOSS: c")) << got[1];
  EXPECT_EQ(got[2], "2");
  got = read_flipped(bytes.size() - 2 * record);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(got[1].starts_with("DATA_LOSS: c")) << got[1];
  EXPECT_EQ(elements(Dataset::range(2).batch(2).cache("two", &fs)).size(), 1U);
}

TEST(SourcesTest, GoldenRecordsOfTensorFlow) {
  const std::filesystem::path folder = "../shared/golden/tfrecord";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path();
    if (!entry.is_regular_file() || path.ends_with(".json") || path.ends_with(".md")) continue;
    const Compression compression = sniff_record_compression(*local_file_system().open(path));
    const Dataset records =
        TFRecordDataset(path, {.compression_type = std::string(tf_name(compression))});
    const auto got = elements(records);
    EXPECT_FALSE(got.empty()) << path;
    EXPECT_EQ(got,
              elements(TFRecordDataset(path, {.compression_type = std::string(tf_name(compression)),
                                              .num_parallel_reads = 1})));
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace systole::data
