// The options and commands of a program, as people write them behind its name.
//
//   Flags flags;
//   st::CommandLine line("iris_session", "Trains a network on the iris data set.");
//   line.option("--epochs", flags.epochs, "Passes over the data").show_default().positive();
//   line.flag("--report", flags.report, "Show what was learned");
//   line.on_run([&] { train(flags); });
//   return line.run(argc, argv);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace systole {

// An option as it was declared: a handle, valid as long as its command line. Each method says more
// of it and returns it again.
class CommandLineOption {
 public:
  CommandLineOption required() const;
  // The help shows the value that the variable has now.
  CommandLineOption show_default() const;
  // Numbers that are taken.
  CommandLineOption positive() const;
  CommandLineOption not_negative() const;
  CommandLineOption between(int64_t least, int64_t most) const;
  // A number of bytes: "100MB", "64KiB".
  CommandLineOption as_bytes() const;
  // Texts that are taken, which the help shows as "GZIP|ZLIB". An empty one is taken too when it
  // is among them.
  CommandLineOption one_of(const std::vector<std::string>& texts) const;
  // What the help calls the value: "FILE".
  CommandLineOption value_name(const std::string& name) const;
  // One argument is several values: "a,b".
  CommandLineOption separated_by(char separator) const;
  // A value each time that the option is named, not all that follow.
  CommandLineOption one_each() const;
  // Not both.
  CommandLineOption excludes(const CommandLineOption& other) const;

 private:
  friend class CommandLine;
  explicit CommandLineOption(CLI::Option& option) : option_(&option) {}
  CLI::Option* option_;
};

// What an action throws that has itself said what is wrong: run() returns its code.
struct ExitStatus {
  int code;
};

// What an action throws when the arguments are wrong in a way that it alone can see.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A program's command line, or that of one of its commands. Variables of options are set while
// run() reads the arguments and must outlive that. Not thread-safe.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& summary);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // `names`: "-n,--size", or without dashes for an argument known by its place. The variable keeps
  // its value where the option is not given. T is std::string, bool, char, int, int64_t, uint64_t,
  // double, std::optional of int64_t, uint64_t or std::string, or std::vector<std::string>.
  template <class T>
  CommandLineOption option(const std::string& names, T& value, const std::string& meaning = "");
  // An option without a value: "--json", or with its opposite "--header,!--no-header".
  CommandLineOption flag(const std::string& names, bool& value, const std::string& meaning = "");
  // --version, which prints the text.
  void version(const std::string& text, const std::string& meaning);

  // A command below this one, which owns it.
  CommandLine& command(const std::string& name, const std::string& summary);
  void require_command();
  // Leaves this command out of the help of the one above.
  void hide();
  // Null when there is no such command.
  const CommandLine* find_command(const std::string& name) const;
  // "no command 'trian', did you mean 'train'?": what is said when there is none.
  std::string no_command(const std::string& name) const;
  // A line below the help's heading Examples: what stands behind the command's name.
  void example(const std::string& arguments);

  // What it is for: called when all arguments are read.
  void on_run(const std::function<void()>& action);

  std::string name() const;
  // The name with those of all lines above: "systole data convert".
  std::string full_name() const { return full_name_; }
  // As wide as the terminal, or 100 columns.
  std::string help() const;

  // Reads the arguments, calls the actions of the commands that they name, and returns the
  // program's exit code: 0; 1 when an action throws or standard output cannot be written, with a
  // message on standard error; 2 when the arguments are wrong, with what is wrong about them.
  int run(int argc, const char* const* argv);

 private:
  CommandLine(const CommandLine& above, CLI::App& app);
  // The one of this line and its commands that the arguments named.
  const CommandLine& chosen() const;
  int parse(int argc, const char* const* argv);
  int usage_error(const std::string& what) const;

  std::unique_ptr<CLI::App> root_;  // null for a command
  CLI::App& app_;
  std::string full_name_;
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

}  // namespace systole
