// The options and commands of a program.
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

// An option as the help shows it.
struct OptionText {
  std::vector<std::string> names;  // {"-n", "--size"}; {"file"} of a positional argument
  bool positional = false;
  bool repeated = false;  // takes more than one value
  bool required = false;
  std::string value;  // "FILE", "GZIP|ZLIB"; empty if it takes none
  std::string text;   // with the notes in brackets
};

// A command as the help shows it, for pages and completions that are made from it. Hidden commands
// are left out.
struct CommandText {
  std::string name;
  std::string full_name;  // "systole data convert"
  std::string summary;
  std::string usage;  // "systole data convert [OPTIONS] input output"
  std::vector<OptionText> options;
  std::vector<std::string> examples;  // whole lines
  std::vector<CommandText> commands;
};

// A declared option: a handle, valid as long as its command line. Each method configures it and
// returns it.
class CommandLineOption {
 public:
  CommandLineOption required() const;
  // Shows the current value of the variable in the help.
  CommandLineOption show_default() const;
  // Restricts the values of a number.
  CommandLineOption positive() const;
  CommandLineOption not_negative() const;
  CommandLineOption between(int64_t least, int64_t most) const;
  // Takes a number of bytes: "100MB", "64KiB".
  CommandLineOption as_bytes() const;
  // Restricts the value to these texts, which the help shows as "GZIP|ZLIB". The empty text is
  // allowed if it is among them.
  CommandLineOption one_of(const std::vector<std::string>& texts) const;
  // Sets the name of the value in the help: "FILE".
  CommandLineOption value_name(const std::string& name) const;
  // Splits one argument into several values: "a,b".
  CommandLineOption separated_by(char separator) const;
  // Takes one value for each time that the option is given, rather than all that follow.
  CommandLineOption one_each() const;
  // Excludes another option.
  CommandLineOption excludes(const CommandLineOption& other) const;

 private:
  friend class CommandLine;
  explicit CommandLineOption(CLI::Option& option) : option_(&option) {}
  CLI::Option* option_;
};

// Thrown by an action that has printed its error: run() returns the code.
struct ExitStatus {
  int code;
};

// Thrown by an action for wrong arguments.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The command line of a program or of one of its commands. run() sets the variables of options,
// which must outlive it. Not thread-safe.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& summary);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // `names` is "-n,--size", or a name without dashes for a positional argument. The variable keeps
  // its value if the option is not given. T is std::string, bool, char, int, int64_t, uint64_t,
  // double, std::optional of int64_t, uint64_t or std::string, or std::vector<std::string>.
  template <class T>
  CommandLineOption option(const std::string& names, T& value, const std::string& meaning = "");
  // Adds an option without a value: "--json", or with its opposite "--header,!--no-header".
  CommandLineOption flag(const std::string& names, bool& value, const std::string& meaning = "");
  // Adds --version and -V, which print the text.
  void version(const std::string& text, const std::string& meaning);

  // Adds a command, which this object owns.
  CommandLine& command(const std::string& name, const std::string& summary);
  void require_command();
  // Hides this command in the help of its parent.
  void hide();
  // Returns null if there is no such command.
  const CommandLine* find_command(const std::string& name) const;
  // Returns the error for an unknown command: "no command 'trian', did you mean 'train'?".
  std::string no_command(const std::string& name) const;
  // Adds a line to the Examples of the help: the arguments after the command's name.
  void example(const std::string& arguments);

  // Lets the options that this line has so far, but for --help and --version, stand behind the
  // names of its commands, too: `program say --color never`.
  void share_options();

  // Sets an action that run() calls before those of the commands.
  void before_run(const std::function<void()>& action);
  // Sets the action. run() calls it after all arguments are read.
  void on_run(const std::function<void()>& action);

  std::string name() const;
  // Returns the name with those of all parents: "systole data convert".
  std::string full_name() const { return full_name_; }
  // Returns the help, as wide as the terminal, or 100 columns.
  std::string help() const;
  CommandText text() const;

  // Reads the arguments and calls the actions of the commands that they name. Returns the exit
  // code: 0; 1 if an action throws or standard output cannot be written, with a message on standard
  // error; 2 if the arguments are wrong, with the reason.
  int run(int argc, const char* const* argv);

 private:
  CommandLine(const CommandLine& above, CLI::App& app);
  // The line that shares its options with this one, itself or above; null if there is none.
  const CommandLine* sharer() const;
  // Returns the arguments with the shared options before the names of commands.
  std::vector<const char*> shared_first(int argc, const char* const* argv) const;
  // Returns the innermost command that the arguments named.
  const CommandLine& chosen() const;
  int parse(int argc, const char* const* argv);
  int usage_error(const std::string& what) const;

  std::unique_ptr<CLI::App> root_;  // null for a command
  CLI::App& app_;
  std::string full_name_;
  const CommandLine* above_ = nullptr;  // null for the program's
  std::vector<const CLI::Option*> shared_;
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

}  // namespace systole
