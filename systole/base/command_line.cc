// The only file that includes CLI11, whose headers take long to compile.
#include "systole/base/command_line.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <system_error>

#include "systole/base/color.h"
#include "systole/base/help_text.h"
#include "systole/base/standard_streams.h"
#include "systole/base/suggest.h"

namespace systole {
namespace {

// -- Values. CLI11's own checks clamp numbers that do not fit and show C++ type names. The
// description of a check appears in the help.

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [at, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || at != end) return std::nullopt;
  return value;
}

std::string not_taken(const std::string& text, const std::string& wanted) {
  return fmt::format("got '{}', expected {}", text, wanted);
}

CLI::Validator number_check(const std::string& note, const std::string& wanted,
                            const std::function<bool(double)>& is_good) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        const auto value = number_of<double>(text);
        return value && is_good(*value) ? "" : not_taken(text, wanted);
      },
      note);
}

bool is_truth_value(std::string_view text) {
  const std::string lower = CLI::detail::to_lower(std::string(text));
  return lower == "true" || lower == "false" || lower == "0" || lower == "1";
}

template <class T>
struct ValueType {
  static constexpr const char* kName = "TEXT";
  static void check(CLI::Option& /*option*/) {}
};

template <class T>
struct IntegerType {
  static constexpr const char* kName = "N";
  static void check(CLI::Option& option) {
    option.check([](const std::string& text) {
      if (number_of<T>(text)) return std::string();
      const size_t digits = text.starts_with('-') ? 1 : 0;
      const bool is_integer =
          digits < text.size() && text.find_first_not_of("0123456789", digits) == std::string::npos;
      using Limits = std::numeric_limits<T>;
      return not_taken(
          text, is_integer ? fmt::format("{} to {}", Limits::min(), Limits::max()) : "an integer");
    });
  }
};
template <>
struct ValueType<int> : IntegerType<int> {};
template <>
struct ValueType<int64_t> : IntegerType<int64_t> {};
template <>
struct ValueType<uint64_t> : IntegerType<uint64_t> {};
template <>
struct ValueType<std::optional<int64_t>> : IntegerType<int64_t> {};
template <>
struct ValueType<std::optional<uint64_t>> : IntegerType<uint64_t> {};

template <>
struct ValueType<double> {
  static constexpr const char* kName = "X";
  static void check(CLI::Option& option) {
    option.check(number_check("", "a number", [](double value) { return std::isfinite(value); }));
  }
};
template <>
struct ValueType<bool> {
  static constexpr const char* kName = "true|false";
  static void check(CLI::Option& option) {
    option.check([](const std::string& text) {
      return is_truth_value(text) ? std::string() : not_taken(text, "true or false");
    });
  }
};
template <>
struct ValueType<char> {
  static constexpr const char* kName = "C";
  static void check(CLI::Option& option) {
    option.check([](const std::string& text) {
      return text.size() == 1 ? std::string() : not_taken(text, "one character");
    });
  }
};

CLI::Validator bytes_check() {
  return CLI::Validator(
      [](std::string& text) {
        const std::string given = text;
        std::string wrong;
        try {
          wrong = CLI::AsSizeValue(true)(text);
        } catch (const CLI::ValidationError& error) {
          wrong = error.what();
        }
        return wrong.empty() && number_of<uint64_t>(text)
                   ? ""
                   : not_taken(given, "a number of bytes such as 100MB or 64KiB");
      },
      "");
}

// -- The help.

constexpr const char* kSize = "SIZE";

// Returns "100MB" for 100000000.
std::string size_text(const std::string& bytes) {
  std::string text = bytes;
  for (const char* unit : {"", "kB", "MB", "GB"}) {
    if (!text.ends_with("000")) return text + unit;
    text.resize(text.size() - 3);
  }
  return bytes;
}

// Stands for ':' in the names of types: behind the first ':' CLI11 puts what checks say.
constexpr char kColon = '\x1f';

// "N:above 0" is the type name of an option with a check that says so.
std::pair<std::string, std::string> type_and_note(const CLI::Option& option) {
  const std::string whole = option.get_type_name();
  const size_t colon = std::min(whole.find(':'), whole.size());
  std::string type = whole.substr(0, colon);
  std::ranges::replace(type, kColon, ':');
  return {type, whole.substr(std::min(colon + 1, whole.size()))};
}

