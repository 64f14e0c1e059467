// The files beside the checkpoints of a model_dir.
#include "systole/train/loop/train_summaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/saved_models/saved_model.h"

namespace systole::train {
namespace {

using systole::testing::TempFolder;

// The event files of a folder: one.
EventFileSummary events_in(const std::string& folder) {
  EventFileSummary found;
  for (const std::string& name : local_file_system().list(folder)) {
    if (name.starts_with("events.out.tfevents.")) {
      found = summarize_events(local_file_system(), join_path(folder, name));
    }
  }
  return found;
}

TEST(TrainSummaries, BeginWithTheGraphInThreeForms) {
  const TempFolder folder;
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(2.0F, {.name = "w"});
  const Output loss = square(w);
  TrainSummariesHook hook({.save_steps = 1, .output_dir = folder.path()}, loss);
  hook.begin();
  hook.add_scalar("speed", 1, 3.0);
  hook.note_checkpoint(1, "model.ckpt");  // flushes
  EventFileSummary events = events_in(folder.path());
  EXPECT_EQ(events.kinds["graph_def"], 1);
  EXPECT_EQ(events.kinds["meta_graph_def"], 1);
  const auto text = read_graph_def(local_file_system(), folder / "graph.pbtxt");
  EXPECT_EQ(text->node_size(), static_cast<int>(graph.nodes().size()));
}

TEST(TrainSummaries, EvaluationsNameTheirCheckpoint) {
  const TempFolder folder;
  write_evaluation(folder.path(), 7, {{"loss", Tensor(0.5F)}}, "m/model.ckpt-7");
  EventFileSummary events = events_in(folder.path());
  ASSERT_EQ(events.tags["checkpoint_path"].size(), 1U);
  EXPECT_EQ(events.tags["checkpoint_path"][0].last_step, 7);
  EXPECT_EQ(events.tags["loss"].size(), 1U);
}

}  // namespace
}  // namespace systole::train
