// FileSystem over gs:// and s3://: its contract, and what differs from a disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/clock.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/file_pattern.h"
#include "tests/buckets/bucket_fixture.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class BucketFiles : public ::testing::TestWithParam<Service> {
 protected:
  std::string at(const std::string& name) const { return bucket_.at(name); }
  void write(const std::string& name, const std::string& contents) {
    write_file_atomically(fs_, at(name), contents);
  }
  Bucket bucket_{GetParam()};
  FileSystem& fs_ = bucket_.files();
};

INSTANTIATE_TEST_SUITE_P(All, BucketFiles, ::testing::Values(Service::gs, Service::s3),
                         service_name);

TEST_P(BucketFiles, WriteAndRead) {
  const auto file = fs_.create(at("a"));
  file->append("one ");
  file->append("");
  file->append(std::string(700'000, 'x'));
  file->append("end");
  file->sync();
  file->close();
  file->close();
  EXPECT_THAT(error_of([&] { file->append("more"); }), StartsWith("FAILED_PRECONDITION"));
  EXPECT_EQ(read_file(fs_, at("a")), "one " + std::string(700'000, 'x') + "end");
  EXPECT_EQ(fs_.stat(at("a")).size, 700'007U);
  EXPECT_GT(fs_.stat(at("a")).modified_ns, int64_t{1'700'000'000} * 1'000'000'000);
  fs_.create(at("a"))->append("short");
  EXPECT_EQ(read_file(fs_, at("a")), "short");
  fs_.create(at("empty"))->close();
  EXPECT_EQ(read_file(fs_, at("empty")), "");
}

TEST_P(BucketFiles, WritesOfEverySizeAroundAPart) {
  constexpr size_t kPart = size_t{256} << 10;
  for (const size_t size : {size_t{1}, kPart - 1, kPart, kPart + 1, 2 * kPart, 5 * kPart + 17}) {
    const std::string bytes = pattern_bytes(size);
    write("sized", bytes);
    EXPECT_EQ(read_file(fs_, at("sized")), bytes) << size;
  }
  EXPECT_THAT(bucket_.contents(), SizeIs(1));
}

TEST_P(BucketFiles, RandomAccess) {
  write("a", "0123456789");
  const auto file = fs_.open(at("a"));
  std::string out(4, '\0');
  EXPECT_EQ(file->size(), 10U);
  EXPECT_EQ(file->path(), at("a"));
  EXPECT_EQ(file->read(3, 4, out.data()), 4U);
  EXPECT_EQ(out, "3456");
  EXPECT_EQ(file->read(8, 4, out.data()), 2U);
  EXPECT_EQ(file->read(10, 4, out.data()), 0U);
  EXPECT_EQ(file->read(99, 4, out.data()), 0U);
  EXPECT_EQ(file->read(0, 0, nullptr), 0U);
}

TEST_P(BucketFiles, Directories) {
  fs_.make_directories(at("d/e/f"));
  fs_.make_directories(at("d/e/f"));
  write("d/b", "");
  write("d/a", "");
  EXPECT_THAT(fs_.list(at("d")), ElementsAre("a", "b", "e"));
  EXPECT_THAT(fs_.list(at("d/")), ElementsAre("a", "b", "e"));
  EXPECT_THAT(fs_.list(at("d/e/f")), IsEmpty());
  EXPECT_TRUE(fs_.stat(at("d")).is_directory);
  EXPECT_FALSE(fs_.stat(at("d/a")).is_directory);
  EXPECT_TRUE(fs_.exists(at("")));
  EXPECT_THAT(error_of([&] { fs_.remove(at("d")); }), StartsWith("FAILED_PRECONDITION"));
  fs_.remove(at("d/e/f"));
  EXPECT_FALSE(fs_.exists(at("d/e/f")));
  remove_tree(fs_, at("d"));
  EXPECT_FALSE(fs_.exists(at("d")));
  EXPECT_THAT(bucket_.contents(), IsEmpty());
}

TEST_P(BucketFiles, Rename) {
  write("a", "A");
  write("b", "B");
  fs_.rename(at("a"), at("b"));
  EXPECT_FALSE(fs_.exists(at("a")));
  EXPECT_EQ(read_file(fs_, at("b")), "A");
  const std::string large = pattern_bytes(300'000);  // the server rewrites it in two calls
  write("d/e/x", large);
  fs_.rename(at("d"), at("moved"));
  EXPECT_EQ(read_file(fs_, at("moved/e/x")), large);
  EXPECT_FALSE(fs_.exists(at("d")));
  EXPECT_THAT(error_of([&] { fs_.rename(at("b"), at("moved")); }),
              StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(error_of([&] { fs_.rename(at("moved"), at("moved/in")); }),
              StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(error_of([&] { fs_.rename(at("none"), at("x")); }), StartsWith("NOT_FOUND"));
  fs_.touch(at("b"));
  EXPECT_EQ(read_file(fs_, at("b")), "A");
}

TEST_P(BucketFiles, Errors) {
  write("file", "");
  fs_.make_directories(at("d"));
  EXPECT_EQ(error_of([&] { fs_.open(at("none")); }),
            "NOT_FOUND: " + at("none") + ": cannot open, got 'No such file or directory'");
  EXPECT_THAT(error_of([&] { fs_.stat(at("none")); }), StartsWith("NOT_FOUND"));
  EXPECT_THAT(error_of([&] { fs_.list(at("none")); }), StartsWith("NOT_FOUND"));
  EXPECT_THAT(error_of([&] { fs_.remove(at("none")); }), StartsWith("NOT_FOUND"));
  EXPECT_THAT(error_of([&] { fs_.open(at("d")); }), StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(error_of([&] { fs_.create(at("d")); }), StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(error_of([&] { fs_.list(at("file")); }), StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(error_of([&] { fs_.make_directories(at("file/a")); }),
              StartsWith("FAILED_PRECONDITION"));
  const std::string root = GetParam() == Service::gs ? "gs://" : "s3://";
  EXPECT_THAT(error_of([&] { fs_.open(root); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("expected " + root + "bucket/name")));
  EXPECT_THAT(error_of([&] { fs_.open(root + "bucket/../a"); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(read_file(fs_, at(".//x/../d/../file")), "");
  EXPECT_FALSE(fs_.exists(root + "other/a"));
  EXPECT_THAT(error_of([&] { fs_.list(root + "other"); }),
              AllOf(StartsWith("NOT_FOUND: " + root + "other"), HasSubstr("HTTP 404")));
}

TEST_P(BucketFiles, NamesWithOddCharacters) {
  std::vector<std::string> names = {"a b",  "a+b",  "100%",  "a%2Fb", "q?x=1&y=2", "#1", "ä",
                                    "日本", "it's", "<&>\"", "a;b",   "[x]*",      "~",  "\x7f"};
  std::ranges::sort(names);
  for (const std::string& name : names) {
    write("odd dir&/" + name, "of " + name);
    EXPECT_EQ(read_file(fs_, at("odd dir&/" + name)), "of " + name);
    EXPECT_TRUE(bucket_.contents().contains("odd dir&/" + name)) << name;
  }
  EXPECT_EQ(fs_.list(at("odd dir&")), names);
  fs_.rename(at("odd dir&"), at("moved+"));
  EXPECT_EQ(fs_.list(at("moved+")), names);
  remove_tree(fs_, at("moved+"));
  EXPECT_THAT(bucket_.contents(), IsEmpty());
  EXPECT_THAT(error_of([&] { write(std::string(2000, 'n'), ""); }), StartsWith("INVALID_ARGUMENT"));
}

TEST_P(BucketFiles, AListingOfTenThousand) {
  for (int i = 0; i < 10'000; ++i) bucket_.put(fmt::format("many/{:05}", i), "");
  for (int i = 0; i < 2'500; ++i) bucket_.put(fmt::format("many/{:05}/x", 2 * i), "");
  const std::vector<std::string> names = fs_.list(at("many"));
  ASSERT_THAT(names, SizeIs(10'000));
  EXPECT_EQ(names[0], "00000");
  EXPECT_EQ(names[9999], "09999");
  EXPECT_THAT(files_matching(fs_, at("many/0123?")), SizeIs(10));
}

TEST_P(BucketFiles, AReaderKeepsItsVersion) {
  BucketSettings settings;
  settings.files.block_bytes = 1000;
  settings.files.read_ahead = 1;
  Bucket bucket(GetParam(), settings);
  bucket.put("a", pattern_bytes(100'000, 1));
  const auto file = bucket.files().open(bucket.at("a"));
  std::string out(1000, '\0');
  EXPECT_EQ(file->read(0, 1000, out.data()), 1000U);
  bucket.put("a", pattern_bytes(100'000, 2));
  EXPECT_EQ(file->read(500, 100, out.data()), 100U);  // in the cache
  EXPECT_THAT(
      error_of([&] { file->read(50'000, 1000, out.data()); }),
      AllOf(StartsWith("FAILED_PRECONDITION: " + bucket.at("a") + ": cannot read at offset"),
            HasSubstr("the object was replaced or removed after it was opened")));
  EXPECT_EQ(read_file(bucket.files(), bucket.at("a")), pattern_bytes(100'000, 2));
}

TEST_P(BucketFiles, TheCacheIsBoundedAndReadsAhead) {
  BucketSettings settings;
  settings.files.block_bytes = 10'000;
  settings.files.cache_bytes = 100'000;
  Bucket bucket(GetParam(), settings);
  for (int i = 0; i < 8; ++i) bucket.put(fmt::format("f{}", i), pattern_bytes(200'000, i));
  std::vector<std::unique_ptr<RandomAccessFile>> files;
  for (int i = 0; i < 8; ++i)
    files.push_back(bucket.files().open(bucket.at(fmt::format("f{}", i))));
  bucket.http().clear_log();
  std::vector<std::string> read(8);
  std::string part(5'000, '\0');
  for (uint64_t offset = 0; offset < 200'000; offset += part.size()) {
    for (int i = 0; i < 8; ++i) {
      ASSERT_EQ(files[i]->read(offset, part.size(), part.data()), part.size());
      read[i] += part;
    }
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(read[i], pattern_bytes(200'000, i)) << i;
  EXPECT_LE(bucket.files().cache().peak_bytes(), 100'000U);
  files.clear();
  const auto alone = bucket.files().open(bucket.at("f3"));
  bucket.http().clear_log();
  ASSERT_EQ(alone->read(0, 5'000, part.data()), 5'000U);
  ASSERT_EQ(alone->read(10'000, 5'000, part.data()), 5'000U);
  ASSERT_EQ(read_file(*alone), pattern_bytes(200'000, 3));
  EXPECT_LE(bucket.http().count("GET"), 24);  // 20 blocks, few of them twice
}

TEST_P(BucketFiles, FlushesSendTheNewBytesOnlyAndAtABoundedRate) {
  FakeClock clock;
  BucketSettings settings;
  settings.files.clock = &clock;
  settings.files.flush_interval = std::chrono::seconds(30);
  Bucket bucket(GetParam(), settings);
  const auto file = bucket.files().create(bucket.at("events"));
  const std::string first = pattern_bytes(300'000);
  file->append(first);
  file->flush();
  EXPECT_EQ(bucket.contents().at("events"), first);
  bucket.http().clear_log();
  for (int i = 0; i < 100; ++i) {
    file->append("event ");
    file->flush();
  }
  EXPECT_EQ(bucket.contents().at("events"), first);
  EXPECT_THAT(bucket.http().log(), IsEmpty());
  clock.advance(std::chrono::seconds(31));
  file->append("more");
  file->flush();
  std::string expected = first;
  for (int i = 0; i < 100; ++i) expected += "event ";
  EXPECT_EQ(bucket.contents().at("events"), expected + "more");
  file->append("end");
  file->close();
  EXPECT_EQ(bucket.contents().at("events"), expected + "moreend");
  EXPECT_THAT(bucket.contents(), SizeIs(1));  // no parts are left
}

TEST_P(BucketFiles, AnAbandonedWriteLeavesNothing) {
  EXPECT_THROW(write_file_atomically(fs_, at("a"),
                                     [](WritableFile& file) {
                                       file.append(pattern_bytes(1'000'000));
                                       throw internal_error("stopped");
                                     }),
               Error);
  EXPECT_THAT(bucket_.contents(), IsEmpty());
  if (GetParam() == Service::s3) {
    EXPECT_EQ(bucket_.s3().open_uploads(), 0U);
  }
}

TEST_P(BucketFiles, ASecondWriterOfAnObjectIsRefused) {
  const size_t in_parts = 1'000'000;
  for (const std::string before : {"1", ""}) {
    for (const std::string& text : {std::string("mine"), pattern_bytes(in_parts)}) {
      const std::string name = before + std::to_string(text.size());
      if (!before.empty()) bucket_.put(name, before);
      const auto mine = fs_.create(at(name));
      bucket_.put(name, "2");  // another process
      EXPECT_THAT(error_of([&] {
                    mine->append(text);
                    mine->close();
                  }),
                  AllOf(StartsWith("FAILED_PRECONDITION: " + at(name) + ": cannot write"),
                        HasSubstr("another process has written the object")));
      EXPECT_EQ(bucket_.contents().at(name), "2");
    }
  }
}

// A file that grows is another process's as soon as that has written it.
TEST_P(BucketFiles, ASecondWriterOfAGrowingObjectIsRefused) {
  BucketSettings settings;
  settings.files.flush_interval = std::chrono::seconds(0);
  Bucket bucket(GetParam(), settings);
  const auto mine = bucket.files().create(bucket.at("events"));
  mine->append("one");
  mine->flush();
  bucket.put("events", "another's");
  EXPECT_THAT(error_of([&] {
                mine->append("two");
                mine->flush();
              }),
              StartsWith("FAILED_PRECONDITION"));
  EXPECT_EQ(bucket.contents().at("events"), "another's");
}

TEST_P(BucketFiles, NamesOfBucketsDoNotChangeTheHost) {
  const std::string root = GetParam() == Service::gs ? "gs://" : "s3://";
  bucket_.http().clear_log();
  for (const std::string name :
       {"localhost:17999#", "a@b", "127.0.0.1", "a?b", "A", "a\r\nb", "b\\c", "x"}) {
    for (const std::string& path : {root + name + "/k", root + name}) {
      EXPECT_THAT(error_of([&] { fs_.open(path); }), StartsWith("INVALID_ARGUMENT")) << path;
      EXPECT_THAT(error_of([&] { fs_.exists(path); }), StartsWith("INVALID_ARGUMENT")) << path;
      EXPECT_THAT(error_of([&] { fs_.list(path); }), StartsWith("INVALID_ARGUMENT")) << path;
      EXPECT_THAT(error_of([&] { fs_.rename(at("a"), path); }), StartsWith("INVALID_ARGUMENT"));
    }
  }
  EXPECT_THAT(bucket_.http().log(), IsEmpty());
}

TEST(BucketFilesS3, WithoutConditionalWritesTheLastWriterWins) {
  BucketSettings settings;
  settings.s3.conditional_writes = false;
  Bucket bucket(Service::s3, settings);
  const auto mine = bucket.files().create(bucket.at("a"));
  bucket.put("a", "2");
  mine->append("mine");
  mine->close();
  EXPECT_EQ(bucket.contents().at("a"), "mine");
  write_file_atomically(bucket.files(), bucket.at("a"), pattern_bytes(1'000'000));
  EXPECT_EQ(bucket.contents().at("a"), pattern_bytes(1'000'000));
}

// The answer is lost after an upload in parts has appeared.
TEST(BucketFilesS3, AnUploadInPartsWhoseAnswerIsLostHappensOnce) {
  Bucket bucket(Service::s3);
  bucket.http().inject({.kind = ServerFault::Kind::late_status,
                        .match = "POST /bucket/a?uploadId",
                        .status = 503,
                        .count = 1});
  bucket.files().create(bucket.at("a"))->append(pattern_bytes(1'000'000));
  EXPECT_EQ(bucket.contents().at("a"), pattern_bytes(1'000'000));
}

}  // namespace
}  // namespace systole::testing
