// The parts of a pipeline: nodes, which describe transformations, and the stages that run them.
// Internal to this layer; users have Dataset and Iterator.
#pragma once

#include <any>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/base/nest.h"
#include "systole/data/cancellation.h"
#include "systole/data/iterator_options.h"
#include "systole/data/state.h"
#include "systole/graph/core/graph.h"

namespace systole::data {

using Spec = Nest<TensorType>;
class DatasetNode;
class GraphFunction;
struct MapArguments;
struct StageContext;
using NodePtr =
    std::shared_ptr<const DatasetNode>;  // immutable and shared by the Datasets after it

// Statistics of one stage; inside a function, of all stages of one node. Written by the threads of
// the stage, read by any thread.
struct StageCounters {
  std::string name;
  const char* traced_name = "";              // the same, for recordings
  int depth = 0;                             // number of stages after it
  bool nested = false;                       // inside a function that makes data sets
  std::atomic<int> threads{0};               // its own
  std::vector<const StageCounters*> inputs;  // guarded by the root
  std::atomic<int64_t> elements{0};
  std::atomic<int64_t> inclusive_ns{0};  // inside next(), including its inputs
  std::atomic<int64_t> busy_ns{0};       // of the threads of a threaded stage
};

// Returns the FAILED_PRECONDITION error for a parameter in a data set that a C++ function made.
Error no_value_of(const Output& parameter);

// Objects that outlive the epochs of a repeat: one for each node. They live as long as the
// iterator, or as the data set that a function made. Thread-safe. REQUIRES: the nodes live as long.
class SharedObjects {
 public:
  template <class T>
  std::shared_ptr<T> get(const DatasetNode& node) {
    const MutexLock lock(mutex_);
    std::any& value = objects_[&node];
    if (!value.has_value()) value = std::make_shared<T>();
    return std::any_cast<std::shared_ptr<T>>(value);
  }

 private:
  Mutex mutex_;
  std::unordered_map<const DatasetNode*, std::any> objects_ SYSTOLE_GUARDED_BY(mutex_);
};

// State that all stages of one iterator share. Thread-safe.
class IteratorRoot {
 public:
  using Parameters = std::unordered_map<Output, Tensor>;
  IteratorRoot(const IteratorOptions& options, uint64_t entropy, Parameters parameters = {})
      : options_(options), parameters_(std::move(parameters)), entropy_(entropy) {}

  Cancellation& cancellation() { return cancellation_; }
  bool cancelled() const { return cancellation_.cancelled(); }
  const IteratorOptions& options() const { return options_; }
  // Returns the value of a parameter at the initialization of the iterator. Errors:
  // FAILED_PRECONDITION if the data set has no such parameter.
  const Tensor& value_of(const Output& parameter) const;
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }
  // Returns whether some stage produces elements in the order in which they become ready: another
  // run may have another order.
  bool any_order() const { return any_order_.load(std::memory_order_relaxed); }
  void note_any_order() { any_order_.store(true, std::memory_order_relaxed); }

  // REQUIRES: the node lives as long as the iterator, so it was not made by a C++ function.
  SharedObjects& shared() { return shared_; }
  // Returns null without statistics. REQUIRES: as for shared().
  StageCounters* counters(const DatasetNode& node, const StageContext& context);
  // Returns the statistics, the last stage first.
  std::vector<StageStats> stats() const;

 private:
  Cancellation cancellation_;
  const IteratorOptions options_;
  const Parameters parameters_;
  std::atomic<uint64_t> entropy_;
  std::atomic<bool> any_order_{false};
  SharedObjects shared_;
  mutable Mutex mutex_;
  std::unordered_map<const DatasetNode*, std::unique_ptr<StageCounters>> counters_
      SYSTOLE_GUARDED_BY(mutex_);
  std::vector<const StageCounters*> order_ SYSTOLE_GUARDED_BY(mutex_);
};

// The value of the argument inside a data set that a function makes. `outer` is that of the
// enclosing function.
struct BoundArgument {
  const DatasetNode* node = nullptr;
  const Components* row = nullptr;
  const BoundArgument* outer = nullptr;
};

