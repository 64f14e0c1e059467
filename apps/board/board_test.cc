#include "apps/board/board.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/board/routes.h"
#include "apps/board/server.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole::board {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class BoardTest : public ::testing::Test {
 protected:
  BoardTest() {
    EventWriter writer(files_, "logs/a", "", clock_);
    writer.add_scalar("loss", 1, 0.5);
    writer.add_scalar("loss", 2, std::numeric_limits<double>::quiet_NaN());
    writer.add_scalar("loss", 3, 0.25);
    writer.add_scalar("<b>", 1, 1);
    writer.add_histogram("weights", 3, Tensor::of<float>({4}, {1, 2, 3, 4}));
    writer.add_image("digit", 3,
                     {.height = 1, .width = 2, .colorspace = 1, .encoded = "\x89PNG...."});
    writer.add_text("note", 3, Tensor("**hello** <script>"));
    writer.close();
    logdir_.refresh();
  }

  Response get(const std::string& path, std::multimap<std::string, std::string> params = {}) const {
    return board_.handle(
        {.method = "GET", .path = path, .params = std::move(params), .host = "localhost:6006"});
  }
  json get_json(const std::string& path,
                std::multimap<std::string, std::string> params = {}) const {
    return json::parse(get(path, std::move(params)).body);
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  Logdir logdir_{files_, "logs"};
  Board board_{logdir_};
};

TEST_F(BoardTest, TensorBoardsRoutesHaveItsShapes) {
  EXPECT_EQ(get_json("/data/environment")["data_location"], "logs");
  EXPECT_EQ(get_json("/data/runs"), json::parse(R"(["a"])"));
  const json plugins = get_json("/data/plugins_listing");
  EXPECT_EQ(plugins["scalars"]["enabled"], true);
  EXPECT_EQ(plugins["images"]["tab_name"], "Images");
  EXPECT_EQ(get_json("/data/plugin/scalars/tags")["a"]["loss"],
            json::parse(R"({"displayName": "loss", "description": ""})"));
  EXPECT_EQ(get_json("/data/plugin/scalars/scalars", {{"run", "a"}, {"tag", "loss"}}),
            json::parse(R"([[0.0, 1, 0.5], [0.0, 2, "NaN"], [0.0, 3, 0.25]])"));
  EXPECT_EQ(
      get("/data/plugin/scalars/scalars", {{"run", "a"}, {"tag", "loss"}, {"format", "csv"}}).body,
      "Wall time,Step,Value\r\n0,1,0.5\r\n0,2,nan\r\n0,3,0.25\r\n");
  const Response multi = board_.handle({.method = "POST",
                                        .path = "/data/plugin/scalars/scalars_multirun",
                                        .params = {{"tag", "<b>"}, {"runs", "a"}, {"runs", "none"}},
                                        .host = "localhost"});
  EXPECT_EQ(json::parse(multi.body), json::parse(R"({"a": [[0.0, 1, 1.0]]})"));
}

TEST_F(BoardTest, HistogramsAndImagesAreReadFromTheFile) {
  const json histograms =
      get_json("/data/plugin/histograms/histograms", {{"run", "a"}, {"tag", "weights"}});
  ASSERT_EQ(histograms.size(), 1U);
  EXPECT_EQ(histograms[0][1], 3);
  double count = 0;
  for (const json& bucket : histograms[0][2]) count += bucket[2].get<double>();
  EXPECT_EQ(count, 4);
  const json points = get_json("/data/plugin/distributions/distributions",
                               {{"run", "a"}, {"tag", "weights"}})[0][2];
  EXPECT_EQ(points.size(), 9U);
  EXPECT_EQ(points[0], json::parse("[0, 1.0]"));
  EXPECT_EQ(points[8], json::parse("[10000, 4.0]"));
  const json images = get_json("/data/plugin/images/images", {{"run", "a"}, {"tag", "digit"}});
  EXPECT_EQ(images[0]["width"], 2);
  EXPECT_EQ(images[0]["query"], "run=a&tag=digit&sample=0&index=0");
  const Response image =
      get("/data/plugin/images/individualImage", {{"run", "a"}, {"tag", "digit"}, {"index", "0"}});
  EXPECT_EQ(image.content_type, "image/png");
  EXPECT_EQ(image.body, "\x89PNG....");
  EXPECT_EQ(get_json("/api/text", {{"run", "a"}, {"tag", "note"}})["rows"][0]["texts"][0],
            "**hello** <script>");
}

