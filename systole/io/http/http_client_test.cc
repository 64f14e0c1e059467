#include "systole/io/http/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/http/curl_api.h"
#include "systole/io/http/http_retry.h"
#include "systole/io/testing/http_server.h"

namespace systole::http {
namespace {

using systole::testing::error_of;
using systole::testing::HttpServer;
using systole::testing::ServerRequest;
using systole::testing::ServerResponse;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(HttpClientTest, NothingInARequestEndsALine) {
  const HttpServer server([](const ServerRequest&) { return ServerResponse{.body = "x"}; });
  const std::string url = server.url() + "/a";
  const std::string secret = "secret";
  const auto send = [](HttpRequest request) {
    return error_of([&] { shared_http_client().send(std::move(request)); });
  };
  const std::vector<std::string> ends = {"\r\nX-Evil: 1",      "\n",   "\r",
                                         std::string(1, '\0'), "\x7f", "\x1b"};
  for (const std::string& end : ends) {
    EXPECT_THAT(send({.url = url, .headers = {{"Authorization", secret + end}}}),
                ::testing::AllOf(
                    StartsWith("INVALID_ARGUMENT: header Authorization: got the control character"),
                    HasSubstr("at byte 6"), Not(HasSubstr(secret))));
    EXPECT_THAT(send({.url = url, .headers = {{"If" + end, "1"}}}), HasSubstr("name of a header"));
    EXPECT_THAT(send({.method = "GET" + end, .url = url}), HasSubstr("method"));
    EXPECT_THAT(send({.url = url + end}), HasSubstr("URL"));
  }
  EXPECT_THAT(send({.url = url + "?a b"}), HasSubstr("URL"));
  EXPECT_THAT(send({.url = url, .headers = {{"", "1"}}}), HasSubstr("name of a header"));
  EXPECT_EQ(server.count(""), 0);
  EXPECT_EQ(send({.url = url, .headers = {{"X-Text", "a\tb \xc3\xa4"}}}), "no error");
}

// Listens on the loopback interface and answers each connection with a byte each 50 ms.
class DrippingServer {
 public:
  DrippingServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(socket_, 4);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~DrippingServer() {
    stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  DrippingServer(const DrippingServer&) = delete;
  DrippingServer& operator=(const DrippingServer&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}/", port_); }

 private:
  void run() const {
    while (!stopping_) {
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection < 0) return;
      constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
      ::send(connection, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
      while (!stopping_ && ::send(connection, "x", 1, MSG_NOSIGNAL) == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      ::close(connection);
    }
  }

  int socket_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST(HttpClientTest, AServerCannotHoldARequestByAByteNowAndThen) {
  const DrippingServer server;
  HttpRequest request{.url = server.url()};
  request.patience = std::chrono::milliseconds(300);
  EXPECT_THAT(error_of([&] { shared_http_client().send(request); }),
              ::testing::AllOf(StartsWith("DEADLINE_EXCEEDED"), HasSubstr("too slow")));
  // Bytes that move buy time.
  request.min_bytes_per_second = 1;
  request.timeout = std::chrono::milliseconds(900);
  EXPECT_THAT(error_of([&] { shared_http_client().send(request); }),
              ::testing::AllOf(StartsWith("DEADLINE_EXCEEDED"), Not(HasSubstr("too slow"))));
}

TEST(HttpClientTest, SaysEachWaitBeforeItBegins) {
  FakeClock clock;
  const LogCapture log;
  Backoff backoff({.attempts = 3, .first_wait = std::chrono::seconds(8), .clock = &clock},
                  "gs://b/a: cannot read");
  EXPECT_TRUE(backoff.wait(nullptr, "Connection refused"));
  const HttpResponse busy{.status = 503, .headers = {{"retry-after", "4"}}};
  EXPECT_TRUE(backoff.wait(&busy));
  EXPECT_FALSE(backoff.wait(&busy));
  EXPECT_THAT(log.messages(),
              ::testing::ElementsAre(
                  ::testing::MatchesRegex("warning: gs://b/a: cannot read, got Connection refused; "
                                          "trying again in [0-9.]+ s, 2 of 3"),
                  "warning: gs://b/a: cannot read, got HTTP 503; trying again in 4 s, 3 of 3"));
}

TEST(HttpClientTest, AttemptsEndAfterATotalTime) {
  FakeClock clock;
  const LogCapture quiet;
  Backoff backoff({.attempts = 1000,
                   .first_wait = std::chrono::seconds(10),
                   .max_wait = std::chrono::seconds(10),
                   .total = std::chrono::seconds(100),
                   .clock = &clock},
                  "gs://b/a: cannot read");
  while (backoff.wait(nullptr)) {
  }
  EXPECT_LE(clock.elapsed(), std::chrono::seconds(100));
  EXPECT_GT(backoff.attempts(), 9);
}

std::atomic<int> refused_option{0};

CURLcode setopt_but_one(CURL* handle, CURLoption option, ...) {
  if (option == refused_option) return CURLE_UNKNOWN_OPTION;
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);  // every kind of argument has its size
  va_end(arguments);
  return curl_api().easy_setopt(handle, option, value);
}

TEST(HttpClientTest, AnOptionThatLibcurlDoesNotHaveIsAnError) {
  const HttpServer server([](const ServerRequest&) { return ServerResponse{.body = "x"}; });
  CurlApi api = curl_api();
  api.easy_setopt = &setopt_but_one;
  HttpClient client(1, api);
  for (const CURLoption option : {CURLOPT_PATH_AS_IS, CURLOPT_NOPROXY, CURLOPT_HTTPHEADER}) {
    refused_option = option;
    EXPECT_THAT(error_of([&] { client.send({.url = server.url()}); }),
                StartsWith(fmt::format("FAILED_PRECONDITION: libcurl: option {}",
                                       static_cast<int>(option))));
  }
  EXPECT_EQ(server.count(""), 0);
  // libcurl before 7.85 takes the protocols as a number.
  refused_option = CURLOPT_PROTOCOLS_STR;
  EXPECT_EQ(client.send({.url = server.url()}).body, "x");
  EXPECT_THAT(error_of([&] { client.send({.url = "file:///etc/hostname"}); }),
              StartsWith("INVALID_ARGUMENT"));
  refused_option = 0;
}

}  // namespace
}  // namespace systole::http
