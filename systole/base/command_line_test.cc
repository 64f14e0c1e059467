#include "systole/base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "systole/base/color.h"
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
  int percent = 50;
  bool flag = true;
  std::vector<std::string> list;
  std::vector<std::string> names;
  std::string kind;
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
  line.option("--kind", values.kind, "A kind").one_of({"", "old", "new"});
  line.option("--number", values.number, "A number").show_default().positive();
  const CommandLineOption maybe = line.option("--maybe", values.maybe);
  line.option("--bytes", values.bytes).as_bytes().excludes(maybe);
  line.option("--share", values.share).not_negative();
  line.option("--percent", values.percent).between(0, 100);
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
  EXPECT_EQ(run({"--kind", "new"}).values.kind, "new");
  EXPECT_EQ(run({"--kind", ""}).status, 0);
}

TEST(CommandLineTest, WrongArguments) {
  const struct {
    std::vector<const char*> arguments;
    std::string error;
  } rows[] = {
      {{"--number", "many"}, "program: --number: got 'many', expected an integer\n"},
      {{"--number", "99999999999999999999"},
       "--number: got '99999999999999999999', expected -9223372036854775808 to "
       "9223372036854775807"},
      {{"--number", "0"}, "program: --number: got '0', expected a number above 0\n"},
      {{"--number", "1", "--number", "2"}, "program: --number: got 2 values, expected one\n"},
      {{"--number"}, "program: --number: got no value, expected N\n"},
      {{"--number="}, "program: --number: got no value, expected N\n"},
      {{"--list", "--text", "a", "--flag", "n", "-x"},
       "program: --list: got no value, expected TEXT\n"},
      {{"--share", "-1"}, "--share: got '-1', expected 0 or more"},
      {{"--share", "nan"}, "--share: got 'nan', expected a number"},
      {{"--percent", "101"}, "--percent: got '101', expected 0 to 100"},
      {{"--bytes", "-1"}, "--bytes: got '-1', expected a number of bytes such as 100MB or 64KiB"},
      {{"--bytes", "1parsec"}, "--bytes: got '1parsec', expected a number of bytes"},
      {{"--bytes", "99999999999EB"}, "--bytes: got '99999999999EB', expected a number of bytes"},
      {{"--maybe", "1", "--bytes", "1"}, "got --maybe and --bytes, expected one of them"},
      {{"--kind", "blue"}, "program: --kind: got 'blue', expected old or new\n"},
      {{"--what=3"}, "program: no option '--what'\nprogram --help explains the options\n"},
      {{"--nubmer", "1"}, "program: no option '--nubmer', did you mean '--number'?\n"},
      {{"-x"}, "program: no option '-x'\nprogram --help explains the options\n"},
      {{"--flag=maybe"}, "program: --flag: got a value, expected none\n"},
      {{"--flag=3"}, "program: --flag: got a value, expected none\n"},
      {{"--help=3"}, "program: --help: got a value, expected none\n"},
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

// program say WHAT, program make one|two, program help, and a secret.
class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() : line_("program", "Does things.") {
    line_.require_command();
    CommandLine& say = line_.command("say", "Says it");
    say.option("what", said_, "What is said").required();
    say.option("--times", times_, "How often").show_default().between(1, 9);
    say.option("--size", size_, "How loud").as_bytes().show_default();
    say.option("--twice", twice_, "Again").show_default();
    say.option("--voice", voice_, "Whose").one_of({"his", "hers"}).show_default();
    say.example("hello --times 3");
    say.on_run([this] { ++runs_; });
    CommandLine& make = line_.command("make", "Makes it");
    make.require_command();
    make.command("one", "Makes one").on_run([this] { ++runs_; });
    make.command("two", "Makes two").on_run([] { throw UsageError("not today"); });
    line_.command("help", "Explains").on_run([] {});
    line_.command("secret", "Is not told").hide();
  }

  std::string errors_of(std::vector<const char*> arguments, int status = 2) {
    arguments.insert(arguments.begin(), "program");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(line_.run(static_cast<int>(arguments.size()), arguments.data()), status);
    return ::testing::internal::GetCapturedStderr();
  }

  CommandLine line_;
  std::string said_;
  int64_t times_ = 1;
  uint64_t size_ = 100'000'000;
  bool twice_ = true;
  std::string voice_ = "hers";
  int runs_ = 0;
};

// Options of the program that stand anywhere: program say hello --color never.
TEST(CommandLineTest, SharedOptions) {
  std::string color = "auto";
  bool quiet = false;
  std::string said;
  std::vector<std::string> order;
  CommandLine line("program", "Does things.");
  line.require_command();
  line.version("program 1.0", "Shows the version");
  line.option("--color", color, "When").one_of({"auto", "always", "never"});
  line.flag("-q,--quiet", quiet, "Errors only");
  line.share_options();
  line.before_run([&] { order.push_back("first " + color); });
  CommandLine& say = line.command("say", "Says it");
  say.option("what", said, "What is said").required();
  say.on_run([&] { order.push_back("say " + said); });
  const auto run = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return line.run(static_cast<int>(arguments.size()), arguments.data());
  };
  EXPECT_EQ(run({"say", "hello", "--color", "never", "-q"}), 0);
  EXPECT_TRUE(quiet);
  EXPECT_THAT(order, ElementsAre("first never", "say hello"));
  quiet = false;
  EXPECT_EQ(run({"--color=always", "say", "--", "-q"}), 0);
  EXPECT_FALSE(quiet);
  EXPECT_EQ(said, "-q");
  EXPECT_THAT(say.help(), HasSubstr("Options of all commands:\n  --color auto|always|never  When"));
  EXPECT_THAT(line.help(), HasSubstr("-V,--version"));
  EXPECT_EQ(say.text().options.back().names, (std::vector<std::string>{"-q", "--quiet"}));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run({"-V"}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "program 1.0\n");
}

