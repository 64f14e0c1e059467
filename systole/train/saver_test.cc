#include "systole/train/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/data/dataset.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/async_saver.h"
#include "systole/train/checkpoint_match.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;

class SaverTest : public ::testing::Test {
 protected:
  SaverTest() : scope_(*graph_) {
    w_ = Variable(Tensor::of<float>({2}, {1, 2}), {.name = "dense/kernel"});
    b_ = Variable(Tensor(3.0F), {.name = "dense/bias"});
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run({global_variables_initializer()});
  }

  SaverOptions options() { return {.file_system = &fs_, .clock = &clock_}; }
  std::string kernel() { return session_->variable_value(w_).to_string(); }
  void set_kernel(float value) {
    session_->set_variable(w_, Tensor::of<float>({2}, {value, value}));
  }
  void flip(const std::string& path, size_t byte) {
    std::string contents = read_file(fs_, path);
    contents[byte] = static_cast<char>(contents[byte] ^ 1);
    write_file_atomically(fs_, path, contents);
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
  Variable w_;
  Variable b_;
  std::unique_ptr<Session> session_;
  MemoryFileSystem fs_;
  FakeClock clock_;
};

TEST_F(SaverTest, SavesAndRestores) {
  Saver saver(options());
  EXPECT_EQ(saver.save(*session_, "d/model.ckpt", {.global_step = 7, .extras = {{"a", "b"}}}),
            "d/model.ckpt-7");
  EXPECT_THAT(
      fs_.list("d"),
      ::testing::ElementsAre("checkpoint", "model.ckpt-7.data-00000-of-00001", "model.ckpt-7.index",
                             "model.ckpt-7.meta", "model.ckpt-7.systole"));
  EXPECT_THAT(BundleReader(fs_, "d/model.ckpt-7").keys(),
              ::testing::ElementsAre("dense/bias", "dense/kernel"));
  set_kernel(9);
  saver.restore(*session_, "d/model.ckpt-7");
  EXPECT_EQ(kernel(), "f32[2] {1, 2}");
  EXPECT_EQ(latest_checkpoint(fs_, "d"), "d/model.ckpt-7");
  EXPECT_THAT(read_checkpoint_extras(fs_, "d/model.ckpt-7"),
              ::testing::ElementsAre(::testing::Pair("a", "b")));
}

// A checkpoint may have other names than the graph.
TEST_F(SaverTest, SavesUnderNamesThatAreGiven) {
  SaverOptions renamed = options();
  renamed.named = {{"w", w_}, {"a/bias", b_}};
  Saver saver(renamed);
  saver.save(*session_, "d/model.ckpt");
  EXPECT_THAT(BundleReader(fs_, "d/model.ckpt").keys(), ::testing::ElementsAre("a/bias", "w"));
  set_kernel(9);
  saver.restore(*session_, "d/model.ckpt");
  EXPECT_EQ(kernel(), "f32[2] {1, 2}");
}

// Iterators of a session continue where they were; one that begins with the checkpoint says so.
TEST_F(SaverTest, SavesAndRestoresIterators) {
  const Dataset numbers = Dataset::range(100).shuffle(10, {.seed = 1}).batch(2);
  const OneShotIterator one_shot = numbers.make_one_shot_iterator();
  const InitializableIterator again = numbers.make_initializable_iterator();
  const Output a = one_shot.get_next().leaf();
  const Output b = again.get_next().leaf();
  Saver without(options());
  for (const Saveable& saveable :
       {make_saveable_from_iterator(one_shot), make_saveable_from_iterator(again)}) {
    graph_->add_to_collection(graph_keys::saveable_objects, saveable);
  }
  Saver saver(options());
  without.save(*session_, "d/none");
  session_->run(again.initializer());
  for (int i = 0; i < 3; ++i) session_->run({a, b});
  session_->run(a);
  saver.save(*session_, "d/model.ckpt");
  const Tensor next_a = session_->run(a);
  const Tensor next_b = session_->run(b);
  Session other("", SessionConfig{.graph = graph_.get()});
  saver.restore(other, "d/model.ckpt");
  EXPECT_TRUE(other.run(a).identical(next_a));
  EXPECT_TRUE(other.run(b).identical(next_b));

  const LogCapture log;
  Session first("", SessionConfig{.graph = graph_.get()});
  saver.restore(first, "d/none");
  EXPECT_THAT(log.messages(),
              ::testing::Contains(::testing::HasSubstr(
                  "d/none: SerializeIterator begins anew, as the checkpoint has nothing of it")));
}

// A program that only reads its input keeps its place, too.
TEST_F(SaverTest, SavesIteratorsWithoutVariables) {
  const auto graph = std::make_shared<Graph>();
  const GraphScope scope(*graph);
  const OneShotIterator iterator = Dataset::range(9).make_one_shot_iterator();
  const Output next = iterator.get_next().leaf();
  graph->add_to_collection(graph_keys::saveable_objects, make_saveable_from_iterator(iterator));
  Saver saver(options());
  Session session("", SessionConfig{.graph = graph.get()});
  session.run(next);
  saver.save(session, "d/model.ckpt");
  Session other("", SessionConfig{.graph = graph.get()});
  saver.restore(other, "d/model.ckpt");
  EXPECT_EQ(other.run(next).item<int64_t>(), 1);
}

// Before its initializer an iterator has no position, and after restoring that it has none again.
TEST_F(SaverTest, SavesIteratorsThatNobodyInitialized) {
  const InitializableIterator iterator = Dataset::range(3).make_initializable_iterator();
  const Output next = iterator.get_next().leaf();
  SaverOptions with = options();
  with.saveables = {make_saveable_from_iterator(iterator)};
  Saver saver(with);
  saver.save(*session_, "d/model.ckpt");
  session_->run(iterator.initializer());
  EXPECT_EQ(session_->run(next).item<int64_t>(), 0);
  saver.restore(*session_, "d/model.ckpt");
  EXPECT_THAT(error_of([&] { session_->run(next); }),
              ::testing::HasSubstr("got one that has not been initialized"));
}

TEST_F(SaverTest, DamagedPositionsOfIteratorsSetNoVariables) {
  SaverOptions with = options();
  with.saveables = {make_saveable_from_iterator(Dataset::range(3).make_one_shot_iterator())};
  const Saver saver(with);
  Saver(with).save(*session_, "d/model.ckpt");
  set_kernel(9);
  CheckpointExtras extras = read_checkpoint_extras(fs_, "d/model.ckpt");
  flip("d/model.ckpt.systole", 14);
  EXPECT_THAT(error_of([&] { saver.restore(*session_, "d/model.ckpt"); }),
              ::testing::StartsWith("DATA_LOSS: d/model.ckpt.systole: "));
  EXPECT_EQ(kernel(), "f32[2] {9, 9}");
  // A whole file with a position that is cut.
  ASSERT_EQ(extras.size(), 1U);
  extras.begin()->second.pop_back();
  write_checkpoint_extras(fs_, "d/model.ckpt", extras);
  EXPECT_THAT(error_of([&] { saver.restore(*session_, "d/model.ckpt"); }),
              ::testing::HasSubstr("iterator state: checksum"));
  EXPECT_EQ(kernel(), "f32[2] {9, 9}");
}

// As in TensorFlow: whoever names the variables names all that is saved. The graph that is current
// by chance, when a graph's variables are named, is another one.
TEST_F(SaverTest, TheCollectionIsThatOfAllVariables) {
  const OneShotIterator iterator = Dataset::range(5).make_one_shot_iterator();
  graph_->add_to_collection(graph_keys::saveable_objects, make_saveable_from_iterator(iterator));
  SaverOptions named = options();
  named.var_list = {w_};
  Saver(named).save(*session_, "d/named");
  EXPECT_TRUE(read_checkpoint_extras(fs_, "d/named").empty());
  Saver(options()).save(*session_, "d/all");
  EXPECT_EQ(read_checkpoint_extras(fs_, "d/all").size(), 1U);
}

TEST_F(SaverTest, IteratorsOfOtherInputsBeginAnew) {
  const auto saveable_of = [](const Dataset& dataset) {
    return make_saveable_from_iterator(dataset.make_one_shot_iterator(), "input");
  };
  SaverOptions with = options();
  with.saveables = {saveable_of(Dataset::range(3))};
  Saver(with).save(*session_, "d/model.ckpt");
  with.saveables = {saveable_of(Dataset::range(3).take(2))};
  const LogCapture log;
  Saver(with).restore(*session_, "d/model.ckpt");
  EXPECT_THAT(log.messages(), ::testing::Contains(::testing::HasSubstr(
                                  "input begins anew, as the checkpoint has another: ")));
}

TEST_F(SaverTest, KeepsTheNewest) {
  SaverOptions keep_two = options();
  keep_two.max_to_keep = 2;
  keep_two.keep_checkpoint_every_n_hours = 1;
  Saver saver(keep_two);
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    clock_.advance(std::chrono::minutes(25));
    saver.save(*session_, "d/m", {.global_step = step});
  }
  // Step 3 came 75 minutes after the start.
  EXPECT_THAT(saver.last_checkpoints(), ::testing::ElementsAre("d/m-4", "d/m-5"));
  std::vector<int> there;
  for (int step = 1; step <= 5; ++step) {
    if (bundle_exists(fs_, fmt::format("d/m-{}", step))) there.push_back(step);
  }
  EXPECT_THAT(there, ::testing::ElementsAre(3, 4, 5));
  // Another process counts what is there, and continues.
  Saver next(keep_two);
  next.save(*session_, "d/m", {.global_step = 6});
  EXPECT_THAT(next.last_checkpoints(), ::testing::ElementsAre("d/m-5", "d/m-6"));
  EXPECT_FALSE(bundle_exists(fs_, "d/m-4"));
}

