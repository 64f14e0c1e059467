#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "apps/systole/manual/choices.h"
#include "apps/systole/manual/completion.h"
#include "apps/systole/manual/man_page.h"

namespace systole::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A tree of commands with every kind of option.
struct Program {
  Program() {
    line.version("1.0", "Shows the version");
    CommandLine& data = line.command("data", "Reads 'data'. And more");
    CommandLine& convert = data.command("convert", "Converts [a] file: to TFRecord");
    convert.option("--format,-f", text, "What it is").one_of({"csv", "idx"});
    convert.option("--rows", number, "Rows; others are left out").show_default();
    convert.option("--out", text, "Result").value_name("FOLDER").required();
    convert.option("input", names, "Files to read").required();
    convert.example("--format csv a.csv");
    line.command("secret", "Not shown").hide();
  }
  std::string text;
  int64_t number = 3;
  std::vector<std::string> names;
  CommandLine line{"tool", "Does things."};
};

TEST(CommandText, HoldsTheTree) {
  const CommandText root = Program().line.text();
  ASSERT_THAT(root.commands, SizeIs(1)) << "hidden commands are left out";
  const CommandText& convert = root.commands[0].commands.at(0);
  EXPECT_EQ(convert.full_name, "tool data convert");
  EXPECT_EQ(convert.usage, "tool data convert [OPTIONS] input...");
  EXPECT_THAT(convert.examples, ElementsAre("tool data convert --format csv a.csv"));
  ASSERT_THAT(convert.options, SizeIs(5)) << "with --help";
  EXPECT_THAT(convert.options[1].names, ElementsAre("-f", "--format"));
  EXPECT_THAT(choices_of(convert.options[1]), ElementsAre("csv", "idx"));
  EXPECT_EQ(convert.options[2].text, "Rows; others are left out [default 3]");
  EXPECT_TRUE(convert.options[3].required);
  EXPECT_EQ(kind_of(convert.options[3]), ValueKind::folder);
  EXPECT_TRUE(convert.options[4].positional && convert.options[4].repeated);
}

TEST(ManPages, AreOnePerCommand) {
  const auto pages = man_pages(Program().line.text(), "1.0");
  ASSERT_THAT(pages, SizeIs(3));
  EXPECT_EQ(pages[2].file, "tool-data-convert.1");
  EXPECT_THAT(pages[2].text, HasSubstr(".TH TOOL\\-DATA\\-CONVERT 1"));
  EXPECT_THAT(pages[2].text, HasSubstr("\\fB\\-f\\fR, \\fB\\-\\-format\\fR \\fIcsv|idx\\fR"));
  EXPECT_THAT(pages[2].text, HasSubstr("tool data convert \\-\\-format csv a.csv"));
  EXPECT_THAT(pages[1].text, HasSubstr("\\fBtool\\-data\\-convert\\fR(1)"));
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    output += static_cast<char>(c);
  }
  return output;
}

bool has(const char* program) { return !output_of(std::string("command -v ") + program).empty(); }

class Scripts : public ::testing::Test {
 protected:
  // Writes a script and returns its name.
  std::string script(const std::string& text) {
    path_ = ::testing::TempDir() + "systole_completion_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override {
    if (!path_.empty()) std::remove(path_.c_str());
  }

 private:
  std::string path_;
};

// What bash would offer for the last of the words.
std::string completed(const std::string& script, const std::string& words) {
  return output_of("bash -c '. " + script + "; COMP_WORDS=(" + words +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _tool; echo \"${COMPREPLY[@]}\"'");
}

TEST_F(Scripts, BashCompletesCommandsOptionsAndValues) {
  const std::string file = script(bash_completion(Program().line.text()));
  EXPECT_EQ(completed(file, "tool d"), "data\n");
  EXPECT_EQ(completed(file, "tool data \"\""), "convert\n");
  EXPECT_EQ(completed(file, "tool data convert --f"), "--format\n");
  EXPECT_EQ(completed(file, "tool data convert --format \"\""), "csv idx\n");
  EXPECT_EQ(completed(file, "tool data convert --format = i"), "idx\n");
  EXPECT_EQ(completed(file, "tool data convert --rows \"\""), "\n");
  EXPECT_EQ(completed(file, "tool s"), "\n") << "hidden";
}

TEST_F(Scripts, ZshReadsItsScript) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  const std::string file = script(zsh_completion(Program().line.text()));
  EXPECT_EQ(output_of("zsh -n " + file + " 2>&1"), "");
  EXPECT_THAT(output_of("zsh -fc 'autoload compinit; compinit -u -D; . " + file +
                        "; echo ${_comps[tool]}' 2>&1"),
              HasSubstr("_tool"));
}

TEST_F(Scripts, FishCompletesCommandsOptionsAndValues) {
  if (!has("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string file = script(fish_completion(Program().line.text()));
  const auto offered = [&](const std::string& line) {
    return output_of("fish --no-config -c '. " + file + "; complete -C \"" + line + "\"' 2>&1");
  };
  EXPECT_EQ(offered("tool d"), "data\tReads 'data'\n");
  EXPECT_THAT(offered("tool data convert --format "), HasSubstr("csv"));
  EXPECT_THAT(offered("tool data convert --"), HasSubstr("--rows\tRows"));
}

// The pages have no error of troff's.
TEST_F(Scripts, ManReadsThePages) {
  if (!has("man")) GTEST_SKIP() << "man is not installed";
  const std::string file = script(man_pages(Program().line.text(), "1.0")[2].text);
  EXPECT_THAT(output_of("MANWIDTH=80 man -l --warnings " + file + " 2>&1"),
              HasSubstr("-f, --format csv|idx"));
}

}  // namespace
}  // namespace systole::app
