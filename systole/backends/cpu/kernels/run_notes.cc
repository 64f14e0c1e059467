#include "systole/backends/cpu/kernels/run_notes.h"

#include "systole/tracing/recording.h"

namespace systole::cpu {
namespace {

using tracing::Event;
using tracing::Kind;

// Noting an op takes less than this. After a step that noted its ops others do not, until what it
// took is one part in kShare of the time.
constexpr double kNoteNanoseconds = 40;
constexpr double kShare = 100;
// A step with more ops, inside of loops, notes these.
constexpr int64_t kMaxOps = 50'000;

int64_t ticks_to_wait_for_one_op() {
  static const auto ticks =
      static_cast<int64_t>(kNoteNanoseconds * kShare / tracing::nanoseconds_per_tick());
  return ticks;
}

}  // namespace

struct RunNotes::Events {
  std::vector<Event> list;
  // Steps without ops, one after the other.
  int64_t begin = 0;
  std::vector<int64_t> ends;
};

RunNotes::RunNotes() : events_(std::make_unique<Events>()) {}
RunNotes::~RunNotes() = default;

// Decides whether the step that begins notes its ops.
void RunNotes::choose(RunContext& context, int64_t now) const {
  context.notes_ops = now >= next_ ? 1 : 0;
}

void RunNotes::begin(RunContext& context, const tracing::Program& program, bool in_loop) {
  program_ = &program;
  in_loop_ = in_loop;
  context.notes = this;
  context.notes_steps = 1;
  ops_ = 0;
  step_begin_ = last_ = tracing::ticks();
  context.notes_ops = 0;
  if (!in_loop) choose(context, step_begin_);
}

void RunNotes::enter_steps(RunContext& context) {
  record_steps();  // those before do not end where these begin
  step_begin_ = last_ = tracing::ticks();
  choose(context, step_begin_);
}

void RunNotes::note_op(int64_t op) {
  if (ops_ >= kMaxOps) return;
  const int64_t now = tracing::ticks();
  events_->list.push_back({.begin = last_,
                           .end = now,
                           .name = program_->ops[op].name.c_str(),
                           .kind = Kind::op,
                           .args = {{"program", program_->id}, {"op", op}}});
  last_ = now;
  ++ops_;
}

void RunNotes::end_step(RunContext& context) {
  const int64_t now = tracing::ticks();
  if (ops_ == 0) [[likely]] {
    if (events_->ends.empty()) events_->begin = step_begin_;
    events_->ends.push_back(now);
  } else {
    record_steps();
    events_->list.push_back({.begin = step_begin_,
                             .end = now,
                             .name = "step",
                             .kind = Kind::step,
                             .args = {{"program", program_->id}, {"ops", ops_}}});
    next_ = now + ops_ * ticks_to_wait_for_one_op();
    ops_ = 0;
  }
  step_begin_ = last_ = now;
  choose(context, now);
}

// The ops that the loop's condition noted after the last step belong to no step.
void RunNotes::leave_steps(RunContext& context) {
  events_->list.resize(events_->list.size() - static_cast<size_t>(ops_));
  ops_ = 0;
  context.notes_ops = 0;
}

void RunNotes::record_steps() {
  tracing::record_steps(events_->begin, events_->ends, program_->id);
  events_->ends.clear();
}

void RunNotes::end(RunContext& context) {
  if (!in_loop_) end_step(context);
  record_steps();
  context.notes_ops = 0;
  context.notes_steps = 0;
  context.notes = nullptr;
  tracing::record_all(events_->list);
  events_->list.clear();
}

}  // namespace systole::cpu
