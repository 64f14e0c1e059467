// The commands as they are called, on files of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/systole/data/data_commands.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/images/image.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Result {
  int status = 0;
  std::string out;
  std::string err;
};

using AddCommand = void (*)(CommandLine& line);

Result run(AddCommand add, const std::vector<std::string>& arguments) {
  CommandLine line("systole", "");
  add(line);
  std::vector<const char*> argv = {"systole"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = line.run(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  return {status, ::testing::internal::GetCapturedStdout(),
          ::testing::internal::GetCapturedStderr()};
}

class DataCommandsTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, std::string_view contents) const {
    write_file_atomically(local_file_system(), at(name), contents);
  }
  void write_records(const std::string& name, const std::vector<std::string>& records,
                     Compression compression = Compression::none) const {
    RecordWriter writer(local_file_system(), at(name), {.compression = compression});
    for (const std::string& record : records) writer.write(record);
    writer.close();
  }
  std::string read(const std::string& name) const {
    return read_file(local_file_system(), at(name));
  }

  const testing::TempFolder folder_;
};

TEST_F(DataCommandsTest, NamesOfShardsStayInTheirFolder) {
  write("t.csv", "a\n1\n");
  const Result result =
      run(add_convert_command, {"csv", at("t.csv"), "-o", at("out"), "--name", "../x"});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("--name: got '../x', expected a name without '/'"));
  EXPECT_FALSE(local_file_system().exists(at("x-00000-of-00001")));
}

TEST_F(DataCommandsTest, ATabMayBeWrittenAsAnEscape) {
  write("t.tsv", "a\tb\n1\t2\n");
  const auto convert = [&](const std::string& delimiter) {
    return run(add_convert_command,
               {"csv", at("t.tsv"), "-o", at("out"), "--delimiter", delimiter, "--force"});
  };
  const std::string expected = ExampleBuilder().int64("a", 1).int64("b", 2).serialize();
  for (const std::string delimiter : {"\\t", "\t"}) {
    const Result result = convert(delimiter);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(read("out/t-00000-of-00001"), HasSubstr(expected));
  }
  EXPECT_THAT(convert("ab").err, HasSubstr("--delimiter: got 'ab', expected one character"));
}

TEST_F(DataCommandsTest, RecordsAreShownOnALineEach) {
  write_records("r", {ExampleBuilder().bytes("te\nxt", "one\ntwo\t\\three").serialize()});
  const Result result = run(add_inspect_data_command, {at("r"), "--records", "1"});
  EXPECT_THAT(result.out, HasSubstr("\n  te\\nxt: bytes 'one\\ntwo\\t\\\\three'\n"));
}

// `records/*` names what the conversion wrote beside the shards, too.
TEST_F(DataCommandsTest, InspectLeavesOutWhatDescribesShards) {
  write("table.csv", "a,b\n1,x\n2,y\n");
  ASSERT_EQ(run(add_convert_command, {"csv", at("table.csv"), "-o", at("records")}).status, 0);
  const std::string shard = at("records/table-00000-of-00001");
  const std::string description = at("records/table.json");
  write("records/labels.txt", "x\ny\n");
  for (const std::vector<std::string>& names :
       {std::vector{shard, description, at("records/labels.txt")}, std::vector{at("records/*")}}) {
    const Result result = run(add_inspect_data_command, names);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("files     1, "));
    EXPECT_THAT(result.err, HasSubstr("table.json: left out: it describes the shards beside it"));
  }
  EXPECT_NE(run(add_inspect_data_command, {description}).status, 0);
}

TEST_F(DataCommandsTest, SheetsArePng) {
  write_records("r", {ExampleBuilder()
                          .bytes("image_raw", std::string(24, 'x'))
                          .int64("height", 3)
                          .int64("width", 4)
                          .int64("depth", 2)
                          .serialize()});
  const Result jpeg = run(add_inspect_data_command, {at("r"), "--sheet", at("x.jpg")});
  EXPECT_NE(jpeg.status, 0);
  EXPECT_THAT(jpeg.err, HasSubstr("x.jpg', expected a name that ends in .png, such as x.png"));
  EXPECT_FALSE(local_file_system().exists(at("x.jpg")));
  EXPECT_EQ(run(add_inspect_data_command, {at("r"), "--sheet", at("x.PNG")}).status, 0);
  EXPECT_EQ(sniff_image(read("x.PNG")), ImageFormat::png);
}

TEST_F(DataCommandsTest, BenchOfDamagedFiles) {
  write_records("whole", std::vector<std::string>(100, "record"));
  const std::string whole = read("whole");
  write("cut.tfrecord", whole.substr(0, whole.size() - 7));
  write("none.tfrecord", "no records here");
  const auto bench = [&](const std::string& pipeline, const std::string& flag) {
    return run(add_bench_data_command, {pipeline, flag});
  };
  const std::string cut = "tfrecord: " + at("cut.tfrecord");
  const Result part = bench("[" + cut + ", ignore_errors, repeat: 3]", "--seconds=0.1");
  EXPECT_EQ(part.status, 0) << part.err;
  EXPECT_THAT(part.out, AllOf(HasSubstr("examples "), HasSubstr("limit "),
                              HasSubstr("of the readable part: ")));
  EXPECT_THAT(bench("[tfrecord: [" + at("none.tfrecord") + "], ignore_errors]", "--json").err,
              HasSubstr("elements, got none"));
  EXPECT_THAT(bench("[" + cut + "]", "--json").err, HasSubstr("DATA_LOSS"));
}

// A pipeline that does nothing but read is about as fast as reading is, and not faster.
TEST_F(DataCommandsTest, TheLimitOfBenchIsOne) {
  const std::vector<std::string> few(20, std::string(100, 'x'));
  std::vector<std::string> many;
  for (int i = 0; i < 20'000; ++i) many.emplace_back(200, static_cast<char>(i * i));
  write_records("few", few);
  write_records("few.gz", few, Compression::gzip);
  write_records("many", many);
  write_records("many.gz", many, Compression::gzip);
  const auto share = [&](const std::string& file, const std::string& stages) {
    const bool zipped = file.ends_with("gz");
    const std::string pipeline = "[tfrecord: {files: " + at(file) +
                                 (zipped ? ", compression_type: GZIP" : "") + "}" + stages + "]";
    const Result result = run(add_bench_data_command, {pipeline, "--seconds", "0.05", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    return json["records_per_second"].get<double>() /
           json["limit_records_per_second"].get<double>();
  };
  for (const std::string file : {"few", "few.gz", "many", "many.gz"}) {
    for (const std::string stages : {"", ", repeat", ", prefetch: 100", ", cache, repeat"}) {
      // Twice of it is what a busy machine may do to one of two measurements.
      EXPECT_LT(share(file, stages), 2) << file << stages;
    }
  }
  EXPECT_GT(share("many.gz", ", repeat"), 0.02);
}

}  // namespace
}  // namespace systole::app
