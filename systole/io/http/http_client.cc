#include "systole/io/http/http_client.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "systole/base/environment.h"
#include "systole/base/mutex.h"
#include "systole/io/http/curl_api.h"

namespace systole::http {
namespace {

constexpr long kReceiveBufferBytes = 512 * 1024;
constexpr size_t kMaxHeaderBytes = size_t{256} << 10;
constexpr int kPollMilliseconds = 1000;

char lower_ascii(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string_view trimmed_line(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Code code_of_curl(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return Code::deadline_exceeded;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return Code::invalid_argument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return Code::failed_precondition;
    default:
      return Code::unavailable;
  }
}

}  // namespace

const std::string& HttpResponse::header(const std::string& name) const {
  static const std::string none;
  const auto found = headers.find(name);
  return found == headers.end() ? none : found->second;
}

// What a call, the loop and libcurl's callbacks share. The thread of the loop alone uses it until
// `done`.
class HttpCall::State {
 public:
  HttpRequest request;
  HttpResponse response;
  std::optional<HttpFailure> failure;

  CURL* handle = nullptr;
  curl_slist* header_list = nullptr;
  std::chrono::steady_clock::time_point started;
  std::array<char, CURL_ERROR_SIZE> error{};
  size_t header_bytes = 0;

  Mutex mutex;
  CondVar ended;
  bool done SYSTOLE_GUARDED_BY(mutex) = false;
  bool cancelled SYSTOLE_GUARDED_BY(mutex) = false;

  std::function<void()> wake;  // tells the loop of a cancellation

  void finish() {
    {
      const MutexLock lock(mutex);
      done = true;
    }
    ended.notify_all();
  }

  size_t take_header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMaxHeaderBytes) {
      failure = {Code::resource_exhausted,
                 fmt::format("more than {} bytes of headers", kMaxHeaderBytes)};
      return 0;
    }
    if (line.starts_with("HTTP/")) {
      response.headers.clear();  // of an interim response, such as 100
      const size_t space = line.find(' ');
      response.status =
          space == std::string_view::npos ? 0 : std::atoi(std::string(line.substr(space)).c_str());
      return line.size();
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return line.size();
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), lower_ascii);
    response.headers[name] = trimmed_line(line.substr(colon + 1));
    return line.size();
  }

  size_t take_body(std::string_view bytes) {
    if (request.buffer != nullptr && response.status / 100 == 2) {
      if (bytes.size() > request.buffer_bytes - response.buffered) {
        failure = {Code::data_loss,
                   fmt::format("a body of more than the {} bytes asked for", request.buffer_bytes)};
        return 0;
      }
      std::memcpy(request.buffer.get() + response.buffered, bytes.data(), bytes.size());
      response.buffered += bytes.size();
      return bytes.size();
    }
    if (bytes.size() > request.max_body_bytes - response.body.size()) {
      failure = {Code::resource_exhausted,
                 fmt::format("a body of more than {} bytes", request.max_body_bytes)};
      return 0;
    }
    response.body += bytes;
    return bytes.size();
  }
};

HttpCall::HttpCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
HttpCall::~HttpCall() { cancel(); }

bool HttpCall::done() const {
  const MutexLock lock(state_->mutex);
  return state_->done;
}

void HttpCall::cancel() {
  {
    const MutexLock lock(state_->mutex);
    if (state_->done || state_->cancelled) return;
    state_->cancelled = true;
  }
  state_->wake();
}

void HttpCall::wait() const {
  MutexLock lock(state_->mutex);
  state_->ended.wait(lock, [&]() SYSTOLE_REQUIRES(state_->mutex) { return state_->done; });
}

const HttpResponse& HttpCall::response() const { return state_->response; }
const std::optional<HttpFailure>& HttpCall::failure() const { return state_->failure; }

namespace {

using State = HttpCall::State;

size_t on_header(char* bytes, size_t size, size_t count, void* state) {
  return static_cast<State*>(state)->take_header({bytes, size * count});
}

size_t on_body(char* bytes, size_t size, size_t count, void* state) {
  return static_cast<State*>(state)->take_body({bytes, size * count});
}

}  // namespace