// The file `checkpoint` may be anybody's.
TEST_F(SaverTest, DeletesNothingOutsideItsDirectory) {
  FileSystem& fs = local_file_system();
  const TempFolder folder;
  const std::string d = folder / "d";
  SaverOptions keep_one = options();
  keep_one.file_system = &fs;
  keep_one.max_to_keep = 1;
  const std::vector<std::string> foreign_prefixes = {folder / "other/m-1", d + "/sub/m-1",
                                                     folder / "linked/m-1"};
  for (const std::string& prefix : foreign_prefixes) Saver(keep_one).save(*session_, prefix);
  std::filesystem::create_symlink(folder / "linked", d + "/link");
  for (const std::string& name :
       {std::string("../other/m-1"), folder / "other/m-1", std::string("../d/sub/m-1"),
        std::string("sub/m-1"), std::string("./../other/m-1"), std::string("link/m-1")}) {
    write_file_atomically(
        fs, d + "/checkpoint",
        fmt::format("model_checkpoint_path: \"{0}\"\nall_model_checkpoint_paths: \"{0}\"\n", name));
    // Reading follows the name, as TensorFlow does.
    EXPECT_EQ(latest_checkpoint(fs, d), join_path(d, name));
    Saver saver(keep_one);
    for (const int64_t step : {2, 3}) saver.save(*session_, d + "/m", {.global_step = step});
    EXPECT_THAT(saver.last_checkpoints(), ::testing::ElementsAre(d + "/m-3")) << name;
    EXPECT_FALSE(bundle_exists(fs, d + "/m-2"));
    for (const std::string& prefix : foreign_prefixes) {
      EXPECT_TRUE(bundle_exists(fs, prefix)) << name << " removed " << prefix;
    }
  }
}

