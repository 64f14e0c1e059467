#include "systole/hlo/ir/sharding.h"

#include <gmock/gmock.h>

#include "systole/base/error.h"

namespace systole::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Meshes kMeshes = {{"mesh", parse_mesh(R"(<["x"=2, "y"=4]>)")},
                        {"one", parse_mesh("<[], device_ids=[3]>")},
                        {"turned", parse_mesh(R"(<["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>)")}};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ShardingText, ReadsAndWritesShardy) {
  for (const char* text : {
           R"(#sdy.sharding<@mesh, [{"x"}, {"y"}]>)",
           R"(#sdy.sharding<@mesh, [{"x", "y"}, {}]>)",
           R"(#sdy.sharding<@mesh, [{"x", ?}, {?}p2]>)",
           R"(#sdy.sharding<@mesh, [{"y":(1)2, ?}p1, {"y":(2)2}], replicated={"x"}>)",
           R"(#sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>)",
           R"(#sdy.sharding<mesh<["z"=2], device_ids=[1, 0]>, [{"z"}, {}]>)",
           R"(#sdy.sharding<@empty_mesh, [{}, {}]>)",
       }) {
    EXPECT_EQ(parse_sharding(text, kMeshes, 2).to_string(), text);
  }
  const std::string whole = R"(#sdy.sharding<@mesh, [{"y"}]>)";
  EXPECT_EQ(parse_sharding(R"(<@mesh, [{"y":(1)4}]>)", kMeshes, 1).to_string(), whole);
  EXPECT_EQ(parse_sharding("#sdy.sharding_per_value<[<@mesh, [{\"y\"}]>]>", kMeshes, 1).to_string(),
            whole);
  EXPECT_TRUE(parse_sharding("#sdy.sharding<@one, []>", kMeshes, 7).mesh.is_maximal());
  EXPECT_THAT(parse_manual_axes(R"(#sdy<manual_axes{"x", "y"}>)"), ElementsAre("x", "y"));
  EXPECT_THAT(parse_manual_axes(R"({"x"})"), ElementsAre("x"));
}

TEST(ShardingText, PartsOfDevices) {
  const Sharding sharding = parse_sharding(R"(<@mesh, [{"y":(2)2}, {"x", "y":(1)2}]>)", kMeshes, 2);
  EXPECT_EQ(sharding.local_shape({4, 8}), (Shape{2, 2}));
  EXPECT_THAT(sharding.shard_of(0), ElementsAre(0, 0));
  EXPECT_THAT(sharding.shard_of(1), ElementsAre(1, 0));
  EXPECT_THAT(sharding.shard_of(2), ElementsAre(0, 1));
  EXPECT_THAT(sharding.shard_of(7), ElementsAre(1, 3));
  const Sharding turned = parse_sharding(R"(<@turned, [{"x"}, {"y"}]>)", kMeshes, 2);
  EXPECT_THAT(turned.shard_of(1), ElementsAre(1, 0));
  EXPECT_THAT(turned.shard_of(2), ElementsAre(0, 1));
  EXPECT_THAT(message_of([&] {
                sharding.local_shape({3, 8});
              }),
              HasSubstr("size of axis 0, got 3 in [3,8], expected a multiple of 2"));
}

TEST(ShardingText, ReadsGspmd) {
  struct Row {
    const char* text;
    std::vector<std::vector<int64_t>> places;  // by device
  };
  const Row rows[] = {
      {"\"{replicated}\"", {{0, 0}, {0, 0}}},
      {"{maximal device=1}", {{0, 0}, {0, 0}}},
      {"{devices=[2,1]<=[2]}", {{0, 0}, {1, 0}}},
      {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}", {{0, 0}, {0, 0}, {1, 0}, {1, 0}}},
      {"{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={replicated}}",
       {{0, 0}, {0, 1}, {0, 0}, {0, 1}}},
      {"{devices=[2,2]<=[2,2]T(1,0)}", {{0, 0}, {1, 0}, {0, 1}, {1, 1}}},
      {"{devices=[4,1]<=[2,2]T(1,0)}", {{0, 0}, {2, 0}, {1, 0}, {3, 0}}},
      {"{devices=[2,3]<=[3,2]T(1,0)}", {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}}},
      {"{devices=[2,3]<=[3,2]}", {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}},
      {"{devices=[2,2]3,1,2,0}", {{1, 1}, {0, 1}, {1, 0}, {0, 0}}},
  };
  for (const Row& row : rows) {
    const Sharding sharding = parse_sharding(row.text, {}, 2);
    for (size_t device = 0; device < row.places.size(); ++device) {
      EXPECT_EQ(sharding.shard_of(static_cast<int64_t>(device)), row.places[device])
          << row.text << " " << device << " " << sharding.to_string();
    }
  }
}

