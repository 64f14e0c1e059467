// The one file that includes CLI11: its headers take longer to compile than most files of ours.
#include "systole/base/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace systole {
namespace {

// CLI11's own names the largest double there is. `name` stands in the help.
CLI::Validator number_check(const char* name, const char* wanted, bool (*is_good)(double)) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && is_good(value)) return "";
        return fmt::format("got '{}', expected {}", text, wanted);
      },
      name);
}

}  // namespace

CommandLineOption CommandLineOption::required() const {
  option_->required();
  return *this;
}
CommandLineOption CommandLineOption::show_default() const {
  option_->capture_default_str();
  return *this;
}
CommandLineOption CommandLineOption::positive() const {
  option_->check(
      number_check("POSITIVE", "a number above 0", [](double value) { return value > 0; }));
  return *this;
}
CommandLineOption CommandLineOption::not_negative() const {
  option_->check(number_check("NONNEGATIVE", "0 or more", [](double value) { return value >= 0; }));
  return *this;
}
CommandLineOption CommandLineOption::between(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}
CommandLineOption CommandLineOption::as_bytes() const {
  option_->transform(CLI::AsSizeValue(true));
  return *this;
}
CommandLineOption CommandLineOption::separated_by(char separator) const {
  option_->delimiter(separator);
  return *this;
}
CommandLineOption CommandLineOption::one_each() const {
  option_->allow_extra_args(false);
  return *this;
}
CommandLineOption CommandLineOption::excludes(const CommandLineOption& other) const {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::CommandLine(const std::string& name, const std::string& summary)
    : root_(std::make_unique<CLI::App>(summary, name)), app_(*root_) {}
CommandLine::CommandLine(CLI::App& app) : app_(app) {}
CommandLine::~CommandLine() = default;

template <class T>
CommandLineOption CommandLine::option(const std::string& names, T& value,
                                      const std::string& meaning) {
  return CommandLineOption(*app_.add_option(names, value, meaning));
}
template CommandLineOption CommandLine::option(const std::string&, std::string&,
                                               const std::string&);
template CommandLineOption CommandLine::option(const std::string&, bool&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, char&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, int&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, int64_t&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, uint64_t&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, double&, const std::string&);
template CommandLineOption CommandLine::option(const std::string&, std::optional<int64_t>&,
                                               const std::string&);
template CommandLineOption CommandLine::option(const std::string&, std::optional<uint64_t>&,
                                               const std::string&);
template CommandLineOption CommandLine::option(const std::string&, std::vector<std::string>&,
                                               const std::string&);

CommandLineOption CommandLine::flag(const std::string& names, bool& value,
                                    const std::string& meaning) {
  return CommandLineOption(*app_.add_flag(names, value, meaning));
}

void CommandLine::version(const std::string& text, const std::string& meaning) {
  app_.set_version_flag("--version", text, meaning);
}

CommandLine& CommandLine::command(const std::string& name, const std::string& summary) {
  commands_.push_back(
      std::unique_ptr<CommandLine>(new CommandLine(*app_.add_subcommand(name, summary))));
  return *commands_.back();
}

void CommandLine::require_command() { app_.require_subcommand(1); }
void CommandLine::hide() { app_.group(""); }

const CommandLine* CommandLine::find_command(const std::string& name) const {
  for (const auto& command : commands_) {
    if (command->name() == name) return command.get();
  }
  return nullptr;
}

void CommandLine::on_run(const std::function<void()>& action) { app_.callback(action); }

std::string CommandLine::name() const { return app_.get_name(); }

std::string CommandLine::help() const {
  return app_.get_formatter()->make_help(&app_, name(), CLI::AppFormatMode::Normal);
}

int CommandLine::usage_error(const std::string& what) const {
  const std::string where = commands_.empty() ? name() + " --help explains the options"
                                              : name() + " help COMMAND explains a command";
  fmt::print(stderr, "{}: {}\n{}\n", name(), what, where);
  return 2;
}

int CommandLine::run(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const ExitStatus& status) {
    return status.code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_.exit(error);  // --help, --version
    return usage_error(error.what());
  } catch (const UsageError& error) {
    return usage_error(error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace systole