TEST_F(SaverTest, TellsAllThatDoesNotFit) {
  Saver(options()).save(*session_, "d/m");
  Graph other;
  const GraphScope scope(other);
  const Variable w(Tensor::of<float>({3}, {1, 2, 3}), {.name = "dense/kernel"});
  const Variable b(1.0F, {.name = "dense/biass"});
  Session session("", {.graph = &other});
  session.run({global_variables_initializer()});
  EXPECT_EQ(error_of([&] { Saver(options()).restore(session, "d/m"); }),
            "NOT_FOUND: d/m: a checkpoint of another model: 2 of 2 variables of the graph do not "
            "match it:\n"
            "  'dense/biass' f32[]: not in the checkpoint, did you mean 'dense/bias'?\n"
            "  'dense/kernel': f32[2] in the checkpoint, f32[3] in the graph\n"
            "in the checkpoint and not in the graph:\n"
            "  'dense/bias' f32[]\n"
            "use another directory (model_dir), or warm_start_from for what matches");
}

TEST_F(SaverTest, GoesBackToAReadableOne) {
  Saver saver(options());
  saver.save(*session_, "d/m", {.global_step = 1});
  set_kernel(2);
  saver.save(*session_, "d/m", {.global_step = 2});
  set_kernel(3);
  saver.save(*session_, "d/m", {.global_step = 3, .extras = {{"rng", "1"}}});
  flip("d/m-3.data-00000-of-00001", 0);
  flip("d/m-2.data-00000-of-00001", 0);
  const RestoredCheckpoint restored = saver.restore_latest(*session_, "d");
  EXPECT_EQ(restored.prefix, "d/m-1");
  EXPECT_EQ(kernel(), "f32[2] {1, 2}");
  ASSERT_EQ(restored.damaged.size(), 2U);
  EXPECT_THAT(restored.damaged[0], ::testing::HasSubstr("d/m-3.data-00000-of-00001: tensor"));
  EXPECT_THAT(restored.damaged[1], ::testing::HasSubstr("d/m-2.data-00000-of-00001: tensor"));
  flip("d/m-1.index", 3);
  EXPECT_THAT(
      error_of([&] { saver.restore_latest(*session_, "d"); }),
      ::testing::StartsWith("DATA_LOSS: d: checkpoints, got 3 that cannot be read, expected "
                            "one that can:\n  d/m-3: "));
  EXPECT_EQ(saver.restore_latest(*session_, "nowhere").prefix, "");
}

