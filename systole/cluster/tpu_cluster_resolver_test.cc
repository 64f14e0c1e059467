#include "systole/cluster/tpu_cluster_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "systole/base/error.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/cluster/cloud_tpu.h"
#include "systole/cluster/find_tpu.h"
#include "systole/cluster/kubernetes_cluster_resolver.h"
#include "systole/cluster/slurm_cluster_resolver.h"
#include "systole/cluster/tf_config_cluster_resolver.h"
#include "systole/io/testing/gcs_server.h"
#include "systole/session/targets/target.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::GcsServer;
using systole::testing::HttpServer;
using systole::testing::ServerRequest;
using systole::testing::ServerResponse;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Variables = std::map<std::string, std::string>;

// Sets variables of the environment and removes them at the end.
class Environment {
 public:
  explicit Environment(Variables values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables values_;
};

// Metadata server, token endpoint and Cloud TPU API in one.
class CloudServer {
 public:
  CloudServer() : server_({.authenticate = true}) {
    root_url = server_.url();
    server_.other_api = [this](const ServerRequest& request) -> ServerResponse {
      if (request.path == "/discovery") {
        return {.body = R"({"rootUrl": ")" + root_url + R"(/", "servicePath": "tpu/"})"};
      }
      if (!request.path.starts_with("/tpu/")) return {.status = 0};
      if (!request.header("authorization").starts_with("Bearer token-")) return {.status = 401};
      const std::string expected = "/tpu/v1/projects/project/locations/us-central1-b/nodes/";
      if (request.path != expected + "my_tpu") {
        return {.status = 404,
                .body = R"({"error": {"code": 404, "message": "Resource was not found"}})"};
      }
      return {.body = node};
    };
  }
  Variables environment() {
    return {{"GCE_METADATA_HOST", server_.http().host()},
            {"CLOUDSDK_CONFIG", "/nonexistent"},
            {"TPU_API_DISCOVERY_URL", server_.url() + "/discovery"}};
  }
  HttpServer& http() { return server_.http(); }

  std::string root_url;
  std::string node =
      R"({"name": "projects/project/locations/us-central1-b/nodes/my_tpu", "state": "READY",
          "health": "HEALTHY", "acceleratorType": "v3-32",
          "networkEndpoints": [{"ipAddress": "10.2.3.4", "port": 8470},
                               {"ipAddress": "10.2.3.5", "port": 8470}]})";

 private:
  GcsServer server_;
};

TEST(TPUClusterResolver, KeepsAddressesThatSessionsTake) {
  for (const char* tpu : {"local", "local:v3-8", "grpc://10.0.0.2:8470"}) {
    EXPECT_EQ(TPUClusterResolver(tpu).get_master(), tpu);
  }
  // This machine, whatever the environment says.
  const Environment named(Variables{{"TPU_NAME", "local"}});
  EXPECT_EQ(TPUClusterResolver("").get_master(), "");
  EXPECT_EQ(TPUClusterResolver({.tpu = ""}).get_master(), "");
  EXPECT_EQ(TPUClusterResolver({.tpu = std::string()}).cluster_spec(), std::nullopt);
  const TPUClusterResolver local("local");
  EXPECT_EQ(local.cluster_spec(), std::nullopt);
  EXPECT_EQ(local.environment(), "google");
  EXPECT_EQ(local.rpc_layer(), std::nullopt);
  EXPECT_EQ(local.get_job_name(), std::nullopt);
  EXPECT_EQ(local.num_accelerators(), 8);
  EXPECT_TRUE(local.recoverable());
  const TPUClusterResolver two({.tpu = "grpc://a:1,grpc://b:2",
                                .coordinator_name = "coordinator",
                                .coordinator_address = "c:3"});
  EXPECT_EQ(two.master(), "grpc://a:1");
  EXPECT_EQ(two.all_workers(), "grpc://a:1,b:2");
  EXPECT_EQ(*two.cluster_spec(),
            (ClusterSpec{{"worker", {"a:1", "b:2"}}, {"coordinator", {"c:3"}}}));
  EXPECT_EQ(two.rpc_layer(), "grpc");
}

