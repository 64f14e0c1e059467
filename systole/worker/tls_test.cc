// TLS with certificates that the test makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/runtime/registry.h"
#include "systole/worker/protocol/credential_file.h"
#include "systole/worker/protocol/profile_stream.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/worker_status.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool run_openssl(const std::string& arguments) {
  const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
}

// Makes NAME.pem and NAME.key, a certificate of this machine that signs itself.
bool make_certificate(const TempFolder& folder, const std::string& name) {
  return run_openssl(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 " +
      ("-subj /CN=worker -addext subjectAltName=IP:127.0.0.1 -keyout " + folder.path()) + "/" +
      name + ".key -out " + folder.path() + "/" + name + ".pem");
}

class WorkerTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!make_certificate(folder_, "worker") || !make_certificate(folder_, "client") ||
        !make_certificate(folder_, "other")) {
      GTEST_SKIP() << "openssl is not there";
    }
    options_.tls.certificate = path("worker.pem");
    options_.tls.key = path("worker.key");
    options_.tls.reload_seconds = 1;
    options_.token = "secret";
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Puts a number to the worker's memory and back. Returns the error, or "no error".
  static std::string connect(const WorkerServer& worker, const std::string& ca,
                             const std::string& token, const std::string& certificate = "",
                             const std::string& key = "") {
    return error_of([&] {
      runtime::Client& client = runtime::client("remote", {{"address", worker.address()},
                                                           {"ca", ca},
                                                           {"token", token},
                                                           {"certificate", certificate},
                                                           {"key", key},
                                                           {"connect_seconds", 5.0}});
      EXPECT_EQ(client.buffer_from_host(Tensor(3.0F))->to_host().item<float>(), 3);
    });
  }

  TempFolder folder_;
  WorkerOptions options_{.listen = "127.0.0.1:0"};
};

