#include "systole/io/checkpoints/tensor_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/io/checkpoints/bundle_format.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/table.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/ordered_code.h"

namespace systole {
namespace {

using systole::testing::error_of;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string ordered(int64_t value) {
  std::string bytes;
  append_ordered_signed(bytes, value);
  return hex(bytes);
}

// As ordered_code_test.cc of TensorFlow has them.
TEST(OrderedCodeTest, Numbers) {
  EXPECT_EQ(ordered(0), "80");
  EXPECT_EQ(ordered(-1), "7f");
  EXPECT_EQ(ordered(63), "bf");
  EXPECT_EQ(ordered(-64), "40");
  EXPECT_EQ(ordered(64), "c040");
  EXPECT_EQ(ordered(-65), "3fbf");
  EXPECT_EQ(ordered(8191), "dfff");
  EXPECT_EQ(ordered(8192), "e02000");
  EXPECT_EQ(ordered(std::numeric_limits<int64_t>::max()), "ffc07fffffffffffffff");
  EXPECT_EQ(ordered(std::numeric_limits<int64_t>::min()), "003f8000000000000000");
  std::string bytes;
  append_ordered_number(bytes, 0);
  append_ordered_number(bytes, 0x1234);
  append_ordered_text(bytes, std::string_view("a\0\xff", 3));
  EXPECT_EQ(hex(bytes),
            "0002123461"
            "00ff"
            "ff00"
            "0001");
}

TEST(OrderedCodeTest, KeepsTheOrder) {
  std::vector<int64_t> values;
  for (int bits = 0; bits < 63; ++bits) {
    for (const int64_t near : {-1, 0, 1}) {
      values.push_back((int64_t{1} << bits) + near);
      values.push_back(-(int64_t{1} << bits) + near);
    }
  }
  std::ranges::sort(values);
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i - 1] == values[i]) continue;
    EXPECT_LT(ordered(values[i - 1]), ordered(values[i]));
  }
}

TEST(TableTest, ComesBack) {
  std::vector<TableEntry> entries;
  for (int i = 0; i < 20000; ++i) {
    entries.push_back({fmt::format("key/{:06}", i), std::string(static_cast<size_t>(i % 50), 'v')});
  }
  const std::string bytes = write_table(entries);
  EXPECT_GT(bytes.size(), 2U << 18U);  // several blocks
  const auto read = read_table("t", bytes);
  ASSERT_EQ(read.size(), entries.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].key, entries[i].key);
    EXPECT_EQ(read[i].value, entries[i].value);
  }
}

Tensor iota(DType dtype, const Shape& shape) {
  Tensor values(DType::f32, shape);
  float next = 0;
  for (float& value : values.data<float>()) value = next++;
  return values.cast(dtype);
}

MemoryFileSystem& sample(MemoryFileSystem& fs) {
  BundleWriter writer(fs, "m");
  writer.add("dense/bias", iota(DType::f32, {3}));
  writer.add("dense/kernel", iota(DType::bf16, {2, 3}));
  writer.add("global_step", Tensor(int64_t{7}));
  writer.add("names", Tensor::of<std::string>({2}, {"", "abc"}));
  writer.finish();
  return fs;
}

TEST(TensorBundleTest, EveryDTypeComesBack) {
  MemoryFileSystem fs;
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (int i = 1; i <= static_cast<int>(DType::c128); ++i) {
    const auto dtype = static_cast<DType>(i);
    // TensorFlow has no others below a byte or of 8 bits.
    if (dtype == DType::s2 || dtype == DType::u2) continue;
    if (is_small_float(dtype) && dtype != DType::f8e5m2 && dtype != DType::f8e4m3fn) continue;
    tensors.emplace_back("t" + std::to_string(i), iota(dtype, {2, 3}));
  }
  tensors.emplace_back("none", Tensor::zeros(DType::f32, {0, 4}));
  tensors.emplace_back("text",
                       Tensor::of<std::string>({2, 2}, {"a", std::string(300, 'b'), "", "c"}));
  {
    BundleWriter writer(fs, "m");
    for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
    EXPECT_FALSE(bundle_exists(fs, "m"));
    writer.finish();
  }
  EXPECT_EQ(fs.contents().size(), 2U);
  const BundleReader reader(fs, "m");
  EXPECT_EQ(reader.entries().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(reader.type_of(name), tensor.type());
    EXPECT_TRUE(reader.read(name).identical(tensor)) << name;
  }
}

TEST(TensorBundleTest, Parts) {
  const Tensor whole = iota(DType::f32, {4, 3});
  MemoryFileSystem fs;
  BundleWriter writer(fs, "m");
  writer.add_slice("w", {4, 3}, {{{3, 1}, {}}}, whole.slice(3, 4));
  writer.add_slice("w", {4, 3}, {{{0, 3}, {}}}, whole.slice(0, 3));
  writer.finish();
  const BundleReader reader(fs, "m");
  EXPECT_THAT(reader.keys(), ::testing::ElementsAre("w"));
  EXPECT_TRUE(reader.read("w").identical(whole));
  EXPECT_EQ(reader.read_slice("w", {{{1, 3}, {2, 1}}}).to_string(), "f32[3,1] {{5}, {8}, {11}}");
  EXPECT_EQ(error_of([&] {
              reader.read_slice("w", {{{1, 4}, {}}});
            }),
            "DATA_LOSS: m: tensor 'w': slice, got 1,4:-, expected one of [4,3]");
}

