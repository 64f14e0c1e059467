// What TPUConfig and RunConfig refuse, and in which words.
#include "systole/estimator/config.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

struct Refused {
  RunConfig config;
  std::string error;
};

TEST(RunConfig, has_tensorflows_defaults) {
  const RunConfig config;
  EXPECT_EQ(config.tpu_config.iterations_per_loop, std::nullopt);
  EXPECT_EQ(config.tpu_config.per_host_input_for_training, InputPipelineConfig::PER_HOST_V1);
  EXPECT_EQ(config.save_summary_steps, 100);
  EXPECT_EQ(config.log_step_count_steps, 100);
  EXPECT_EQ(config.keep_checkpoint_max, 5);
  EXPECT_EQ(config.keep_checkpoint_every_n_hours, 10000);
  EXPECT_NO_THROW(config.validate());
  EXPECT_NO_THROW((RunConfig{.tpu_config = TPUConfig{100, 8}}.validate()));
}

TEST(RunConfig, refuses_what_cannot_be) {
  const std::vector<Refused> cases = {
      {{.tpu_config = {.num_shards = 0}}, "num_shards must be positive, got 0"},
      {{.tpu_config = {.num_cores_per_replica = 3}},
       "num_cores_per_replica, got 3, expected one of"},
      {{.tpu_config = {.num_cores_per_replica = 2}}, "UNIMPLEMENTED"},
      {{.tpu_config = {.per_host_input_for_training = InputPipelineConfig::SLICED}}, "got SLICED"},
      {{.tpu_config = {.eval_training_input_configuration = InputPipelineConfig::BROADCAST}},
       "eval_training_input_configuration could only be PER_HOST_V1 or SLICED"},
      {{.save_checkpoints_steps = 5, .save_checkpoints_secs = 5},
       "Can not provide both save_checkpoints_steps and save_checkpoints_secs."},
      {{.tpu_config = {.experimental_host_call_every_n_steps = 0}},
       "experimental_host_call_every_n_steps must be positive, got 0"},
      {{.save_summary_steps = -1}, "save_summary_steps, got -1, expected >= 0"},
      {{.save_checkpoints_steps = -1}, "save_checkpoints_steps, got -1, expected >= 0"},
      {{.save_checkpoints_secs = -1}, "save_checkpoints_secs, got -1, expected >= 0"},
      {{.log_step_count_steps = -1}, "log_step_count_steps, got -1, expected >= 0"},
      {{.keep_checkpoint_max = -1}, "keep_checkpoint_max, got -1"},
      {{.keep_checkpoint_every_n_hours = 0}, "keep_checkpoint_every_n_hours, got 0, expected > 0"}};
  for (const Refused& c : cases) {
    EXPECT_THAT(error_of([&] { c.config.validate(); }), HasSubstr(c.error));
  }
}

TEST(RunConfig, reads_tf_config) {
  ::setenv("TF_CONFIG", R"({"model_dir": "/m", "session_master": "local"})", 1);
  const RunConfig config = RunConfig{.evaluation_master = "e"}.with_environment();
  EXPECT_EQ(config.model_dir, "/m");
  EXPECT_EQ(config.master, "local");
  EXPECT_EQ(config.evaluation_master, "e");
  EXPECT_THAT(error_of([] { RunConfig{.model_dir = "/n"}.with_environment(); }),
              HasSubstr("must have the same value"));
  ::setenv("TF_CONFIG", R"({"cluster": {}, "task": {"type": "chief"}})", 1);
  const LogCapture log;
  for (int i = 0; i < 2; ++i) RunConfig().with_environment();
  EXPECT_THAT(log.messages(),
              ::testing::ElementsAre(HasSubstr("'cluster' and 'task' are ignored: a launcher "
                                               "(mpirun) starts the processes")));
  ::setenv("TF_CONFIG", "{", 1);
  EXPECT_THAT(error_of([] { RunConfig().with_environment(); }),
              HasSubstr("expected a JSON object"));
  ::unsetenv("TF_CONFIG");
}

}  // namespace
}  // namespace systole
