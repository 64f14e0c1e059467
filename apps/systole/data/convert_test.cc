// Converts every kind of source to shards, and continues stopped conversions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "apps/systole/data/shards.h"
#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/images/image.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"

namespace systole::app {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ShardReport write(FileSystem& fs, const Split& split, uint64_t shard_bytes = 1'000'000,
                  bool force = false) {
  FakeClock clock;
  return write_shards(fs, split, {.folder = "out", .shard_bytes = shard_bytes, .force = force},
                      clock, {});
}

// The records of all shards of a split, in order.
std::vector<std::string> records_of(FileSystem& fs, const std::string& name, int64_t shards) {
  std::vector<std::string> records;
  for (int64_t shard = 0; shard < shards; ++shard) {
    RecordReader reader(fs, join_path("out", shard_name(name, shard, shards)));
    while (const auto record = reader.next()) records.emplace_back(*record);
  }
  return records;
}

// 10 images of 2 x 3 pixels; image i holds i in every pixel and is labelled i.
MemoryFileSystem& with_digits(MemoryFileSystem& fs) {
  Tensor images(DType::u8, {10, 2, 3});
  Tensor labels(DType::u8, {10});
  for (size_t i = 0; i < 60; ++i) images.data<uint8_t>()[i] = static_cast<uint8_t>(i / 6);
  for (size_t i = 0; i < 10; ++i) labels.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  fs.make_directories("mnist");
  write_idx(fs, "mnist/train-images-idx3-ubyte.gz", images, Compression::gzip);
  write_idx(fs, "mnist/train-labels-idx1-ubyte.gz", labels, Compression::gzip);
  write_idx(fs, "mnist/t10k-images-idx3-ubyte", images.slice(0, 4));
  write_idx(fs, "mnist/t10k-labels-idx1-ubyte", labels.slice(0, 4));
  return fs;
}

TEST(ConvertTest, Idx) {
  MemoryFileSystem fs;
  const auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].name, "test");
  EXPECT_EQ(splits[1].name, "train");
  const ShardReport report = write(fs, splits[1], 400);
  EXPECT_EQ(report.examples, 10);
  EXPECT_EQ(report.shards, 3);
  EXPECT_THAT(fs.list("out"), ElementsAre("train-00000-of-00003", "train-00001-of-00003",
                                          "train-00002-of-00003", "train.json"));
  const auto records = records_of(fs, "train", 3);
  ASSERT_EQ(records.size(), 10U);
  for (size_t i = 0; i < records.size(); ++i) {
    const ExampleView view(records[i]);
    EXPECT_EQ(view.int64("label"), static_cast<int64_t>(i));
    EXPECT_EQ(view.bytes("image_raw"), std::string(6, static_cast<char>(i)));
    EXPECT_EQ(view.int64("height"), 2);
    EXPECT_EQ(view.int64("width"), 3);
    EXPECT_EQ(view.int64("depth"), 1);
  }
  EXPECT_EQ(write(fs, splits[1], 400).kept, 3);
}

// Records or megabytes that were meant for bytes.
TEST(ConvertTest, TooManyShardsAreRefused) {
  MemoryFileSystem fs;
  auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  class Many : public ExampleSource {
   public:
    std::string identity() const override { return "many"; }
    int64_t size() const override { return 1'000'000; }
    uint64_t bytes() override { return 62'370'000; }
    void read(int64_t, ExampleBuilder&) override {}
  };
  splits[1].source = std::make_unique<Many>();
  EXPECT_THAT(error_of([&] { write(fs, splits[1], 1000); }),
              HasSubstr("out: shards of 'train', got 62370 files of 1000 bytes, expected at most "
                        "10000: give the bytes of a shard, as in --shard_size 100MB"));
}

TEST(ConvertTest, GoesOnWhereverItWasStopped) {
  MemoryFileSystem fs;
  const auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  write(fs, splits[1], 400);
  const auto whole = fs.contents();
  for (int64_t operation = 0;; ++operation) {
    MemoryFileSystem broken;
    with_digits(broken);
    const auto source = idx_splits(broken, {.inputs = {"mnist"}});
    broken.inject({.path_contains = "out", .at_operation = operation, .stays = true});
    const bool failed = error_of([&] { write(broken, source[1], 400); }) != "no error";
    broken.clear_fault();
    broken.lose_unsynced();
    // The times in the description are those of this file system.
    EXPECT_EQ(error_of([&] { write(broken, source[1], 400); }), "no error") << operation;
    for (const auto& [path, contents] : broken.contents()) {
      if (path.ends_with(".json")) continue;
      EXPECT_TRUE(whole.contains(path)) << path << " after " << operation;
      EXPECT_EQ(contents, whole.at(path)) << path << " after " << operation;
    }
    if (!failed) break;
  }
}