TEST_F(SaverTest, FindsCheckpointsBesideAStateThatIsNone) {
  Saver saver(options());
  saver.save(*session_, "d/m", {.global_step = 100});
  // A state that was copied names the folder where it was.
  write_checkpoint_state(fs_, "d", {.model_checkpoint_path = "/other/m-100"});
  {
    const LogCapture log;
    EXPECT_EQ(saver.restore_latest(*session_, "d").prefix, "d/m-100");
    EXPECT_THAT(log.messages(), ::testing::ElementsAre(::testing::StartsWith(
                                    "warning: d/checkpoint: names '/other/m-100', which does not "
                                    "exist; found m-100")));
  }
  fs_.remove("d/checkpoint");
  fs_.make_directories("d/checkpoint");
  {
    const LogCapture log;
    EXPECT_EQ(saver.restore_latest(*session_, "d").prefix, "d/m-100");
    EXPECT_THAT(log.messages(),
                ::testing::Contains("warning: d/checkpoint: got a directory, expected a file that "
                                    "names the checkpoints; the file is ignored"));
  }
}

// A lost or wrong `checkpoint` file does not lose the checkpoints.
TEST_F(SaverTest, FindsCheckpointsThatTheStateDoesNotName) {
  Saver saver(options());
  for (const int64_t step : {9, 10}) saver.save(*session_, "d/m", {.global_step = step});
  set_kernel(7);
  saver.save(*session_, "d/m", {.global_step = 100});
  fs_.remove("d/checkpoint");
  set_kernel(9);
  {
    const LogCapture log;
    EXPECT_EQ(latest_checkpoint(fs_, "d"), "d/m-100");
    EXPECT_EQ(saver.restore_latest(*session_, "d").prefix, "d/m-100");
    EXPECT_THAT(log.messages(),
                ::testing::ElementsAre(
                    "warning: d/checkpoint: no such file, or it names no checkpoint; found m-100, "
                    "m-10, m-9; the newest is used"));
  }
  EXPECT_EQ(kernel(), "f32[2] {7, 7}");
  write_checkpoint_state(
      fs_, "d",
      {.model_checkpoint_path = "d/m-200", .all_model_checkpoint_paths = {"d/m-9", "d/m-200"}});
  {
    const LogCapture log;
    EXPECT_EQ(saver.restore_latest(*session_, "d").prefix, "d/m-100");
    EXPECT_THAT(log.messages(),
                ::testing::ElementsAre(
                    "warning: d/checkpoint: names 'm-200', which does not exist; found m-100, "
                    "m-10, m-9; the newest is used"));
  }
  write_file_atomically(fs_, "d/checkpoint", "\x01\xff");
  {
    const LogCapture log;
    EXPECT_EQ(saver.restore_latest(*session_, "d").prefix, "d/m-100");
    EXPECT_THAT(log.messages(), ::testing::Contains(::testing::AllOf(
                                    ::testing::StartsWith("warning: d/checkpoint: text of a "),
                                    ::testing::HasSubstr("the file is ignored"))));
  }
  // Without its data a checkpoint is not whole, though the state names it.
  write_checkpoint_state(
      fs_, "d",
      {.model_checkpoint_path = "d/m-10", .all_model_checkpoint_paths = {"d/m-9", "d/m-10"}});
  fs_.remove("d/m-10.data-00000-of-00001");
  {
    const LogCapture log;
    const RestoredCheckpoint restored = saver.restore_latest(*session_, "d");
    EXPECT_EQ(restored.prefix, "d/m-100");
    ASSERT_EQ(restored.damaged.size(), 1U);
    EXPECT_THAT(restored.damaged[0], ::testing::HasSubstr("d/m-10.index names it"));
  }
  fs_.remove("d/checkpoint");
  fs_.remove("d/m-100.data-00000-of-00001");
  EXPECT_EQ(latest_checkpoint(fs_, "d"), "d/m-9");
  write_checkpoint_state(fs_, "d", {.model_checkpoint_path = "d/m-200"});
  for (const char* name : {"d/m-9", "d/m-10", "d/m-100"}) fs_.remove(bundle_index_path(name));
  EXPECT_EQ(error_of([&] { saver.restore_latest(*session_, "d"); }),
            "DATA_LOSS: d/checkpoint: checkpoint, got 'd/m-200', which does not exist, and no "
            "other in the directory, expected one; remove the file to start anew");
}

