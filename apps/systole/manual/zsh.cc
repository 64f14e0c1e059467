#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/systole/manual/choices.h"
#include "apps/systole/manual/completion.h"

namespace systole::app {
namespace {

// Quotes a specification of _arguments or _describe.
std::string zsh_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Escapes what separates the parts of a specification.
std::string part(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string function_name(const CommandText& command) {
  std::string name = "_" + command.full_name;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string action_of(const OptionText& option) {
  switch (kind_of(option)) {
    case ValueKind::none:
      return "";
    case ValueKind::choices:
      return fmt::format(":{}:({})", part(option.names.back()), fmt::join(choices_of(option), " "));
    case ValueKind::folder:
      return ":folder:_files -/";
    case ValueKind::file:
      return fmt::format(":{}:_files", part(option.value));
    case ValueKind::other:
      return fmt::format(":{}: ", part(option.value));
  }
  return "";
}

// Returns the lines of _arguments for the options.
std::string specifications(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (option.positional) {
      text += fmt::format(" \\\n    {}",
                          zsh_quoted(fmt::format("{}{}:_files", option.repeated ? "*:" : ":",
                                                 part(option.names.front()))));
      continue;
    }
    for (const std::string& name : option.names) {
      const bool takes_value = !option.value.empty();
      text += fmt::format(
          " \\\n    {}", zsh_quoted(fmt::format("*{}{}[{}]{}", name,
                                                takes_value && name.starts_with("--") ? "=" : "",
                                                part(short_text(option.text)), action_of(option))));
    }
  }
  return text;
}

void add_function(const CommandText& command, std::string& text) {
  text += function_name(command) + "() {\n";
  if (command.commands.empty()) {
    text += fmt::format("  _arguments -s{}\n}}\n", specifications(command));
    return;
  }
  text += fmt::format(
      "  local line state\n  _arguments -C{} \\\n    '1: :->command' '*:: :->arguments'\n",
      specifications(command));
  text += "  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandText& below : command.commands) {
    text +=
        fmt::format("        {}\n", zsh_quoted(part(below.name) + ":" + short_text(below.summary)));
  }
  text +=
      "      )\n      _describe command commands\n      ;;\n    arguments)\n      case $line[1] "
      "in\n";
  for (const CommandText& below : command.commands) {
    text += fmt::format("        {}) {} ;;\n", below.name, function_name(below));
  }
  text += "      esac\n      ;;\n  esac\n}\n";
  for (const CommandText& below : command.commands) add_function(below, text);
}

}  // namespace

std::string zsh_completion(const CommandText& root) {
  std::string text = fmt::format("#compdef {}\n", root.name);
  add_function(root, text);
  // Loaded by compinit, the file is the function; sourced, it only defines them.
  return text +
         fmt::format("if [ \"$funcstack[1]\" = {0} ]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                     function_name(root), root.name);
}

}  // namespace systole::app