TEST(TPUClusterResolver, ReadsTheEnvironmentInOrder) {
  EXPECT_THAT(error_of([] { TPUClusterResolver resolver; }),
              AllOf(HasSubstr("NOT_FOUND: TPUClusterResolver: no TPU named"), HasSubstr("TPU_NAME"),
                    HasSubstr("COLAB_TPU_ADDR")));
  const Environment colab(Variables{{"COLAB_TPU_ADDR", "10.0.0.2:8470"}});
  EXPECT_EQ(TPUClusterResolver().get_master(), "grpc://10.0.0.2:8470");
  EXPECT_EQ(TPUClusterResolver().source(), "COLAB_TPU_ADDR");
  const Environment name(Variables{{"TPU_NAME", "local"}});
  EXPECT_EQ(TPUClusterResolver().get_master(), "local");
  EXPECT_EQ(TPUClusterResolver().source(), "TPU_NAME");
  const Environment pods(
      Variables{{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "grpc://h1:8470,grpc://h2:8470"}});
  EXPECT_EQ(TPUClusterResolver().all_workers(), "grpc://h1:8470,h2:8470");
  EXPECT_EQ(TPUClusterResolver({.tpu = "local"}).get_master(), "local");
}

TEST(TPUClusterResolver, TakesALineOfEachSeed) {
  EXPECT_EQ(TPUClusterResolver({.tpu = {"local"}}).get_master(), "local");
  EXPECT_EQ(TPUClusterResolver({.tpu_names = {"local"}}).get_master(), "local");
  EXPECT_THAT(error_of([] { TPUClusterResolver r({.tpu = std::vector<std::string>{}}); }),
              StartsWith("INVALID_ARGUMENT: TPUClusterResolver: tpu, got an empty list"));
  EXPECT_THAT(error_of([] {
                TPUClusterResolver r({.tpu = {"a", "b"}});
              }),
              StartsWith("UNIMPLEMENTED: TPUClusterResolver: tpu, got a list of 2 TPUs"));
  EXPECT_THAT(error_of([] { TPUClusterResolver r({.tpu = "local", .tpu_names = "local"}); }),
              HasSubstr("got both tpu and tpu_names"));
}

TEST(TPUClusterResolver, SaysWhatAnAddressLacks) {
  for (const char* tpu : {"1.2.3.4:8470", "worker.example.com:8470", "[::1]:8470"}) {
    EXPECT_THAT(error_of([&] { TPUClusterResolver r(tpu); }),
                AllOf(StartsWith("INVALID_ARGUMENT"),
                      HasSubstr(std::string("expected grpc://") + tpu + ": grpc:// is missing")));
    EXPECT_THAT(error_of([&] { resolve_target(tpu, ""); }), HasSubstr("grpc:// is missing"));
  }
  for (const char* tpu :
       {"grpc://", "grpc://host", "grpc://host:999999", "grpc://a:1,grpc://b:x"}) {
    EXPECT_THAT(error_of([&] { TPUClusterResolver r(tpu); }),
                HasSubstr(std::string("got '") + tpu + "', expected grpc://host:port"));
  }
}

TEST(TPUClusterResolver, FindsTheTpuOfAProgram) {
  EXPECT_EQ(find_tpu(), "");
  EXPECT_EQ(tpu_variable(), "");
  EXPECT_EQ(find_tpu("local:v3-8"), "local:v3-8");
  const Environment name(Variables{{"TPU_NAME", "grpc://10.0.0.2:8470"}});
  EXPECT_EQ(tpu_variable(), "TPU_NAME");
  EXPECT_EQ(find_tpu(), "grpc://10.0.0.2:8470");
  EXPECT_EQ(find_tpu("local"), "local");
}

