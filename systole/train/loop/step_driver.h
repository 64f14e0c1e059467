// The loop on which every front end stands: reads steps, launches them, and asks a listener what
// comes next.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "systole/data/feed/step_feed.h"
#include "systole/runtime/process_group.h"
#include "systole/train/loop/watchdog.h"

namespace systole::train {

// Where a driver's steps come from.
class StepInput {
 public:
  virtual ~StepInput() = default;
  // As StepFeed::next(). Of several processes, all are in this call together.
  virtual std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) = 0;
  // What is slow, for a user whose device waits.
  virtual std::string advice() const = 0;
};

// A launch that has run.
struct StepLaunch {
  const data::StackedSteps& batches;
  std::span<const Tensor> results;  // of StepDriverOptions::run, valid until the next launch
  double seconds = 0;               // without the wait for its input
};

// What runs between launches: hooks, callbacks, checkpoints. Calls come on the thread of
// StepDriver::drive(), in the order of their declaration. Of several processes, each method returns
// the same on all of them where its comment says so; StepDriver::agreed() helps.
class StepListener {
 public:
  virtual ~StepListener() = default;
  // The step before the next launch, for messages.
  virtual int64_t position() const = 0;
  // Whether there may be another launch, before the driver asks how long it is. The same on all
  // processes.
  virtual bool goes_on() { return true; }
  // Returns the most steps of the launch that begins `after` steps from now; 0 if there is none.
  // Called for the next launch (0), and for the one behind it, whose input is read ahead. With
  // several processes the smallest of their limits holds.
  virtual int64_t launch_limit(int64_t after) = 0;
  virtual void before_launch(const data::StackedSteps&) {}
  // Whether after_launch() of so many steps may save a state, for which other processes wait.
  virtual bool saves_after(int64_t) const { return false; }
  // Returns false to end the drive, on all processes.
  virtual bool after_launch(const StepLaunch& launch) = 0;
};

struct StepDriverOptions {
  StepInput* input = nullptr;  // required; outlives the driver
  // Runs the steps on the device.
  std::function<std::span<const Tensor>(const data::StackedSteps&)> run;
  // The processes that launch together, each with a driver of its own. Null: this one alone.
  runtime::ProcessGroup* processes = nullptr;
  // About how long a launch takes at most, so that a signal ends the drive soon after and a bar
  // moves. 0: launches are as long as the listener wants.
  double launch_seconds = 0.25;
  bool stops_on_signals = true;
  // On a signal, the steps that were read ahead are run before the drive ends: the position of the
  // input is that after them.
  bool runs_what_was_read = false;
  std::string work = "training";  // what waits for input, in the warning
};

// Launches of one program after the other. Their length begins at one step, whose time is not
// known, and grows until a launch takes launch_seconds. Warns once when the device waits for input.
// A process that reads ahead less than others returns fewer steps, so all take the least. Not
// thread-safe.
class StepDriver {
 public:
  explicit StepDriver(StepDriverOptions options);

  // Why drive() returned. `steps`: the listener wants no more. `stopped`: it said so, or a signal
  // came (StopSignals).
  enum class End : uint8_t { steps, input, stopped };

  // Launches until one of these happens. Errors: those of the input, of the device and of the
  // listener.
  End drive(StepListener& listener, Heartbeat& heartbeat);

  // The steps of a launch that takes about launch_seconds.
  int64_t pace() const { return pace_; }
  // The steps that the input reads for the next launch.
  int64_t ahead() const { return ahead_; }
  // The steps of the next launch, if its input has them.
  int64_t next_steps(StepListener& listener) const;
  // Whether a signal ends the drive now.
  bool interrupted() const;

  bool has_others() const;
  // Returns the least number that a process gives.
  int64_t agreed(int64_t own) const { return agreed(own, patience()); }
  int64_t agreed(int64_t own, runtime::ProcessGroup::Wait wait) const;
  // The same for each number.
  std::array<int64_t, 2> agreed(std::array<int64_t, 2> own) const {
    return agreed(own, patience());
  }
  std::array<int64_t, 2> agreed(std::array<int64_t, 2> own, runtime::ProcessGroup::Wait wait) const;

  // The part of the time since the last call that the device waited for input.
  double take_wait_share();

 private:
  struct InputWait {
    double seconds = 0;
    double waited = 0;
    double share() const { return seconds > 0 ? waited / seconds : 0; }
  };

  runtime::ProcessGroup::Wait patience() const;
  std::optional<data::StackedSteps> read(int64_t first, std::array<int64_t, 2> wanted,
                                         Heartbeat& heartbeat);
  // Runs a launch. Returns false to end the drive.
  bool launch(StepListener& listener, const data::StackedSteps& batches, bool saves,
              Heartbeat& heartbeat);
  void note_time(const data::StackedSteps& batches, double seconds);
  void warn_of_waits();

  const StepDriverOptions options_;
  int64_t pace_ = 1;
  int64_t ahead_ = 0;
  bool launched_ = false;  // at least once
  InputWait wait_;         // since take_wait_share()
  InputWait since_first_;  // since the first launch, whose input cannot be read ahead
  bool warned_ = false;
};

}  // namespace systole::train
