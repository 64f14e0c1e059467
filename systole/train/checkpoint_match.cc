#include "systole/train/checkpoint_match.h"

#include <algorithm>

#include "systole/base/suggest.h"
#include "systole/base/thread_pool.h"
#include "systole/session/step_loop.h"

namespace systole {
namespace {

// How many variables an error shows.
constexpr size_t kMaxListed = 5;

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMaxListed); ++i) text += "\n  " + lines[i];
  if (lines.size() > kMaxListed) text += fmt::format("\n  and {} more", lines.size() - kMaxListed);
  return text;
}

}  // namespace

void CheckpointMatch::check(const BundleReader& reader) const {
  const std::vector<std::string> keys = reader.keys();
  std::vector<std::string> wrong;
  std::vector<std::string> unused = keys;
  for (const auto& [key, variable] : pairs_) {
    std::erase(unused, key);
    const std::string alias = key == variable.name() ? "" : fmt::format(" (as '{}')", key);
    if (!reader.contains(key)) {
      wrong.push_back(fmt::format("'{}'{} {}: not in the checkpoint{}", variable.name(), alias,
                                  variable.type(), did_you_mean(key, keys)));
    } else if (reader.type_of(key) != variable.type()) {
      wrong.push_back(fmt::format("'{}'{}: {} in the checkpoint, {} in the graph", variable.name(),
                                  alias, reader.type_of(key), variable.type()));
    }
  }
  if (wrong.empty()) return;
  std::string text = fmt::format(
      "{}: a checkpoint of another model: {} of {} variables of the graph do not match it:{}",
      reader.prefix(), wrong.size(), pairs_.size(), listed(wrong));
  for (std::string& key : unused) key = fmt::format("'{}' {}", key, reader.type_of(key));
  if (!unused.empty()) text += "\nin the checkpoint and not in the graph:" + listed(unused);
  if (!advice_.empty()) text += "\n" + advice_;
  throw Error(Code::not_found, text);
}

std::vector<Tensor> CheckpointMatch::read(const BundleReader& reader) const {
  check(reader);
  std::vector<Tensor> values(pairs_.size());
  ThreadPool::global().parallel_for(
      static_cast<int64_t>(pairs_.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          values[i] = reader.read(pairs_[i].key);
        }
      });
  return values;
}

void CheckpointMatch::set(Session& session, std::vector<Tensor> values) const {
  std::vector<Variable> variables;
  for (const Pair& pair : pairs_) variables.push_back(pair.variable);
  StepLoop::set_variables(session, variables, std::move(values));
}

}  // namespace systole