TEST(TPUClusterResolver, NamesNeedTheCloud) {
  const HttpServer none([](const ServerRequest&) { return ServerResponse{.status = 404}; });
  const Environment environment(Variables{{"GCE_METADATA_HOST", none.host()}});
  EXPECT_THAT(error_of([] { TPUClusterResolver r("my_tpu"); }),
              AllOf(StartsWith("INVALID_ARGUMENT: TPUClusterResolver: tpu, got 'my_tpu'"),
                    HasSubstr("or the name of a cloud TPU"), HasSubstr(none.host())));
}

TEST(TPUClusterResolver, SendsNoTokenInTheClear) {
  CloudServer cloud;
  cloud.root_url = "http://192.0.2.1";
  const Environment environment(cloud.environment());
  EXPECT_THAT(error_of([] { TPUClusterResolver("my_tpu").get_master(); }),
              AllOf(HasSubstr("got the rootUrl 'http://192.0.2.1/', expected https")));
}

TEST(TPUClusterResolver, AsksTheCloudTpuApi) {
  CloudServer cloud;
  const Environment environment(cloud.environment());
  const TPUClusterResolver resolver("my_tpu");
  EXPECT_EQ(resolver.get_master(), "grpc://10.2.3.4:8470");
  EXPECT_EQ(*resolver.cluster_spec(),
            (ClusterSpec{{"worker", {"10.2.3.4:8470", "10.2.3.5:8470"}}}));
  EXPECT_EQ(resolver.get_job_name(), "worker");
  EXPECT_THAT(
      resolver.source(),
      HasSubstr("the Cloud TPU API, projects/project/locations/us-central1-b/nodes/my_tpu"));
  EXPECT_EQ(resolver.node().accelerator_type, "v3-32");
  EXPECT_THAT(error_of([] { TPUClusterResolver r("other"); }),
              AllOf(StartsWith("NOT_FOUND"), HasSubstr("Resource was not found"),
                    HasSubstr("the argument tpu")));
  EXPECT_THAT(
      error_of([] { TPUClusterResolver r({.tpu = "my_tpu", .zone = "z", .project = "p"}); }),
      HasSubstr("projects/p/locations/z/nodes/my_tpu"));
  const Environment config(
      Variables{{"TPU_CONFIG",
                 R"({"tpu_node_name": "my_tpu", "project": "project", "zone": "us-central1-b"})"}});
  EXPECT_EQ(TPUClusterResolver().get_master(), "grpc://10.2.3.4:8470");
}

TEST(TPUClusterResolver, EveryStateAndHealth) {
  struct Case {
    const char* state;
    const char* code;
    bool recoverable;
  };
  constexpr Case kCases[] = {{"\"CREATING\"", "UNAVAILABLE", true},
                             {"\"RESTARTING\"", "UNAVAILABLE", true},
                             {"\"REIMAGING\"", "UNAVAILABLE", true},
                             {"\"DELETING\"", "FAILED_PRECONDITION", true},
                             {"\"REPAIRING\"", "UNAVAILABLE", true},
                             {"\"STOPPED\"", "FAILED_PRECONDITION", true},
                             {"\"STARTING\"", "UNAVAILABLE", true},
                             {"\"PREEMPTED\"", "FAILED_PRECONDITION", false},
                             {"\"TERMINATED\"", "FAILED_PRECONDITION", false},
                             {"11", "FAILED_PRECONDITION", false},
                             {"1", "UNAVAILABLE", true}};
  CloudServer cloud;
  const Environment environment(cloud.environment());
  for (const Case& c : kCases) {
    cloud.node = std::string(R"({"state": )") + c.state + "}";
    EXPECT_THAT(error_of([] { TPUClusterResolver r("my_tpu"); }),
                AllOf(StartsWith(c.code), HasSubstr("TPU \"my_tpu\" is not yet ready; state: ")))
        << c.state;
    EXPECT_EQ(is_recoverable(parse_cloud_tpu_node("t", cloud.node)), c.recoverable) << c.state;
  }
  cloud.node = R"({"state": "READY", "health": "UNHEALTHY_MAINTENANCE"})";
  EXPECT_THAT(error_of([] { TPUClusterResolver r("my_tpu"); }),
              HasSubstr("is unhealthy: \"UNHEALTHY_MAINTENANCE\""));
  for (const char* text : {"[]", "{", "{\"state\": null}"}) {
    EXPECT_THAT(error_of([&] { parse_cloud_tpu_node("t", text); }), StartsWith("DATA_LOSS"))
        << text;
  }
}

