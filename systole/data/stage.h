// What the transformations are made of: a description of each, and the running stage it gives.
// Internal to this layer; users have Dataset and Iterator.
#pragma once

#include <any>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/base/nest.h"
#include "systole/data/cancellation.h"
#include "systole/data/iterator_options.h"
#include "systole/data/state.h"
#include "systole/graph/api/graph.h"

namespace systole::data {

using Spec = Nest<TensorType>;
class DatasetNode;
class GraphFunction;
struct MapArguments;
struct StageContext;
using NodePtr =
    std::shared_ptr<const DatasetNode>;  // immutable and shared by the Datasets after it

// What one stage has done so far; inside of a function, all stages of one node. Written by their
// own threads, read by any.
struct StageCounters {
  std::string name;
  int depth = 0;                             // stages between it and the end of the pipeline
  bool nested = false;                       // inside of a function that makes data sets
  std::atomic<int> threads{0};               // of its own
  std::vector<const StageCounters*> inputs;  // guarded by the root
  std::atomic<int64_t> elements{0};
  std::atomic<int64_t> inclusive_ns{0};  // inside next(), with what is before it
  std::atomic<int64_t> busy_ns{0};       // of a threaded stage: its threads at work
};

// FAILED_PRECONDITION: `parameter` is in a data set that a function of C++ made.
Error no_value_of(const Output& parameter);

// What outlives the epochs of a repeat: one object a node, kept while an iterator, or a data set
// that a function made, lives. Thread-safe. REQUIRES: the nodes live as long.
class SharedObjects {
 public:
  template <class T>
  std::shared_ptr<T> get(const DatasetNode& node) {
    const std::lock_guard lock(mutex_);
    std::any& value = objects_[&node];
    if (!value.has_value()) value = std::make_shared<T>();
    return std::any_cast<std::shared_ptr<T>>(value);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const DatasetNode*, std::any> objects_;
};

// What all stages of one iterator share. Thread-safe.
class IteratorRoot {
 public:
  using Parameters = std::unordered_map<Output, Tensor>;
  IteratorRoot(const IteratorOptions& options, uint64_t entropy, Parameters parameters = {})
      : options_(options), parameters_(std::move(parameters)), entropy_(entropy) {}

  Cancellation& cancellation() { return cancellation_; }
  bool cancelled() const { return cancellation_.cancelled(); }
  const IteratorOptions& options() const { return options_; }
  // What `parameter` was when the iterator was initialised. Errors: FAILED_PRECONDITION when it is
  // no parameter of the data set.
  const Tensor& value_of(const Output& parameter) const;
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }
  // Whether some stage gives elements as they come: another run may give another order.
  bool any_order() const { return any_order_.load(std::memory_order_relaxed); }
  void note_any_order() { any_order_.store(true, std::memory_order_relaxed); }

  // REQUIRES: the node lives as long as the iterator: it is none that a function of C++ made.
  SharedObjects& shared() { return shared_; }
  // Null when nobody wants to know. REQUIRES: as shared().
  StageCounters* counters(const DatasetNode& node, const StageContext& context);
  // In the order of the pipeline, the last stage first.
  std::vector<StageStats> stats() const;

 private:
  Cancellation cancellation_;
  const IteratorOptions options_;
  const Parameters parameters_;
  std::atomic<uint64_t> entropy_;
  std::atomic<bool> any_order_{false};
  SharedObjects shared_;
  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<const DatasetNode*, std::unique_ptr<StageCounters>> counters_;
  std::vector<const StageCounters*> order_;
};

// What a function's argument is, inside of the data set that it makes: of the innermost function.
struct BoundArgument {
  const DatasetNode* node = nullptr;
  const Components* row = nullptr;
  const BoundArgument* outer = nullptr;
};

// What the function of a stage is called with, beside the element and its number: what random ops
// draw by, and where values of captured tensors are.
struct CallContext {
  uint64_t epoch = 0;
  uint64_t entropy = 0;  // of ops without seeds
  const IteratorRoot* root = nullptr;
};

// Where in a pipeline a stage is made. A small value.
struct StageContext {
  IteratorRoot* root = nullptr;
  SharedObjects* shared = nullptr;  // of the iterator or the function's data set around it
  uint64_t epoch = 0;               // which epoch of which repeat, which element of which flat_map
  uint64_t branch = 0;              // which input of which zip
  int depth = 0;
  bool nested = false;  // inside a data set that a function made
  bool lasting = true;  // its nodes live as long as the iterator: they are not made anew
  StageCounters* consumer = nullptr;
  const BoundArgument* argument = nullptr;  // of the functions around; outlives the stages
  // From options(): 0 and false where it says nothing.
  int autotune_threads = 0;
  int64_t autotune_bytes = 0;
  bool any_order = false;

  Cancellation& cancellation() const { return root->cancellation(); }
  CallContext calling() const;
  // For the i-th data set that a stage runs through, one after another.
  StageContext in_epoch(uint64_t i) const;
  // For the i-th of inputs that run side by side.
  StageContext in_branch(uint64_t i) const;
  // For a data set that a function made, which ends before the iterator does.
  // Its nodes end, too, unless they are `traced`.
  StageContext in_function(uint64_t i, bool traced) const;
};

// A running stage: gives element after element. One thread at a time. After an error it can be
// asked again: what failed is skipped. After the end it stays at the end.
class Stage {
 public:
  virtual ~Stage() = default;

