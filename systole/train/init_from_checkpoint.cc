// Variables from a checkpoint of another model, by a map of names.
#include "systole/base/suggest.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/train/checkpoint_match.h"
#include "systole/train/saver.h"

namespace systole {
namespace {

// "tower/" of "conv/" -> "tower/": what a variable's name in the scope `to` is in the scope `from`.
std::string key_in_scope(const std::string& name, std::string_view from, std::string_view to) {
  const std::string rest = name.substr(to == "/" ? 0 : to.size());
  return from == "/" ? rest : std::string(from) + rest;
}

bool is_scope(std::string_view name) { return name.ends_with('/'); }

void add_matches(const std::vector<Variable>& variables, const std::string& from,
                 const std::string& to, CheckpointMatch& match) {
  if (is_scope(from) != is_scope(to)) {
    throw invalid_argument(
        "init_from_checkpoint: assignment, got '{}' -> '{}', expected two names or two scopes "
        "(with '/' at the end)",
        from, to);
  }
  const size_t before = match.size();
  std::vector<std::string> names;
  for (const Variable& variable : variables) {
    const std::string& name = variable.name();
    names.push_back(name);
    const bool inside = is_scope(to) && (to == "/" || name.starts_with(to));
    if (inside) match.add(key_in_scope(name, from, to), variable);
    if (name == to) match.add(from, variable);
  }
  if (match.size() == before) {
    throw not_found("init_from_checkpoint: variable, got '{}', expected one of the graph{}", to,
                    did_you_mean(to, names));
  }
}

}  // namespace

int init_from_checkpoint(Session& session, const std::string& checkpoint, const AssignmentMap& map,
                         FileSystem* file_system) {
  if (map.empty()) {
    throw invalid_argument("init_from_checkpoint: assignments, got none, expected at least one");
  }
  FileSystem& files = file_system_or_default(file_system);
  const bool directory = files.exists(checkpoint) && files.stat(checkpoint).is_directory;
  const std::string prefix = directory ? latest_checkpoint(files, checkpoint) : checkpoint;
  if (prefix.empty()) {
    throw not_found("{}: checkpoint, got a directory without one, expected one", checkpoint);
  }
  const auto variables = session.graph().collection<Variable>(graph_keys::global_variables);
  CheckpointMatch match;
  for (const auto& [from, to] : map) add_matches(variables, from, to, match);
  match.restore(session, BundleReader(files, prefix));
  return static_cast<int>(match.size());
}

}  // namespace systole
