#include "systole/train/saver.h"

#include <algorithm>
#include <chrono>

#include "systole/base/log.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/step_loop.h"
#include "systole/train/checkpoint_extras.h"
#include "systole/train/checkpoint_match.h"
#include "systole/train/meta_graph.h"
#include "systole/train/slot_order.h"

namespace systole {
namespace {

constexpr double kSecondsAnHour = 3600;
constexpr std::string_view kExtrasSuffix = ".systole";
constexpr std::string_view kMetaSuffix = ".meta";

std::string extra_of(const Saveable& saveable) { return "saveable/" + saveable.name; }

double seconds(Clock& clock) {
  return std::chrono::duration<double>(clock.now().time_since_epoch()).count();
}

double modified_seconds(FileSystem& file_system, const std::string& prefix) {
  return static_cast<double>(file_system.stat(bundle_index_path(prefix)).modified_ns) * 1e-9;
}

void remove_if_there(FileSystem& file_system, const std::string& path) {
  if (file_system.exists(path)) file_system.remove(path);
}

// The checkpoint that a file of the directory belongs to: "model.ckpt-7" for
// "model.ckpt-7.data-00000-of-00001" and "model.ckpt-7.index.tmp.1"; "" for other files.
std::string checkpoint_of(std::string_view file, std::string_view base) {
  if (!file.starts_with(base)) return "";
  for (const std::string_view part :
       {std::string_view(".index"), std::string_view(".data-"), kExtrasSuffix, kMetaSuffix}) {
    const size_t at = file.find(part, base.size());
    if (at != std::string_view::npos) return std::string(file.substr(0, at));
  }
  return "";
}

// Whether the file `checkpoint` names this one, or there is no such file. Others are left by a run
// that ended before a save did: nobody counts on them.
bool is_named(FileSystem& file_system, const std::string& directory, const std::string& prefix) {
  if (!bundle_exists(file_system, prefix)) return false;
  const auto state = find_checkpoint_state(file_system, directory);
  return !state || state->model_checkpoint_path == prefix ||
         std::ranges::find(state->all_model_checkpoint_paths, prefix) !=
             state->all_model_checkpoint_paths.end();
}

}  // namespace

Saver::Saver(SaverOptions options)
    : options_(std::move(options)),
      file_system_(file_system_or_default(options_.file_system)),
      clock_(options_.clock != nullptr ? *options_.clock : real_clock()) {
  if (options_.var_list.empty() && options_.named.empty()) {
    options_.var_list = global_variables();
    if (options_.saveables.empty()) {
      options_.saveables = Graph::current().collection<Saveable>(graph_keys::saveable_objects);
    }
  }
  if (options_.var_list.empty() && options_.named.empty() && options_.saveables.empty()) {
    throw invalid_argument("Saver: No variables to save");
  }
  std::map<std::string, Variable> named = options_.named;
  for (const Variable& variable : options_.var_list) {
    const auto [at, is_new] = named.emplace(variable.name(), variable);
    if (is_new || at->second == variable) continue;
    throw invalid_argument("Saver: At least two variables have the same name: {}", variable.name());
  }
  options_.var_list.clear();
  for (const auto& [name, variable] : named) {
    names_.push_back(name);
    options_.var_list.push_back(variable);
  }
  next_preserved_time_ = seconds(clock_) + options_.keep_checkpoint_every_n_hours * kSecondsAnHour;
}

CheckpointSnapshot Saver::snapshot(Session& session) const {
  CheckpointSnapshot snapshot{.names = names_,
                              .values = StepLoop::snapshot(session, options_.var_list)};
  for (const Saveable& saveable : options_.saveables) {
    snapshot.extras[extra_of(saveable)] = session.run(saveable.state).item<std::string>();
  }
  mark_slot_order(session.graph(), snapshot.extras);
  if (options_.write_meta_graph) snapshot.meta_graph = meta_graph(session.graph());
  return snapshot;
}

std::shared_ptr<const std::string> Saver::meta_graph(const Graph& graph) const {
  if (meta_graph_ == nullptr || meta_graph_nodes_ != graph.nodes().size()) {
    meta_graph_nodes_ = graph.nodes().size();
    meta_graph_ = std::make_shared<std::string>(meta_graph_bytes(graph, options_.var_list));
  }
  return meta_graph_;
}

std::string Saver::save(Session& session, const std::string& save_path,
                        const SaveOptions& options) {
  return write(snapshot(session), save_path, options);
}

std::string Saver::write(const CheckpointSnapshot& snapshot, const std::string& save_path,
                         const SaveOptions& options) {
  std::string prefix =
      options.global_step ? fmt::format("{}-{}", save_path, *options.global_step) : save_path;
  const std::string directory = parent_path(prefix);
  file_system_.make_directories(directory);
  if (!recovered_) recover(directory, base_name(save_path));
  // Without its index the old checkpoint of this name is none, whatever happens to its other files.
  if (!is_named(file_system_, directory, prefix)) {
    remove_if_there(file_system_, bundle_index_path(prefix));
  }
  BundleWriter writer(file_system_, prefix);
  const std::string extras_path = checkpoint_extras_path(prefix, writer.num_shards());
  remove_if_there(file_system_, extras_path);
  CheckpointExtras extras = snapshot.extras;
  extras.insert(options.extras.begin(), options.extras.end());
  if (!extras.empty()) write_extras_file(file_system_, extras_path, extras);
  for (size_t i = 0; i < snapshot.names.size(); ++i) {
    writer.add(snapshot.names[i], snapshot.values.value(i));
  }
  writer.finish();
  remove_if_there(file_system_, checkpoint_extras_path(prefix, 3 - writer.num_shards()));
  if (snapshot.meta_graph != nullptr) {
    write_file_atomically(file_system_, prefix + std::string(kMetaSuffix), *snapshot.meta_graph);
  }
  record(prefix);
  // Twice, so that at no time a checkpoint lies there that nobody counts, or is named and gone.
  write_state(directory);
  if (delete_oldest()) write_state(directory);
  return prefix;
}

void Saver::record(const std::string& prefix) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.prefix == prefix; });
  kept_.push_back({prefix, seconds(clock_)});
}

