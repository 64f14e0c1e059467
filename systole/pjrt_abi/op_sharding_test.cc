#include "systole/pjrt_abi/op_sharding.h"

#include <gtest/gtest.h>

namespace systole::pjrt_abi {
namespace {

std::string message_of(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

// As protobuf's own library encodes these messages.
TEST(OpSharding, IsThatOfProtobuf) {
  EXPECT_EQ(encode(OpSharding{}), "");
  EXPECT_EQ(encode({.tiles = {1, 1}, .devices = {0, 1}}), "");
  EXPECT_EQ(encode({.tiles = {2, 1}, .devices = {0, 1}}),
            message_of({0x08, 3, 0x1A, 2, 2, 1, 0x22, 2, 0, 1}));
  EXPECT_EQ(encode({.tiles = {2}, .devices = {0, 2, 1, 3}}),
            message_of({0x08, 3, 0x1A, 2, 2, 2, 0x22, 4, 0, 2, 1, 3, 0x30, 1}));
  EXPECT_EQ(encode({.tiles = {1, 1}, .devices = {0, 1}, .terms = 2}),
            message_of({0x08, 3, 0x1A, 3, 1, 1, 2, 0x22, 2, 0, 1, 0x42, 1, 6}));
  EXPECT_EQ(encode({.tiles = {1}, .devices = {0, 2, 1, 3}, .terms = 2}),
            message_of({0x08, 3, 0x1A, 3, 1, 2, 2, 0x22, 4, 0, 2, 1, 3, 0x42, 2, 0, 6}));
  EXPECT_EQ(encode({.devices = {5}, .one_device = true}),
            message_of({0x08, 1, 0x1A, 1, 1, 0x22, 1, 5}));
}

}  // namespace
}  // namespace systole::pjrt_abi
