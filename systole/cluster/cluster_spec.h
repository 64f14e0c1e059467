// The processes of a cluster, and what all resolvers return.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace systole {

// The addresses "host:port" of the tasks of each job. (tf.train.ClusterSpec)
using ClusterSpec = std::map<std::string, std::vector<std::string>>;

// Returns the address of a task. Errors: INVALID_ARGUMENT for an unknown job or task. `who` starts
// the message.
const std::string& task_address(std::string_view who, const ClusterSpec& cluster,
                                const std::string& job, int task);

// Splits "a,b" and drops empty parts and white space around parts.
std::vector<std::string> split_addresses(std::string_view text);

}  // namespace systole
