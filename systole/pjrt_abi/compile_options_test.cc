#include "systole/pjrt_abi/compile_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole::pjrt_abi {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string bytes_of(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

// As protobuf's own library encodes these options.
const std::string kOneDevice = bytes_of({0x1A, 0x0F, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                         0xFF, 0xFF, 0x01, 0x20, 0x01, 0x28, 0x01});
const std::string kFourReplicas = bytes_of(
    {0x1A, 0x1D, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x20, 0x04, 0x28,
     0x01, 0x4A, 0x0C, 0x08, 0x04, 0x10, 0x01, 0x1A, 0x06, 0x0A, 0x04, 0x00, 0x01, 0x02, 0x03});

TEST(PjrtCompileOptions, AreThoseOfProtobuf) {
  EXPECT_EQ(encode({}), kOneDevice);
  EXPECT_EQ(encode({.portable = true}), kOneDevice + bytes_of({0x20, 0x01}));
  EXPECT_THAT(encode({.use_shardy = true}), HasSubstr(bytes_of({0x98, 0x01, 0x01})));
  EXPECT_EQ(encode({.num_replicas = 4, .device_assignment = {0, 1, 2, 3}}), kFourReplicas);
  const CompileOptions four = decode_compile_options(kFourReplicas);
  EXPECT_EQ(four.num_replicas, 4);
  EXPECT_EQ(four.num_partitions, 1);
  EXPECT_EQ(four.device_ordinal, -1);
  EXPECT_THAT(four.device_assignment, ElementsAre(0, 1, 2, 3));
  const CompileOptions spmd = decode_compile_options(encode({.num_replicas = 2,
                                                             .num_partitions = 2,
                                                             .use_spmd_partitioning = true,
                                                             .device_assignment = {3, 2, 1, 0}}));
  EXPECT_TRUE(spmd.use_spmd_partitioning);
  EXPECT_THAT(spmd.device_assignment, ElementsAre(3, 2, 1, 0));
}

TEST(PjrtCompileOptions, IgnoreOtherFields) {
  const std::string others =
      bytes_of({0x10, 0x01, 0x2D, 1, 2, 3, 4, 0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x7A, 0x02, 'a', 'b'});
  EXPECT_EQ(decode_compile_options(others + kOneDevice).num_replicas, 1);
}

TEST(PjrtCompileOptions, RefuseUnknownOverrides) {
  // {"xla_a": ...} and {"no_a": ...}
  const std::string known = bytes_of({0x3A, 0x07, 0x0A, 0x05, 'x', 'l', 'a', '_', 'a'});
  const std::string unknown = bytes_of({0x3A, 0x06, 0x0A, 0x04, 'n', 'o', '_', 'a'});
  EXPECT_EQ(decode_compile_options(known + kOneDevice).num_replicas, 1);
  EXPECT_THAT(error_of([&] { decode_compile_options(unknown + kOneDevice); }),
              HasSubstr("No such compile option: 'no_a'"));
}

TEST(PjrtCompileOptions, RefuseOtherValuesOfFlags) {
  const auto with = [](std::string_view value) {
    const std::string_view name = "xla_dump_hlo_as_text";
    const auto field = [](char number, std::string_view bytes) {
      return std::string{number, static_cast<char>(bytes.size())}.append(bytes);
    };
    const std::string entry = field(0x0A, name) + field(0x12, field(0x0A, value));
    return decode_compile_options(field(0x3A, entry) + kOneDevice).num_replicas;
  };
  EXPECT_EQ(with("true"), 1);
  EXPECT_THAT(error_of([&] { static_cast<void>(with("much")); }),
              HasSubstr("'xla_dump_hlo_as_text': 'much' is not a valid bool value"));
}

TEST(PjrtCompileOptions, RefuseOtherBytes) {
  const auto refusal = [](const std::string& bytes) {
    return error_of([&] { decode_compile_options(bytes); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("num_replicas and num_partitions, got 0 and 0"));
  for (size_t size = 1; size < kFourReplicas.size(); ++size) {
    EXPECT_THAT(refusal(kFourReplicas.substr(0, size)), StartsWith("INVALID_ARGUMENT")) << size;
  }
  EXPECT_THAT(refusal(bytes_of({0x0B})), HasSubstr("a field of an unknown kind"));
  EXPECT_THAT(refusal(encode({.num_replicas = 2, .device_assignment = {0}})),
              HasSubstr("device_assignment, got 1 devices, expected 2"));
}

}  // namespace
}  // namespace systole::pjrt_abi
