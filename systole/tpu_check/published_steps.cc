#include "systole/tpu_check/published_steps.h"

#include <algorithm>
#include <array>
#include <set>

#include "systole/base/error.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/profile/prediction/measured_table.h"
#include "systole/profile/prediction/program_cost.h"
#include "systole/stablehlo/text/text.h"

namespace systole::tpu_check {
namespace {

using profile::StepPrediction;

struct Part {
  std::string_view name;
  double StepPrediction::*seconds;
};
constexpr std::array kParts = {Part{"step", &StepPrediction::step_seconds},
                               Part{"compute", &StepPrediction::compute_seconds},
                               Part{"links", &StepPrediction::all_reduce_seconds}};

std::vector<PublishedStep> read_table(std::string_view text, const std::string& path) {
  profile::MeasuredTable table(
      text, path, {"name", "program", "system", "measured_ms", "part", "input_bytes", "source"});
  std::vector<PublishedStep> steps;
  while (table.next()) {
    PublishedStep& step = steps.emplace_back();
    step.name = table.field("name");
    step.program = table.field("program");
    step.system = table.field("system");
    step.measured_seconds = 1e-3 * table.positive("measured_ms");
    const auto* const part = std::ranges::find(kParts, table.field("part"), &Part::name);
    if (part == kParts.end()) table.refuse("part", "step, compute or links");
    step.part = part->seconds;
    if (!table.field("input_bytes").empty()) step.input_bytes = table.positive("input_bytes");
    step.source = table.field("source");
  }
  return steps;
}

void predict(const hlo::Module& program, PublishedStep& step) {
  const profile::TpuSystem system = profile::tpu_system(step.system);
  profile::StepCost cost = profile::step_of(program, *system.generation);
  cost.infeed_bytes = step.input_bytes;
  step.predicted_seconds = profile::predict(cost, system).*step.part;
}

}  // namespace

std::vector<PublishedStep> published_steps(FileSystem& files, const std::string& path) {
  std::vector<PublishedStep> steps = read_table(read_file(files, path), path);
  const std::string archive = path.substr(0, path.rfind('.')) + "_programs.tar.xz";
  ArchiveReader programs(files, archive);
  std::set<std::string> found;
  while (programs.next()) {
    const std::string file = programs.name();
    const std::string name = file.substr(0, file.rfind('.'));
    const auto wanted = [&](const PublishedStep& step) { return step.program == name; };
    if (std::ranges::none_of(steps, wanted)) continue;
    found.insert(name);
    const auto program = hlo::parse(programs.read(), file);
    for (PublishedStep& step : steps) {
      if (wanted(step)) predict(*program, step);
    }
  }
  for (const PublishedStep& step : steps) {
    if (!found.contains(step.program))
      throw not_found("{}: program, got none named '{}.mlir', which {} has", archive, step.program,
                      path);
  }
  return steps;
}

}  // namespace systole::tpu_check