// Returns a default value in readable form.
std::string default_text(const std::string& type, const std::string& value) {
  if (type == kSize) return size_text(value);
  if (type == ValueType<bool>::kName) return value == "1" ? "true" : "false";
  return value;
}

// Returns the meaning of an option with the notes in brackets.
std::string option_text(const CLI::Option& option) {
  const auto [type, note] = type_and_note(option);
  std::string text = option.get_description();
  std::vector<std::string> notes;
  if (!option.get_positional() && option.get_required()) notes.emplace_back("required");
  if (!note.empty()) notes.push_back(note);
  const std::string otherwise = option.get_default_str();
  if (!otherwise.empty()) notes.push_back("default " + default_text(type, otherwise));
  if (!notes.empty()) text += fmt::format(" [{}]", fmt::join(notes, "; "));
  if (text.starts_with(' ')) text.erase(0, 1);
  return text;
}

// Returns "-n,--size", or the name of a positional argument.
std::string option_label(const CLI::Option& option) {
  const bool positional = option.get_positional();
  std::string label = option.get_name(positional, !positional);
  // "--no-header{false}"
  if (const size_t brace = label.find('{'); brace != std::string::npos) label.resize(brace);
  return label;
}

HelpRow option_row(const CLI::Option& option) {
  HelpRow row{option_label(option), option_text(option)};
  const std::string type = type_and_note(option).first;
  if (!option.get_positional() && !type.empty()) row.label += " " + type;
  return row;
}

bool takes_many(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::vector<HelpRow> option_rows(const CLI::App& app, bool positional) {
  std::vector<HelpRow> rows;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == positional) rows.push_back(option_row(*option));
  }
  // --help last
  if (!positional && !rows.empty()) std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  return rows;
}

std::vector<HelpRow> command_rows(const CLI::App& app) {
  std::vector<HelpRow> rows;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      rows.push_back({command->get_name(), command->get_description()});
    }
  }
  return rows;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const HelpRow& row : command_rows(app)) names.push_back(row.label);
  return names;
}

std::string usage_of(const CLI::App& app) {
  std::string usage = " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true, false) + (takes_many(*option) ? "..." : "");
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  return usage + (app.get_subcommands({}).empty() ? "" : " COMMAND ...");
}

// -- Error texts.

std::string no_such(const char* what, const std::string& name,
                    const std::vector<std::string>& names) {
  return fmt::format("no {} '{}'{}", what, name, did_you_mean(name, names));
}

// Returns the long names: single letters are all near to each other.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns the error for an argument that nothing takes.
std::string leftover_text(const CLI::App& app, const std::string& argument) {
  if (argument.size() > 1 && argument.starts_with('-')) {
    return no_such("option", argument.substr(0, argument.find('=')), option_names(app));
  }
  const auto options = app.get_options();
  const bool takes_some = std::ranges::any_of(options, &CLI::Option::get_positional);
  return fmt::format("got '{}', expected {}", argument,
                     takes_some ? "no more arguments" : "no arguments");
}

// CLI11 names the options of an error only in its text, so they are found again from the arguments.

std::string missing_text(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required() && option->count() == 0) {
      const std::string meaning = option->get_description();
      return fmt::format("{}, got none, expected some{}{}", option->get_name(),
                         meaning.empty() ? "" : ": ", meaning);
    }
  }
  return fmt::format("command, got none, expected one of {}", fmt::join(command_names(app), ", "));
}

std::optional<std::string> excluded_text(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_excludes()) {
      if (other->count() == 0) continue;
      return fmt::format("got {} and {}, expected one of them", option->get_name(),
                         other->get_name());
    }
  }
  return std::nullopt;
}

using Arguments = std::span<const char* const>;

// Returns the option that an argument names, or null.
const CLI::Option* named_option(const CLI::App& app, std::string_view argument) {
  if (argument.size() < 2 || !argument.starts_with('-')) return nullptr;
  return app.get_option_no_throw(std::string(argument.substr(0, argument.find('='))));
}

