// One run: a directory with event files, read while they grow.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/board/event_view.h"
#include "apps/board/memory_budget.h"
#include "apps/board/scalar_series.h"
#include "systole/base/file_system.h"
#include "systole/base/mutex.h"
#include "systole/io/records/tfrecord.h"

namespace systole::board {

// The kinds of data that the page shows; the names are those of TensorBoard's plugins.
enum class TagKind : uint8_t { scalars, histograms, images, text, pr_curves, other };
inline constexpr int kTagKinds = 6;
std::string_view to_string(TagKind kind);

// Hashes texts of any kind alike, so that lookups copy nothing.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): std names it
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// A value that stays in its file until it is shown.
struct BlobRef {
  int64_t step = 0;
  double wall_time = 0;
  uint64_t offset = 0;  // of the record
  uint32_t file = 0;    // index into the files of the run
  uint32_t value = 0;   // index into the values of the Summary
};

struct TagData {
  std::string name;  // valid UTF-8 of limited length
  TagKind kind = TagKind::other;
  std::string display_name;
  std::string description;
  ScalarSeries scalars;        // of kind `scalars`
  std::vector<BlobRef> blobs;  // of the other kinds
  uint64_t total_blobs = 0;    // including those that were dropped to bound the memory
};

// A hyperparameter or an attribute, as text, number or truth value.
struct Hparam {
  enum class Kind : uint8_t { text, number, boolean };
  Kind kind = Kind::text;
  std::string text;  // as shown
  double number = 0;
};

// What a run knows besides its tags.
struct RunFacts {
  uint64_t events = 0;
  double first_wall_time = 0;
  double last_wall_time = 0;
  int64_t last_step = 0;
  uint64_t damaged_records = 0;
  int64_t restarts = 0;          // session starts after the first, and steps that went back
  std::optional<BlobRef> graph;  // the newest GraphDef
  std::map<std::string, Hparam> hparams;  // of the events
  std::vector<std::string> problems;      // sentences for the user
};

// Thread-safe by its mutex: read what data() and facts() return while holding lock().
class Run {
 public:
  struct Limits {
    size_t max_name_bytes = 1000;  // longer tags are shortened
    size_t max_tags = 1'000'000;   // of one run; values of more tags are counted and dropped
    size_t max_blobs = 100'000;    // of one tag; beyond it every second one is dropped
    uint64_t max_record_bytes = uint64_t{32} << 20U;  // larger ones are skipped
    uint64_t max_value_bytes = uint64_t{4} << 20U;    // of a histogram, a text or a curve
  };

  // `budget` must outlive the run. `on_full` is called without locks while files are read, when the
  // points of all runs have exceeded the budget: it should thin them.
  Run(FileSystem& file_system, std::string name, std::string directory, uint32_t id, Limits limits,
      MemoryBudget& budget, std::function<void()> on_full = {});

  const std::string& name() const { return name_; }
  const std::string& directory() const { return directory_; }
  uint32_t id() const { return id_; }

  // Adds event files that are not known yet. `names` are file names, sorted. Called by one thread.
  void add_files(const std::vector<std::string>& names);
  // Sets the files of hyperparameters; later ones win. Called by one thread.
  void set_hparam_files(std::vector<std::string> paths);
  // Reads what was appended to the files since the last call. Returns whether something was.
  // Called by one thread. Never throws for the contents of a file: what cannot be read becomes a
  // problem of facts(). `bytes_read` is increased while reading; `stop` ends the call early.
  bool refresh(std::atomic<uint64_t>& bytes_read, const std::atomic<bool>& stop);
  // Returns the bytes of the files that are not read yet.
  uint64_t bytes_left() const;

  // Waits until the reading thread pauses.
  std::unique_lock<Mutex> lock() const;
  const std::deque<TagData>& tags() const { return tags_; }
  const TagData* find_tag(std::string_view name, TagKind kind) const;
  const RunFacts& facts() const { return facts_; }
  // Returns the hyperparameters of the files and of the events.
  std::map<std::string, Hparam> hparams() const;
  // Increases with each change.
  uint64_t generation() const { return generation_.load(); }

  // Returns the memory of points and references. Takes the lock.
  size_t bytes() const;
  // Halves the largest tags of this run (ScalarSeries::thin()): all that have more than half of the
  // memory of the largest. Returns the bytes that became free.
  size_t shrink();

  // Reads the event of a reference, of its values only the one that it names. Errors: those of the
  // file; DATA_LOSS if the file changed; OUT_OF_RANGE for a file that is not there;
  // RESOURCE_EXHAUSTED for a value of more than Limits::max_value_bytes that is no image.
  Event read_event(const BlobRef& ref) const;

 private:
  struct File {
    std::string path;
    uint64_t offset = 0;     // of the next record
    uint64_t size = 0;       // at the last refresh
    uint64_t failed_at = 0;  // the size at which reading failed, to retry only after growth
    std::unique_ptr<RecordReader> reader;
  };

  bool refresh_hparams();
  bool refresh_file(uint32_t index, std::atomic<uint64_t>& bytes_read,
                    const std::atomic<bool>& stop);
  bool read_batch(uint32_t index, std::atomic<uint64_t>& bytes_read);
  bool skip_too_large(File& file);
  bool take_hparams(size_t entries);
  void add_event(const EventView& event, uint32_t file, uint64_t offset);
  void add_value(const EventView& event, uint32_t file, uint64_t offset, uint32_t index,
                 const ValueView& value);
  TagData* tag_of(const ValueView& value);
  TagData* new_tag(const ValueView& value);
  void add_problem(const std::string& problem);
  void start_over();

  FileSystem& file_system_;
  const std::string name_;
  const std::string directory_;
  const uint32_t id_;
  const Limits limits_;
  MemoryBudget& budget_;
  const std::function<void()> on_full_;

  mutable Mutex mutex_;
  mutable std::atomic<int> waiting_ = 0;
  std::atomic<uint64_t> generation_ = 1;
  std::vector<File> files_;
  std::set<std::string> file_names_;
  std::deque<TagData> tags_;
  // By the tag in the file.
  absl::flat_hash_map<std::string, uint32_t, TextHash, std::equal_to<>> tag_index_;
  std::deque<std::string> raw_tags_;
  size_t expected_tag_ = 0;  // values usually come in the same order in each step
  bool started_ = false;     // a session has started
  RunFacts facts_;
  std::vector<std::string> hparam_paths_;
  std::vector<int64_t> hparam_times_;  // of the last change that was read
  std::map<std::string, Hparam> file_hparams_;
  size_t name_bytes_ = 0;  // of the budget, for tags and hyperparameters of events
  size_t file_hparam_bytes_ = 0;
};

}  // namespace systole::board