TEST_F(SaverTest, DamagedExtrasOfIntactWeightsAreTold) {
  Saver saver(options());
  saver.save(*session_, "d/m", {.global_step = 1});
  saver.save(*session_, "d/m", {.global_step = 2, .extras = {{"rng", "1"}}});
  flip("d/m-2.systole", 14);
  set_kernel(9);
  EXPECT_THAT(error_of([&] { saver.restore_latest(*session_, "d"); }),
              ::testing::AllOf(::testing::StartsWith("DATA_LOSS: d/m-2.systole: "),
                               ::testing::HasSubstr("the weights of d/m-2 are intact: set "
                                                    "allow_weights_only")));
  EXPECT_EQ(kernel(), "f32[2] {9, 9}");
  const LogCapture log;
  const RestoredCheckpoint restored =
      saver.restore_latest(*session_, "d", {.allow_weights_only = true});
  EXPECT_EQ(restored.prefix, "d/m-2");
  EXPECT_TRUE(restored.extras.empty());
  EXPECT_EQ(kernel(), "f32[2] {1, 2}");
  EXPECT_THAT(log.messages(),
              ::testing::Contains(::testing::HasSubstr("continuing with the weights of d/m-2 only: "
                                                       "the input and random numbers start anew")));
}

// Whatever operation a crash comes at, the state afterwards has a checkpoint that restores.
TEST_F(SaverTest, ACrashAtAnyOperationLeavesACheckpoint) {
  for (int64_t operation = 0; operation < 200; ++operation) {
    MemoryFileSystem fs;
    SaverOptions with = options();
    with.file_system = &fs;
    with.max_to_keep = 1;
    Saver(with).save(*session_, "d/m", {.global_step = 1});
    fs.inject({.at_operation = operation, .stays = true});
    const std::string error = error_of([&] {
      Saver(with).save(*session_, "d/m", {.global_step = 2, .extras = {{"a", "b"}}});
    });
    fs.clear_fault();
    fs.lose_unsynced();
    const std::string prefix = Saver(with).restore_latest(*session_, "d").prefix;
    EXPECT_THAT(prefix, ::testing::AnyOf("d/m-1", "d/m-2")) << operation;
    Saver(with).save(*session_, "d/m", {.global_step = 3});
    EXPECT_THAT(fs.list("d"), ::testing::ElementsAre("checkpoint", "m-3.data-00000-of-00001",
                                                     "m-3.index", "m-3.meta"))
        << operation;
    if (error == "no error") return;
  }
  FAIL() << "a save has fewer operations than that";
}