TEST(ConvertTest, ShardsOfAnotherSizeAreWrittenAgain) {
  MemoryFileSystem fs;
  const auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  write(fs, splits[1], 400);
  const auto whole = fs.contents();
  const std::string& second = whole.at("out/train-00001-of-00003");
  write_file_atomically(fs, "out/train-00000-of-00003", "");
  write_file_atomically(fs, "out/train-00001-of-00003", second.substr(0, second.size() - 1));
  const LogCapture log;
  EXPECT_EQ(write(fs, splits[1], 400).kept, 1);
  EXPECT_EQ(fs.contents(), whole);
  EXPECT_THAT(log.messages(),
              ElementsAre(HasSubstr("out/train-00000-of-00003: shard, got 0 bytes, expected"),
                          HasSubstr("out/train-00001-of-00003: shard, got")));
  EXPECT_EQ(write(fs, splits[1], 400).kept, 3);
  // What nobody has noted the size of is not known to be complete.
  auto description = nlohmann::ordered_json::parse(whole.at("out/train.json"));
  description.erase("shard_bytes");
  write_file_atomically(fs, "out/train.json", description.dump());
  EXPECT_EQ(write(fs, splits[1], 400).kept, 0);
  EXPECT_EQ(fs.contents(), whole);
}

TEST(ConvertTest, AnotherConversionIsNotMixedIn) {
  MemoryFileSystem fs;
  const auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  write(fs, splits[1], 400);
  EXPECT_THAT(error_of([&] { write(fs, splits[1], 800); }),
              HasSubstr("FAILED_PRECONDITION: out: folder, got 3 shards of 'train' made of other"));
  EXPECT_EQ(write(fs, splits[1], 800, true).shards, 2);
  EXPECT_THAT(fs.list("out"),
              ElementsAre("train-00000-of-00002", "train-00001-of-00002", "train.json"));
}

TEST(ConvertTest, NamesOfShardsAreTold) {
  EXPECT_TRUE(is_shard_name("train-00003-of-00010"));
  for (const std::string name : {"train-00000-of-notes.txt", "train-00000-of-0000x",
                                 "00000-of-00001", "model.ckpt-7.data-00000-of-00001", "train"}) {
    EXPECT_FALSE(is_shard_name(name)) << name;
  }
  MemoryFileSystem fs;
  const auto splits = idx_splits(with_digits(fs), {.inputs = {"mnist"}});
  fs.make_directories("out");
  write_file_atomically(fs, "out/train-00000-of-notes.txt", "mine");
  EXPECT_EQ(write(fs, splits[1], 400, true).shards, 3);
  EXPECT_EQ(read_file(fs, "out/train-00000-of-notes.txt"), "mine");
}

TEST(ConvertTest, Csv) {
  MemoryFileSystem fs({{"t.csv", "a,b,c,d\n1,2.5,x,\n-7,3,,\n"}, {"plain.csv", "1;2\n"}});
  const auto splits = csv_splits(fs, {.inputs = {"t.csv"}});
  EXPECT_EQ(splits[0].name, "t");
  write(fs, splits[0]);
  const auto records = records_of(fs, "t", 1);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0],
            ExampleBuilder().int64("a", 1).float32("b", 2.5F).bytes("c", "x").serialize());
  EXPECT_EQ(records[1],
            ExampleBuilder().int64("a", -7).float32("b", 3.0F).bytes("c", "").serialize());
  const auto plain =
      csv_splits(fs, {.inputs = {"plain.csv"}, .csv_header = false, .csv_delimiter = ';'});
  ExampleBuilder builder;
  plain[0].source->read(0, builder);
  EXPECT_EQ(builder.serialize(),
            ExampleBuilder().int64("column_0", 1).int64("column_1", 2).serialize());
}

TEST(ConvertTest, CsvNumbersBeyondInt64KeepTheirDigits) {
  MemoryFileSystem fs({{"t.csv", "id,sum\n7,9223372036854775807\n18446744073709551615,1e30\n"}});
  const auto splits = csv_splits(fs, {.inputs = {"t.csv"}});
  write(fs, splits[0]);
  const auto records = records_of(fs, "t", 1);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0], ExampleBuilder().bytes("id", "7").float32("sum", 0x1p63F).serialize());
  EXPECT_EQ(records[1],
            ExampleBuilder().bytes("id", "18446744073709551615").float32("sum", 1e30F).serialize());
}

