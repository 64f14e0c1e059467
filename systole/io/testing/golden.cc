#include "systole/io/testing/golden.h"

#include "systole/io/file_systems/local_file_system.h"

namespace systole::testing {

bool have_golden_files() { return local_file_system().exists(golden_path("expected.json")); }

std::string golden_path(const std::string& name) { return "../shared/golden/" + name; }

const nlohmann::json& golden_expected(const std::string& kind) {
  static const nlohmann::json all =
      nlohmann::json::parse(read_file(local_file_system(), golden_path("expected.json")));
  return all.at(kind);
}

bool have_data_sets() { return local_file_system().exists(data_set_path("README.md")); }

std::string data_set_path(const std::string& name) { return "../shared/data/" + name; }

}  // namespace systole::testing
