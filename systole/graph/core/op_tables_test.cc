// The op tables that belong to no header's own test, and what holds for all tables.
#include <gmock/gmock.h>

#include <set>

#include "systole/graph/core/op_def.h"
#include "systole/graph/testing/all_cases.h"
#include "systole/graph/testing/random_op_cases.h"

namespace systole {
namespace {

using graph_testing::for_each_node;
using graph_testing::OpCase;
using graph_testing::SessionCase;

TEST(OpTables, Random) {
  for (const OpCase& row : graph_testing::random_op_cases()) check_op(row);
}

TEST(OpTables, Variables) {
  for (const SessionCase& row : graph_testing::variable_cases()) check_session(row);
}

TEST(OpTables, Updates) {
  for (const SessionCase& row : graph_testing::update_cases()) check_session(row);
}

// Ops that mean something on several replicas alone: session/tpu_replicate_test.cc and
// train/cross_shard_optimizer_test.cc and sparse_gradients_test.cc run them.
bool is_of_replicas(const OpDef& op) {
  static const std::set<std::string_view> names = {"AllGather",          "AllToAll",
                                                   "CollectivePermute",  "CrossReplicaSum",
                                                   "TPUReplicatedInput", "TPUReplicateMetadata",
                                                   "XlaReplicaId",       "TPUReplicatedOutput"};
  return names.contains(op.name);
}

// An op is shown by a row when the row's program, or a gradient of it, has a node of it. Ops that
// run on the host alone have tests of their own.
TEST(OpTables, ShowEveryOp) {
  std::set<std::string_view> shown;
  const auto note = [&](const Node& node) { shown.insert(node.op().name); };
  for (const OpCase& row : graph_testing::all_op_cases()) {
    if (row.error.empty()) for_each_node(*graph_of(row).graph, note);
  }
  for (const SessionCase& row : graph_testing::all_session_cases()) {
    for_each_node(*check_session(row), note);
  }
  std::vector<std::string_view> missing;
  for (const OpDef* op : all_op_defs()) {
    if (op->host == nullptr && !is_of_replicas(*op) && !shown.contains(op->name))
      missing.push_back(op->name);
  }
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "give these ops a row in systole/graph/testing";
}

TEST(OpTables, RowsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OpCase& row : graph_testing::all_op_cases()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

}  // namespace
}  // namespace systole
