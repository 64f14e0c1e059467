#include "systole/estimator/params.h"

#include <gmock/gmock.h>

#include <functional>

#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

TEST(Params, give_their_values) {
  const Params params = {{"layers", 3},
                         {"rate", 0.05},
                         {"name", "adam"},
                         {"deep", true},
                         {"list", std::any(std::vector<int>{1, 2})}};
  const int64_t layers = params["layers"];
  const double rate = params["rate"];
  const bool deep = params["deep"];
  EXPECT_EQ(layers, 3);
  EXPECT_EQ(rate, 0.05);
  EXPECT_TRUE(deep);
  EXPECT_EQ(params["name"].as<std::string>(), "adam");
  EXPECT_EQ(params["layers"].as<double>(), 3);
  EXPECT_EQ(params["list"].as<std::vector<int>>().size(), 2U);
  EXPECT_EQ(params.get<int>("absent", 7), 7);
}

TEST(Params, errors_say_what_is_there) {
  const Params params = {{"batch_size", 32}, {"rate", 0.5}};
  EXPECT_THAT(error_of([&] { params["batch-size"]; }),
              HasSubstr("NOT_FOUND: params: key, got 'batch-size', expected one of "
                        "{'batch_size': 32, 'rate': 0.5}, did you mean 'batch_size'?, "
                        "at params_test.cc:"));
  EXPECT_THAT(error_of([&] { params["rate"].as<int64_t>(); }),
              HasSubstr("params['rate']: value, got 0.5, expected an integer, at params_test.cc:"));
  EXPECT_THAT(error_of([&] { params["rate"].as<bool>(); }), HasSubstr("expected a truth value"));
  const Params any = {{"list", std::any(Params())}};
  EXPECT_THAT(error_of([&] { any["list"].as<int>(); }), HasSubstr("got <systole::Params>"));
}

}  // namespace
}  // namespace systole
