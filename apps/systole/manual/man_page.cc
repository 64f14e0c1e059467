#include "apps/systole/manual/man_page.h"

#include <fmt/core.h>

#include <algorithm>

namespace systole::app {
namespace {

// Escapes what troff would interpret: backslashes, dashes that must stay ASCII, and a dot or a
// quote at the start of a line.
std::string escaped(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '"') {
      result += "\\(dq";
    } else {
      result += c;
    }
    begins_line = c == '\n';
  }
  return result;
}

std::string page_name(const CommandText& command) {
  std::string name = command.full_name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string tagged(const std::string& tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, text.empty() ? "\\&" : escaped(text));
}

// Returns "\fB\-n\fR, \fB\-\-size\fR \fIN\fR".
std::string option_tag(const OptionText& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", escaped(name));
  }
  if (!option.positional && !option.value.empty()) {
    tag += fmt::format(" \\fI{}\\fR", escaped(option.value));
  }
  return tag;
}

std::string options_of(const CommandText& command, bool positional) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (option.positional == positional) text += tagged(option_tag(option), option.text);
  }
  return text;
}

std::string commands_of(const CommandText& command) {
  std::string text;
  for (const CommandText& below : command.commands) {
    text += tagged(fmt::format("\\fB{}\\fR(1)", escaped(page_name(below))), below.summary);
  }
  return text;
}

std::string examples_of(const CommandText& command) {
  std::string text;
  for (const std::string& example : command.examples) {
    text += fmt::format(".PP\n.nf\n.RS\n{}\n.RE\n.fi\n", escaped(example));
  }
  return text;
}

void add_pages(const CommandText& command, const CommandText* above, std::string_view version,
               std::vector<ManPage>& pages) {
  const std::string name = page_name(command);
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  std::string text = fmt::format(".TH {} 1 \"\" \"systole {}\" \"Systole Manual\"\n",
                                 escaped(upper), escaped(version));
  text += section("NAME", fmt::format("{} \\- {}\n", escaped(name), escaped(command.summary)));
  text += section(
      "SYNOPSIS",
      fmt::format("\\fB{}\\fR{}\n", escaped(command.full_name),
                  escaped(std::string_view(command.usage).substr(command.full_name.size()))));
  text += section("ARGUMENTS", options_of(command, /*positional=*/true));
  text += section("COMMANDS", commands_of(command));
  text += section("OPTIONS", options_of(command, /*positional=*/false));
  text += section("EXAMPLES", examples_of(command));
  text += section("EXIT STATUS", "0 on success, 1 after an error, 2 for wrong arguments.\n");
  if (above != nullptr) {
    text += section("SEE ALSO", fmt::format("\\fB{}\\fR(1)\n", escaped(page_name(*above))));
  }
  pages.push_back({name + ".1", std::move(text)});
  for (const CommandText& below : command.commands) add_pages(below, &command, version, pages);
}

}  // namespace

std::vector<ManPage> man_pages(const CommandText& command, std::string_view version) {
  std::vector<ManPage> pages;
  add_pages(command, nullptr, version, pages);
  return pages;
}

}  // namespace systole::app