TEST(ConvertTest, ImagesInClassFolders) {
  const std::string png = encode_png(Tensor::of<uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  MemoryFileSystem fs({{"i/dog/1.png", png},
                       {"i/cat/2.PNG", png},
                       {"i/cat/readme.txt", "no"},
                       {"i/3.png", png},
                       {"i/notes.txt", ""}});
  const LogCapture log;
  const auto splits = image_splits(fs, {.inputs = {"i"}});
  ASSERT_EQ(splits.size(), 1U);
  EXPECT_THAT(log.messages(), ElementsAre(HasSubstr("left out what does not end in .jpg or .jpeg "
                                                    "or .png: i/cat/readme.txt (1 in all)"),
                                          HasSubstr("left out files beside the folders of classes: "
                                                    "i/3.png (1 in all)")));
  write(fs, splits[0]);
  EXPECT_EQ(read_file(fs, "out/labels.txt"), "cat\ndog\n");
  int64_t labels = 0;
  for (const std::string& record : records_of(fs, "data", 1)) {
    const ExampleView view(record);
    EXPECT_EQ(view.bytes("image/encoded"), png);
    EXPECT_EQ(view.bytes("image/format"), "png");
    EXPECT_EQ(view.int64("image/width"), 2);
    const int64_t label = view.int64("image/class/label");
    EXPECT_EQ(view.bytes("image/class/text"), label == 0 ? "cat" : "dog");
    labels += label;
  }
  EXPECT_EQ(labels, 1);
  const auto raw = image_splits(fs, {.inputs = {"i"}, .shuffle_seed = -1, .raw_images = true});
  ExampleBuilder builder;
  raw[0].source->read(1, builder);
  const std::string bytes = builder.serialize();
  const ExampleView view(bytes);
  EXPECT_EQ(view.bytes("image_raw"), "\1\2\3\4\5\6");
  EXPECT_EQ(view.int64("label"), 1);
  EXPECT_EQ(view.int64("depth"), 3);
}

TEST(ConvertTest, ImageSplitsAndBrokenImages) {
  const std::string png = encode_png(Tensor::of<uint8_t>({1, 1, 1}, {1}));
  MemoryFileSystem fs({{"i/train/a/1.png", png},
                       {"i/test/a/2.png", "not an image"},
                       {"cut/a/3.png", png.substr(0, png.size() - 20)}});
  const auto splits = image_splits(fs, {.inputs = {"i"}});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].name, "test");
  EXPECT_THAT(error_of([&] { write(fs, splits[0]); }), HasSubstr("i/test/a/2.png"));
  EXPECT_EQ(write(fs, splits[1]).examples, 1);
  EXPECT_THAT(error_of([&] { write(fs, image_splits(fs, {.inputs = {"cut"}})[0]); }),
              ::testing::AllOf(HasSubstr("expected a whole PNG image"), HasSubstr("cut/a/3.png")));
  EXPECT_THAT(error_of([&] { image_splits(fs, {.inputs = {"i/train/a"}}); }),
              HasSubstr("got none, expected one for each class"));
}

TEST(ConvertTest, Reviews) {
  MemoryFileSystem fs({{"r/train/neg/3_2.txt", "bad"},
                       {"r/train/pos/0_9.txt", "good"},
                       {"r/train/unsup/1_0.txt", "?"}});
  const auto splits = imdb_splits(fs, {.inputs = {"r"}, .shuffle_seed = -1});
  ASSERT_EQ(splits.size(), 1U);
  write(fs, splits[0]);
  const auto records = records_of(fs, "train", 1);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0], ExampleBuilder()
                            .bytes("text", "bad")
                            .int64("label", 0)
                            .int64("id", 3)
                            .int64("rating", 2)
                            .serialize());
  EXPECT_EQ(ExampleView(records[1]).int64("rating"), 9);
}

