#include "systole/io/tables/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/io/file_systems/memory_file_system.h"

namespace systole {
namespace {

// A file of version 1.0 as numpy lays it out.
std::string npy(const std::string& header, const std::string& data) {
  std::string text = header;
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  const std::string length = {static_cast<char>(text.size()), static_cast<char>(text.size() >> 8)};
  return "\x93NUMPY\x01" + std::string(1, '\0') + length + text + data;
}

std::string array(const std::string& descr, const std::string& shape, const std::string& data,
                  bool fortran = false) {
  return npy("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                 ", 'shape': " + shape + ", }",
             data);
}

std::string read(const std::string& bytes) {
  MemoryFileSystem fs({{"f.npy", bytes}});
  try {
    return read_npy(fs, "f.npy").to_string();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string written(const Tensor& tensor) {
  MemoryFileSystem fs;
  write_npy(fs, "f.npy", tensor);
  return read_file(fs, "f.npy");
}

// A string with the zeros in it.
template <size_t Size>
std::string bytes(const char (&text)[Size]) {
  return {text, Size - 1};
}

// The data below are what numpy.save writes.
TEST(NpyTest, ReadsWhatNumpyWrites) {
  EXPECT_EQ(
      read(array("<f4", "(2, 2)", bytes("\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@"))),
      "f32[2,2] {{0, 1}, {2, 3}}");
  EXPECT_EQ(read(array("|b1", "(2,)", bytes("\x01\x00"))), "pred[2] {true, false}");
  EXPECT_EQ(read(array("<f8", "()", bytes("\x00\x00\x00\x00\x00\x00\x0c@"))), "f64[] 3.5");
  EXPECT_EQ(read(array("<f8", "(0, 3)", "")), "f64[0,3] {}");
  EXPECT_EQ(read(array("<U2", "(2,)", bytes("a\0\0\0\0\0\0\0\xe9\0\0\0\x00\xf6\x01\0"))),
            "string[2] {\"a\", \"é😀\"}");
  EXPECT_EQ(read(array("|S2", "(2,)", bytes("abc\0"))), "string[2] {\"ab\", \"c\"}");
}

TEST(NpyTest, ByteOrder) {
  EXPECT_EQ(read(array(">c8", "(1,)", bytes("?\x80\0\0@\0\0\0"))), "c64[1] {(1, 2)}");
  EXPECT_EQ(read(array(">i2", "(2,)", bytes("\0\1\xff\xfe"))), "s16[2] {1, -2}");
  EXPECT_EQ(read(array("=u4", "(1,)", bytes("\1\0\0\0"))), "u32[1] {1}");
  EXPECT_EQ(read(array(">U1", "(1,)", bytes("\0\0\0a"))), "string[1] {\"a\"}");
  EXPECT_EQ(read(array("|u1", "(1,)", bytes("\7"))), "u8[1] {7}");
}

TEST(NpyTest, FortranOrder) {
  EXPECT_EQ(read(array("<i2", "(2, 3)", bytes("\0\0\3\0\1\0\4\0\2\0\5\0"), true)),
            "s16[2,3] {{0, 1, 2}, {3, 4, 5}}");
  EXPECT_EQ(read(array("|i1", "(3,)", bytes("\1\2\3"), true)), "s8[3] {1, 2, 3}");
  EXPECT_EQ(read(array("|S1", "(2, 2)", "acbd", true)),
            "string[2,2] {{\"a\", \"b\"}, {\"c\", \"d\"}}");
  EXPECT_EQ(read(array("|i1", "(2, 3, 2)", bytes("\0\6\2\10\4\12\1\7\3\11\5\13"), true)),
            "s8[2,3,2] {{{0, 1}, {2, 3}, {4, 5}}, {{6, 7}, {8, 9}, {10, 11}}}");
  EXPECT_EQ(read(array("<f4", "(0, 2)", "", true)), "f32[0,2] {}");
}

TEST(NpyTest, BFloat16) {
  for (const char* descr : {"<V2", "|V2", "bfloat16"}) {
    EXPECT_EQ(read(array(descr, "(2,)", bytes("\xc0\x3f\0\xc0"))), "bf16[2] {1.5, -2}");
  }
}

TEST(NpyTest, OtherVersionsAndSpellings) {
  const std::string text = "{\"shape\":(2L,),\"descr\":\"<i2\",\"fortran_order\":False}\n";
  for (const char version : {2, 3}) {
    std::string file = "\x93NUMPY";
    file += version;
    file += '\0';
    file += static_cast<char>(text.size());
    file += std::string(3, '\0');
    EXPECT_EQ(read(file + text + bytes("\1\0\2\0")), "s16[2] {1, 2}");
  }
}

TEST(NpyTest, BoolsOfOtherValuesAreTrue) {
  EXPECT_EQ(read(array("|b1", "(3,)", bytes("\0\2\xff"))), "pred[3] {false, true, true}");
}

TEST(NpyTest, WritesWhatNumpyWrites) {
  EXPECT_EQ(written(Tensor::of<float>({2, 2}, {0, 1, 2, 3})),
            array("<f4", "(2, 2)", bytes("\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@")));
  EXPECT_EQ(written(Tensor::of<bool>({2}, {true, false})), array("|b1", "(2,)", bytes("\1\0")));
  EXPECT_EQ(written(Tensor(3.5)), array("<f8", "()", bytes("\x00\x00\x00\x00\x00\x00\x0c@")));
  EXPECT_EQ(written(Tensor::of<std::string>({2}, {"ab", "c"})),
            array("|S2", "(2,)", bytes("abc\0")));
  EXPECT_EQ(written(Tensor::of<std::string>({1}, {""})), array("|S1", "(1,)", bytes("\0")));
}

TEST(NpyTest, EveryDTypeComesBack) {
  for (int i = 1; i <= static_cast<int>(DType::c128); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype_info(dtype).bits < 8 && dtype != DType::pred) continue;
    if (is_small_float(dtype)) continue;
    const Tensor tensor = Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}).cast(dtype);
    MemoryFileSystem fs;
    write_npy(fs, "f.npy", tensor);
    EXPECT_EQ(fs.stat("f.npy").size, 128U + static_cast<size_t>(tensor.byte_size()));
    EXPECT_TRUE(read_npy(fs, "f.npy").identical(tensor)) << to_string(dtype);
  }
  const Tensor strings = Tensor::of<std::string>({2, 1}, {"", std::string("\0a", 2)});
  MemoryFileSystem fs;
  write_npy(fs, "f.npy", strings);
  EXPECT_TRUE(read_npy(fs, "f.npy").identical(strings));
}