TEST_F(BoardTest, ChartsHaveTheValuesOfTheFile) {
  const Response response =
      board_.handle({.method = "POST",
                     .path = "/api/scalars",
                     .host = "127.0.0.1:1",
                     .body = R"({"tag": "loss", "runs": [0, 7], "smoothing": 0.5})"});
  const json series = json::parse(response.body)["series"];
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0]["x"], json::parse("[1.0, 2.0, 3.0]"));
  EXPECT_EQ(series[0]["y"], json::parse(R"([0.5, "NaN", 0.25])"));
  EXPECT_EQ(series[0]["segments"], json::parse("[[0, null]]"));
  const Response csv = get("/api/scalars.csv", {{"tag", "loss"}, {"runs", "0,9,x"}});
  EXPECT_EQ(csv.body, "run,wall_time,step,value\na,0,1,0.5\na,0,2,nan\na,0,3,0.25\n");
}

TEST_F(BoardTest, WrongRequestsSaySo) {
  struct Case {
    Request request;
    int status;
    const char* error;
  };
  const auto request = [](const char* method, const char* path,
                          std::multimap<std::string, std::string> params = {},
                          const char* body = "") {
    return Request{.method = method,
                   .path = path,
                   .params = std::move(params),
                   .host = "localhost",
                   .body = body};
  };
  const std::vector<Case> cases = {
      {request("GET", "/../../etc/passwd"), 404, "nothing at this path"},
      {request("GET", "/data/plugin/scalars/scalars"), 400, "'run' is missing"},
      {request("GET", "/data/plugin/scalars/scalars", {{"run", "../x"}, {"tag", "loss"}}), 404,
       "no run '../x'"},
      {request("GET", "/data/plugin/scalars/scalars", {{"run", "a"}, {"tag", "x"}}), 404,
       "no scalars with the tag 'x'"},
      {request("GET", "/data/plugin/images/individualImage",
               {{"run", "a"}, {"tag", "digit"}, {"index", "-1"}}),
       400, "must be a number"},
      {request("POST", "/api/scalars", {}, "[[["), 400, "must be JSON"},
      {request("POST", "/api/scalars", {}, R"({"tag": "loss", "runs": [-1]})"), 400, "run ids"},
      {request("POST", "/api/scalars", {}, R"({"tag": "loss", "runs": [0], "x": "tga"})"), 400,
       "'x' must be"},
      {request("POST", "/api/index"), 405, "takes GET"},
  };
  for (const Case& c : cases) {
    const Response response = board_.handle(c.request);
    EXPECT_EQ(response.status, c.status) << c.request.path;
    EXPECT_THAT(response.body, HasSubstr(c.error));
  }
}

TEST_F(BoardTest, OnlyThisHostIsAnswered) {
  Request request{.method = "GET", .path = "/data/runs", .host = "evil.example:6006"};
  EXPECT_EQ(board_.handle(request).status, 403);
  for (const char* host : {"localhost", "127.0.0.1:6006", "[::1]:6006"}) {
    request.host = host;
    EXPECT_EQ(board_.handle(request).status, 200) << host;
  }
  const Response page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<title>Systole board</title>"));
  const auto policy = std::ranges::find(page.headers, std::string("Content-Security-Policy"),
                                        &std::pair<std::string, std::string>::first);
  ASSERT_NE(policy, page.headers.end());
  EXPECT_THAT(policy->second, HasSubstr("default-src 'none'"));
  // The style is part of the page, and the policy names its hash.
  EXPECT_THAT(page.body, HasSubstr("<style>" + get("/board.css").body + "</style>"));
  EXPECT_THAT(page.body, Not(HasSubstr("rel=\"stylesheet\"")));
  EXPECT_THAT(policy->second, HasSubstr("style-src 'self' 'sha256-"));
}

