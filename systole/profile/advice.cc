// Advice: what limits the program, and what to change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "systole/profile/analysis.h"

namespace systole::profile {
namespace {

using tracing::Kind;

// Shares of the step time from which a part is worth a remark, and from which it dominates. Source:
// the thresholds of XProf's overview page.
constexpr double kInputModerate = 0.05;
constexpr double kInputHigh = 0.20;
constexpr double kHostModerate = 0.03;
constexpr double kLaunchModerate = 0.15;
constexpr double kAllReduceModerate = 0.06;
constexpr double kCompileModerate = 0.10;
constexpr double kTinyRows = 32;
constexpr double kPoorUse = 0.25;

class Adviser {
 public:
  explicit Adviser(Analysis& analysis) : analysis_(analysis) {
    for (const Step& step : analysis.steps) {
      for (int p = 0; p < kNumParts; ++p) in_steps_[p] += step.parts[p];
    }
    seconds_ = analysis.steps_seconds();
  }

  void run() {
    if (seconds_ <= 0) return;
    input();
    host();
    checkpoints();
    compilation();
    launches();
    all_reduce();
    products();
    worst_op();
    std::ranges::stable_sort(analysis_.advice, std::greater(), &Advice::gain);
  }

 private:
  double share(Part part) const { return in_steps_[static_cast<size_t>(part)] / seconds_; }
  void add(std::string topic, double gain, std::string text) {
    analysis_.advice.push_back({std::move(topic), std::move(text), gain});
  }

  void input() {
    const double wait = share(Part::input);
    if (wait < kInputModerate) return;
    std::string text = fmt::format(
        "The program is {} input-bound: {:.1f} % of the step time is spent waiting for input.",
        wait >= kInputHigh ? "highly" : "moderately", 100 * wait);
    const tracing::Stage* slowest = nullptr;
    for (const auto& pipeline : analysis_.inputs) {
      for (const tracing::Stage& stage : pipeline) {
        const bool slower = slowest == nullptr || stage.busy_seconds / stage.threads >
                                                      slowest->busy_seconds / slowest->threads;
        if (stage.elements > 0 && slower) slowest = &stage;
      }
    }
    if (slowest != nullptr) {
      const double each = 1e6 * slowest->busy_seconds / static_cast<double>(slowest->elements);
      text += fmt::format(
          " The slowest stage is {} ({:.3g} us an element, {:.3f} s on {} thread{}): {}.",
          slowest->name, each, slowest->busy_seconds, slowest->threads,
          slowest->threads == 1 ? "" : "s", slowest->remedy);
    }
    add("input", wait, std::move(text));
  }

  // The longest host work of one kind of span.
  const HostTime* longest(std::initializer_list<Kind> kinds) const {
    for (const HostTime& time : analysis_.host) {
      if (std::ranges::find(kinds, time.kind) != kinds.end()) return &time;
    }
    return nullptr;
  }

  void host() {
    const double part = share(Part::host);
    if (part < kHostModerate) return;
    const HostTime* const work = longest({Kind::host, Kind::hook});
    std::string text = fmt::format(
        "Host work between steps takes {:.1f} % of the step time, while the device waits.",
        100 * part);
    if (work != nullptr) {
      text += fmt::format(
          " Most of it is {} ({} calls of {:.3g} ms). Call it less often: raise "
          "iterations_per_loop, "
          "or the interval of the hook or host call.",
          work->name, work->count, 1e3 * work->self_seconds / static_cast<double>(work->count));
    }
    add("host", part, std::move(text));
  }

  void checkpoints() {
    const double part = share(Part::checkpoint);
    if (part < kHostModerate) return;
    add("checkpoint", part,
        fmt::format("Checkpoints and summaries take {:.1f} % of the step time. Save less often: "
                    "save_checkpoints_steps, save_summary_steps.",
                    100 * part));
  }

  void compilation() {
    const double part = share(Part::compile);
    if (part < kCompileModerate) return;
    add("compile", part,
        fmt::format("Compilation takes {:.1f} % of the captured step time. Batches of one shape "
                    "need one program; capture later to leave the first compilation out.",
                    100 * part));
  }