TEST(TPUClusterResolver, SymptomsAndWaiting) {
  FakeClock clock;
  CloudTpuNode node{.state = "READY", .symptoms = {{.type = "HBM_OUT_OF_MEMORY"}}};
  clock.advance(std::chrono::seconds(60));
  EXPECT_FALSE(is_recoverable(node, clock));
  clock.advance(std::chrono::seconds(60));
  EXPECT_TRUE(is_recoverable(node, clock));

  CloudServer cloud;
  const Environment environment(cloud.environment());
  const TPUClusterResolver resolver("my_tpu");
  resolver.wait_for_healthy(std::chrono::seconds(100), std::chrono::seconds(30), clock);
  cloud.node = R"({"state": "RESTARTING"})";
  EXPECT_THAT(error_of([&] {
                resolver.wait_for_healthy(std::chrono::seconds(100), std::chrono::seconds(30),
                                          clock);
              }),
              AllOf(StartsWith("DEADLINE_EXCEEDED"), HasSubstr("RESTARTING")));
  cloud.node = R"({"state": "PREEMPTED"})";
  EXPECT_FALSE(resolver.recoverable());
  EXPECT_THAT(error_of([&] { resolver.wait_for_healthy(); }),
              HasSubstr("reached an unrecoverable state \"PREEMPTED\""));
}

TEST(TPUClusterResolver, TheApiFailsOnceOrForGood) {
  CloudServer cloud;
  const Environment environment(cloud.environment());
  cloud.http().inject({.match = "/tpu/", .status = 401});
  cloud.http().inject({.match = "/tpu/", .status = 403, .skip = 1});
  EXPECT_EQ(TPUClusterResolver("my_tpu").get_master(), "grpc://10.2.3.4:8470");
  EXPECT_THAT(error_of([] { TPUClusterResolver r("my_tpu"); }),
              AllOf(StartsWith("PERMISSION_DENIED"), HasSubstr("HTTP 403")));
}

