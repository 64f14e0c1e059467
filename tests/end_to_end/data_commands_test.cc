// Every command below systole data, on typical files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "systole/base/testing/temp_folder.h"
#include "systole/io/images/image.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataCommands : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  // 20 images of 8 x 8 pixels with labels 0 and 1.
  void write_digits() const {
    Tensor images(DType::u8, {20, 8, 8});
    Tensor labels(DType::u8, {20});
    for (size_t i = 0; i < 20 * 64; ++i) images.data<uint8_t>()[i] = static_cast<uint8_t>(i);
    for (size_t i = 0; i < 20; ++i) labels.data<uint8_t>()[i] = i % 2;
    write_idx(local_file_system(), at("train-images-idx3-ubyte.gz"), images, Compression::gzip);
    write_idx(local_file_system(), at("train-labels-idx1-ubyte.gz"), labels, Compression::gzip);
  }

  const TempFolder folder_;
};

TEST_F(DataCommands, ConvertAndInspect) {
  write_digits();
  const std::string convert =
      "systole data convert idx " + at("") + " -o " + at("out") + " --shard_size 1KB";
  const ProgramResult first = run_program(convert);
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("train: 20 examples in 4 shards\n"));
  std::filesystem::remove(at("out/train-00002-of-00004"));
  EXPECT_THAT(run_program(convert).output, HasSubstr("in 4 shards (3 were there before)"));

  const ProgramResult inspect = run_program("systole data inspect " + at("out/train-*") +
                                            " --records 1 --sheet " + at("sheet.png"));
  EXPECT_EQ(inspect.status, 0) << inspect.output;
  EXPECT_THAT(inspect.output,
              AllOf(HasSubstr("files     4"), HasSubstr("records   20"), HasSubstr("record 0: "),
                    HasSubstr("image_raw"), HasSubstr("2 distinct (0: 10, 1: 10)")));
  EXPECT_EQ(decode_png(read_file(local_file_system(), at("sheet.png"))).dim(2), 3);
  EXPECT_THAT(run_program("systole data inspect " + at("out")).output,
              AllOf(HasSubstr("files     4"), HasSubstr("records   20")));
  EXPECT_THAT(run_program("systole data inspect --json " + at("out/train-00000-of-00004")).output,
              HasSubstr("\"records\": 5"));
  // A quoted pattern, which the shell does not expand.
  EXPECT_THAT(run_program("systole data inspect '" + at("out/train-*") + "'").output,
              AllOf(HasSubstr("files     4"), HasSubstr("records   20")));
}

TEST_F(DataCommands, BadInput) {
  EXPECT_NE(run_program("systole data").status, 0);
  EXPECT_NE(run_program("systole data convert idx").status, 0);
  const ProgramResult missing = run_program("systole data inspect " + at("nothing"));
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.output, AllOf(HasSubstr("NOT_FOUND: "), HasSubstr("nothing")));
  EXPECT_THAT(run_program("systole data inspect '" + at("nothing*") + "'").output,
              HasSubstr("nothing*', got no file, expected at least one"));
  std::filesystem::create_directory(at("empty"));
  EXPECT_THAT(run_program("systole data inspect " + at("empty")).output,
              HasSubstr("empty: shards, got none, expected files such as train-"));
  const ProgramResult format = run_program("systole data convert csv x -o y --compression LZ4");
  EXPECT_EQ(format.status, 2);
  EXPECT_THAT(format.output, HasSubstr("--compression: got 'LZ4', expected GZIP or ZLIB\n"));
  write_file_atomically(local_file_system(), at("cut"), "no records here");
  EXPECT_THAT(run_program("systole data inspect " + at("cut")).output,
              HasSubstr("checksum of the length of the record at offset 0"));
}

TEST_F(DataCommands, OneConversionAtATimeWritesIntoAFolder) {
  write_digits();
  const std::string convert = "systole data convert idx " + at("") + " -o " + at("out");
  std::filesystem::create_directory(at("out"));
  const int folder = ::open(at("out").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(folder, LOCK_EX), 0);
  const ProgramResult other = run_program(convert);
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.output, HasSubstr("out: folder, got one that another conversion writes to"));
  ::close(folder);
  EXPECT_EQ(run_program(convert).status, 0);
}

// The second of three records has a feature whose packed numbers end in the middle of one.
TEST_F(DataCommands, InspectGoesOnBehindAMalformedRecord) {
  ExampleBuilder builder;
  builder.int64("x", int64_t{7});
  const std::string good = builder.serialize();
  const std::string bad("\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x1a\x03\x0a\x01\x80", 14);
  RecordWriter writer(local_file_system(), at("records"), {});
  for (const std::string& record : {good, bad, good}) writer.write(record);
  writer.close();
  for (const std::string& sheet : {std::string(), " --sheet " + at("sheet.png")}) {
    const ProgramResult inspect =
        run_program("systole data inspect " + at("records") + " --records 3" + sheet);
    EXPECT_THAT(inspect.output, AllOf(HasSubstr("record 1: 14 bytes\n  x: int64 malformed: "),
                                      HasSubstr("record 2: "), HasSubstr("records   3\n")));
  }
}

}  // namespace
}  // namespace systole::testing