// By names of TensorFlow's, so that its tools find the variables and restore them.
TEST_F(SaverTest, TheGraphLiesBesideIt) {
  const Output sum = add(w_.value(), b_.value());
  Saver(options()).save(*session_, "d/m", {.global_step = 1});
  tensorflow::MetaGraphDef message;
  parse_message("d/m-1.meta", read_file(fs_, "d/m-1.meta"), message);
  EXPECT_EQ(message.saver_def().restore_op_name(), "save/restore_all");
  EXPECT_EQ(message.collection_def().at("trainable_variables").bytes_list().value_size(), 2);
  tensorflow::VariableDef variable;
  parse_message("", message.collection_def().at("variables").bytes_list().value(1), variable);
  EXPECT_EQ(variable.variable_name(), "dense/kernel:0");
  // Imported, it computes the same.
  Graph other;
  const GraphScope scope(other);
  const ImportedGraph imported =
      import_graph_def(message.graph_def(), {.outputs = {sum.name()}, .what = "d/m-1.meta"});
  Session session("", {.graph = &other});
  CheckpointMatch match;
  for (const auto& [name, v] : imported.variables) match.add(name, v);
  match.restore(session, BundleReader(fs_, "d/m-1"));
  EXPECT_EQ(session.run(imported.outputs[0]).to_string(), "f32[2] {4, 5}");
  SaverOptions without = options();
  without.write_meta_graph = false;
  without.var_list = {b_, w_};
  Saver(without).save(*session_, "e/m");
  EXPECT_FALSE(fs_.exists("e/m.meta"));
  EXPECT_THAT(error_of([&] { Saver(options()).save(*session_, "e/m"); }),
              ::testing::HasSubstr("variable 'dense/bias' is not an element of this session's"));
}

TEST_F(SaverTest, WrongUse) {
  const Graph empty;
  EXPECT_EQ(error_of([&] {
              Graph other;
              const GraphScope scope(other);
              Saver saver(options());
            }),
            "INVALID_ARGUMENT: Saver: No variables to save");
  const Variable late(1.0F, {.name = "late"});
  EXPECT_THAT(error_of([&] { Saver(options()).save(*session_, "d/m"); }),
              ::testing::HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(SaverTest, AsyncReportsWhatWentWrong) {
  Saver saver(options());
  AsyncSaver async(saver);
  async.save(*session_, "d/m", {.global_step = 1});
  set_kernel(5);  // the copy was taken before
  EXPECT_EQ(async.join(), "d/m-1");
  saver.restore(*session_, "d/m-1");
  EXPECT_EQ(kernel(), "f32[2] {1, 2}");
  fs_.inject({.path_contains = "m-2.data", .at_operation = 0, .code = Code::resource_exhausted});
  async.save(*session_, "d/m", {.global_step = 2});
  EXPECT_THAT(error_of([&] { async.save(*session_, "d/m", {.global_step = 3}); }),
              ::testing::StartsWith("RESOURCE_EXHAUSTED: d/m-2.data-00000-of-00001"));
  async.save(*session_, "d/m", {.global_step = 3});
  EXPECT_EQ(async.join(), "d/m-3");
}

TEST_F(SaverTest, AssignmentMaps) {
  Saver(options()).save(*session_, "d/m", {.global_step = 1});
  Graph other;
  const GraphScope scope(other);
  const Variable w(Tensor::of<float>({2}, {0, 0}), {.name = "tower/dense/kernel"});
  const Variable b(0.0F, {.name = "tower/dense/bias"});
  const Variable own(4.0F, {.name = "own"});
  Session session("", {.graph = &other});
  const auto initialize = [&] { session.run({global_variables_initializer()}); };
  initialize();
  EXPECT_EQ(init_from_checkpoint(session, "d", {{"/", "tower/"}}, &fs_), 2);
  EXPECT_EQ(session.variable_value(w).to_string(), "f32[2] {1, 2}");
  initialize();
  EXPECT_EQ(init_from_checkpoint(session, "d/m-1", {{"dense/bias", "own"}}, &fs_), 1);
  EXPECT_EQ(session.variable_value(own).to_string(), "f32[] 3");
  initialize();
  EXPECT_EQ(init_from_checkpoint(session, "d/m-1", {{"dense/", "tower/dense/"}}, &fs_), 2);
  EXPECT_EQ(error_of([&] {
              init_from_checkpoint(session, "d", {{"dense/", "tower"}}, &fs_);
            }),
            "INVALID_ARGUMENT: init_from_checkpoint: assignment, got 'dense/' -> 'tower', expected "
            "two names or two scopes (with '/' at the end)");
  EXPECT_EQ(error_of([&] {
              init_from_checkpoint(session, "d", {{"a", "owm"}}, &fs_);
            }),
            "NOT_FOUND: init_from_checkpoint: variable, got 'owm', expected one of the graph, did "
            "you mean 'own'?");
}

}  // namespace
}  // namespace systole
