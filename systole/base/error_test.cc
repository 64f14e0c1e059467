#include "systole/base/error.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(ErrorTest, WhatPutsTheCodeBeforeTheMessage) {
  const Error error = invalid_argument("op: size, got {}, expected {}", 3, 4);
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_EQ(error.message(), "op: size, got 3, expected 4");
  EXPECT_STREQ(error.what(), "INVALID_ARGUMENT: op: size, got 3, expected 4");
}

TEST(ErrorTest, ContextKeepsTheCode) {
  const Error error = not_found("f: no such file").with_context("from node 'x' at a.cc:3");
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_EQ(error.message(), "f: no such file, from node 'x' at a.cc:3");
}

TEST(ErrorTest, CodesAreNumberedAsGrpcNumbersThem) {
  EXPECT_EQ(code_name(Code::cancelled), "CANCELLED");
  EXPECT_EQ(code_name(static_cast<Code>(8)), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(code_name(static_cast<Code>(15)), "DATA_LOSS");
  EXPECT_EQ(code_name(static_cast<Code>(16)), "UNAUTHENTICATED");
}

}  // namespace
}  // namespace systole