void Saver::write_state(const std::string& directory) const {
  CheckpointState state{.model_checkpoint_path = kept_.back().prefix};
  for (const Kept& kept : kept_) state.all_model_checkpoint_paths.push_back(kept.prefix);
  write_checkpoint_state(file_system_, directory, state);
}

bool Saver::delete_oldest() {
  const auto keep = static_cast<size_t>(std::max(options_.max_to_keep, 0));
  const size_t before = kept_.size();
  while (keep > 0 && kept_.size() > keep) {
    const Kept oldest = kept_.front();
    kept_.erase(kept_.begin());
    if (oldest.time > next_preserved_time_) {
      next_preserved_time_ += options_.keep_checkpoint_every_n_hours * kSecondsAnHour;
    } else {
      delete_checkpoint(oldest.prefix);
    }
  }
  return kept_.size() < before;
}

void Saver::delete_checkpoint(const std::string& prefix) const {
  int num_shards = 1;
  try {
    num_shards = BundleReader(file_system_, prefix).num_shards();
  } catch (const Error&) {  // damaged: ours had one shard
    num_shards = 1;
  }
  remove_if_there(file_system_, bundle_index_path(prefix));
  for (int shard = 0; shard < num_shards; ++shard) {
    remove_if_there(file_system_, bundle_data_path(prefix, shard, num_shards));
  }
  for (const int shards : {1, 2}) {
    remove_if_there(file_system_, checkpoint_extras_path(prefix, shards));
  }
  remove_if_there(file_system_, prefix + std::string(kMetaSuffix));
}

void Saver::recover(const std::string& directory, const std::string& base_name) {
  recovered_ = true;
  if (!file_system_.exists(directory)) return;
  if (const auto state = find_checkpoint_state(file_system_, directory)) {
    for (const std::string& prefix : state->all_model_checkpoint_paths) {
      if (!is_in_directory(prefix, directory) || !bundle_exists(file_system_, prefix)) continue;
      std::erase_if(kept_, [&](const Kept& kept) { return kept.prefix == prefix; });
      kept_.push_back({prefix, modified_seconds(file_system_, prefix)});
    }
  }
  const double latest = kept_.empty() ? 0 : kept_.back().time;
  for (const std::string& file : file_system_.list(directory)) {
    const bool is_state = file.starts_with("checkpoint.tmp.");
    const std::string name = checkpoint_of(file, base_name);
    if (name.empty() && !is_state) continue;
    const std::string prefix = join_path(directory, name);
    if (is_state || file.find(".tmp.") != std::string::npos ||
        !bundle_exists(file_system_, prefix)) {
      remove_if_there(file_system_, join_path(directory, file));
    } else if (file.ends_with(".index") && modified_seconds(file_system_, prefix) > latest) {
      // Complete, and newer than the file `checkpoint`: the run ended between the two.
      kept_.push_back({prefix, modified_seconds(file_system_, prefix)});
    }
  }
}

