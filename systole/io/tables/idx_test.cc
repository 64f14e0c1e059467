#include "systole/io/tables/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/testing/golden.h"

namespace systole {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string idx_error(const std::string& bytes) {
  MemoryFileSystem fs({{"f", bytes}});
  try {
    read_idx(fs, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string bytes_of(const Tensor& tensor, Compression compression = Compression::none) {
  MemoryFileSystem fs;
  write_idx(fs, "f", tensor, compression);
  return read_file(fs, "f");
}

TEST(IdxTest, Bytes) {
  const std::string bytes("\0\0\x0b\x02\0\0\0\x01\0\0\0\x02\x01\x02\xff\xfe", 16);
  MemoryFileSystem fs({{"f", bytes}});
  const Tensor tensor = read_idx(fs, "f");
  EXPECT_TRUE(tensor.identical(Tensor::of<int16_t>({1, 2}, {0x0102, -2})));
  EXPECT_EQ(bytes_of(tensor), bytes);
}

TEST(IdxTest, EveryType) {
  const Tensor numbers = Tensor::of<int32_t>({2, 3}, {0, 1, 2, 3, 100, 127});
  for (const DType dtype : {DType::u8, DType::s8, DType::s16, DType::s32, DType::f32, DType::f64}) {
    for (const Compression compression : {Compression::none, Compression::gzip}) {
      const Tensor tensor = numbers.cast(dtype);
      MemoryFileSystem fs({{"f", bytes_of(tensor, compression)}});
      EXPECT_TRUE(read_idx(fs, "f").identical(tensor));
    }
  }
  EXPECT_THROW(bytes_of(numbers.cast(DType::s64)), Error);
  EXPECT_THROW(bytes_of(Tensor(1.0F)), Error);
}

TEST(IdxTest, ByParts) {
  const Tensor numbers = Tensor::of<int32_t>({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    MemoryFileSystem fs({{"f", bytes_of(numbers, compression)}});
    IdxReader reader(fs, "f");
    EXPECT_EQ(reader.type(), numbers.type());
    EXPECT_TRUE(reader.read(2).identical(numbers.slice(0, 2)));
    EXPECT_EQ(reader.position(), 2);
    EXPECT_TRUE(reader.read(10).identical(numbers.slice(2, 5)));
    EXPECT_EQ(reader.read(1).dim(0), 0);
    reader.seek(1);
    EXPECT_TRUE(reader.read(1).identical(numbers.slice(1, 2)));
    EXPECT_THROW(reader.seek(6), Error);
  }
}

TEST(IdxTest, CutAtEveryByteAndTooLong) {
  const Tensor numbers = Tensor::of<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5});
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const std::string bytes = bytes_of(numbers, compression);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(idx_error(bytes.substr(0, size)),
                  ::testing::AnyOf(HasSubstr("DATA_LOSS: f: "), HasSubstr("two zeros")))
          << size;
    }
  }
  EXPECT_THAT(idx_error(bytes_of(numbers) + "x"), HasSubstr("got 25, expected 24"));
}

TEST(IdxTest, FlippedBitsNeverCrash) {
  const std::string bytes = bytes_of(Tensor::of<float>({3, 2}, {0, 1, 2, 3, 4, 5}));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    (void)idx_error(flipped);
  }
}

TEST(IdxTest, AbsurdSizesAreRefusedBeforeMemoryIsAskedFor) {
  const std::string size = "\xff\xff\xff\xff";
  EXPECT_THAT(idx_error(std::string("\0\0\x08\x01", 4) + size + "data"),
              AllOf(HasSubstr("DATA_LOSS"), HasSubstr("expected 4294967295 for u8[4294967295]")));
  EXPECT_THAT(idx_error(std::string("\0\0\x0e\x03", 4) + size + size + size),
              HasSubstr("2^63 bytes or more"));
  EXPECT_THAT(idx_error(std::string("\0\0\x07\x01\0\0\0\0", 8)), HasSubstr("element type, got 7"));
  EXPECT_THAT(idx_error(std::string("\0\0\x08\0", 4)), HasSubstr("rank, got 0"));
}

TEST(IdxTest, Mnist) {
  if (!testing::have_data_sets()) GTEST_SKIP() << testing::kNoDataSets;
  FileSystem& fs = local_file_system();
  const Tensor images = read_idx(fs, testing::data_set_path("mnist/t10k-images-idx3-ubyte.gz"));
  const Tensor labels = read_idx(fs, testing::data_set_path("mnist/t10k-labels-idx1-ubyte.gz"));
  EXPECT_EQ(images.type(), (TensorType{DType::u8, {10000, 28, 28}}));
  EXPECT_EQ(labels.type(), (TensorType{DType::u8, {10000}}));
  const auto digits = labels.data<uint8_t>();
  EXPECT_THAT(digits.first(5), ::testing::ElementsAre(7, 2, 1, 0, 4));
}

}  // namespace
}  // namespace systole