TEST_F(BoardTest, ATokenIsNeededWhereOneIsSet) {
  const Board board(logdir_, {.token = "secret"});
  Request request{.method = "GET", .path = "/", .host = "machine:6006"};
  EXPECT_EQ(board.handle(request).status, 401);
  request.params = {{"token", "wrong!"}};
  EXPECT_EQ(board.handle(request).status, 401);
  request.params = {{"token", "secret"}};
  const Response page = board.handle(request);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers, ::testing::Contains(::testing::Pair(
                                "Set-Cookie", HasSubstr("systole_board_token=secret; HttpOnly"))));
  request = {.method = "GET",
             .path = "/data/runs",
             .host = "machine",
             .cookie = "other=1; systole_board_token=secret"};
  EXPECT_EQ(board.handle(request).status, 200);
}

// Names beyond what a page can show are counted, not sent.
TEST_F(BoardTest, TheIndexIsBounded) {
  MemoryFileSystem files;
  EventWriter writer(files, "logs", "", clock_);
  const std::string start(900, 'n');
  for (int i = 0; i < 8000; ++i) writer.add_scalar(start + std::to_string(i), 1, 1);
  writer.close();
  Logdir logdir(files, "logs");
  logdir.refresh();
  const Board board(logdir);
  const Request request{.method = "GET", .path = "/api/index", .host = "localhost"};
  const std::string body = board.handle(request).body;
  EXPECT_LT(body.size(), 5U << 20U);
  const json index = json::parse(body);
  const size_t shown = index["tags"]["scalars"].size();
  EXPECT_GT(shown, 1000U);
  EXPECT_EQ(index["left_out"], 8000 - shown);
  EXPECT_EQ(index["run_list"].size(), 1U);
}

