#include "systole/train/loop/share_variables.h"

#include "systole/base/error.h"

namespace systole::train {
namespace {

std::string list_of(std::span<const Variable> variables) {
  std::string list;
  for (const Variable& variable : variables) {
    list += fmt::format("{} {}\n", variable.name(), variable.type());
  }
  return list;
}

// The line in which `other` first differs from `own`.
std::string first_difference(const std::string& own, const std::string& other) {
  size_t begin = 0;
  for (size_t i = 0; i < other.size() && i < own.size() && own[i] == other[i]; ++i) {
    if (own[i] == '\n') begin = i + 1;
  }
  const std::string line = other.substr(begin, other.find('\n', begin) - begin);
  return line.empty() ? "none" : fmt::format("'{}'", line);
}

}  // namespace

void share_variables(Session& session, std::span<const Variable> variables,
                     runtime::ProcessGroup& processes) {
  const std::vector<std::string> lists = processes.gather(list_of(variables));
  for (size_t r = 1; r < lists.size(); ++r) {
    if (lists[r] == lists[0]) continue;
    throw invalid_argument(
        "processes: variable, got {} on rank 0 and {} on rank {}, expected one program on all "
        "processes",
        first_difference(lists[r], lists[0]), first_difference(lists[0], lists[r]), r);
  }
  std::string known;
  for (const Variable& variable : variables) known += session.is_initialized(variable) ? '1' : '0';
  known = processes.broadcast(known);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (known[i] == '0') continue;
    const TensorType& type = variables[i].type();
    Tensor value = processes.rank() == 0 ? session.variable_value(variables[i])
                                         : Tensor::zeros(type.dtype, type.shape);
    processes.broadcast(value);
    if (processes.rank() > 0) session.set_variable(variables[i], value);
  }
}

}  // namespace systole::train
