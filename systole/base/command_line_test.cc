#include "systole/base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "systole/base/error.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Values {
  std::string text = "none";
  int64_t number = 3;
  std::optional<int64_t> maybe;
  uint64_t bytes = 0;
  double share = 0.5;
  bool flag = true;
  std::vector<std::string> list;
  std::vector<std::string> names;
};

struct Outcome {
  int status = 0;
  int runs = 0;
  std::string errors;
  Values values;
};

// What comes of `program ARGUMENTS...`.
Outcome run(std::vector<const char*> arguments, const std::function<void()>& action = nullptr) {
  Outcome outcome;
  Values& values = outcome.values;
  CommandLine line("program", "Does things.");
  line.option("name", values.names, "Names");
  line.option("-t,--text", values.text, "A text");
  line.option("--number", values.number, "A number").show_default().positive();
  const CommandLineOption maybe = line.option("--maybe", values.maybe);
  line.option("--bytes", values.bytes).as_bytes().excludes(maybe);
  line.option("--share", values.share).not_negative();
  line.flag("--flag,!--no-flag", values.flag);
  line.option("--list", values.list).separated_by(',').one_each();
  line.on_run([&] {
    ++outcome.runs;
    if (action) action();
  });
  arguments.insert(arguments.begin(), "program");
  ::testing::internal::CaptureStderr();
  outcome.status = line.run(static_cast<int>(arguments.size()), arguments.data());
  outcome.errors = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(CommandLineTest, Values) {
  const Outcome none = run({});
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.runs, 1);
  EXPECT_EQ(none.values.text, "none");
  EXPECT_FALSE(none.values.maybe);
  const Outcome all = run({"-t", "a b", "--number=7", "--maybe", "-4", "--share", "2.5",
                           "--no-flag", "--list", "x,y", "--list", "z", "n", "m"});
  EXPECT_EQ(all.status, 0) << all.errors;
  EXPECT_EQ(all.values.text, "a b");
  EXPECT_EQ(all.values.number, 7);
  EXPECT_EQ(all.values.maybe, -4);
  EXPECT_EQ(all.values.share, 2.5);
  EXPECT_FALSE(all.values.flag);
  EXPECT_THAT(all.values.list, ElementsAre("x", "y", "z"));
  EXPECT_THAT(all.values.names, ElementsAre("n", "m"));
  EXPECT_EQ(run({"--bytes", "2kiB"}).values.bytes, 2048U);
}

TEST(CommandLineTest, WrongArguments) {
  const struct {
    std::vector<const char*> arguments;
    std::string error;
  } rows[] = {
      {{"--number", "many"}, "program: --number: got 'many', expected a number above 0\n"},
      {{"--number", "0"}, "program: --number: got '0', expected a number above 0\n"},
      {{"--share", "-1"}, "--share: got '-1', expected 0 or more"},
      {{"--maybe", "1", "--bytes", "1"}, "--maybe excludes --bytes"},
      {{"--what"}, "--what\nprogram --help explains the options\n"},
  };
  for (const auto& [arguments, error] : rows) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.runs, 0);
    EXPECT_THAT(outcome.errors, HasSubstr(error));
  }
}

TEST(CommandLineTest, WhatActionsThrow) {
  const Outcome error = run({}, [] { throw not_found("x: file, got none"); });
  EXPECT_EQ(error.status, 1);
  EXPECT_EQ(error.errors, "program: NOT_FOUND: x: file, got none\n");
  const Outcome status = run({}, [] { throw ExitStatus{3}; });
  EXPECT_EQ(status.status, 3);
  EXPECT_EQ(status.errors, "");
  const Outcome usage = run({}, [] { throw UsageError("name: no such name"); });
  EXPECT_EQ(usage.status, 2);
  EXPECT_EQ(usage.errors, "program: name: no such name\nprogram --help explains the options\n");
}

TEST(CommandLineTest, Commands) {
  CommandLine line("program", "Does things.");
  line.require_command();
  std::string said;
  CommandLine& below = line.command("say", "Says it");
  below.option("what", said, "What is said").required();
  int runs = 0;
  below.on_run([&] { ++runs; });
  line.command("secret", "Is not told").hide();
  EXPECT_EQ(line.find_command("say"), &below);
  EXPECT_EQ(line.find_command("sing"), nullptr);
  EXPECT_THAT(line.help(), HasSubstr("say"));
  EXPECT_THAT(line.help(), ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(below.help(), HasSubstr("what TEXT REQUIRED"));
  const char* arguments[] = {"program", "say", "hello"};
  EXPECT_EQ(line.run(3, arguments), 0);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(said, "hello");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(line.run(1, arguments), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("program help COMMAND explains a command"));
}

}  // namespace
}  // namespace systole