TEST(TFConfigClusterResolver, ReadsAllFields) {
  EXPECT_EQ(TFConfigClusterResolver().master(), "");
  const Environment config(
      Variables{{"TF_CONFIG", R"({"cluster": {"worker": ["a:1", "b:2"], "ps": ["c:3"]},
      "task": {"type": "worker", "index": 1}, "environment": "cloud"})"}});
  const TFConfigClusterResolver resolver;
  EXPECT_EQ(resolver.master(), "grpc://b:2");
  EXPECT_EQ(resolver.master("ps", 0), "grpc://c:3");
  EXPECT_EQ(resolver.environment(), "cloud");
  EXPECT_EQ(TFConfigClusterResolver({.task_id = 0, .rpc_layer = "http"}).master(), "http://a:1");
  EXPECT_THAT(error_of([&] { resolver.master("ps", 1); }), HasSubstr("task of job 'ps', got 1"));
  EXPECT_THAT(error_of([&] { resolver.master("chief", 0); }), HasSubstr("one of: ps, worker"));
  for (const char* text : {"[", "{\"cluster\": []}", "{\"cluster\": {\"a\": [1]}}",
                           "{\"task\": {\"index\": \"1\"}}", "{\"session_master\": 1}"}) {
    const Environment bad(Variables{{"TF_CONFIG", text}});
    EXPECT_THAT(error_of([] { TFConfigClusterResolver r; }),
                StartsWith("INVALID_ARGUMENT: TF_CONFIG"))
        << text;
  }
  const Environment master(Variables{{"TF_CONFIG", R"({"session_master": "local"})"}});
  EXPECT_EQ(TFConfigClusterResolver().master(), "local");
}

TEST(SlurmClusterResolver, ExpandsLists) {
  EXPECT_THAT(expand_host_list("n[08-10,12],m"), ElementsAre("n08", "n09", "n10", "n12", "m"));
  EXPECT_THAT(expand_host_list("r[1-2]n[3,5]"), ElementsAre("r1n3", "r1n5", "r2n3", "r2n5"));
  EXPECT_THAT(expand_task_counts("2(x3),1"), ElementsAre(2, 2, 2, 1));
  for (const char* text : {"n[1", "n[2-1]", "n[a]", "n]", ",", "n[1-999999999]"}) {
    EXPECT_THAT(error_of([&] { expand_host_list(text); }), StartsWith("INVALID_ARGUMENT")) << text;
  }
  for (const char* text : {"0", "a", "2(x", "2(x0)", "1(x999999999)"}) {
    EXPECT_THAT(error_of([&] { expand_task_counts(text); }), StartsWith("INVALID_ARGUMENT"))
        << text;
  }
}

TEST(SlurmClusterResolver, NumbersTheTasks) {
  EXPECT_THAT(error_of([] { SlurmClusterResolver r; }), StartsWith("NOT_FOUND"));
  const Environment job(Variables{{"SLURM_JOB_NODELIST", "t[1-2]"},
                                  {"SLURM_TASKS_PER_NODE", "2(x2)"},
                                  {"SLURM_NTASKS", "4"},
                                  {"SLURM_PROCID", "3"}});
  const SlurmClusterResolver resolver({.jobs = {{"ps", 1}, {"worker", 3}}});
  EXPECT_EQ(resolver.cluster_spec(),
            (ClusterSpec{{"ps", {"t1:8888"}}, {"worker", {"t1:8889", "t2:8888", "t2:8889"}}}));
  EXPECT_EQ(resolver.task_type(), "worker");
  EXPECT_EQ(resolver.task_id(), 2);
  EXPECT_EQ(resolver.master(), "grpc://t2:8889");
  EXPECT_EQ(SlurmClusterResolver().cluster_spec().at("worker").size(), 4U);
  EXPECT_THAT(error_of([] {
                SlurmClusterResolver r({.jobs = {{"worker", 5}}});
              }),
              HasSubstr("got 5 tasks"));
}

TEST(KubernetesClusterResolver, ListsPods) {
  EXPECT_THAT(error_of([] { KubernetesClusterResolver r; }), StartsWith("NOT_FOUND"));
  const TempFolder account;
  std::ofstream(account / "token") << "secret\n";
  std::string phase = "Running";
  const HttpServer server([&](const ServerRequest& request) -> ServerResponse {
    if (request.header("authorization") != "Bearer secret") {
      return {.status = 401, .body = R"({"message": "Unauthorized"})"};
    }
    if (request.path != "/api/v1/pods" || request.param("labelSelector") != "job-name=tensorflow") {
      return {.status = 404};
    }
    return {.body = R"({"items": [
      {"metadata": {"name": "b"}, "status": {"phase": ")" +
                    phase + R"(", "hostIP": "10.0.0.2"}},
      {"metadata": {"name": "a"}, "status": {"phase": "Running", "hostIP": "10.0.0.1"}}]})"};
  });
  const KubernetesClusterResolver resolver(
      {.api_server = server.url(), .service_account = account.path()});
  EXPECT_EQ(resolver.cluster_spec(), (ClusterSpec{{"worker", {"10.0.0.1:8470", "10.0.0.2:8470"}}}));
  EXPECT_EQ(resolver.master("worker", 1), "grpc://10.0.0.2:8470");
  phase = "Pending";
  EXPECT_THAT(
      error_of([&] { resolver.cluster_spec(); }),
      AllOf(StartsWith("UNAVAILABLE"), HasSubstr("pod \"b\" is not running; phase: \"Pending\"")));
  EXPECT_THAT(error_of([&] {
                KubernetesClusterResolver({.api_server = server.url(), .service_account = "/none"})
                    .cluster_spec();
              }),
              AllOf(StartsWith("UNAUTHENTICATED"), HasSubstr("Unauthorized")));
}

}  // namespace
}  // namespace systole
