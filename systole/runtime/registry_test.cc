#include "systole/runtime/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/testing/fake_client.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Registry, SharesAClientByItsOptions) {
  Client& plain = client("reference");
  EXPECT_EQ(&plain, &client("reference", {{"cores", int64_t{1}}})) << "the default";
  Client& four = client("reference", {{"cores", int64_t{4}}});
  EXPECT_NE(&plain, &four);
  EXPECT_EQ(&four, &client("reference", {{"cores", int64_t{4}}}));
}

TEST(Registry, DescribesCores) {
  const Client& client = runtime::client("reference", {{"cores", int64_t{8}},
                                                       {"core_memory", int64_t{1} << 30},
                                                       {"core_kind", std::string("TPU v2")}});
  ASSERT_EQ(client.devices().size(), 8);
  std::set<std::pair<std::array<int, 3>, int>> places;
  for (const Device& device : client.devices()) {
    EXPECT_EQ(device.kind, "TPU v2");
    EXPECT_EQ(device.memory_bytes, int64_t{1} << 30);
    EXPECT_TRUE(places.emplace(device.coordinates, device.core_on_chip).second);
    EXPECT_LT(device.coordinates[0], 2);
    EXPECT_LT(device.coordinates[1], 2);
  }
}

TEST(Registry, RefusesUnknownBackendsAndOptions) {
  EXPECT_THAT(error_of([] { client("gpu"); }), HasSubstr("NOT_FOUND: runtime: backend, got 'gpu'"));
  EXPECT_THAT(error_of([] {
                client("cpu", {{"core", int64_t{8}}});
              }),
              AllOf(HasSubstr("INVALID_ARGUMENT: cpu: client option, got 'core'"),
                    HasSubstr("did you mean 'cores'?")));
  EXPECT_THAT(error_of([] {
                client("cpu", {{"cores", std::string("8")}});
              }),
              HasSubstr("client option 'cores', got a string, expected an integer"));
  EXPECT_THAT(error_of([] {
                client("reference", {{"cores", int64_t{0}}});
              }),
              HasSubstr("client option 'cores', got 0, expected 1 to"));
}

TEST(Registry, TriesAgainAfterAClientThatCouldNotBeMade) {
  int calls = 0;
  register_backend({.name = "shy", .options = {}, .make = [&](const ClientOptions&) {
                      if (++calls == 1) throw make_error(Code::unavailable, "not yet");
                      return std::make_unique<testing::FakeClient>(client("reference"));
                    }});
  EXPECT_EQ(error_of([] { client("shy"); }), "UNAVAILABLE: not yet");
  client("shy");
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(backend_names(), Contains("shy"));
  EXPECT_THAT(error_of([] { register_backend({.name = "shy", .options = {}, .make = nullptr}); }),
              HasSubstr("ALREADY_EXISTS"));
  EXPECT_THAT(error_of([] { client("shy", {{"x", true}}); }), HasSubstr("got 'x', expected none"));
}

TEST(ClientOptions, TakesAnIntegerForANumber) {
  const OptionDef def{"timeout", 2.5, "seconds"};
  const ClientOptions resolved = resolve_options("x", {&def, 1}, {{"timeout", int64_t{3}}});
  EXPECT_EQ(option<double>(resolved, "timeout"), 3);
  EXPECT_EQ(option<double>(resolve_options("x", {&def, 1}, {}), "timeout"), 2.5);
}

}  // namespace
}  // namespace systole::runtime
