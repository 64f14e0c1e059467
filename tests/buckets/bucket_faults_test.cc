// What servers and networks do wrong, and what a program is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "systole/base/testing/error_of.h"
#include "systole/io/buckets/aws_credentials.h"
#include "systole/io/buckets/s3_signature.h"
#include "systole/io/buckets/xml.h"
#include "systole/io/wire/crypto.h"
#include "tests/buckets/bucket_fixture.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class BucketFaults : public ::testing::TestWithParam<Service> {
 protected:
  Bucket bucket_{GetParam()};
  FileSystem& fs_ = bucket_.files();
};
INSTANTIATE_TEST_SUITE_P(All, BucketFaults, ::testing::Values(Service::gs, Service::s3),
                         service_name);

struct StatusCase {
  int status;
  const char* code;
  bool again;  // whether one such answer is repaired by another request
};
constexpr StatusCase kStatusCases[] = {
    {400, "INVALID_ARGUMENT", false},    {403, "PERMISSION_DENIED", false},
    {405, "INVALID_ARGUMENT", false},    {407, "PERMISSION_DENIED", false},
    {408, "UNAVAILABLE", true},          {409, "ABORTED", false},
    {410, "NOT_FOUND", false},           {411, "INVALID_ARGUMENT", false},
    {413, "FAILED_PRECONDITION", false}, {414, "INVALID_ARGUMENT", false},
    {429, "UNAVAILABLE", true},          {500, "UNAVAILABLE", true},
    {501, "UNIMPLEMENTED", false},       {502, "UNAVAILABLE", true},
    {503, "UNAVAILABLE", true},          {504, "UNAVAILABLE", true},
    {307, "FAILED_PRECONDITION", false}};

// A listing, a read and a write meet each status: once, then for ever.
TEST_P(BucketFaults, EveryStatus) {
  for (const StatusCase& c : kStatusCases) {
    bucket_.put("d/a", "contents");
    const auto list = [&] { EXPECT_THAT(fs_.list(bucket_.at("d")), SizeIs(1)); };
    const auto read = [&] { EXPECT_EQ(read_file(fs_, bucket_.at("d/a")), "contents"); };
    const auto write = [&] { write_file_atomically(fs_, bucket_.at("d/a"), "contents"); };
    const std::function<void()> actions[] = {list, read, write};
    for (const auto& action : actions) {
      bucket_.http().inject({.match = "bucket", .status = c.status, .count = 1});
      const std::string once = error_of(action);
      if (c.again) {
        EXPECT_EQ(once, "no error") << c.status;
      } else {
        EXPECT_THAT(once, AllOf(StartsWith(c.code), HasSubstr(fmt::format("HTTP {}", c.status))));
      }
      bucket_.http().clear_faults();
      if (!c.again) continue;
      bucket_.http().inject({.match = "bucket", .status = c.status, .count = 1000});
      EXPECT_THAT(error_of(action), AllOf(StartsWith(c.code), HasSubstr(bucket_.at("d")),
                                          HasSubstr(fmt::format("HTTP {}", c.status)),
                                          HasSubstr("after 5 attempts")));
      bucket_.http().clear_faults();
    }
  }
}