TEST(ConvertTest, Text) {
  MemoryFileSystem fs({{"t.txt", "abcab\ncab"}});
  const auto splits = text_splits(fs, {.inputs = {"t.txt"}, .sequence_length = 4});
  write(fs, splits[0]);
  EXPECT_EQ(read_file(fs, "out/vocabulary.txt"), "\\n\na\nb\nc\n");
  const auto records = records_of(fs, "t", 1);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0], ExampleBuilder().int64("tokens", {1, 2, 3, 1, 2}).serialize());
  EXPECT_EQ(records[1], ExampleBuilder().int64("tokens", {2, 0, 3, 1, 2}).serialize());
  // Another text has other tokens.
  write_file_atomically(fs, "u.txt", "xyzxyzxyz");
  const auto others = text_splits(fs, {.inputs = {"u.txt"}, .sequence_length = 4});
  EXPECT_THAT(error_of([&] { write(fs, others[0]); }),
              HasSubstr("FAILED_PRECONDITION: out/vocabulary.txt: file, got one of another"));
  EXPECT_EQ(read_file(fs, "out/vocabulary.txt"), "\\n\na\nb\nc\n");
  EXPECT_THAT(error_of([&] { text_splits(fs, {.inputs = {"t.txt"}, .sequence_length = 9}); }),
              HasSubstr("t.txt: bytes of text, got 9, expected at least 10"));
}

// What a gzip file holds; TextSource goes forwards in it, and back.
TEST(ConvertTest, ZippedCsvAndText) {
  MemoryFileSystem fs({{"in/t.csv", "a,b\n1,x\n2,y\n"}, {"in/s.txt", "abcabbca"}});
  for (const std::string name : {"in/t.csv", "in/s.txt"}) {
    write_file_atomically(fs, name + ".gz", [&](WritableFile& file) {
      const auto zipped = compress_into(file, Compression::gzip, name);
      zipped->append(read_file(fs, name));
      zipped->close();
    });
  }
  const auto table = csv_splits(fs, {.inputs = {"in/t.csv.gz"}});
  EXPECT_EQ(table[0].name, "t");
  write(fs, table[0]);
  EXPECT_EQ(records_of(fs, "t", 1)[1], ExampleBuilder().int64("a", 2).bytes("b", "y").serialize());

  const auto text = text_splits(fs, {.inputs = {"in/s.txt.gz"}, .sequence_length = 2});
  EXPECT_EQ(text[0].name, "s");
  const auto plain = text_splits(fs, {.inputs = {"in/s.txt"}, .sequence_length = 2});
  EXPECT_EQ(text[0].notes, plain[0].notes);
  ASSERT_EQ(text[0].source->size(), 3);
  for (const int64_t index : {0, 1, 2, 1, 0, 2}) {
    ExampleBuilder of_zipped;
    ExampleBuilder of_plain;
    text[0].source->read(index, of_zipped);
    plain[0].source->read(index, of_plain);
    EXPECT_EQ(of_zipped.serialize(), of_plain.serialize()) << index;
  }
}

TEST(ConvertTest, NamesOfFiles) {
  EXPECT_EQ(name_of_file("a/t.csv"), "t");
  EXPECT_EQ(name_of_file("t.v2.csv.gz"), "t.v2");
  EXPECT_EQ(name_of_file("T.CSV.GZ"), "T");
  EXPECT_EQ(name_of_file("t.gz"), "t");
  EXPECT_EQ(name_of_file("a.b/t"), "t");
  EXPECT_EQ(name_of_file(".csv"), ".csv");
}

TEST(ConvertTest, BadInput) {
  MemoryFileSystem fs({{"e/x", ""}, {"1/a.csv", "x\n1\n"}, {"2/a.csv", "x\n2\n"}});
  with_digits(fs);
  const struct {
    std::function<void()> run;
    std::string error;
  } rows[] = {
      {[&] { idx_splits(fs, {.inputs = {"nowhere"}}); }, "NOT_FOUND: nowhere"},
      {[&] { idx_splits(fs, {.inputs = {"e"}}); }, "NOT_FOUND: e: files, got none"},
      {[&] {
         idx_splits(
             fs, {.inputs = {"mnist/t10k-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte.gz"}});
       },
       "labels, got u8[10], expected one for each of 4 images"},
      {[&] { idx_splits(fs, {.inputs = {"mnist/t10k-images-idx3-ubyte"}}); },
       "got the file mnist/t10k-images-idx3-ubyte alone, expected a file of images and that of its "
       "labels"},
      {[&] { csv_splits(fs, {}); }, "convert csv: inputs, got 0, expected one"},
      {[&] {
         csv_splits(fs, {.inputs = {"1/a.csv", "2/a.csv"}});
       },
       "convert csv: names of splits, got 'a' twice (1/a.csv"},
      {[&] { imdb_splits(fs, {.inputs = {"e"}}); }, "got neither train nor test"},
      {[&] { text_splits(fs, {.inputs = {"e/x"}, .sequence_length = 0}); }, "got 0, expected at"},
  };
  for (const auto& [run, error] : rows) EXPECT_THAT(error_of(run), HasSubstr(error));
}

}  // namespace
}  // namespace systole::app