// The thread that runs the requests of a client.
class HttpClient::Loop {
 public:
  Loop(int max_requests, const CurlApi& api)
      : curl_(api), max_requests_(max_requests), multi_(curl_.multi_init()) {
    no_proxy_ = environment_value("no_proxy");
    if (no_proxy_.empty()) no_proxy_ = environment_value("NO_PROXY");
    if (no_proxy_ != "*")
      no_proxy_ += (no_proxy_.empty() ? "" : ",") + std::string("localhost,127.0.0.1,::1");
    ca_file_ = environment_value("CURL_CA_BUNDLE");
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(max_requests));
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
    for (CURL* handle : idle_) curl_.easy_cleanup(handle);
    curl_.multi_cleanup(multi_);
  }

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void add(std::shared_ptr<State> state) {
    {
      const MutexLock lock(mutex_);
      waiting_.push_back(std::move(state));
    }
    wake();
  }

  void wake() { curl_.multi_wakeup(multi_); }

 private:
  static bool is_cancelled(State& state) {
    const MutexLock lock(state.mutex);
    return state.cancelled;
  }

  void run() {
    while (true) {
      if (!take_waiting()) return;
      int left = 0;
      curl_.multi_perform(multi_, &left);
      bool ended = end_slow();
      int queued = 0;
      while (CURLMsg* message = curl_.multi_info_read(multi_, &queued)) {
        if (message->msg != CURLMSG_DONE) continue;
        end(message->easy_handle, message->data.result);
        ended = true;
      }
      if (!ended) curl_.multi_poll(multi_, nullptr, 0, kPollMilliseconds, nullptr);
    }
  }

  // Starts waiting requests and removes cancelled ones. Returns false when the loop must end.
  bool take_waiting() {
    std::vector<std::shared_ptr<State>> cancelled;
    bool stop = false;
    {
      const MutexLock lock(mutex_);
      stop = stopping_;
      std::erase_if(waiting_, [&](const std::shared_ptr<State>& state) {
        if (!stop && !is_cancelled(*state)) return false;
        cancelled.push_back(state);
        return true;
      });
      while (!waiting_.empty() && running_.size() < static_cast<size_t>(max_requests_)) {
        starting_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
    }
    for (const auto& state : cancelled) {
      state->failure = {Code::cancelled, "the request was cancelled"};
      state->finish();
    }
    for (auto& state : starting_) begin(std::move(state));
    starting_.clear();
    std::vector<CURL*> ends;
    for (const auto& [handle, state] : running_) {
      if (stop || is_cancelled(*state)) ends.push_back(handle);
    }
    for (CURL* handle : ends) {
      running_.at(handle)->failure = {Code::cancelled, "the request was cancelled"};
      end(handle, CURLE_OK);
    }
    return !stop;
  }

  // Ends the requests that outlast their patience. Returns whether there was one.
  bool end_slow() {
    const auto now = std::chrono::steady_clock::now();
    std::vector<CURL*> slow;
    for (const auto& [handle, state] : running_) {
      const HttpRequest& request = state->request;
      if (request.patience.count() == 0 || now - state->started < request.patience) continue;
      curl_off_t sent = 0;
      curl_off_t received = 0;
      curl_.easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &sent);
      curl_.easy_getinfo(handle, CURLINFO_SIZE_DOWNLOAD_T, &received);
      const auto more = std::chrono::seconds((sent + received) /
                                             std::max<int64_t>(request.min_bytes_per_second, 1));
      if (now - state->started < request.patience + more) continue;
      state->failure = {
          Code::deadline_exceeded,
          fmt::format(
              "{} bytes in {} s, which is too slow", sent + received,
              std::chrono::duration_cast<std::chrono::seconds>(now - state->started).count())};
      slow.push_back(handle);
    }
    for (CURL* handle : slow) end(handle, CURLE_OK);
    return !slow.empty();
  }

  // Errors: FAILED_PRECONDITION if libcurl does not take the option. Without some of them, such as
  // the protocols, a request would do more than it should.
  template <class Value>
  void set(CURL* handle, CURLoption option, Value value) const {
    const CURLcode code = curl_.easy_setopt(handle, option, value);
    if (code == CURLE_OK) return;
    throw failed_precondition("libcurl: option {}, got '{}', expected a libcurl that has it",
                              static_cast<int>(option), curl_.easy_strerror(code));
  }

  void allow_http_only(CURL* handle) const {
    if (curl_.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK) return;
    // Before libcurl 7.85.
    constexpr auto kOldProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);
    set(handle, kOldProtocols, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  }

  void begin(std::shared_ptr<State> state) {
    CURL* handle = nullptr;
    if (idle_.empty()) {
      handle = curl_.easy_init();
    } else {
      handle = idle_.back();
      idle_.pop_back();
    }
    state->handle = handle;
    state->started = std::chrono::steady_clock::now();
    running_.emplace(handle, state);
    try {
      set_up(*state);
    } catch (const Error& error) {
      state->failure = {error.code(), error.message()};
      return end(handle, CURLE_OK);
    }
    curl_.multi_add_handle(multi_, handle);
  }

  void set_up(State& state) const {
    const HttpRequest& request = state.request;
    CURL* const handle = state.handle;
    for (const auto& [name, value] : request.headers) {
      // libcurl sends a header without a value only if it ends in ';'.
      const std::string line = value.empty() ? name + ";" : fmt::format("{}: {}", name, value);
      state.header_list = curl_.slist_append(state.header_list, line.c_str());
    }
    state.header_list = curl_.slist_append(state.header_list, "Expect:");
    state.header_list = curl_.slist_append(state.header_list, "Accept-Encoding: identity");
    set(handle, CURLOPT_URL, request.url.c_str());
    allow_http_only(handle);
    set(handle, CURLOPT_PATH_AS_IS, 1L);
    set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    if (request.method == "HEAD") {
      set(handle, CURLOPT_NOBODY, 1L);
    } else if (request.method == "POST" || request.method == "PUT" || !request.body.empty()) {
      set(handle, CURLOPT_POST, 1L);
      set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(handle, CURLOPT_POSTFIELDS, request.body.data());
      state.header_list = curl_.slist_append(state.header_list, content_type(request));
    }
    set(handle, CURLOPT_CUSTOMREQUEST, request.method == "HEAD" ? nullptr : request.method.c_str());
    set(handle, CURLOPT_HTTPHEADER, state.header_list);
    set(handle, CURLOPT_USERAGENT, "systole");
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
    set(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
    set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    if (request.idle_timeout.count() > 0) {
      set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
      set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.idle_timeout.count()));
    }
    set(handle, CURLOPT_NOPROXY, request.direct ? "*" : no_proxy_.c_str());
    const std::string& ca_file = request.ca_file.empty() ? ca_file_ : request.ca_file;
    if (!ca_file.empty()) set(handle, CURLOPT_CAINFO, ca_file.c_str());
    set(handle, CURLOPT_ERRORBUFFER, state.error.data());
    set(handle, CURLOPT_HEADERFUNCTION, &on_header);
    set(handle, CURLOPT_HEADERDATA, static_cast<void*>(&state));
    set(handle, CURLOPT_WRITEFUNCTION, &on_body);
    set(handle, CURLOPT_WRITEDATA, static_cast<void*>(&state));
  }

  // libcurl adds a content type of forms unless a header names one.
  static const char* content_type(const HttpRequest& request) {
    for (const HttpHeader& header : request.headers) {
      std::string name = header.name;
      std::ranges::transform(name, name.begin(), lower_ascii);
      if (name == "content-type") return "Accept: */*";
    }
    return "Content-Type:";
  }

  void end(CURL* handle, CURLcode code) {
    const auto found = running_.find(handle);
    const std::shared_ptr<State> state = std::move(found->second);
    running_.erase(found);
    curl_.multi_remove_handle(multi_, handle);
    curl_.easy_reset(handle);
    idle_.push_back(handle);
    curl_.slist_free_all(state->header_list);
    state->header_list = nullptr;
    state->handle = nullptr;
    if (code != CURLE_OK && !state->failure) {
      const std::string text = state->error.data();
      state->failure = {code_of_curl(code), text.empty() ? curl_.easy_strerror(code) : text};
    }
    state->finish();
  }

  const CurlApi& curl_;
  const int max_requests_;
  CURLM* multi_;
  std::string no_proxy_;
  std::string ca_file_;
  std::vector<CURL*> idle_;
  std::map<CURL*, std::shared_ptr<State>> running_;
  std::vector<std::shared_ptr<State>> starting_;

  Mutex mutex_;
  std::deque<std::shared_ptr<State>> waiting_ SYSTOLE_GUARDED_BY(mutex_);
  bool stopping_ SYSTOLE_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

HttpClient::HttpClient(int max_requests) : HttpClient(max_requests, curl_api()) {}
HttpClient::HttpClient(int max_requests, const CurlApi& api)
    : loop_(std::make_unique<Loop>(max_requests, api)) {}
HttpClient::~HttpClient() = default;

std::unique_ptr<HttpCall> HttpClient::start(HttpRequest request) {
  auto state = std::make_shared<HttpCall::State>();
  state->request = std::move(request);
  state->wake = [loop = loop_.get()] { loop->wake(); };
  auto call = std::make_unique<HttpCall>(state);
  const std::string refusal = refusal_of(state->request);
  if (!refusal.empty()) {
    state->failure = {Code::invalid_argument, refusal};
    state->finish();
    return call;
  }
  loop_->add(std::move(state));
  return call;
}

HttpResponse HttpClient::send(HttpRequest request) {
  const auto call = start(std::move(request));
  call->wait();
  if (call->failure()) throw Error(call->failure()->code, call->failure()->message);
  return call->response();
}

HttpClient& shared_http_client() {
  static HttpClient* const client = new HttpClient;  // lives until the process ends
  return *client;
}

}  // namespace systole::http
