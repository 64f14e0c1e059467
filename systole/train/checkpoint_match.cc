#include "systole/train/checkpoint_match.h"

#include <algorithm>

#include "systole/base/suggest.h"
#include "systole/base/thread_pool.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/step_loop.h"
#include "systole/train/saver.h"

namespace systole {
namespace {

// How many variables an error shows.
constexpr size_t kMaxListed = 5;

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMaxListed); ++i) text += "\n  " + lines[i];
  if (lines.size() > kMaxListed) text += fmt::format("\n  and {} more", lines.size() - kMaxListed);
  return text;
}

}  // namespace

void CheckpointMatch::check(const BundleReader& reader) const {
  const std::vector<std::string> keys = reader.keys();
  std::vector<std::string> wrong;
  std::vector<std::string> unused = keys;
  for (const auto& [key, variable] : pairs_) {
    std::erase(unused, key);
    const std::string alias = key == variable.name() ? "" : fmt::format(" (as '{}')", key);
    if (!reader.contains(key)) {
      wrong.push_back(fmt::format("'{}'{} {}: not in the checkpoint{}", variable.name(), alias,
                                  variable.type(), did_you_mean(key, keys)));
    } else if (reader.type_of(key) != variable.type()) {
      wrong.push_back(fmt::format("'{}'{}: {} in the checkpoint, {} in the graph", variable.name(),
                                  alias, reader.type_of(key), variable.type()));
    }
  }
  if (wrong.empty()) return;
  std::string text = fmt::format(
      "{}: a checkpoint of another model: {} of {} variables of the graph do not match it:{}",
      reader.prefix(), wrong.size(), pairs_.size(), listed(wrong));
  for (std::string& key : unused) key = fmt::format("'{}' {}", key, reader.type_of(key));
  if (!unused.empty()) text += "\nin the checkpoint and not in the graph:" + listed(unused);
  if (!advice_.empty()) text += "\n" + advice_;
  throw Error(Code::not_found, text);
}

std::vector<Tensor> CheckpointMatch::read(const BundleReader& reader) const {
  check(reader);
  std::vector<Tensor> values(pairs_.size());
  ThreadPool::global().parallel_for(
      static_cast<int64_t>(pairs_.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          values[i] = reader.read(pairs_[i].key);
        }
      });
  return values;
}

void CheckpointMatch::set(Session& session, std::vector<Tensor> values) const {
  std::vector<Variable> variables;
  for (const Pair& pair : pairs_) variables.push_back(pair.variable);
  StepLoop::set_variables(session, variables, std::move(values));
}

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
