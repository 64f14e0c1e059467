#include "systole/stablehlo/bytecode/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "systole/stablehlo/bytecode/byte_reader.h"
#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {
namespace {

std::string varint_bytes(uint64_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}

TEST(BytecodeVarint, BytesOfTheSpecification) {
  EXPECT_EQ(varint_bytes(0), "\x01");
  EXPECT_EQ(varint_bytes(1), "\x03");
  EXPECT_EQ(varint_bytes(127), "\xFF");
  EXPECT_EQ(varint_bytes(128), std::string("\x02\x02", 2));
  EXPECT_EQ(varint_bytes((1 << 14) - 1), "\xFE\xFF");
  EXPECT_EQ(varint_bytes(1 << 14), std::string("\x04\x00\x02", 3));
  EXPECT_EQ(varint_bytes((uint64_t{1} << 56) - 1), "\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  EXPECT_EQ(varint_bytes(uint64_t{1} << 56), std::string("\0\0\0\0\0\0\0\0\x01", 9));
}

TEST(BytecodeVarint, RoundTrip) {
  std::string out;
  std::vector<uint64_t> values;
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      values.push_back((uint64_t{1} << bit) + offset);
    }
  }
  for (const uint64_t value : values) {
    append_varint(out, value);
    append_signed_varint(out, static_cast<int64_t>(value));
    append_signed_varint(out, -static_cast<int64_t>(value >> 1));
    append_flagged(out, value >> 1, (value & 2) != 0);
  }
  ByteReader reader(out, "f");
  for (const uint64_t value : values) {
    EXPECT_EQ(reader.varint("v"), value);
    EXPECT_EQ(reader.signed_varint("v"), static_cast<int64_t>(value));
    EXPECT_EQ(reader.signed_varint("v"), -static_cast<int64_t>(value >> 1));
    EXPECT_EQ(reader.flagged("v"), std::make_pair(value >> 1, (value & 2) != 0));
  }
  EXPECT_TRUE(reader.empty());
}

TEST(BytecodeReader, ErrorsNameTheOffset) {
  const auto message = [](const auto& read) -> std::string {
    ByteReader reader(std::string_view("\x03\x02", 2), "f.mlirbc", 10);
    try {
      read(reader);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(message([](ByteReader& r) { r.bytes(3, "name"); }),
            "f.mlirbc: byte 10: name, got 2 bytes to the end, expected 3");
  EXPECT_EQ(message([](ByteReader& r) { r.byte("x"), r.varint("size"); }),
            "f.mlirbc: byte 12: size, got 0 bytes to the end, expected 1");
  EXPECT_EQ(message([](ByteReader& r) { r.index(1, "type"); }),
            "f.mlirbc: byte 10: type, got index 1, expected one below 1");
  EXPECT_EQ(message([](ByteReader& r) { r.c_string("producer"); }),
            "f.mlirbc: byte 10: producer, got no zero at its end, expected one");
  EXPECT_EQ(message([](ByteReader& r) { r.byte("x"), r.expect_end("op"); }),
            "f.mlirbc: byte 11: op, got 1 bytes after it, expected none");
}

TEST(BytecodeTables, StoreEqualEntriesOnce) {
  Tables tables;
  const AttrId a = tables.attribute("vhlo", Encoding().byte(1));
  const AttrId b = tables.attribute("builtin", Encoding().byte(1));
  EXPECT_NE(a, b);
  EXPECT_EQ(tables.attribute("vhlo", Encoding().byte(1)), a);
  EXPECT_NE(tables.attribute("vhlo", Encoding().attribute(a)),
            tables.attribute("vhlo", Encoding().attribute(b)));
  EXPECT_EQ(tables.string("x"), tables.string("x"));
}

}  // namespace
}  // namespace systole::hlo::bytecode
