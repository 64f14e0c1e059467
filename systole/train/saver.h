// Saver: the variables of a session as TensorFlow's checkpoints. (tf.train.Saver)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/clock.h"
#include "systole/base/file_system.h"
#include "systole/graph/core/variable.h"
#include "systole/session/device/variable_snapshot.h"
#include "systole/session/session.h"
#include "systole/train/checkpoint_extras.h"

namespace systole {

class CheckpointMatch;

struct SaverOptions {
  // Empty, as `named`: all global variables of the current graph.
  std::vector<Variable> var_list = {};
  // Variables by the names that the checkpoint has for them.
  std::map<std::string, Variable> named = {};
  // Other objects to save. If this and var_list are empty: the collection
  // graph_keys::saveable_objects of the current graph.
  std::vector<Saveable> saveables = {};
  // The number of newest checkpoints to keep; 0: all.
  int max_to_keep = 5;
  // Keeps one of the older checkpoints for each period of so many hours.
  double keep_checkpoint_every_n_hours = 10000;
  // Writes the graph of each checkpoint to `<prefix>.meta` (train/meta_graph.h).
  bool write_meta_graph = true;
  // Null: default_file_system() and real_clock(). Both outlive the saver.
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
};

struct SaveOptions {
  std::optional<int64_t> global_step = {};  // "model.ckpt" -> "model.ckpt-7"
  CheckpointExtras extras = {};
};

// A snapshot of all variables.
struct CheckpointSnapshot {
  std::vector<std::string> names = {};  // sorted
  VariableSnapshot values = {};         // in this order
  CheckpointExtras extras = {};         // of the saveables
  // The bytes of the `.meta` file; null when none is written.
  std::shared_ptr<const std::string> meta_graph = nullptr;
};

struct RestoreOptions {
  // If the extras of the checkpoint are damaged and its weights are not: restores the weights
  // alone, with a warning. The input and random numbers start anew.
  bool allow_weights_only = false;
  // Restores the variables and reads nothing else: to evaluate, predict or export.
  bool variables_only = false;
};

// The result of restore_latest().
struct RestoredCheckpoint {
  std::string prefix;  // "" when the directory holds no checkpoint
  CheckpointExtras extras;
  // Newer checkpoints that could not be read, with the reasons.
  std::vector<std::string> damaged;
};

// Writes and reads checkpoints: a tensor bundle under the variables' names, the file `checkpoint`
// beside them, and the extras. A checkpoint appears complete or not at all, and the file
// `checkpoint` names it only then; a kill at any time leaves the ones before it readable. Not
// thread-safe.
class Saver {
 public:
  // Errors: INVALID_ARGUMENT without variables and saveables, and for two variables of one name.
  explicit Saver(SaverOptions options = {});

  // Writes `save_path`[-global_step]; makes its directory; deletes the oldest beyond max_to_keep.
  // Checkpoints of earlier runs count (see recover). Returns the prefix. Errors:
  // FAILED_PRECONDITION for a variable that is not initialised; those of the file system.
  std::string save(Session& session, const std::string& save_path, const SaveOptions& options = {});
  // save() in two steps: snapshot() copies the values (StepLoop::snapshot); write() may run on
  // another thread.
  CheckpointSnapshot snapshot(Session& session) const;
  std::string write(const CheckpointSnapshot& snapshot, const std::string& save_path,
                    const SaveOptions& options = {});

  // Sets all variables, or none on an error. A saveable that is missing in the checkpoint, or was
  // another object there, starts anew, with a warning. Errors: DATA_LOSS for
  // damaged files; NOT_FOUND with one line for every variable that is missing (with near misses) or
  // of another shape or dtype.
  void restore(Session& session, const std::string& prefix) const;
  // Restores the first of find_checkpoints (io/checkpoints/checkpoint_state.h) whose weights can be
  // read. Passes over damaged weights with a warning in the log. Errors: those of restore;
  // DATA_LOSS if the file `checkpoint` names a checkpoint and none exists, if no weights can be
  // read (with the reason of each checkpoint), and for damaged extras of intact weights.
  RestoredCheckpoint restore_latest(Session& session, const std::string& directory,
                                    const RestoreOptions& options = {}) const;

  // Takes over the checkpoints that the file `checkpoint` of the directory names, for max_to_keep,
  // and removes incomplete files of a killed run. The first save() calls it.
  void recover(const std::string& directory, const std::string& base_name);
  // Oldest first.
  std::vector<std::string> last_checkpoints() const;
  const std::vector<Variable>& var_list() const { return options_.var_list; }

 private:
  struct Kept {
    std::string prefix;
    double time;  // seconds since the Unix epoch
  };
  CheckpointMatch match_variables(const Graph& graph, const std::string& prefix) const;
  CheckpointExtras restore_extras(Session& session, const std::string& prefix,
                                  const RestoreOptions& options) const;
  std::shared_ptr<const std::string> meta_graph(const Graph& graph) const;
  void restore_saveables(Session& session, const std::string& prefix,
                         const CheckpointExtras& extras) const;
  void record(const std::string& prefix);
  bool delete_oldest();
  void delete_checkpoint(const std::string& prefix) const;
  void write_state(const std::string& directory) const;

  SaverOptions options_;
  std::vector<std::string> names_;  // of options_.var_list in checkpoints, sorted
  FileSystem& file_system_;
  Clock& clock_;
  std::vector<Kept> kept_;
  double next_preserved_time_ = 0;
  bool recovered_ = false;
  // Rebuilt when the graph has grown.
  mutable std::shared_ptr<const std::string> meta_graph_;
  mutable size_t meta_graph_nodes_ = 0;
};

// The prefix of the latest checkpoint of a directory on this machine, "" when there is none.
std::string latest_checkpoint(const std::string& directory);

// Names in a checkpoint and in the graph: {"conv/kernel", "tower/conv/kernel"}, or whole scopes,
// with a "/" at the end: {"conv/", "tower/conv/"}, {"/", "tower/"}. (The assignment map of
// tf.train.init_from_checkpoint)
using AssignmentMap = std::vector<std::pair<std::string, std::string>>;

// Sets the variables that the map names from a checkpoint: a prefix, or a directory, which means
// its latest. A scope names all variables in it, and the checkpoint must have each. Other variables
// keep their values. Returns the number of variables set. Errors: as Saver::restore; NOT_FOUND for
// a name that no variable has; INVALID_ARGUMENT for an empty map. (tf.train.init_from_checkpoint)
int init_from_checkpoint(Session& session, const std::string& checkpoint, const AssignmentMap& map,
                         FileSystem* file_system = nullptr);

}  // namespace systole