TEST_P(BucketFaults, BrokenReadsContinue) {
  const std::string bytes = pattern_bytes(1'000'000);
  bucket_.put("a", bytes);
  using Kind = ServerFault::Kind;
  const std::string read = GetParam() == Service::gs ? "alt=media" : "GET /bucket/a";
  // 40 cuts that each move forward are more than the number of attempts.
  bucket_.http().inject({.kind = Kind::cut, .match = read, .bytes = 20'000, .count = 40});
  EXPECT_EQ(read_file(fs_, bucket_.at("a")), bytes);
  bucket_.put("b", bytes);
  bucket_.http().clear_faults();
  bucket_.http().inject({.kind = Kind::cut,
                         .match = GetParam() == Service::gs ? "alt=media" : "GET /bucket/b",
                         .bytes = 0,
                         .count = 1000});
  EXPECT_THAT(error_of([&] { read_file(fs_, bucket_.at("b")); }),
              AllOf(HasSubstr(bucket_.at("b") + ": cannot read at offset 0"),
                    HasSubstr("after 5 attempts")));
}

TEST_P(BucketFaults, NoServer) {
  bucket_.put("a", "x");
  std::string url;
  {
    const HttpServer closed([](const ServerRequest&) { return ServerResponse{}; });
    url = closed.url();
  }
  http::RetryOptions retries{.attempts = 3, .first_wait = std::chrono::milliseconds(1)};
  buckets::BucketFileSystem gone(
      GetParam() == Service::gs
          ? buckets::make_gcs_store({.endpoint = url, .authenticate = false, .retries = retries})
          : buckets::make_s3_store({.endpoint = url, .path_style = true, .retries = retries}),
      {});
  EXPECT_THAT(error_of([&] { gone.open(bucket_.at("a")); }),
              AllOf(StartsWith("UNAVAILABLE: " + bucket_.at("a")), HasSubstr("after 3 attempts")));
}

// The answer to a write is lost after the write has happened.
TEST_P(BucketFaults, AWriteWhoseAnswerIsLostHappensOnce) {
  const std::string writes = GetParam() == Service::gs ? "uploadType=multipart" : "PUT /bucket/a";
  bucket_.http().inject(
      {.kind = ServerFault::Kind::late_status, .match = writes, .status = 503, .count = 1});
  fs_.create(bucket_.at("a"))->append("x");
  EXPECT_EQ(bucket_.contents().at("a"), "x");
  fs_.rename(bucket_.at("a"), bucket_.at("b"));
  bucket_.http().inject(
      {.kind = ServerFault::Kind::late_status, .match = "DELETE", .status = 503, .count = 1});
  fs_.remove(bucket_.at("b"));
  EXPECT_THAT(bucket_.contents(), SizeIs(0));
  bucket_.put("c", "1");
  const std::string copies = GetParam() == Service::gs ? "rewriteTo" : "PUT /bucket/d";
  bucket_.http().inject(
      {.kind = ServerFault::Kind::late_status, .match = copies, .status = 500, .count = 1});
  fs_.rename(bucket_.at("c"), bucket_.at("d"));
  EXPECT_EQ(bucket_.contents().at("d"), "1");
}

TEST_P(BucketFaults, PartsThatFailAreSentAgain) {
  const std::string bytes = pattern_bytes(3'000'000);
  const std::string part = GetParam() == Service::gs ? "PUT /session" : "partNumber=";
  using Kind = ServerFault::Kind;
  bucket_.http().inject({.match = part, .status = 503, .skip = 2, .count = 1});
  bucket_.http().inject(
      {.kind = Kind::late_status, .match = part, .status = 500, .skip = 4, .count = 2});
  bucket_.http().inject({.kind = Kind::cut, .match = part, .skip = 8, .count = 1});
  const auto file = fs_.create(bucket_.at("a"));
  file->append(bytes);
  file->close();
  EXPECT_EQ(bucket_.contents().at("a"), bytes);
}

TEST_P(BucketFaults, AServerThatHangs) {
  Bucket bucket(GetParam());
  bucket.put("a", "x");
  bucket.http().inject({.kind = ServerFault::Kind::delay,
                        .match = "bucket",
                        .count = 1,
                        .delay = std::chrono::milliseconds(1500)});
  http::HttpRequest request{.url = bucket.http().url() + "/bucket"};
  request.timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(error_of([&] { http::shared_http_client().send(request); }),
              StartsWith("DEADLINE_EXCEEDED"));
  bucket.http().inject({.kind = ServerFault::Kind::delay,
                        .match = "bucket",
                        .count = 1,
                        .delay = std::chrono::milliseconds(1500)});
  const auto call = http::shared_http_client().start({.url = bucket.http().url() + "/bucket"});
  call->cancel();
  call->wait();
  ASSERT_TRUE(call->failure());
  EXPECT_EQ(call->failure()->code, Code::cancelled);
}

TEST(BucketFaultsGs, ChecksumsAreCompared) {
  Bucket bucket(Service::gs);
  bucket.put("a", pattern_bytes(100'000));
  bucket.http().inject(
      {.kind = ServerFault::Kind::corrupt, .match = "alt=media", .bytes = 99'999, .count = 1});
  EXPECT_THAT(error_of([&] { read_file(bucket.files(), bucket.at("a")); }),
              AllOf(StartsWith("DATA_LOSS: gs://bucket/a: crc32c of the object, got"),
                    HasSubstr("expected")));
  EXPECT_EQ(read_file(bucket.files(), bucket.at("a")), pattern_bytes(100'000));
}

TEST(BucketFaultsGs, ALostUploadSession) {
  Bucket bucket(Service::gs);
  bucket.http().inject({.match = "PUT /session", .status = 410, .count = 1});
  bucket.files().create(bucket.at("a"))->append(pattern_bytes(600'000));
  EXPECT_EQ(bucket.contents().at("a"), pattern_bytes(600'000));
  bucket.http().inject({.match = "PUT /session", .status = 404, .skip = 1, .count = 1});
  const auto file = bucket.files().create(bucket.at("b"));
  EXPECT_THAT(error_of([&] {
                file->append(pattern_bytes(1'600'000));
                file->close();
              }),
              AllOf(StartsWith("UNAVAILABLE: gs://bucket/b: cannot write"),
                    HasSubstr("the upload session was lost")));
  EXPECT_FALSE(bucket.contents().contains("b"));
}

TEST(BucketFaultsGs, TokensAreRenewed) {
  BucketSettings settings;
  settings.gcs = {.authenticate = true, .token_uses = 3};
  Bucket bucket(Service::gs, settings);
  for (int i = 0; i < 5; ++i) {
    write_file_atomically(bucket.files(), bucket.at("a"), pattern_bytes(10'000));
    EXPECT_EQ(read_file(bucket.files(), bucket.at("a")), pattern_bytes(10'000));
  }
  EXPECT_GT(bucket.http().count("POST /token"), 5);
}

TEST(BucketFaultsGs, CredentialsInGooglesOrder) {
  BucketSettings settings;
  Bucket bucket(Service::gs, settings);
  bucket.put("a", "x");
  const std::string& folder = bucket.folder().path();
  const auto open = [&](http::RetryOptions retries = {.attempts = 1}) {
    buckets::BucketFileSystem files(
        buckets::make_gcs_store({.endpoint = bucket.gcs().url(), .retries = retries}), {});
    return error_of([&] { EXPECT_EQ(read_file(files, bucket.at("a")), "x"); });
  };
  EXPECT_EQ(open(), "no error");  // the service account of the fixture
  std::ofstream(folder + "/bad.json") << R"({"type": "external_account"})";
  setenv("GOOGLE_APPLICATION_CREDENTIALS", (folder + "/bad.json").c_str(), 1);
  EXPECT_THAT(open(), AllOf(StartsWith("INVALID_ARGUMENT: " + folder + "/bad.json"),
                            HasSubstr("external_account")));
  setenv("GOOGLE_APPLICATION_CREDENTIALS", (folder + "/none.json").c_str(), 1);
  EXPECT_THAT(open(), StartsWith("NOT_FOUND: " + folder + "/none.json"));
  unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
  setenv("CLOUDSDK_CONFIG", folder.c_str(), 1);
  bucket.gcs().write_refresh_file(folder + "/application_default_credentials.json");
  EXPECT_EQ(open(), "no error");
  std::ofstream(folder + "/clear.json")
      << R"({"type": "authorized_user", "client_id": "i", "client_secret": "s",)"
      << R"( "refresh_token": "r", "token_uri": "http://192.0.2.1/token"})";
  setenv("GOOGLE_APPLICATION_CREDENTIALS", (folder + "/clear.json").c_str(), 1);
  EXPECT_THAT(open(), AllOf(StartsWith("INVALID_ARGUMENT: " + folder + "/clear.json: token_uri"),
                            HasSubstr("expected https")));
  unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
  setenv("CLOUDSDK_CONFIG", (folder + "/none").c_str(), 1);
  setenv("GCE_METADATA_HOST", bucket.http().host().c_str(), 1);
  EXPECT_EQ(open(), "no error");
  const HttpServer plain([](const ServerRequest&) { return ServerResponse{.status = 404}; });
  setenv("GCE_METADATA_HOST", plain.host().c_str(), 1);
  EXPECT_THAT(open(), AllOf(StartsWith("UNAUTHENTICATED: Google credentials: none found"),
                            HasSubstr("GOOGLE_APPLICATION_CREDENTIALS (not set)"),
                            HasSubstr("none/application_default_credentials.json"),
                            HasSubstr(plain.host())));
  unsetenv("GCE_METADATA_HOST");
  unsetenv("CLOUDSDK_CONFIG");
}

TEST(BucketFaultsGs, AWrongKeyIsRefusedAndNotShown) {
  Bucket bucket(Service::gs);
  GcsServer other({.authenticate = true});
  other.write_key_file(bucket.folder() / "other.json");  // its key is not known to the first
  std::ifstream in(bucket.folder() / "other.json");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t at = text.find(other.url());
  text.replace(at, other.url().size(), bucket.gcs().url());
  std::ofstream(bucket.folder() / "other.json") << text;
  setenv("GOOGLE_APPLICATION_CREDENTIALS", (bucket.folder() / "other.json").c_str(), 1);
  buckets::BucketFileSystem files(buckets::make_gcs_store({.endpoint = bucket.gcs().url()}), {});
  EXPECT_THAT(error_of([&] { files.exists(bucket.at("a")); }),
              AllOf(StartsWith("UNAUTHENTICATED"), HasSubstr("Invalid JWT Signature"),
                    Not(HasSubstr("PRIVATE"))));
}

TEST_P(BucketFaults, AClockThatIsWrong) {
  BucketSettings settings;
  settings.gcs = {.authenticate = true, .clock_skew = std::chrono::hours(-3)};
  settings.s3.clock_skew = std::chrono::hours(-3);
  Bucket bucket(GetParam(), settings);
  write_file_atomically(bucket.files(), bucket.at("a"), "x");
  EXPECT_EQ(read_file(bucket.files(), bucket.at("a")), "x");
}

// AWS General Reference, "Examples of Signature Calculations", GET object.
TEST(BucketFaultsS3, TheSignatureOfAmazonsExample) {
  http::HttpRequest request{.url = "https://examplebucket.s3.amazonaws.com/test.txt",
                            .headers = {{"Range", "bytes=0-9"}}};
  buckets::sign_s3_request(request,
                           {.access_key = "AKIAIOSFODNN7EXAMPLE",
                            .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
                           "us-east-1", std::chrono::system_clock::from_time_t(1369353600));
  EXPECT_THAT(request.headers.back().value,
              AllOf(HasSubstr("Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"),
                    HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date"),
                    HasSubstr("Signature="
                              "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")));
}

TEST(BucketFaultsS3, KeysThatExpireAreReadAgain) {
  BucketSettings settings;
  settings.s3.session_token = "old+token/=";
  Bucket bucket(Service::s3, settings);
  bucket.put("a", "x");
  const std::string path = bucket.folder() / "credentials";
  const auto write = [&](const std::string& token) {
    std::ofstream(path) << "[other]\naws_access_key_id = no\n[default]\naws_access_key_id = "
                        << settings.s3.access_key
                        << "\naws_secret_access_key=" << settings.s3.secret_key
                        << "\naws_session_token = " << token << "\n";
  };
  write("old+token/=");
  unsetenv("AWS_ACCESS_KEY_ID");
  unsetenv("AWS_SECRET_ACCESS_KEY");
  setenv("AWS_SHARED_CREDENTIALS_FILE", path.c_str(), 1);
  EXPECT_EQ(read_file(bucket.files(), bucket.at("a")), "x");
  bucket.s3().require_token("new");
  write("new");
  EXPECT_TRUE(bucket.files().exists(bucket.at("a")));
  bucket.s3().require_token("newest");
  write("newest");
  EXPECT_THAT(bucket.files().list(bucket.at("")), SizeIs(1));
  write("wrong");
  bucket.s3().require_token("newer");
  EXPECT_THAT(error_of([&] { bucket.files().list(bucket.at("")); }), HasSubstr("ExpiredToken"));
  unsetenv("AWS_SHARED_CREDENTIALS_FILE");
}

TEST(BucketFaultsS3, CredentialsOfContainersAndInstances) {
  const std::string keys =
      R"({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T", "Expiration": "2999-01-01T00:00:00Z"})";
  const HttpServer service([&](const ServerRequest& request) -> ServerResponse {
    if (request.path == "/container" && request.header("authorization") == "Basic x") {
      return {.body = keys};
    }
    if (request.method == "PUT" && request.path == "/latest/api/token") return {.body = "session"};
    if (request.header("x-aws-ec2-metadata-token") != "session") return {.status = 401};
    if (request.path == "/latest/meta-data/iam/security-credentials/") return {.body = "role\n"};
    if (request.path == "/latest/meta-data/iam/security-credentials/role") return {.body = keys};
    return {.status = 404};
  });
  unsetenv("AWS_ACCESS_KEY_ID");
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
  setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url().c_str(), 1);
  EXPECT_EQ(buckets::AwsCredentials(http::shared_http_client()).keys().session_token, "T");
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  EXPECT_THAT(error_of([] { buckets::AwsCredentials(http::shared_http_client()).keys(); }),
              AllOf(StartsWith("UNAUTHENTICATED: AWS credentials: none found"),
                    HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("/nonexistent"),
                    HasSubstr("AWS_EC2_METADATA_DISABLED")));
  setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", (service.url() + "/container").c_str(), 1);
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x", 1);
  EXPECT_EQ(buckets::AwsCredentials(http::shared_http_client()).keys().access_key, "A");
  // A token does not become a header of its own.
  setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x\r\nX-Evil: 1", 1);
  EXPECT_THAT(
      error_of([] { buckets::AwsCredentials(http::shared_http_client()).keys(); }),
      AllOf(HasSubstr("header Authorization: got the control character"), Not(HasSubstr("Basic"))));
  // Keys do not travel in the clear.
  for (const char* url : {"http://192.0.2.1/container", "http://127.0.0.1.example.com/",
                          "http://169.254.example.com/", "http://localhost@192.0.2.1/"}) {
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    EXPECT_THAT(error_of([] { buckets::AwsCredentials(http::shared_http_client()).keys(); }),
                HasSubstr("AWS_CONTAINER_CREDENTIALS_FULL_URI: got the host"));
  }
  unsetenv("AWS_EC2_METADATA_DISABLED");
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://192.0.2.1", 1);
  EXPECT_THAT(error_of([] { buckets::AwsCredentials(http::shared_http_client()).keys(); }),
              HasSubstr("AWS_EC2_METADATA_SERVICE_ENDPOINT: got the host '192.0.2.1'"));
  for (const char* name :
       {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_EC2_METADATA_DISABLED", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN"}) {
    unsetenv(name);
  }
}

TEST(BucketFaultsS3, AWrongKeyIsRefused) {
  Bucket bucket(Service::s3);
  setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
  EXPECT_THAT(error_of([&] { bucket.files().list(bucket.at("")); }),
              AllOf(StartsWith("PERMISSION_DENIED: s3://bucket/"),
                    HasSubstr("SignatureDoesNotMatch"), Not(HasSubstr("wrong"))));
}

TEST(BucketFaultsS3, ARegionThatIsWrongIsCorrected) {
  BucketSettings settings;
  settings.s3.region = "eu-west-3";
  Bucket bucket(Service::s3, settings);
  bucket.put("a", "x");
  EXPECT_THAT(bucket.files().list(bucket.at("")), SizeIs(1));
}

TEST(BucketFaultsS3, AnErrorAfterStatus200) {
  Bucket bucket(Service::s3);
  bucket.http().inject(
      {.match = "POST /bucket/a?uploadId",
       .status = 200,
       .count = 1,
       .body = "  \n<Error><Code>InternalError</Code><Message>m</Message></Error>"});
  bucket.files().create(bucket.at("a"))->append(pattern_bytes(600'000));
  EXPECT_EQ(bucket.contents().at("a"), pattern_bytes(600'000));
  const auto file = bucket.files().create(bucket.at("b"));
  file->append(pattern_bytes(600'000));
  bucket.http().inject({.match = "POST /bucket/b?uploadId",
                        .status = 200,
                        .count = 1,
                        .body = "<Error><Code>InvalidPart</Code><Message>m</Message></Error>"});
  EXPECT_THAT(error_of([&] { file->close(); }),
              AllOf(StartsWith("FAILED_PRECONDITION: s3://bucket/b: cannot write"),
                    HasSubstr("InvalidPart: m")));
}

TEST(BucketFaultsS3, Xml) {
  EXPECT_EQ(buckets::xml_text("<a>&lt;&amp;&#38;&#x4e2d;&unknown;&</a>", "a"),
            "<&&\u4e2d&unknown;&");
  EXPECT_EQ(buckets::xml_text("<a>&#;</a>", "a"), "&#;");
  EXPECT_EQ(buckets::xml_text("<!-- <a>1</a> --><a><![CDATA[<2>]]></a>", "a"), "<2>");
  EXPECT_EQ(buckets::xml_text("<a>never closed", "a"), "");
  EXPECT_EQ(buckets::xml_escaped("<\"&"), "&lt;\"&amp;");
}

}  // namespace
}  // namespace systole::testing