TEST(CommandLineTest, ValueNamesMayHaveColons) {
  std::string address = "127.0.0.1:8470";
  int64_t count = 1;
  CommandLine line("program", "Does things.");
  line.option("--listen", address, "Where").value_name("HOST:PORT").show_default();
  line.option("--count", count, "How many").value_name("A:B").positive();
  EXPECT_THAT(line.help(), HasSubstr("  --listen HOST:PORT  Where [default 127.0.0.1:8470]\n"));
  EXPECT_THAT(line.help(), HasSubstr("  --count A:B         How many [above 0]\n"));
}

TEST(CommandLineTest, ErrorsAndHeadingsHaveColors) {
  set_color_mode(ColorMode::always);
  const Outcome wrong = run({"-x"});
  CommandLine line("program", "Does things.");
  const std::string help = line.help();
  set_color_mode(ColorMode::automatic);
  EXPECT_THAT(wrong.errors, HasSubstr("\x1b[31mprogram:\x1b[0m no option '-x'"));
  EXPECT_THAT(help, HasSubstr("\x1b[1mOptions:\x1b[0m\n"));
  EXPECT_EQ(run({"-x"}).errors.find('\x1b'), std::string::npos);  // no terminal
}

TEST_F(CommandsTest, AreFoundAndRun) {
  EXPECT_EQ(line_.find_command("say")->full_name(), "program say");
  EXPECT_EQ(line_.find_command("make")->find_command("one")->full_name(), "program make one");
  EXPECT_EQ(line_.find_command("sing"), nullptr);
  EXPECT_EQ(errors_of({"say", "hello"}, 0), "");
  EXPECT_EQ(errors_of({"make", "one"}, 0), "");
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(said_, "hello");
}

// As absl's flags.
TEST_F(CommandsTest, OptionsOfTrueOrFalseNeedNoValue) {
  const auto twice_after = [&](std::vector<const char*> arguments) {
    twice_ = false;
    said_.clear();
    EXPECT_EQ(errors_of(std::move(arguments), 0), "");
    EXPECT_EQ(said_, "hello");
    return twice_;
  };
  EXPECT_TRUE(twice_after({"say", "hello", "--twice", "--times", "3"}));
  EXPECT_TRUE(twice_after({"say", "--twice", "hello"}));
  EXPECT_TRUE(twice_after({"say", "hello", "--twice"}));
  EXPECT_TRUE(twice_after({"say", "hello", "--twice", "true"}));
  EXPECT_FALSE(twice_after({"say", "hello", "--twice", "false"}));
  EXPECT_FALSE(twice_after({"say", "hello", "--twice=False"}));
  EXPECT_THAT(errors_of({"say", "hello", "--twice=yes"}, 2), HasSubstr("expected true or false"));
}

TEST_F(CommandsTest, HelpHasAllButSecrets) {
  EXPECT_THAT(line_.help(), HasSubstr("Usage: program [OPTIONS] COMMAND ...\n"));
  EXPECT_THAT(line_.help(), HasSubstr("\nCommands:\n  say   Says it\n  make  Makes it\n"));
  EXPECT_THAT(line_.help(), ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(line_.find_command("say")->help(),
            "Says it\n\n"
            "Usage: program say [OPTIONS] what\n\n"
            "  what  What is said\n\n"
            "Options:\n"
            "  --times N           How often [1 to 9; default 1]\n"
            "  --size SIZE         How loud [default 100MB]\n"
            "  --twice true|false  Again [default true]\n"
            "  --voice his|hers    Whose [default hers]\n"
            "  -h,--help           Shows this text\n\n"
            "Examples:\n"
            "  program say hello --times 3\n");
}

TEST_F(CommandsTest, WrongArgumentsNameTheCommand) {
  const struct {
    std::vector<const char*> arguments;
    std::string error;
  } rows[] = {
      {{},
       "program: command, got none, expected one of say, make, help\n"
       "program help lists the commands\n"},
      {{"sya"},
       "program: no command 'sya', did you mean 'say'?\nprogram help lists the commands\n"},
      {{"say"},
       "program say: what, got none, expected some: What is said\n"
       "program help say explains the options\n"},
      {{"say", "--tmies", "3"},
       "program say: no option '--tmies', did you mean '--times'?\n"
       "program help say explains the options\n"},
      {{"say", "a", "--help=3"},
       "program say: --help: got a value, expected none\n"
       "program help say explains the options\n"},
      {{"say", "a", "b"},
       "program say: got 'b', expected no more arguments\n"
       "program help say explains the options\n"},
      {{"make"},
       "program make: command, got none, expected one of one, two\n"
       "program help make lists the commands\n"},
      {{"make", "too"},
       "program make: no command 'too', did you mean 'two'?\n"
       "program help make lists the commands\n"},
      {{"make", "one", "x"},
       "program make one: got 'x', expected no arguments\n"
       "program help make one explains the options\n"},
      {{"make", "two"},
       "program make two: not today\nprogram help make two explains the options\n"},
      {{"help", "--all"}, "program help: no option '--all'\nprogram help lists the commands\n"},
  };
  for (const auto& [arguments, error] : rows) EXPECT_EQ(errors_of(arguments), error);
  EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace systole