// Large enough to be read by several threads.
TEST(TensorBundleTest, ALargeTensor) {
  MemoryFileSystem fs;
  Tensor large(DType::s32, {(int64_t{5} << 20) + 3});
  const auto elements = large.data<int32_t>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int32_t>(i * 2654435761U);
  {
    BundleWriter writer(fs, "m");
    writer.add("large", large);
    writer.finish();
  }
  EXPECT_TRUE(BundleReader(fs, "m").read("large").identical(large));
  std::string data = read_file(fs, "m.data-00000-of-00001");
  data[size_t{17} << 20] ^= 4;
  write_file_atomically(fs, "m.data-00000-of-00001", data);
  EXPECT_THAT(error_of([&] { BundleReader(fs, "m").read("large"); }),
              ::testing::StartsWith("DATA_LOSS: m.data-00000-of-00001: tensor 'large' at byte 0: "
                                    "checksum, got 0x"));
}

TEST(TensorBundleTest, WrongUse) {
  MemoryFileSystem fs;
  sample(fs);
  const BundleReader reader(fs, "m");
  EXPECT_EQ(
      error_of([&] { reader.read("dense/kernal"); }),
      "NOT_FOUND: m: tensor, got 'dense/kernal', expected one of the 4 in the checkpoint, did "
      "you mean 'dense/kernel'?");
  BundleWriter writer(fs, "n");
  writer.add("a", Tensor(1));
  EXPECT_EQ(error_of([&] { writer.add("a", Tensor(1)); }),
            "ALREADY_EXISTS: n: tensor, got 'a' twice, expected each name once");
  EXPECT_EQ(error_of([&] { writer.add("", Tensor(1)); }),
            "INVALID_ARGUMENT: n: name of a tensor, got '', expected one");
  EXPECT_THAT(error_of([&] { BundleReader(fs, "x"); }),
              ::testing::StartsWith("NOT_FOUND: x.index"));
}

// What reading all of a bundle gives.
std::string read_all(FileSystem& fs) {
  try {
    const BundleReader reader(fs, "m");
    std::string text;
    for (const std::string& key : reader.keys()) text += key + reader.read(key).to_string() + "\n";
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TensorBundleTest, TruncationAtEveryByteAndEveryBitFlipped) {
  MemoryFileSystem whole;
  const std::string expected = read_all(sample(whole));
  ASSERT_THAT(expected, ::testing::HasSubstr("dense/kernelbf16[2,3]"));
  for (const auto& [path, contents] : whole.contents()) {
    const auto read_with = [&path = path](const std::string& bytes) {
      MemoryFileSystem fs;
      sample(fs);
      write_file_atomically(fs, path, bytes);
      return read_all(fs);
    };
    for (size_t size = 0; size < contents.size(); ++size) {
      EXPECT_THAT(read_with(contents.substr(0, size)), ::testing::StartsWith("DATA_LOSS: m."))
          << size;
    }
    for (size_t bit = 0; bit < contents.size() * 8; ++bit) {
      std::string flipped = contents;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      // Padding of the footer and the empty metaindex hold nothing.
      EXPECT_THAT(read_with(flipped),
                  ::testing::AnyOf(::testing::StartsWith("DATA_LOSS: m."), ::testing::Eq(expected)))
          << path << " " << bit;
    }
  }
}

TEST(TensorBundleTest, AFailedWriteLeavesNothing) {
  for (const int64_t byte : {0, 10, 40, 100, 200}) {
    MemoryFileSystem fs;
    fs.inject({.at_byte = byte});
    EXPECT_THROW(sample(fs), Error);
    EXPECT_FALSE(bundle_exists(fs, "m"));
  }
}

TEST(TensorBundleTest, ADTypeThatIsNotOurs) {
  EXPECT_EQ(error_of([] {
              MemoryFileSystem fs;
              BundleWriter(fs, "m").add("t", Tensor());
            }),
            "INVALID_ARGUMENT: TensorFlow: dtype, got invalid, expected one that TensorFlow has");
}

TEST(CheckpointStateTest, ReadsAndWrites) {
  MemoryFileSystem fs;
  fs.make_directories("d");
  write_checkpoint_state(fs, "d",
                         {.model_checkpoint_path = "d/model.ckpt-2",
                          .all_model_checkpoint_paths = {"/far/model.ckpt-1", "d/model.ckpt-2"}});
  EXPECT_EQ(read_file(fs, "d/checkpoint"),
            "model_checkpoint_path: \"model.ckpt-2\"\n"
            "all_model_checkpoint_paths: \"/far/model.ckpt-1\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-2\"\n");
  const auto state = read_checkpoint_state(fs, "d");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->model_checkpoint_path, "d/model.ckpt-2");
  EXPECT_THAT(state->all_model_checkpoint_paths,
              ::testing::ElementsAre("/far/model.ckpt-1", "d/model.ckpt-2"));
  EXPECT_EQ(latest_checkpoint(fs, "d"), "");
  EXPECT_FALSE(read_checkpoint_state(fs, "e"));
  write_file_atomically(fs, "d/checkpoint", "model_checkpoint_path: \"m\nx");
  EXPECT_THAT(error_of([&] { read_checkpoint_state(fs, "d"); }),
              ::testing::StartsWith("INVALID_ARGUMENT: d/checkpoint: text of a "
                                    "tensorflow.CheckpointState, got line 1, column "));
}