TEST(NpyTest, WhatCannotBeWritten) {
  MemoryFileSystem fs;
  const auto error_of = [&](const Tensor& tensor) -> std::string {
    try {
      write_npy(fs, "f.npy", tensor);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(Tensor::zeros(DType::s4, {1})),
            "INVALID_ARGUMENT: f.npy: dtype, got s4, expected one that numpy has");
  EXPECT_EQ(error_of(Tensor()),
            "INVALID_ARGUMENT: f.npy: dtype, got invalid, expected one that numpy has");
  EXPECT_EQ(error_of(Tensor::scalar(std::string("a\0", 2))),
            "INVALID_ARGUMENT: f.npy: string, got one that ends in a zero byte, expected what "
            "numpy keeps");
  EXPECT_TRUE(fs.contents().empty());
}

TEST(NpyTest, MalformedHeaders) {
  EXPECT_EQ(read("not a npy file"),
            "INVALID_ARGUMENT: f.npy: npy file, got other first bytes, expected '\\x93NUMPY'");
  EXPECT_EQ(read(bytes("\x93NUMPY\x04\x00\x00\x00\x00\x00")),
            "INVALID_ARGUMENT: f.npy: npy version, got 4.0, expected 1.0, 2.0 or 3.0");
  EXPECT_EQ(read(bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff")),
            "INVALID_ARGUMENT: f.npy: npy header, got 4294967295 bytes, expected at most 1048576");
  EXPECT_EQ(read(array("<f3", "(1,)", "")),
            "UNIMPLEMENTED: f.npy: element type, got '<f3', expected a number, a bool or a string");
  EXPECT_EQ(read(array("|O", "(1,)", "")),
            "UNIMPLEMENTED: f.npy: element type, got '|O', expected a number, a bool or a string");
  EXPECT_EQ(
      read(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "")),
      "UNIMPLEMENTED: f.npy: element type, got a structure, expected a number, a bool or a string");
  EXPECT_EQ(read(npy("{'descr': '<f4', 'descr': '<f4'}", "")),
            "INVALID_ARGUMENT: f.npy: npy header, got key 'descr', expected each of descr, "
            "fortran_order, "
            "shape once");
  EXPECT_EQ(read(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "")),
            "INVALID_ARGUMENT: f.npy: npy header, got '-1,)}' at byte 51, expected a size of a "
            "dimension");
  for (const char* header :
       {"", "{", "{}", "[]", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr: }"}) {
    EXPECT_THAT(read(npy(header, "")), ::testing::StartsWith("INVALID_ARGUMENT: f.npy: npy header"))
        << header;
  }
}

