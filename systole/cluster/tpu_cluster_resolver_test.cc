#include "systole/cluster/tpu_cluster_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "systole/base/error.h"

namespace systole {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& tpu) {
  try {
    TPUClusterResolver resolver({.tpu = tpu});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TPUClusterResolver, KeepsAddressesThatSessionsTake) {
  for (const char* tpu : {"local", "local:v3-8", "grpc://10.0.0.2:8470"}) {
    EXPECT_EQ(TPUClusterResolver(tpu).get_master(), tpu);
  }
}

TEST(TPUClusterResolver, ReadsTheEnvironment) {
  setenv("TPU_NAME", "local", 1);
  EXPECT_EQ(TPUClusterResolver().get_master(), "local");
  unsetenv("TPU_NAME");
  EXPECT_THAT(error_of(""), HasSubstr("NOT_FOUND: TPUClusterResolver: no TPU named"));
}

TEST(TPUClusterResolver, RefusesNamesThatNeedTheCloud) {
  EXPECT_THAT(error_of("my_tpu"),
              HasSubstr("INVALID_ARGUMENT: TPUClusterResolver: tpu, got 'my_tpu'"));
}

}  // namespace
}  // namespace systole