  // False at the end; `row` is then whatever.
  bool next(Components& row);
  // The same of a stage whose elements are one text each: a view into memory of the stage or of its
  // inputs, valid until the stage is asked again. The two may be called in turns.
  bool next_text(std::string_view& text);
  // The same for a consumer that may lend its memory in `row` (Tensor::lent): numbers are
  // written there where the stage can, and a component is replaced where it cannot; no stage keeps
  // it.
  bool next_into(Components& row);
  // Everything needed to go on from here, with what is before it.
  void save(StateWriter& writer);
  // REQUIRES: a stage of the same node that has given nothing yet.
  void restore(StateReader& reader);

 protected:
  virtual bool do_next(Components& row) = 0;
  // For stages that need not make a row for it.
  virtual bool do_next_text(std::string_view& text);
  // For stages that write their elements, and those that pass on what is written.
  virtual bool do_next_into(Components& row);
  virtual void do_save(StateWriter& writer) = 0;
  virtual void do_restore(StateReader& reader) = 0;
  // Tells the states of stages apart that a node may have.
  virtual std::string_view form() const { return ""; }
  // For a stage with threads: that it has them, and how long they were at work.
  void note_threads(int count);
  void note_work(std::chrono::nanoseconds took);

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

// What a transformation or a source is: immutable, thread-safe.
class DatasetNode {
 public:
  // `name` is TensorFlow's name of the method, "batch".
  DatasetNode(std::string name, Spec spec, std::vector<NodePtr> inputs = {});
  virtual ~DatasetNode() = default;

  const std::string& name() const { return name_; }
  const Spec& spec() const { return spec_; }
  // The leaves of spec().
  const std::vector<TensorType>& types() const { return types_; }
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  const NodePtr& input() const { return inputs_.front(); }
  // Stages in it.
  int size() const { return size_; }
  // Passes `context` on to make_stage for its inputs. REQUIRES: the node outlives the stage.
  virtual std::unique_ptr<Stage> make(const StageContext& context) const = 0;
  // Called when an iterator is made, inputs first; nodes of functions are not. Errors: those of
  // values that it is fed.
  virtual void start(IteratorRoot&) const {}
  // What stages of this node leave to the next ones, saved behind all stages: those that have ended
  // may be gone. It is restored when all stages are.
  virtual void save_left(SharedObjects&, StateWriter&) const {}
  virtual void restore_left(SharedObjects&, StateReader&) const {}
  // What else is to be said of it: "32, drop_remainder".
  virtual std::string arguments() const { return ""; }
  // The same transformation of another input; null unless all it does is to choose and order
  // elements, without looking at them.
  virtual NodePtr with_input(const NodePtr&) const { return nullptr; }
  // What a map maps with; null for anything else.
  virtual const MapArguments* map_arguments() const { return nullptr; }
  // What another stage calls that is written with ops, and what a function of data sets became;
  // null for those without.
  virtual std::shared_ptr<const GraphFunction> graph_function() const { return nullptr; }
  virtual NodePtr body() const { return nullptr; }
  // Outputs of a graph whose values it takes when an iterator is initialised.
  virtual std::vector<Output> parameters() const { return {}; }
  // Of a source whose elements are the rows of tensors: those; null for anything else.
  virtual const Components* sliced_tensors() const { return nullptr; }
  std::string to_string() const;

 private:
  std::string name_;
  Spec spec_;
  std::vector<TensorType> types_;
  std::vector<NodePtr> inputs_;
  int size_;
};

// Calls `f` with each node of a pipeline once, in an order that is the same in every process.
void each_node(const DatasetNode& last, const std::function<void(const DatasetNode&)>& f);

// The running stage of a node. REQUIRES: the node and the root outlive it.
std::unique_ptr<Stage> make_stage(const NodePtr& node, StageContext context);

// A stage with one input that it asks in its own thread. What it saves of its own is nothing unless
// it says so. One that may ask for long before it gives an element checks the cancellation.
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

// One whose own state is how many elements it has counted.
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

// [size, shape..] and back: of batches and their elements. REQUIRES: `shape` has a dimension.
Shape with_first(int64_t size, const Shape& shape);
Shape without_first(const Shape& shape);
// Components i, without a copy.
Tensor row_of(const Tensor& tensor, int64_t i);

// Whatever is being thrown, as an Error; std::exception of a user's function as UNKNOWN.
// REQUIRES: inside a catch block.
Error current_error();

// Two 64-bit numbers as one, well mixed.
uint64_t mix(uint64_t a, uint64_t b);

// "f32[2]" against the declared "f32[?]": same dtype, compatible shape.
bool fits(const Tensor& tensor, const TensorType& type);
// Errors: INVALID_ARGUMENT that begins with `what` and the number of the element, and names the
// component.
void check_row(std::string_view what, const Components& row, const std::vector<TensorType>& types,
               std::optional<int64_t> element = std::nullopt);

}  // namespace systole::data
