#include "systole/io/wire/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole {
namespace {

using ::testing::HasSubstr;

constexpr Compression kEveryCompression[] = {Compression::none, Compression::zlib,
                                             Compression::gzip};

std::string text_of(size_t size) {
  std::string text;
  uint32_t state = 7;
  while (text.size() < size) {
    state = state * 1664525 + 1013904223;
    text += static_cast<char>('a' + (state >> 28));
  }
  return text;
}

std::string compressed(std::string_view text, Compression compression) {
  MemoryFileSystem fs;
  const auto file = fs.create("f");
  const auto stream = compress_into(*file, compression, "f");
  stream->append(text);
  stream->close();
  file->close();
  return read_file(fs, "f");
}

std::string decompressed(const std::string& bytes, Compression compression, size_t part,
                         size_t buffer_bytes = 1000) {
  MemoryFileSystem fs({{"f", bytes}});
  const auto source = open_source(fs.open("f"), compression, buffer_bytes);
  std::string text;
  std::string buffer(part, '\0');
  while (const size_t got = source->read(part, buffer.data())) text.append(buffer, 0, got);
  return text;
}

std::string decompression_error(const std::string& bytes, Compression compression) {
  try {
    decompressed(bytes, compression, 100);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CompressionTest, NamesAreTensorFlows) {
  for (const Compression compression : kEveryCompression) {
    EXPECT_EQ(compression_from_tf(tf_name(compression)), compression);
  }
  EXPECT_THROW(compression_from_tf("LZ4"), Error);
}

TEST(CompressionTest, ReadsWhatWasWritten) {
  for (const Compression compression : kEveryCompression) {
    for (const size_t size : {0, 1, 999, 200'000}) {
      const std::string text = text_of(size);
      const std::string bytes = compressed(text, compression);
      for (const size_t part : {1, 77, 1 << 20}) {
        if (part == 1 && size > 1000) continue;
        EXPECT_EQ(decompressed(bytes, compression, part), text) << tf_name(compression) << size;
      }
      EXPECT_EQ(decompressed(bytes, compression, 1000, 1), text);
    }
  }
}

TEST(CompressionTest, GzipStreamsFollowEachOther) {
  const std::string bytes =
      compressed("one ", Compression::gzip) + compressed("two", Compression::gzip);
  EXPECT_EQ(decompressed(bytes, Compression::gzip, 100), "one two");
  EXPECT_THAT(decompression_error(compressed("x", Compression::zlib) + "y", Compression::zlib),
              HasSubstr("after the end"));
}

TEST(CompressionTest, SeeksForwardAndBack) {
  const std::string text = text_of(100'000);
  for (const Compression compression : kEveryCompression) {
    MemoryFileSystem fs({{"f", compressed(text, compression)}});
    const auto source = open_source(fs.open("f"), compression, 512);
    for (const size_t offset : {500, 70'000, 3, 0, 99'990}) {
      source->seek(offset);
      std::string part(10, '\0');
      EXPECT_EQ(source->read(10, part.data()), 10U);
      EXPECT_EQ(part, text.substr(offset, 10));
    }
    source->seek(100'000);
    char byte = 0;
    EXPECT_EQ(source->read(1, &byte), 0U);
    EXPECT_THROW(source->seek(100'001), Error);
  }
}

TEST(CompressionTest, CutAtEveryByte) {
  for (const Compression compression : {Compression::zlib, Compression::gzip}) {
    const std::string bytes = compressed(text_of(300), compression);
    for (size_t size = 1; size < bytes.size(); ++size) {
      EXPECT_THAT(decompression_error(bytes.substr(0, size), compression),
                  ::testing::AllOf(HasSubstr("DATA_LOSS: f: "), HasSubstr("offset"),
                                   HasSubstr("got the end of the file")))
          << size;
    }
  }
}

// A gzip header holds a time, and a stream may end inside a byte: no check covers these bits, and
// they change nothing.
TEST(CompressionTest, FlippedBits) {
  const std::string text = text_of(300);
  for (const Compression compression : {Compression::zlib, Compression::gzip}) {
    const std::string bytes = compressed(text, compression);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      try {
        EXPECT_EQ(decompressed(flipped, compression, 100), text) << bit;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::data_loss) << error.what();
      }
    }
  }
}

// The checksum is the last thing in the file: its error comes after the data.
TEST(CompressionTest, AWrongSumIsToldAsSuch) {
  std::string bytes = compressed(text_of(300), Compression::zlib);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  MemoryFileSystem fs({{"f", bytes}});
  const auto source = open_source(fs.open("f"), Compression::zlib);
  std::string text(1000, '\0');
  EXPECT_EQ(source->read(1000, text.data()), 300U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(systole::testing::error_of([&] { source->read(1000, text.data()); }),
                ::testing::AllOf(HasSubstr("DATA_LOSS: f: "), HasSubstr("incorrect data check")));
  }
}

TEST(CompressionTest, FlushMakesReadableAndErrorsStay) {
  MemoryFileSystem fs;
  const auto file = fs.create("f");
  const auto stream = compress_into(*file, Compression::gzip, "f");
  stream->append("hello");
  stream->flush();
  const auto source = open_source(fs.open("f"), Compression::gzip);
  std::string text(5, '\0');
  EXPECT_EQ(source->read(5, text.data()), 5U);
  EXPECT_EQ(text, "hello");

  fs.inject({.at_byte = 0, .code = Code::resource_exhausted});
  stream->append(text_of(10));
  EXPECT_THROW(stream->flush(), Error);
  EXPECT_THROW(stream->append("more"), Error);
  EXPECT_THROW(compress_into(*file, Compression::zlib, "f", 10), Error);
}

TEST(CompressionTest, Sniffs) {
  for (const Compression compression : kEveryCompression) {
    MemoryFileSystem fs({{"f", compressed("some text", compression)}});
    EXPECT_EQ(sniff_compression(*fs.open("f")), compression);
  }
}

}  // namespace
}  // namespace systole