// Arguments of a stage's function besides the element and its index: the random state, and the root
// for the values of captured tensors.
struct CallContext {
  uint64_t epoch = 0;
  uint64_t entropy = 0;  // of unseeded ops
  const IteratorRoot* root = nullptr;
};

// The position of a stage in its pipeline. A small value.
struct StageContext {
  IteratorRoot* root = nullptr;
  SharedObjects* shared = nullptr;  // of the iterator or of the enclosing function's data set
  uint64_t epoch = 0;   // hash of the epochs of enclosing repeats, elements of flat_maps
  uint64_t branch = 0;  // hash of the inputs of enclosing zips
  int depth = 0;
  bool nested = false;  // inside a data set that a function made
  bool lasting = true;  // its nodes live as long as the iterator
  StageCounters* consumer = nullptr;
  const BoundArgument* argument = nullptr;  // of the enclosing functions; outlives the stages
  // From Dataset::options(); 0 and false if not set.
  int autotune_threads = 0;
  int64_t autotune_bytes = 0;
  bool any_order = false;

  Cancellation& cancellation() const { return root->cancellation(); }
  CallContext calling() const;
  // Returns the context of the i-th data set that a stage runs through in sequence.
  StageContext in_epoch(uint64_t i) const;
  // Returns the context of the i-th of several inputs that run side by side.
  StageContext in_branch(uint64_t i) const;
  // Returns the context of a data set that a function made. It ends before the iterator does, and
  // so do its nodes unless they are `traced`.
  StageContext in_function(uint64_t i, bool traced) const;
};

// A running stage: produces one element after another. Used by one thread at a time. After an error
// the next call skips what failed. After the end it stays at the end.
class Stage {
 public:
  virtual ~Stage() = default;

  // Writes the next element to `row`. Returns false at the end and leaves `row` unspecified.
  bool next(Components& row);
  // As next(), for elements that are one string: returns a view into memory of the stage or of its
  // inputs, valid until the next call. Calls may alternate with next().
  bool next_text(std::string_view& text);
  // As next(), for a consumer that may lend memory in `row` (Tensor::lent). The stage writes
  // numbers there if it can and replaces the component otherwise. No stage keeps the memory.
  bool next_into(Components& row);
  // Writes the state from which to continue, including that of the inputs.
  void save(StateWriter& writer);
  // REQUIRES: a stage of the same node that has produced nothing yet.
  void restore(StateReader& reader);

 protected:
  virtual bool do_next(Components& row) = 0;
  // Override it if the stage can produce the string without a tensor.
  virtual bool do_next_text(std::string_view& text);
  // Override it in stages that write elements, and in those that pass the memory on.
  virtual bool do_next_into(Components& row);
  virtual void do_save(StateWriter& writer) = 0;
  virtual void do_restore(StateReader& reader) = 0;
  // Distinguishes the states of different stages of one node.
  virtual std::string_view form() const { return ""; }
  // Called by a stage with threads: their number, and the time that they worked.
  void note_threads(int count);
  void note_work(std::chrono::nanoseconds took);
  // Returns the stage's name in recordings (tracing/recording.h).
  const char* traced_name() const {
    return counters_ == nullptr ? "stage" : counters_->traced_name;
  }

 private:
  std::string saved_name() const;
  friend std::unique_ptr<Stage> make_stage(const NodePtr& node, StageContext context);
  template <class Ask>
  bool counted(const Ask& ask);
  template <class Ask>
  bool timed(const Ask& ask);

  const DatasetNode* node_ = nullptr;
  StageCounters* counters_ = nullptr;  // null when not counted
  int64_t calls_ = 0;
  double mean_ns_ = 0;   // of a call, lately
  Components text_row_;  // of next_text()
};

// A transformation or a source: immutable, thread-safe.
class DatasetNode {
 public:
  // `name` is TensorFlow's name of the method: "batch".
  DatasetNode(std::string name, Spec spec, std::vector<NodePtr> inputs = {});
  virtual ~DatasetNode() = default;