// Returns whether the argument has a value after '='.
bool has_value(std::string_view argument) {
  const size_t equals = argument.find('=');
  return equals != std::string_view::npos && equals + 1 < argument.size();
}

std::string no_value_text(const CLI::Option& option) {
  return fmt::format("{}: got no value, expected {}", option.get_name(),
                     type_and_note(option).first);
}

// Returns the error for an option that took the next option's name as its value.
std::optional<std::string> taken_name_text(const CLI::App& app, Arguments arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    const CLI::Option* option = named_option(app, arguments[i]);
    if (option == nullptr || has_value(arguments[i])) continue;
    if (type_and_note(*option).first.empty()) continue;
    if (named_option(app, arguments[i + 1]) != nullptr) return no_value_text(*option);
  }
  return std::nullopt;
}

// Returns the error for an option with too many or too few values.
std::optional<std::string> mismatch_text(const CLI::App& app, Arguments arguments) {
  for (const CLI::Option* option : app.get_options()) {
    const auto most = static_cast<size_t>(option->get_items_expected_max());
    if (most > 0 && option->results().size() > most) {
      return fmt::format("{}: got {} values, expected {}", option->get_name(),
                         option->results().size(),
                         most == 1 ? "one" : fmt::format("at most {}", most));
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const CLI::Option* option = named_option(app, argument);
    if (option == nullptr) continue;
    const bool valued = has_value(argument);
    const bool flag = type_and_note(*option).first.empty();
    if (flag && valued) return option->get_name() + ": got a value, expected none";
    const bool ends = i + 1 == arguments.size() || named_option(app, arguments[i + 1]) != nullptr;
    if (!flag && !valued && ends) return no_value_text(*option);
  }
  return std::nullopt;
}

std::string error_text(const CLI::App& app, const CLI::ParseError& error, Arguments arguments) {
  std::optional<std::string> text;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr ||
      dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    text = mismatch_text(app, arguments);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    text = missing_text(app);
  } else if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    // The options may be those that all commands share.
    for (const CLI::App* at = &app; at != nullptr && !text; at = at->get_parent()) {
      text = excluded_text(*at);
    }
  }
  return text.value_or(error.what());
}

// "program:", in red on a terminal.
std::string error_prefix(const std::string& program) {
  return styled(Style::red, program + ":", stderr);
}

std::string heading(const char* text) { return styled(Style::bold, text, stdout) + "\n"; }

// Gives options of true or false that have no value the value true: "--do_train --do_eval".
std::vector<std::string> with_bare_truths(const CLI::App& app, Arguments arguments) {
  std::vector<std::string> result;
  const CLI::App* at = &app;
  bool options_ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    result.emplace_back(arguments[i]);
    if (i == 0 || options_ended) continue;
    options_ended = result.back() == "--";
    const auto commands = at->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == arguments[i]; });
    if (!commands.empty()) at = commands[0];
    const CLI::Option* option = named_option(*at, result.back());
    if (option == nullptr || type_and_note(*option).first != ValueType<bool>::kName) continue;
    const bool bare = result.back().find('=') == std::string::npos;
    if (bare && (i + 1 == arguments.size() || !is_truth_value(arguments[i + 1]))) {
      result.emplace_back("true");
    }
  }
  return result;
}

