#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/systole/config/config_section.h"
#include "systole/base/testing/error_of.h"

namespace systole::app {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ConfigKey kDenseKeys[] = {{"units", "integer", "required", "How many."},
                                    {"rate", "number", "0.5", "How much."},
                                    {"use_bias", "boolean", "true", "Whether."},
                                    {"names", "list of texts", "", "Which."},
                                    {"mode", "text", "a", "How."}};
constexpr std::pair<const char*, int> kModes[] = {{"alpha", 1}, {"beta", 2}};

ConfigSection dense(const std::string& yaml) {
  return {"dense", ConfigNode::parse(yaml, "net.yaml"), kDenseKeys};
}

TEST(ConfigSectionTest, Values) {
  const ConfigSection section = dense("units: 3\nuse_bias: false\nnames: [x, y]\nmode: beta\n");
  EXPECT_EQ(section.integer("units"), 3);
  EXPECT_EQ(section.number("rate", 0.5), 0.5);
  EXPECT_FALSE(section.flag("use_bias", true));
  EXPECT_THAT(section.texts("names"), ElementsAre("x", "y"));
  EXPECT_EQ(section.choice<int>("mode", kModes, 0), 2);
  EXPECT_EQ(dense("7").integer("units"), 7);
  EXPECT_FALSE(dense("7").has("rate"));
  EXPECT_FALSE(dense("").has("units"));
}

TEST(ConfigSectionTest, Errors) {
  const struct {
    std::string yaml;
    std::string error;
  } rows[] = {
      {"unit: 3",
       "net.yaml:1:1: dense, got 'unit', expected units, rate, use_bias, names, mode, did "
       "you mean 'units'?"},
      {"rate: 1", "net.yaml:1:1: dense, got no units, expected an integer"},
      {"rate: 1\nunits: many", "net.yaml:2:8: dense units, got 'many', expected an integer"},
      {"units: 1.5", "dense units, got '1.5', expected an integer"},
      {"units: [1]", "dense units, got a list, expected an integer"},
      {"units:", "dense units, got nothing, expected an integer"},
      {"units: 1\nunits: 2", "net.yaml:2:1: dense, got 'units' twice, expected each name once"},
      {"[a", "net.yaml:1:1: text, got invalid YAML (end of sequence flow not found), expected "},
      {"a:\n\t- b", "net.yaml:2:2: text, got invalid YAML (a line that begins with a tab"},
      {"\"\\\x8f\"", "net.yaml:1:4: text, got invalid YAML (unknown escape character: ?)"},
      {"units: *x", "net.yaml:1:8: text, got invalid YAML (the referenced anchor is not defined"},
      {"- a\n, b", "net.yaml:2:1: text, got invalid YAML (a comma before a value), expected"},
      {"units: 1\n---\nunits: 2", "net.yaml: text, got 2 documents with --- between, expected one"},
      {std::string(3000, '['), "got invalid YAML (values in values in values, too many)"},
      {"units: \"a\\nb\"", "dense units, got 'a?b', expected an integer"},
      {"? [a]\n: 1", "dense, got a list, expected a name"},
      {std::string(200, 'x'), "got '" + std::string(80, 'x') + "...', expected an integer"},
      {"units: 99999999999999999999", "dense units, got '99999999999999999999'"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(error_of([&] { dense(row.yaml).integer("units"); }), HasSubstr(row.error))
        << row.yaml;
  }
  EXPECT_THAT(error_of([] { dense("mode: bet").choice<int>("mode", kModes, 0); }),
              HasSubstr("dense mode, got 'bet', expected alpha, beta, did you mean 'beta'?"));
}

TEST(ConfigSectionTest, IntegersFromALeastOne) {
  EXPECT_EQ(dense("3").integer_from("units", 3), 3);
  EXPECT_EQ(dense("3").optional_integer("units", 1), 3);
  EXPECT_EQ(dense("rate: 1").integer("units", 0, 5), 0);  // what is not given is not checked
  EXPECT_THAT(error_of([] { dense("rate: 1\nunits: 2").integer("units", 9, 3); }),
              HasSubstr("net.yaml:2:8: dense units, got 2, expected an integer of at least 3"));
}

TEST(ConfigNodeTest, ErrorsOfOthersGetThePlace) {
  const ConfigNode root = ConfigNode::parse("a: 1\nb: 2\n", "f");
  const Error error = root["b"].placed(not_found("b: thing, got 2"));
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_EQ(error.message(), "f:2:4: b: thing, got 2");
}

TEST(ConfigNodeTest, SetReplacesAndAdds) {
  ConfigNode root = ConfigNode::parse("a: {b: 1}\nlist:\n- x: 1\n- y: 2\n", "f");
  root.set("a.b", "2");
  root.set("a.new.deep", "[1, 2]");
  root.set("list.1.y", "3");
  root.set("none.at.all", "text");
  EXPECT_EQ(root["a"]["b"].as<int64_t>("", ""), 2);
  EXPECT_EQ(root["a"]["new"]["deep"].items("", "").size(), 2U);
  EXPECT_EQ(root["list"].items("", "")[1]["y"].as<int64_t>("", ""), 3);
  EXPECT_EQ(root["none"]["at"]["all"].as<std::string>("", ""), "text");
  ConfigNode empty = ConfigNode::parse("", "f");
  empty.set("a", "1");
  EXPECT_EQ(empty["a"].as<int64_t>("", ""), 1);
}

TEST(ConfigNodeTest, SetNamesWhatIsWrong) {
  const std::string yaml = "a: {b: 1}\nlist: [1, 2]\n";
  const struct {
    std::string path;
    std::string error;
  } rows[] = {
      {"a.b.c", "--set a.b.c: path, got 'c' below the value '1', expected a name of a map"},
      {"list.2", "--set list.2: path, got '2', expected the number of an element, 0 to 1"},
      {"list.x", "path, got 'x'"},
      {"a..b", "path, got an empty name"},
  };
  for (const auto& [path, error] : rows) {
    EXPECT_THAT(error_of([&, &path = path] { ConfigNode::parse(yaml, "f").set(path, "1"); }),
                HasSubstr(error));
  }
  EXPECT_THAT(error_of([&] { ConfigNode::parse(yaml, "f").set("a.b", "["); }),
              HasSubstr("--set a.b: text, got invalid YAML (end of sequence flow not found)"));
  ConfigNode root = ConfigNode::parse(yaml, "f");
  root.set("a.b", "word");
  EXPECT_THAT(error_of([&] { root["a"]["b"].as<int64_t>("a b", "an integer"); }),
              HasSubstr("--set a.b: a b, got 'word', expected an integer"));
}

TEST(ConfigNodeTest, PlacesNameWhatSetHasChanged) {
  ConfigNode root = ConfigNode::parse("a: {b: 1}\nlist:\n- x: 1\n", "folder/f.yaml");
  EXPECT_EQ(root["list"].items("", "")[0].where().to_string(), "f.yaml:3");
  root.set("list.0.x", "2");
  root.set("a", "{c: 3}");
  EXPECT_EQ(root["list"].items("", "")[0].where().to_string(), "--set list.0.x, f.yaml:3");
  EXPECT_EQ(root["a"]["c"].where().to_string(), "--set a:1");
}

}  // namespace
}  // namespace systole::app
