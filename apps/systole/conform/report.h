// The result of the checks of a plugin.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace systole::app::conform {

enum class Outcome : char { pass = 'P', fail = 'F', absent = 'A' };

struct Result {
  std::string check;
  std::vector<std::string> functions;
  Outcome outcome = Outcome::pass;
  std::string why;  // of a failure; the function that is absent
};

// How the numeric programs ended: the command's last line, and whether all passed.
struct Programs {
  std::string summary;
  bool passed = true;
};

struct Report {
  std::string plugin;
  std::string version;  // of the plugin's API
  std::vector<Result> results;
  std::vector<Programs> programs;

  int count(Outcome outcome) const;
  bool passed() const;
};

// The report as text: the failures, what is absent, a line for each function, the counts.
std::string to_text(const Report& report);
nlohmann::json to_json(const Report& report);

}  // namespace systole::app::conform
