#include <fmt/core.h>
#include <fmt/ranges.h>

#include "apps/systole/manual/choices.h"
#include "apps/systole/manual/completion.h"

namespace systole::app {
namespace {

// The function walks over the words, so that it knows the command; it then offers the values of the
// option before the cursor, or options, or commands.
constexpr const char* kHead = R"(# bash completion for {0}
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local path={0} commands= options= i
  # bash splits "--option=value" into three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
)";
constexpr const char* kTail = R"(  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  fi
}}
complete -o bashdefault -o default -F _{0} {0}
)";

// Quotes a word for a pattern of `case` or a list in single quotes.
std::string bash_quoted(std::string_view text) { return fmt::format("'{}'", text); }

void add_paths(const CommandText& command, std::string& text) {
  for (const CommandText& below : command.commands) {
    text += fmt::format("      {0}) path={0} ;;\n", bash_quoted(below.full_name));
    add_paths(below, text);
  }
}

void add_values(const CommandText& command, std::string& text) {
  for (const OptionText& option : command.options) {
    const ValueKind kind = kind_of(option);
    if (option.positional || kind == ValueKind::none) continue;
    std::string patterns;
    for (const std::string& name : option.names) {
      patterns += (patterns.empty() ? "" : "|") + bash_quoted(command.full_name + " " + name);
    }
    std::string reply;
    if (kind == ValueKind::choices) {
      reply = fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\")); ",
                          bash_quoted(fmt::format("{}", fmt::join(choices_of(option), " "))));
    } else if (kind == ValueKind::folder) {
      reply = "compopt -o dirnames 2>/dev/null; ";
    }
    text += fmt::format("    {}) {}return ;;\n", patterns, reply);
  }
  for (const CommandText& below : command.commands) add_values(below, text);
}

void add_words(const CommandText& command, std::string& text) {
  std::vector<std::string> options;
  std::vector<std::string> commands;
  for (const OptionText& option : command.options) {
    if (option.positional) continue;
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  for (const CommandText& below : command.commands) commands.push_back(below.name);
  text += fmt::format("    {}) options={} commands={} ;;\n", bash_quoted(command.full_name),
                      bash_quoted(fmt::format("{}", fmt::join(options, " "))),
                      bash_quoted(fmt::format("{}", fmt::join(commands, " "))));
  for (const CommandText& below : command.commands) add_words(below, text);
}

}  // namespace

std::string bash_completion(const CommandText& root) {
  std::string text = fmt::format(kHead, root.name);
  add_paths(root, text);
  text += "    esac\n  done\n  case \"$path $prev\" in\n";
  add_values(root, text);
  text += "  esac\n  case $path in\n";
  add_words(root, text);
  return text + fmt::format(kTail, root.name);
}

}  // namespace systole::app