TEST_F(WorkerTlsTest, ProvesWhoItIs) {
  const WorkerServer worker(runtime::client("cpu"), options_);
  EXPECT_EQ(connect(worker, path("worker.pem"), "secret"), "no error");
  EXPECT_THAT(connect(worker, path("worker.pem"), "guess"), StartsWith("UNAUTHENTICATED"));
  EXPECT_THAT(connect(worker, path("other.pem"), "secret"), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(connect(worker, "", "secret"),
              AllOf(StartsWith("UNAVAILABLE"), HasSubstr("set SYSTOLE_WORKER_CA to the file")));
  EXPECT_THAT(error_of([&] { worker_status(worker.address()); }),
              HasSubstr("set SYSTOLE_WORKER_CA to the file"));
  EXPECT_THAT(connect(worker, path("none.pem"), "secret"), StartsWith("NOT_FOUND"));
}

TEST_F(WorkerTlsTest, ProtectsRecordings) {
  const WorkerServer worker(runtime::client("cpu"), options_);
  const auto begin = [&](const std::string& ca, const std::string& token) {
    return error_of([&] {
      ProfileStream(worker.address(), {.token = token, .ca = ca.empty() ? "" : path(ca)}, {});
    });
  };
  EXPECT_EQ(begin("worker.pem", "secret"), "no error");
  EXPECT_THAT(begin("worker.pem", "guess"), StartsWith("UNAUTHENTICATED"));
  EXPECT_THAT(begin("other.pem", "secret"), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(begin("", "secret"), HasSubstr("set SYSTOLE_WORKER_CA to the file"));
}

TEST_F(WorkerTlsTest, DemandsCertificatesOfClients) {
  options_.tls.client_ca = path("client.pem");
  const WorkerServer worker(runtime::client("cpu"), options_);
  const std::string ca = path("worker.pem");
  EXPECT_EQ(connect(worker, ca, "secret", path("client.pem"), path("client.key")), "no error");
  EXPECT_THAT(connect(worker, ca, "secret"), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(connect(worker, ca, "secret", path("other.pem"), path("other.key")),
              StartsWith("UNAVAILABLE"));
}

TEST_F(WorkerTlsTest, ReadsChangedFilesAgain) {
  const WorkerServer worker(runtime::client("cpu"), options_);
  std::filesystem::copy_file(path("other.key"), path("worker.key"),
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(path("other.pem"), path("worker.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  std::string result;
  for (int i = 0; i < 50 && result != "no error"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    result = connect(worker, path("other.pem"), "secret");
  }
  EXPECT_EQ(result, "no error");
}

// Certificate and key are replaced one after the other: between them they do not fit.
TEST_F(WorkerTlsTest, KeepsTheCertificateInUseUntilTheNewOneFits) {
  options_.tls.reload_seconds = 0;
  const WorkerServer worker(runtime::client("cpu"), options_);
  const auto replace = [&](const char* with, const char* what) {
    std::filesystem::copy_file(path(with), path(what),
                               std::filesystem::copy_options::overwrite_existing);
  };
  std::filesystem::copy_file(path("worker.pem"), path("old.pem"));
  replace("other.key", "worker.key");
  EXPECT_EQ(connect(worker, path("old.pem"), "secret"), "no error");
  replace("other.pem", "worker.pem");
  EXPECT_EQ(connect(worker, path("other.pem"), "secret"), "no error");
}

TEST_F(WorkerTlsTest, RefusesOldVersionsOfTls) {
  const WorkerServer worker(runtime::client("cpu"), options_);
  const std::string connect = "s_client -connect " + worker.address() + " -alpn h2 -CAfile " +
                              path("worker.pem") + " -verify_return_error </dev/null ";
  EXPECT_FALSE(run_openssl(connect + "-tls1_1 -cipher ALL:@SECLEVEL=0"));
  EXPECT_TRUE(run_openssl(connect + "-tls1_2"));
  EXPECT_TRUE(run_openssl(connect + "-tls1_3"));
}

TEST_F(WorkerTlsTest, RefusesWhatIsNotSafe) {
  const auto fails = [](WorkerOptions options) {
    return error_of([&] { const WorkerServer worker(runtime::client("cpu"), options); });
  };
  options_.listen = "0.0.0.0:0";
  WorkerOptions options = options_;
  options.token = "";
  EXPECT_THAT(fails(options), HasSubstr("token, got none, expected one to listen"));
  options = options_;
  options.tls.key = "";
  EXPECT_THAT(fails(options), HasSubstr("got a certificate or a key"));
  options = options_;
  options.tls.key = path("none.key");
  EXPECT_THAT(fails(options), StartsWith("NOT_FOUND"));
  options = options_;
  EXPECT_THAT(fails(options), HasSubstr("got 6 characters, expected at least 16"));
  options.listen = "127.0.0.1:0";
  options.tls.key = path("other.key");
  EXPECT_THAT(fails(options), HasSubstr("which is not the key of the certificate"));
  options.tls.key = path("other.pem");
  EXPECT_THAT(fails(options), HasSubstr("key, got"));
  options.tls.certificate = path("other.key");
  EXPECT_THAT(fails(options), HasSubstr("which has none in PEM format"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (std::string* file : {&options.tls.certificate, &options.tls.key, &options.tls.client_ca}) {
    options = options_;
    options.listen = "127.0.0.1:0";
    *file = path("pipe");
    EXPECT_THAT(fails(options), HasSubstr("named pipe"));
    *file = "/dev/zero";
    EXPECT_THAT(fails(options), HasSubstr("device"));
  }
}

TEST_F(WorkerTlsTest, RefusesCertificatesThatNoClientWouldTake) {
  const auto fails = [&](const std::string& certificate, const std::string& client_ca = "") {
    WorkerOptions options = options_;
    options.tls.certificate = path(certificate);
    options.tls.client_ca = client_ca.empty() ? "" : path(client_ca);
    return error_of([&] { const WorkerServer worker(runtime::client("cpu"), options); });
  };
  // A request; a certificate of an authority, "signed", and one whose time is over.
  const std::string key = "-key " + path("worker.key") + " -out " + folder_.path();
  ASSERT_TRUE(run_openssl("req -new -subj /CN=signed " + key + "/request.pem"));
  const std::string sign = "x509 -req -in " + path("request.pem") + " -CA " + path("other.pem") +
                           " -CAkey " + path("other.key") + " -CAcreateserial -out " +
                           folder_.path();
  ASSERT_TRUE(run_openssl(sign + "/signed.pem -days 2"));
  ASSERT_TRUE(run_openssl(sign + "/old.pem -days -1"));
  const auto join = [&](const std::string& authority) {
    std::ofstream chain(path("chain.pem"));
    for (const std::string& name : {std::string("signed.pem"), authority}) {
      chain << std::ifstream(path(name)).rdbuf();
    }
  };
  EXPECT_THAT(fails("request.pem"), HasSubstr("only a request for one"));
  EXPECT_THAT(fails("old.pem"), HasSubstr("whose time is over"));
  join("client.pem");
  EXPECT_THAT(fails("chain.pem"), HasSubstr("whose certificate 2 is not that of the authority"));
  join("other.pem");
  EXPECT_EQ(fails("chain.pem"), "no error");
  EXPECT_THAT(fails("worker.pem", "request.pem"), HasSubstr("only a request for one"));
  EXPECT_THAT(fails("worker.pem", "signed.pem"),
              HasSubstr("which has a certificate that may sign"));
}

TEST_F(WorkerTlsTest, KeepsTheCertificateWhenAPipeTakesThePlaceOfItsFile) {
  options_.tls.reload_seconds = 0;
  const WorkerServer worker(runtime::client("cpu"), options_);
  std::filesystem::rename(path("worker.pem"), path("old.pem"));
  ASSERT_EQ(::mkfifo(path("worker.pem").c_str(), 0600), 0);
  EXPECT_EQ(connect(worker, path("old.pem"), "secret"), "no error");
}

TEST(CredentialFile, ReadsNothingButFiles) {
  const TempFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { read_token_file("token file", pipe); }),
              AllOf(StartsWith("FAILED_PRECONDITION: worker: token file: "), HasSubstr("pipe")));
  EXPECT_THAT(error_of([&] { read_token_file("token file", folder.path() + "/none"); }),
              StartsWith("NOT_FOUND: worker: token file, got "));
  EXPECT_THAT(error_of([&] { read_token_file("token file", "/dev/null"); }),
              HasSubstr("which has no token"));
}

}  // namespace
}  // namespace systole::worker