// Reports that standard output cannot be written. Returns the exit code.
int output_error(const std::string& program, const std::string& what) {
  print_error("{} standard output: cannot write, got '{}'\n", error_prefix(program), what);
  return 1;
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
      number_check("above 0", "a number above 0", [](double value) { return value > 0; }));
  return *this;
}
CommandLineOption CommandLineOption::not_negative() const {
  option_->check(number_check("0 or more", "0 or more", [](double value) { return value >= 0; }));
  return *this;
}
CommandLineOption CommandLineOption::between(int64_t least, int64_t most) const {
  const std::string range = fmt::format("{} to {}", least, most);
  option_->check(number_check(range, range, [=](double value) {
    return value >= static_cast<double>(least) && value <= static_cast<double>(most);
  }));
  return *this;
}
CommandLineOption CommandLineOption::as_bytes() const {
  option_->transform(bytes_check());
  return value_name(kSize);
}
CommandLineOption CommandLineOption::one_of(const std::vector<std::string>& texts) const {
  std::vector<std::string> shown = texts;
  std::erase(shown, "");
  option_->check([=](const std::string& text) {
    if (std::ranges::find(texts, text) != texts.end()) return std::string();
    return not_taken(text,
                     fmt::format("{}{}", fmt::join(shown, " or "), did_you_mean(text, shown)));
  });
  return value_name(fmt::format("{}", fmt::join(shown, "|")));
}
CommandLineOption CommandLineOption::value_name(const std::string& name) const {
  std::string type = name;
  std::ranges::replace(type, ':', kColon);
  option_->type_name(type);
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
    : root_(std::make_unique<CLI::App>(summary, name)), app_(*root_), full_name_(name) {
  app_.set_help_flag("-h,--help", "Shows this text")->disable_flag_override();
}
CommandLine::CommandLine(const CommandLine& above, CLI::App& app)
    : app_(app), full_name_(above.full_name_ + " " + app.get_name()), above_(&above) {
  app_.get_option("--help")->disable_flag_override();  // its own, made like the one above
}
CommandLine::~CommandLine() = default;

template <class T>
CommandLineOption CommandLine::option(const std::string& names, T& value,
                                      const std::string& meaning) {
  CLI::Option& option = *app_.add_option(names, value, meaning);
  option.type_name(ValueType<T>::kName);
  ValueType<T>::check(option);
  return CommandLineOption(option);
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
template CommandLineOption CommandLine::option(const std::string&, std::optional<std::string>&,
                                               const std::string&);
template CommandLineOption CommandLine::option(const std::string&, std::vector<std::string>&,
                                               const std::string&);

CommandLineOption CommandLine::flag(const std::string& names, bool& value,
                                    const std::string& meaning) {
  return CommandLineOption(*app_.add_flag(names, value, meaning)->disable_flag_override());
}

void CommandLine::version(const std::string& text, const std::string& meaning) {
  app_.set_version_flag("-V,--version", text, meaning)->disable_flag_override();
}

void CommandLine::share_options() {
  for (const CLI::Option* option : app_.get_options()) {
    const bool special = option->check_lname("help") || option->check_lname("version");
    if (!special && !option->get_positional()) shared_.push_back(option);
  }
}

const CommandLine* CommandLine::sharer() const {
  const CommandLine* line = this;
  while (line != nullptr && line->shared_.empty()) line = line->above_;
  return line;
}

std::vector<const char*> CommandLine::shared_first(int argc, const char* const* argv) const {
  std::vector<const char*> first;
  std::vector<const char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (i > 0 && std::string_view(argv[i]) == "--") {
      rest.insert(rest.end(), argv + i, argv + argc);
      break;
    }
    const CLI::Option* option = i == 0 ? nullptr : named_option(app_, argv[i]);
    const bool shared = option != nullptr && std::ranges::find(shared_, option) != shared_.end();
    (shared || i == 0 ? first : rest).push_back(argv[i]);
    const bool value_follows = shared && !type_and_note(*option).first.empty() &&
                               std::string_view(argv[i]).find('=') == std::string_view::npos;
    if (value_follows && i + 1 < argc) first.push_back(argv[++i]);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

void CommandLine::before_run(const std::function<void()>& action) {
  app_.parse_complete_callback(action);
}

CommandLine& CommandLine::command(const std::string& name, const std::string& summary) {
  commands_.push_back(
      std::unique_ptr<CommandLine>(new CommandLine(*this, *app_.add_subcommand(name, summary))));
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

std::string CommandLine::no_command(const std::string& name) const {
  return no_such("command", name, command_names(app_));
}

void CommandLine::example(const std::string& arguments) { examples_.push_back(arguments); }

void CommandLine::on_run(const std::function<void()>& action) { app_.callback(action); }

std::string CommandLine::name() const { return app_.get_name(); }

std::string CommandLine::help() const {
  const size_t width = terminal_width();
  std::string examples;
  for (const std::string& arguments : examples_) {
    examples += fmt::format("  {}{}{}\n", full_name_, arguments.empty() ? "" : " ", arguments);
  }
  const CommandLine* const above = above_ == nullptr ? nullptr : above_->sharer();
  std::vector<HelpRow> shared;
  if (above != nullptr) {
    for (const CLI::Option* option : above->shared_) shared.push_back(option_row(*option));
  }
  return fmt::format("{}\n\n{} {}{}\n{}{}{}{}{}{}", wrapped(app_.get_description(), 0, width),
                     styled(Style::bold, "Usage:", stdout), full_name_, usage_of(app_),
                     help_rows("", option_rows(app_, true), width),
                     help_rows(heading("Commands:"), command_rows(app_), width),
                     help_rows(heading("Options:"), option_rows(app_, false), width),
                     help_rows(heading("Options of all commands:"), shared, width),
                     examples.empty() ? "" : "\n" + heading("Examples:"), examples);
}

CommandText CommandLine::text() const {
  CommandText text{.name = name(),
                   .full_name = full_name_,
                   .summary = app_.get_description(),
                   .usage = full_name_ + usage_of(app_)};
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app_.get_options()) options.push_back(option);
  const CommandLine* const above = above_ == nullptr ? nullptr : above_->sharer();
  if (above != nullptr) options.insert(options.end(), above->shared_.begin(), above->shared_.end());
  for (const CLI::Option* option : options) {
    text.options.push_back({.names = CLI::detail::split(option_label(*option), ','),
                            .positional = option->get_positional(),
                            .repeated = takes_many(*option),
                            .required = option->get_required(),
                            .value = type_and_note(*option).first,
                            .text = option_text(*option)});
  }
  for (const std::string& arguments : examples_) {
    text.examples.push_back(full_name_ + (arguments.empty() ? "" : " ") + arguments);
  }
  for (const auto& command : commands_) {
    if (!command->app_.get_group().empty()) text.commands.push_back(command->text());
  }
  return text;
}

const CommandLine& CommandLine::chosen() const {
  const auto parsed = app_.get_subcommands();
  const CommandLine* below = parsed.empty() ? nullptr : find_command(parsed.back()->get_name());
  return below == nullptr ? *this : below->chosen();
}

// Points to the command `help` if there is one.
int CommandLine::usage_error(const std::string& what) const {
  const CommandLine& at = chosen();
  const CommandLine* help = find_command("help");
  const CommandLine& explained = &at == help ? *this : at;
  const std::string below = explained.full_name_.substr(full_name_.size());
  print_error("{} {}\n{} {}\n", error_prefix(at.full_name_), what,
              help == nullptr ? explained.full_name_ + " --help" : help->full_name_ + below,
              explained.commands_.empty() ? "explains the options" : "lists the commands");
  return 2;
}

int CommandLine::parse(int argc, const char* const* argv) {
  const std::vector<const char*> ordered = shared_first(argc, argv);
  try {
    app_.parse(argc, ordered.data());
  } catch (const CLI::CallForHelp&) {
    std::fputs(chosen().help().c_str(), stdout);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_.exit(error);  // --version
    const CommandLine& at = chosen();
    std::vector<std::string> left = at.app_.remaining();
    std::erase(left, "--");
    const Arguments arguments(ordered);
    // Reports unknown arguments before missing ones: an unknown one is often a misspelled required
    // one.
    if (left.empty()) return usage_error(error_text(at.app_, error, arguments));
    if (const auto text = taken_name_text(at.app_, arguments)) return usage_error(*text);
    const bool command = !left[0].starts_with('-') && !at.commands_.empty();
    return usage_error(command ? at.no_command(left[0]) : leftover_text(at.app_, left[0]));
  }
  return 0;
}

int CommandLine::run(int argc, const char* const* argv) {
  const std::vector<std::string> texts =
      with_bare_truths(app_, Arguments(argv, static_cast<size_t>(argc)));
  std::vector<const char*> arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  int status = 0;
  try {
    status = parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const ExitStatus& exit) {
    status = exit.code;
  } catch (const UsageError& error) {
    return usage_error(error.what());
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_error(name(), error.code().message());
    print_error("{} {}\n", error_prefix(name()), error.what());
    return 1;
  } catch (const std::exception& error) {
    print_error("{} {}\n", error_prefix(name()), error.what());
    return 1;
  }
  if (std::fflush(stdout) == 0) return status;
  return output_error(name(), std::generic_category().message(errno));
}

}  // namespace systole