// -- What TensorFlow wrote

class GoldenBundleTest : public testing::GoldenTest {};

void expect_place(const BundleEntry& entry, const nlohmann::json& expected) {
  if (!expected.contains("offset")) return;
  EXPECT_EQ(entry.shard, expected["shard"]);
  EXPECT_EQ(entry.offset, expected["offset"]);
  EXPECT_EQ(entry.size, expected["size"]);
  EXPECT_EQ(fmt::format("{:08x}", entry.masked_crc32c), expected["masked_crc32c"]);
}

TEST_P(GoldenBundleTest, EveryEntryReadsAsExpected) {
  for (const auto& [name, bundle] : golden().expected("bundles").items()) {
    SCOPED_TRACE(name);
    const BundleReader reader(local_file_system(), golden().path(name));
    EXPECT_EQ(reader.num_shards(), bundle["num_shards"]);
    ASSERT_EQ(reader.entries().size(), bundle["entries"].size());
    for (const auto& expected : bundle["entries"]) {
      const std::string key = expected["key"];
      SCOPED_TRACE(key);
      const BundleEntry& entry = reader.entry(key);
      EXPECT_EQ(entry.dtype_name, expected["dtype"]);
      EXPECT_EQ(std::vector<int64_t>(entry.type.shape.begin(), entry.type.shape.end()),
                expected["shape"].get<std::vector<int64_t>>());
      expect_place(entry, expected);
      testing::expect_golden_array(reader.read(key), expected);
    }
  }
}

// Writing again what one Saver wrote without compression gives the same bytes. Object-based
// checkpoints have their tensors in another order.
TEST_P(GoldenBundleTest, WritesTheSameBytes) {
  int compared = 0;
  for (const auto& [name, bundle] : golden().expected("bundles").items()) {
    if (bundle["block_type"] != "none" || bundle["num_shards"] != 1) continue;
    SCOPED_TRACE(name);
    const std::string prefix = golden().path(name);
    const BundleReader reader(local_file_system(), prefix);
    if (reader.contains("_CHECKPOINTABLE_OBJECT_GRAPH")) continue;
    MemoryFileSystem fs;
    BundleWriter writer(fs, "m");
    for (const std::string& key : reader.keys()) writer.add(key, reader.read(key));
    writer.finish();
    EXPECT_TRUE(read_file(fs, "m.index") == read_file(local_file_system(), prefix + ".index"));
    EXPECT_TRUE(read_file(fs, "m.data-00000-of-00001") ==
                read_file(local_file_system(), bundle_data_path(prefix, 0, 1)));
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

// Each names a bundle that is beside it.
TEST_P(GoldenBundleTest, CheckpointStatesNameTheirBundles) {
  std::set<std::string> directories;
  for (const auto& [name, bundle] : golden().expected("bundles").items()) {
    if (name.starts_with("checkpoints/")) directories.insert(parent_path(golden().path(name)));
  }
  for (const std::string& directory : directories) {
    SCOPED_TRACE(directory);
    const std::string latest = latest_checkpoint(local_file_system(), directory);
    EXPECT_EQ(parent_path(latest), directory);
    EXPECT_GT(BundleReader(local_file_system(), latest).entries().size(), 0U);
  }
  EXPECT_GE(directories.size(), 4U);
}

TEST(BundleReaderTest, FormatV1IsRefusedByName) {
  const std::string path = testing::GoldenFolder::own().path("checkpoints/v1/model.ckpt-3");
  EXPECT_EQ(error_of([&] { BundleReader(local_file_system(), path); }),
            "UNIMPLEMENTED: " + path +
                ": checkpoint, got one file, as TensorFlow's format V1 has, expected "
                "model.ckpt-3.index of format V2");
}

TEST_P(GoldenBundleTest, CheckpointStatesListOlderOnes) {
  const std::string directory =
      golden().path(is_own() ? "checkpoints/slots" : "checkpoints/tfx_taxi_estimator");
  const auto state = read_checkpoint_state(local_file_system(), directory);
  ASSERT_TRUE(state);
  std::vector<std::string> paths;
  for (const char* step : is_own() ? std::vector{"3", "4"} : std::vector{"0", "999", "1000"}) {
    paths.push_back(fmt::format("{}/model.ckpt-{}", directory, step));
  }
  EXPECT_EQ(state->all_model_checkpoint_paths, paths);
  EXPECT_EQ(latest_checkpoint(local_file_system(), directory), paths.back());
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenBundleTest, testing::golden_folders(),
                         testing::golden_name);

}  // namespace
}  // namespace systole