TEST(ShardingText, RefusesBadText) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "expected '<'"},
      {"#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}", "expected"},
      {"#sdy.sharding<@mesh, [{\"x\"}]>", "axes of the array, got 1, expected 2"},
      {"#sdy.sharding<@none, [{}, {}]>", "mesh, got '@none'"},
      {"#sdy.sharding<@mesh, [{\"q\"}, {}]>", "axis, got \"q\""},
      {"#sdy.sharding<@mesh, [{\"x\"}, {\"x\"}]>", "axis \"x\", got it twice"},
      {"#sdy.sharding<@mesh, [{\"y\"}, {\"y\":(1)2}]>", "got it twice"},
      {"#sdy.sharding<@mesh, [{\"x\"}, {}], replicated={\"x\"}>", "got it twice"},
      {"#sdy.sharding<@mesh, [{\"y\":(3)2}, {}]>", "part of axis \"y\", got (3)2"},
      {"#sdy.sharding<@mesh, [{\"y\":(0)2}, {}]>", "part of axis"},
      {"#sdy.sharding<@mesh, [{\"y\":(1)0}, {}]>", "expected a part"},
      {"#sdy.sharding<@mesh, [{?, \"x\"}, {}]>", "expected '}' behind '?'"},
      {"#sdy.sharding<@mesh, [{}p99999999999999999999, {}]>", "expected a number"},
      {"#sdy.sharding<mesh<[\"a\"=0]>, [{}, {}]>", "got 0"},
      {"#sdy.sharding<mesh<[\"a\"=4000000000, \"b\"=4000000000]>, [{}, {}]>", "at most"},
      {"#sdy.sharding<mesh<[\"a\"=2, \"a\"=2]>, [{}, {}]>", "got \"a\" twice"},
      {"#sdy.sharding<mesh<[\"a\"=2], device_ids=[0, 0]>, [{}, {}]>", "device ids"},
      {"#sdy.sharding<@mesh, [{}, {}]> x", "expected the end"},
      {"{devices=[2,2]<=[3]}", "devices, got 3 for 4 tiles"},
      {"{devices=[0,2]<=[0]}", "sizes, got 0"},
      {"{devices=[2]<=[2]}", "axes of the array"},
      {"{devices=[2,1]<=[2]T(1)}", "device ids"},
      {"{devices=[2,1]0,7}", "device ids"},
      {"{devices=[9223372036854775807,2]<=[2]}", "sizes"},
      {"{devices=[2,1,2]<=[4] last_tile_dims={manual}}", "last_tile_dims"},
      {"{devices=[2,1]<=[2]", "expected"},
      {"{{replicated}, {replicated}}", "expected"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_THAT(message_of([&] { parse_sharding(text, kMeshes, 2); }), HasSubstr(expected)) << text;
  }
  // Cut anywhere.
  const std::string whole =
      R"(#sdy.sharding<@mesh, [{"x", ?}p1, {"y":(1)2}], replicated={"y":(2)2}>)";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(message_of([&] { parse_sharding(whole.substr(0, size), kMeshes, 2); }), "") << size;
  }
}

}  // namespace
}  // namespace systole::hlo
