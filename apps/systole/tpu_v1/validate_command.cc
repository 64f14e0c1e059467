// systole tpu-v1 validate: our figures beside the paper's.
#include "apps/systole/base/output.h"
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/tpu_v1/validation/validation.h"

namespace systole::app {
namespace {

nlohmann::json json_of(const std::vector<tpu_v1::Figure>& figures) {
  nlohmann::json json = nlohmann::json::array();
  const auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  for (const tpu_v1::Figure& figure : figures) {
    json.push_back({{"section", figure.section},
                    {"name", figure.name},
                    {"unit", figure.unit},
                    {"ours", figure.ours},
                    {"paper", optional(figure.paper)},
                    {"paper_says", figure.words},
                    {"derived", optional(figure.derived)},
                    {"promised", optional(figure.allowed)},
                    {"promised_percent", figure.relative},
                    {"reached", figure.reached()}});
  }
  return json;
}

}  // namespace

void add_tpu_v1_validate_command(CommandLine& line) {
  const auto json = std::make_shared<bool>(false);
  line.flag("--json", *json, kJsonMeaning);
  line.on_run([json] {
    const std::vector<tpu_v1::Figure> figures = tpu_v1::validation_figures();
    if (*json) {
      print_json(json_of(figures));
    } else {
      write_text("", tpu_v1::validation_table(figures));
    }
    for (const tpu_v1::Figure& figure : figures) {
      if (!figure.reached()) throw ExitStatus{1};
    }
  });
}

}  // namespace systole::app
