#include "systole/graph/api/tpu_ops.h"

#include <gmock/gmock.h>

#include "systole/graph/core/op_def.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TpuOpsTest : public ::testing::Test {
 protected:
  // What the node's op gives on a system, as a session's host executor calls it.
  static std::vector<Tensor> run(const Operation& operation, const HostEnvironment& system) {
    HostContext context{*operation.node(), {}, system};
    return operation.node()->op().host(context);
  }

  static HostEnvironment tpu(int num_hosts, int num_cores) {
    return {.target = "local", .is_tpu = true, .num_hosts = num_hosts, .num_cores = num_cores};
  }

  tpu::Topology topology_of(int num_hosts, int num_cores) {
    return tpu::Topology::parse(run(tpu::initialize_system(), tpu(num_hosts, num_cores))[0]);
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(TpuOpsTest, InitializeSystemIsTensorFlowsOp) {
  const Output topology = tpu::initialize_system();
  EXPECT_EQ(topology.node()->op_name(), "ConfigureDistributedTPU");
  EXPECT_EQ(topology.type(), (TensorType{DType::string, {}}));
  EXPECT_EQ(topology.node()->where().line, __LINE__ - 3U);
  EXPECT_TRUE(topology.node()->op().traits.stateful);
}

TEST_F(TpuOpsTest, ShutdownSystemIsTensorFlowsOp) {
  const Operation shutdown = tpu::shutdown_system();
  EXPECT_EQ(shutdown.node()->op_name(), "ShutdownDistributedTPU");
  EXPECT_EQ(shutdown.node()->num_outputs(), 0);
  EXPECT_EQ(shutdown.node()->where().line, __LINE__ - 3U);
  EXPECT_TRUE(shutdown.node()->op().traits.stateful);
}

TEST_F(TpuOpsTest, TheTopologyIsAProtoInTextForm) {
  EXPECT_EQ(run(tpu::initialize_system(), tpu(1, 8))[0].item<std::string>(),
            "mesh_shape: 2\nmesh_shape: 2\nmesh_shape: 2\nnum_tasks: 1\n"
            "num_tpu_devices_per_task: 8\n");
}

TEST_F(TpuOpsTest, BoardsLineUpAlongX) {
  EXPECT_THAT(topology_of(1, 8).mesh_shape, ElementsAre(2, 2, 2));
  EXPECT_THAT(topology_of(2, 16).mesh_shape, ElementsAre(4, 2, 2));
  EXPECT_THAT(topology_of(4, 32).mesh_shape, ElementsAre(8, 2, 2));
  EXPECT_THAT(topology_of(1, 2).mesh_shape, ElementsAre(1, 1, 2));
  EXPECT_THAT(topology_of(1, 1).mesh_shape, ElementsAre(1, 1, 1));
}

TEST_F(TpuOpsTest, TheMeshHoldsEveryCore) {
  for (const auto& [hosts, cores] : {std::pair{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 16}, {64, 512}}) {
    const tpu::Topology topology = topology_of(hosts, cores);
    int64_t places = 1;
    for (const int64_t size : topology.mesh_shape) places *= size;
    EXPECT_EQ(places, cores);
    EXPECT_EQ(topology.num_cores(), cores);
    EXPECT_EQ(topology.num_hosts, hosts);
    EXPECT_EQ(topology.cores_per_host, cores / hosts);
  }
}

TEST_F(TpuOpsTest, ShutdownGivesNothing) {
  EXPECT_TRUE(run(tpu::shutdown_system(), tpu(1, 8)).empty());
}

TEST_F(TpuOpsTest, BothNeedATpu) {
  const HostEnvironment this_machine{.target = "", .num_cores = 2};
  const std::string expected =
      "session target, got '', expected a TPU such as "
      "TPUClusterResolver({.tpu = \"local\"}).get_master()";
  EXPECT_EQ(error_of([&] { run(tpu::initialize_system(), this_machine); }),
            "FAILED_PRECONDITION: ConfigureDistributedTPU: " + expected);
  EXPECT_EQ(error_of([&] { run(tpu::shutdown_system(), this_machine); }),
            "FAILED_PRECONDITION: ShutdownDistributedTPU: " + expected);
}

TEST_F(TpuOpsTest, WhatIsNoTopologyIsAnError) {
  for (const Tensor& value :
       {Tensor(1), Tensor(""), Tensor("mesh_shape"), Tensor("mesh_shape: x\n"),
        Tensor("num_tasks: 1\n"), Tensor("num_tasks: 0\nnum_tpu_devices_per_task: 8\n")}) {
    EXPECT_THAT(error_of([&] { tpu::Topology::parse(value); }),
                HasSubstr("INVALID_ARGUMENT: Topology::parse: value, got " + value.to_string()));
  }
  // Fields of later versions are left out.
  const Tensor more("num_tasks: 1\nnum_tpu_devices_per_task: 2\ndevice_coordinates: 0\n");
  EXPECT_EQ(tpu::Topology::parse(more).num_cores(), 2);
}

}  // namespace
}  // namespace systole