  void launches() {
    const double part = share(Part::launch) + share(Part::other);
    if (part < kLaunchModerate || analysis_.launches <= 0) return;
    const double steps = static_cast<double>(analysis_.steps.size()) / analysis_.launches;
    add("launch", part,
        fmt::format("{:.1f} % of the step time is overhead around the program, at {:.3g} steps a "
                    "launch. Run more steps in a launch: raise iterations_per_loop.",
                    100 * part, steps));
  }

  void all_reduce() {
    const double part = share(Part::all_reduce);
    if (part < kAllReduceModerate) return;
    add("all-reduce", part,
        fmt::format("All-reduce takes {:.1f} % of the step time on {} replicas. Use a larger batch "
                    "for each replica, or fewer parameters, so that gradients are combined less "
                    "often for the same work.",
                    100 * part, analysis_.replicas));
  }

  // Matrix products: rows of a batch, and padding on a TPU.
  void products() {
    double time = 0;
    double flops = 0;
    double padded = 0;
    double few_rows = 0;
    double ops = 0;
    double rows = 0;
    for (const OpTime& op : analysis_.ops) {
      ops += op.seconds;
      if (op.op->padded_flops <= 0) continue;
      time += op.seconds;
      flops += op.op->flops * op.runs;
      padded += op.op->padded_flops * op.runs;
      if (op.op->rows > kTinyRows) continue;
      few_rows += op.seconds;
      rows = std::max(rows, op.op->rows);
    }
    if (ops <= 0 || time <= 0) return;
    const double compute = share(Part::compute);
    const double use = flops / time / std::max(analysis_.peaks.flops_per_second, 1.0);
    if (few_rows > 0.5 * time && use < kPoorUse) {
      add("batch", compute * time / ops * (1 - use),
          fmt::format("The batch is tiny: matrix products of at most {:.0f} rows reach {:.1f} % of "
                      "the peak FLOP/s, because each reads all weights for few examples. A larger "
                      "batch costs little more a step.",
                      rows, 100 * use));
    }
    const double useful = std::min(flops / padded, 1.0);
    if (useful < 0.5 && few_rows <= 0.5 * time) {
      // A CPU pads nothing: there the advice comes last.
      const bool tpu = analysis_.peaks.name.find("TPU") != std::string::npos;
      add("padding", tpu ? compute * time / ops * (1 - useful) : 0,
          fmt::format(
              "{} waste{} {:.1f} % of the matrix unit: only {:.1f} % of the padded products "
              "is useful. Make feature sizes multiples of 128, and the batch of a core a "
              "multiple of 8.",
              tpu ? "Padding" : "For a TPU, not for this machine: padding would", tpu ? "s" : "",
              100 * (1 - useful), 100 * useful));
    }
  }

  void worst_op() {
    const OpTime* worst = nullptr;
    double most = 0;
    double ops = 0;
    for (const OpTime& op : analysis_.ops) {
      ops += op.seconds;
      const double wasted = op.seconds * (1 - utilisation(op, analysis_.peaks));
      if (wasted <= most || op.op->category == "all-reduce") continue;
      most = wasted;
      worst = &op;
    }
    if (worst == nullptr || ops <= 0) return;
    const double gain = share(Part::compute) * most / ops;
    if (gain < 0.1) return;
    std::string where = worst->op->scope.empty() ? worst->op->name : worst->op->scope;
    if (!worst->op->source.empty()) where += " at " + worst->op->source;
    // At most half of what a perfect op would save: few ops reach a limit of the machine.
    add("op", gain / 2,
        fmt::format("{} ({}) takes {:.1f} % of the time of all ops and reaches {:.1f} % of what "
                    "limits it on this machine.",
                    where, worst->op->category, 100 * worst->seconds / ops,
                    100 * utilisation(*worst, analysis_.peaks)));
  }

  Analysis& analysis_;
  Parts in_steps_{};
  double seconds_ = 0;
};

}  // namespace

void advise(Analysis& analysis) { Adviser(analysis).run(); }

}  // namespace systole::profile
