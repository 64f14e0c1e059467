#include "systole/io/checkpoints/checkpoint_state.h"

#include <algorithm>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/proto/checkpoint.pb.h"
#include "systole/io/wire/message.h"

namespace systole {
namespace {

std::string state_path(const std::string& directory) { return join_path(directory, "checkpoint"); }

std::string relative(const std::string& directory, const std::string& path) {
  return parent_path(path) == parent_path(join_path(directory, "x")) ? base_name(path) : path;
}

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory) {
  const std::string path = state_path(directory);
  if (!file_system.exists(path)) return std::nullopt;
  tensorflow::CheckpointState message;
  parse_message_text(path, read_file(file_system, path), message);
  CheckpointState state;
  if (!message.model_checkpoint_path().empty()) {
    state.model_checkpoint_path = join_path(directory, message.model_checkpoint_path());
  }
  for (const std::string& name : message.all_model_checkpoint_paths()) {
    state.all_model_checkpoint_paths.push_back(join_path(directory, name));
  }
  state.all_model_checkpoint_timestamps.assign(message.all_model_checkpoint_timestamps().begin(),
                                               message.all_model_checkpoint_timestamps().end());
  state.last_preserved_timestamp = message.last_preserved_timestamp();
  return state;
}

void write_checkpoint_state(FileSystem& file_system, const std::string& directory,
                            const CheckpointState& state) {
  tensorflow::CheckpointState message;
  message.set_model_checkpoint_path(relative(directory, state.model_checkpoint_path));
  for (const std::string& path : state.all_model_checkpoint_paths) {
    message.add_all_model_checkpoint_paths(relative(directory, path));
  }
  for (const double time : state.all_model_checkpoint_timestamps) {
    message.add_all_model_checkpoint_timestamps(time);
  }
  message.set_last_preserved_timestamp(state.last_preserved_timestamp);
  write_file_atomically(file_system, state_path(directory), print_message_text(message));
}

std::string latest_checkpoint(FileSystem& file_system, const std::string& directory) {
  const auto state = read_checkpoint_state(file_system, directory);
  if (!state) return "";
  if (!state->model_checkpoint_path.empty() &&
      bundle_exists(file_system, state->model_checkpoint_path)) {
    return state->model_checkpoint_path;
  }
  const auto& paths = state->all_model_checkpoint_paths;
  const auto last = std::find_if(paths.rbegin(), paths.rend(), [&](const std::string& path) {
    return bundle_exists(file_system, path);
  });
  return last == paths.rend() ? "" : *last;
}

}  // namespace systole