std::vector<std::string> Saver::last_checkpoints() const {
  std::vector<std::string> prefixes;
  for (const Kept& kept : kept_) prefixes.push_back(kept.prefix);
  return prefixes;
}

CheckpointMatch Saver::match_variables(const Graph& graph, const std::string& prefix) const {
  CheckpointMatch match("use another directory (model_dir), or warm_start_from for what matches");
  const auto old_names = old_slot_names(graph, file_system_, prefix);
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto old = old_names.find(names_[i]);
    match.add(old == old_names.end() ? names_[i] : old->second, options_.var_list[i]);
  }
  return match;
}

void Saver::restore(Session& session, const std::string& prefix) const {
  const CheckpointMatch match = match_variables(session.graph(), prefix);
  CheckpointExtras extras;
  if (!options_.saveables.empty()) extras = read_checkpoint_extras(file_system_, prefix);
  std::vector<Tensor> values = match.read(BundleReader(file_system_, prefix));
  // The variables come last, since all else may fail.
  restore_saveables(session, prefix, extras);
  match.set(session, std::move(values));
}

void Saver::restore_saveables(Session& session, const std::string& prefix,
                              const CheckpointExtras& extras) const {
  for (const Saveable& saveable : options_.saveables) {
    const auto state = extras.find(extra_of(saveable));
    if (state == extras.end()) {
      log_warning("{}: {} begins anew, as the checkpoint has nothing of it", prefix, saveable.name);
      continue;
    }
    try {
      session.run(saveable.restore, {{saveable.saved, Tensor(state->second)}});
    } catch (const Error& error) {
      if (error.code() != Code::failed_precondition) throw;
      log_warning("{}: {} begins anew, as the checkpoint has another: {}", prefix, saveable.name,
                  error.message());
    }
  }
}

// Reads the extras of a checkpoint whose weights are intact, and restores the saveables from them.
CheckpointExtras Saver::restore_extras(Session& session, const std::string& prefix,
                                       const RestoreOptions& options) const {
  try {
    CheckpointExtras extras = read_checkpoint_extras(file_system_, prefix);
    restore_saveables(session, prefix, extras);
    return extras;
  } catch (const Error& error) {
    if (error.code() != Code::data_loss) throw;
    if (!options.allow_weights_only) {
      throw make_error(Code::data_loss,
                       "{}; the weights of {} are intact: set allow_weights_only "
                       "(run_config.allow_weights_only) to continue with them; the input and "
                       "random numbers then start anew",
                       error.message(), prefix);
    }
    log_warning(
        "{}; continuing with the weights of {} only: the input and random numbers start "
        "anew",
        error.message(), prefix);
  }
  restore_saveables(session, prefix, {});
  return {};
}

RestoredCheckpoint Saver::restore_latest(Session& session, const std::string& directory,
                                         const RestoreOptions& options) const {
  RestoredCheckpoint restored;
  const std::vector<std::string> candidates = find_checkpoints(file_system_, directory);
  if (candidates.empty()) {
    const auto state = read_checkpoint_state(file_system_, directory);
    if (!state || state->model_checkpoint_path.empty()) return restored;
    throw make_error(Code::data_loss,
                     "{}: checkpoint, got '{}', which does not exist, and no other in the "
                     "directory, expected one; remove the file to start anew",
                     join_path(directory, "checkpoint"), state->model_checkpoint_path);
  }
  for (const std::string& prefix : candidates) {
    const CheckpointMatch match = match_variables(session.graph(), prefix);
    std::vector<Tensor> values;
    try {
      values = match.read(BundleReader(file_system_, prefix));
    } catch (const Error& error) {
      // Missing variables are another model, not a damaged file.
      if (error.code() != Code::data_loss) throw;
      log_warning("{}: this checkpoint cannot be read; {} ({})", prefix,
                  &prefix == &candidates.back() ? "there is none before it"
                                                : "going back to the one before it",
                  error.message());
      restored.damaged.push_back(fmt::format("{}: {}", prefix, error.message()));
      continue;
    }
    if (!options.variables_only) restored.extras = restore_extras(session, prefix, options);
    match.set(session, std::move(values));
    restored.prefix = prefix;
    return restored;
  }
  std::string reasons;
  for (const std::string& reason : restored.damaged) reasons += "\n  " + reason;
  throw make_error(Code::data_loss,
                   "{}: checkpoints, got {} that cannot be read, expected one that can:{}",
                   directory, restored.damaged.size(), reasons);
}

std::string latest_checkpoint(const std::string& directory) {
  return latest_checkpoint(default_file_system(), directory);
}

}  // namespace systole