TEST(NpyTest, AShapeThatLiesAllocatesNothing) {
  EXPECT_THAT(read(array("<f4", "(4611686018427387904,)", "1234")),
              ::testing::StartsWith("INVALID_ARGUMENT: f.npy: shape"));
  EXPECT_THAT(read(array("<f4", "(1099511627776,)", "1234")),
              ::testing::StartsWith("DATA_LOSS: f.npy: file ends early, got 4 bytes of data"));
  EXPECT_THAT(read(array("<f4", "(4294967296, 4294967296)", "1234")),
              ::testing::StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(read(array("|S0", "(1099511627776,)", "")), ::testing::StartsWith("UNIMPLEMENTED"));
  EXPECT_EQ(read(array("<f4", "(1,)", "12345")),
            "INVALID_ARGUMENT: f.npy: bytes of data, got 5, expected 4 for f32[1]");
}

TEST(NpyTest, TruncationAtEveryByte) {
  for (const std::string& file : {written(Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})),
                                  array("<i2", "(2, 2)", "12345678", true),
                                  written(Tensor::of<std::string>({3}, {"a", "bcd", ""}))}) {
    ASSERT_THAT(read(file), ::testing::Not(::testing::HasSubstr("f.npy")));
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_THAT(read(file.substr(0, size)), ::testing::StartsWith("DATA_LOSS: f.npy: ")) << size;
    }
  }
}

// A flipped bit gives another array or an error that names the file.
TEST(NpyTest, EveryBitFlipped) {
  const std::string file = array("<U1", "(2, 1)", bytes("a\0\0\0b\0\0\0"));
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const std::string result = read(flipped);
    EXPECT_THAT(result, ::testing::AnyOf(::testing::Not(::testing::HasSubstr(": ")),
                                         ::testing::HasSubstr(": f.npy: ")));
  }
}

TEST(NpyTest, AFailedWriteLeavesTheOldFile) {
  const Tensor old = Tensor::of<float>({1}, {1});
  const Tensor next = Tensor::of<float>({100}, std::vector<float>(100, 2));
  for (const int64_t byte : {0, 1, 64, 128, 300, 527}) {
    MemoryFileSystem fs;
    write_npy(fs, "f.npy", old);
    fs.inject({.at_byte = byte});
    EXPECT_THROW(write_npy(fs, "f.npy", next), Error);
    EXPECT_TRUE(read_npy(fs, "f.npy").identical(old));
    EXPECT_EQ(fs.contents().size(), 1U);
  }
}

}  // namespace
}  // namespace systole
