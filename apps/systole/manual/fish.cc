#include <fmt/core.h>
#include <fmt/ranges.h>

#include "apps/systole/manual/choices.h"
#include "apps/systole/manual/completion.h"

namespace systole::app {
namespace {

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

void add_paths(const CommandText& command, std::string& text) {
  for (const CommandText& below : command.commands) {
    text += fmt::format("            case {0}\n                set path {0}\n",
                        fish_quoted(below.full_name));
    add_paths(below, text);
  }
}

void add_option(const std::string& line, const OptionText& option, std::string& text) {
  std::string names;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    names += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
  }
  std::string value;
  switch (kind_of(option)) {
    case ValueKind::none:
      break;
    case ValueKind::choices:
      value = fmt::format(" -x -a {}",
                          fish_quoted(fmt::format("{}", fmt::join(choices_of(option), " "))));
      break;
    case ValueKind::folder:
      value = " -x -a '(__fish_complete_directories)'";
      break;
    case ValueKind::file:
      value = " -r -F";
      break;
    case ValueKind::other:
      value = " -x";
      break;
  }
  text += fmt::format("{}{}{} -d {}\n", line, names, value, fish_quoted(short_text(option.text)));
}

void add_lines(const CommandText& root, const CommandText& command, std::string& text) {
  const std::string line = fmt::format("complete -c {0} -n \"test (__{0}_path) = {1}\"", root.name,
                                       fish_quoted(command.full_name));
  bool takes_files = false;
  for (const OptionText& option : command.options) {
    if (option.positional) {
      takes_files = true;
    } else {
      add_option(line, option, text);
    }
  }
  for (const CommandText& below : command.commands) {
    text += fmt::format("{} -f -a {} -d {}\n", line, fish_quoted(below.name),
                        fish_quoted(short_text(below.summary)));
  }
  if (command.commands.empty() && !takes_files) text += line + " -f\n";
  for (const CommandText& below : command.commands) add_lines(root, below, text);
}

}  // namespace

std::string fish_completion(const CommandText& root) {
  std::string text = fmt::format(
      "# fish completion for {0}\nfunction __{0}_path\n    set -l path {1}\n"
      "    for word in (commandline -opc)[2..-1]\n        switch \"$path $word\"\n",
      root.name, fish_quoted(root.full_name));
  add_paths(root, text);
  text += "        end\n    end\n    echo $path\nend\n";
  add_lines(root, root, text);
  return text;
}

}  // namespace systole::app