  const std::string& name() const { return name_; }
  const Spec& spec() const { return spec_; }
  // The leaves of spec().
  const std::vector<TensorType>& types() const { return types_; }
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  const NodePtr& input() const { return inputs_.front(); }
  // The number of stages in the pipeline up to this node.
  int size() const { return size_; }
  // Makes the stage. Passes `context` on to make_stage for its inputs. REQUIRES: the node outlives
  // the stage.
  virtual std::unique_ptr<Stage> make(const StageContext& context) const = 0;
  // Called when an iterator is made, inputs first; not called for nodes inside functions. Errors:
  // those of the values fed to it.
  virtual void start(IteratorRoot&) const {}
  // Saves and restores the values that ended stages of this node leave to later ones. They follow
  // all stages in the state.
  virtual void save_left(SharedObjects&, StateWriter&) const {}
  virtual void restore_left(SharedObjects&, StateReader&) const {}
  // The arguments for to_string(): "32, drop_remainder".
  virtual std::string arguments() const { return ""; }
  // Returns the same transformation of another input. Null unless it only selects and orders
  // elements without looking at them.
  virtual NodePtr with_input(const NodePtr&) const { return nullptr; }
  // The arguments of a map; null for other nodes.
  virtual const MapArguments* map_arguments() const { return nullptr; }
  // The function written with ops that a stage calls, and the body of a function of data sets; null
  // without one.
  virtual std::shared_ptr<const GraphFunction> graph_function() const { return nullptr; }
  virtual NodePtr body() const { return nullptr; }
  // The graph outputs whose values it takes when an iterator is initialized.
  virtual std::vector<Output> parameters() const { return {}; }
  // The tensors of a source whose elements are their slices; null for other nodes.
  virtual const Components* sliced_tensors() const { return nullptr; }
  std::string to_string() const;

 private:
  std::string name_;
  Spec spec_;
  std::vector<TensorType> types_;
  std::vector<NodePtr> inputs_;
  int size_;
};

// Calls `f` with each node of a pipeline once, in the same order in every process.
void each_node(const DatasetNode& last, const std::function<void(const DatasetNode&)>& f);

// Makes the stage of a node. REQUIRES: the node and the root outlive it.
std::unique_ptr<Stage> make_stage(const NodePtr& node, StageContext context);

// A stage with one input, which it reads on its own thread. Its own state is empty unless it
// overrides do_save. A stage that may read many elements before it produces one checks the
// cancellation.
class InputStage : public Stage {
 public:
  InputStage(const DatasetNode& node, const StageContext& context)
      : input_(make_stage(node.input(), context)), cancellation_(context.cancellation()) {}

 protected:
  void do_save(StateWriter& writer) override { input_->save(writer); }
  void do_restore(StateReader& reader) override { input_->restore(reader); }
  std::unique_ptr<Stage> input_;
  const Cancellation& cancellation_;
};

// A stage whose own state is the number of elements that it has counted.
class CountingStage : public InputStage {
 public:
  using InputStage::InputStage;

 protected:
  void do_save(StateWriter& writer) final {
    writer.number(static_cast<uint64_t>(count_));
    input_->save(writer);
  }
  void do_restore(StateReader& reader) final {
    count_ = static_cast<int64_t>(reader.number());
    input_->restore(reader);
  }
  int64_t count_ = 0;
};

// Adds and removes the first dimension: [size, shape...]. REQUIRES of without_first: `shape` has a
// dimension.
Shape with_first(int64_t size, const Shape& shape);
Shape without_first(const Shape& shape);
// Returns slice i of the first dimension, without a copy.
Tensor row_of(const Tensor& tensor, int64_t i);

// Returns the exception in flight as an Error. A std::exception of a user's function becomes
// UNKNOWN. REQUIRES: inside a catch block.
Error current_error();

// Hashes two 64-bit numbers to one.
uint64_t mix(uint64_t a, uint64_t b);

// Returns whether a tensor has the declared dtype and a compatible shape: f32[2] fits f32[?].
bool fits(const Tensor& tensor, const TensorType& type);
// Errors: INVALID_ARGUMENT unless the components have these types. The message starts with `what`
// and the index of the element, and names the component.
void check_row(std::string_view what, const Components& row, const std::vector<TensorType>& types,
               std::optional<int64_t> element = std::nullopt);

}  // namespace systole::data
