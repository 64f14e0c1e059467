// A profile of some steps of a training.
#pragma once

#include <memory>
#include <string>

#include "systole/base/file_system.h"
#include "systole/train/loop/hooks.h"

namespace systole {

namespace profile {
class Capture;
}

// Which steps of a training are profiled, and where the profile is written. docs/profiling.md.
struct ProfileOptions {
  // The profile begins with the first loop that starts so many steps, or more, after the training
  // did. 0: with the first loop, which waits for the compiler.
  int64_t start = 1;
  // It ends with the loop in which so many steps are complete, or with the training.
  int64_t steps = 100;
  std::string output_dir = {};        // empty: the model_dir
  FileSystem* file_system = nullptr;  // null: the one of the path; outlives the training
};

// Profiles a range of training steps and writes <output_dir>/plugins/profile/<run>, which XProf,
// TensorBoard, Perfetto, `systole board` and `systole profile report` read. If another capture is
// in progress, it warns and profiles nothing.
class CaptureHook : public SessionRunHook {
 public:
  // Errors: INVALID_ARGUMENT for a negative start, and for less than one step.
  explicit CaptureHook(ProfileOptions options);
  ~CaptureHook() override;
  void after_create_session(Session& session) override;
  int64_t steps_to_next_run(int64_t global_step) const override;
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 private:
  enum class State : uint8_t { new_training, waits, captures, done };
  void finish();

  const ProfileOptions options_;
  State state_ = State::new_training;
  int64_t first_ = 0;  // the global step at which the capture begins
  int64_t last_ = 0;   // at which it ends
  std::unique_ptr<profile::Capture> capture_;
};

}  // namespace systole