TEST_F(BoardTest, RequestsAsBytes) {
  const auto bytes = [&](const std::string& request) { return answer_bytes(board_, request); };
  EXPECT_THAT(bytes("GET /data/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              ::testing::AllOf(HasSubstr("HTTP/1.1 200 OK"), HasSubstr("[\"a\"]")));
  EXPECT_THAT(bytes("GET /data/runs HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\n\r\n"),
              HasSubstr("[\"a\"]"));
  EXPECT_THAT(bytes("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr(" 404 "));
  EXPECT_THAT(bytes("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr(" 414 "));
  EXPECT_THAT(bytes("POST /api/scalars HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                    "99999999999\r\n\r\n{}"),
              HasSubstr(" 413 "));
  EXPECT_THAT(bytes("nonsense\r\n\r\n"), Not(HasSubstr(" 200 ")));
}

// Responses of the HTTP library and of the board have each safety header once.
TEST_F(BoardTest, EveryResponseHasTheSafetyHeaders) {
  const auto count = [](const std::string& text, const std::string& part) {
    int times = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++times;
    return times;
  };
  for (const std::string& request :
       {std::string("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"),
        "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        std::string("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
        std::string("GET /data/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")}) {
    const std::string response = answer_bytes(board_, request);
    EXPECT_EQ(count(response, "X-Content-Type-Options: nosniff"), 1) << response;
    EXPECT_EQ(count(response, "X-Frame-Options: DENY"), 1);
    EXPECT_EQ(count(response, "Content-Security-Policy: default-src 'none'"), 1);
    EXPECT_EQ(count(response, "Cache-Control: no-store"), 1);
  }
}

// A connection to a port of this machine.
int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

std::string receive_all(int socket) {
  std::string response;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; (got = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;) {
    response.append(buffer.data(), static_cast<size_t>(got));
  }
  ::close(socket);
  return response;
}

std::string converse(int socket, const std::string& request) {
  EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return receive_all(socket);
}

TEST_F(BoardTest, AServerSurvivesItsClients) {
  Server server(board_,
                {.connections = {.idle_seconds = 1, .request_seconds = 1, .response_seconds = 1},
                 .threads = 2});
  const int port = server.bind("127.0.0.1", 0);
  Server second(board_);
  EXPECT_THAT(testing::error_of([&] { second.bind("127.0.0.1", port); }),
              HasSubstr("expected a free port"));
  std::thread thread([&] { server.serve(); });
  // Connections that never finish a request hold no thread.
  const int silent = connect_to(port);
  const int slow = connect_to(port);
  EXPECT_EQ(::send(slow, "GET /data", 9, 0), 9);
  EXPECT_THAT(converse(connect_to(port),
                       "GET /data/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              HasSubstr("[\"a\"]"));
  // More headers than the limit: the connection ends.
  std::string many = "GET /data/runs HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 20'000; ++i) many += "X-Header: value\r\n";
  const int flood = connect_to(port);
  (void)::send(flood, many.data(), many.size(), MSG_NOSIGNAL);
  ::close(flood);
  // A client that asks and never reads.
  const int deaf = connect_to(port);
  const std::string request = "GET /board.css HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < 2000; ++i) {
    if (::send(deaf, request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) break;
  }
  EXPECT_THAT(converse(connect_to(port),
                       "GET /data/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              HasSubstr("[\"a\"]"));
  server.stop();
  for (const int socket : {silent, slow, deaf}) ::close(socket);
  thread.join();
}

constexpr const char* kRuns =
    "GET /data/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// More half-open connections than there are places and threads: others are answered at once, since
// the oldest make room.
TEST_F(BoardTest, HalfOpenConnectionsKeepNobodyOut) {
  Server server(board_,
                {.connections = {.max_connections = 20, .request_seconds = 60}, .threads = 1});
  const int port = server.bind("127.0.0.1", 0);
  std::thread thread([&] { server.serve(); });
  std::vector<int> open;
  for (int i = 0; i < 100; ++i) {
    open.push_back(connect_to(port));
    const std::string_view part = i % 2 == 0 ? "GET /data HTTP/1.1\r\nHost: local"
                                             : "POST /api/scalars HTTP/1.1\r\nHost: localhost\r\n"
                                               "Content-Length: 100\r\n\r\n{";
    (void)::send(open.back(), part.data(), part.size(), MSG_NOSIGNAL);
    if (i % 20 == 0) {
      EXPECT_THAT(converse(connect_to(port), kRuns), HasSubstr("[\"a\"]"));
    }
  }
  EXPECT_THAT(converse(connect_to(port), kRuns), HasSubstr("[\"a\"]"));
  server.stop();
  for (const int socket : open) ::close(socket);
  thread.join();
}

// A request in many parts, two requests at once, and a client that sends no more after its request.
TEST_F(BoardTest, RequestsComeInAnyParts) {
  Server server(board_);
  const int port = server.bind("127.0.0.1", 0);
  std::thread thread([&] { server.serve(); });
  const std::string body = R"({"tag": "loss", "runs": [0]})";
  const std::string post =
      fmt::format("POST /api/scalars HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                  body.size(), body);
  const int slow = connect_to(port);
  for (const char c : post) EXPECT_EQ(::send(slow, &c, 1, MSG_NOSIGNAL), 1);
  const std::string both = converse(slow, post + kRuns);
  EXPECT_THAT(both, HasSubstr("[\"a\"]"));
  EXPECT_NE(both.find("\"series\""), both.rfind("\"series\""));

  const int half = connect_to(port);
  EXPECT_EQ(::send(half, kRuns, std::strlen(kRuns), 0), static_cast<ssize_t>(std::strlen(kRuns)));
  ::shutdown(half, SHUT_WR);
  EXPECT_THAT(receive_all(half), HasSubstr("[\"a\"]"));
  server.stop();
  thread.join();
}

// A client that asks for large answers and does not read them: what waits for it is bounded.
TEST_F(BoardTest, UnreadAnswersAreDroppedBeyondTheLimit) {
  Server server(board_, {.connections = {.max_buffered_bytes = 1U << 20U}});
  const int port = server.bind("127.0.0.1", 0);
  std::thread thread([&] { server.serve(); });
  std::vector<int> deaf;
  const std::string page = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < 50; ++i) {
    deaf.push_back(connect_to(port));
    for (int k = 0; k < 100; ++k) (void)::send(deaf.back(), page.data(), page.size(), MSG_NOSIGNAL);
  }
  EXPECT_THAT(converse(connect_to(port), kRuns), HasSubstr("[\"a\"]"));
  server.stop();
  for (const int socket : deaf) ::close(socket);
  thread.join();
}

TEST(WorkTest, CostlyPathsHaveTheirOwnThreads) {
  EXPECT_EQ(work_of("/api/status"), Work::quick);
  EXPECT_EQ(work_of("/board.css"), Work::quick);
  EXPECT_EQ(work_of("/api/index"), Work::medium);
  EXPECT_EQ(work_of("/api/profile_trace"), Work::heavy);
}

}  // namespace
}  // namespace systole::board
