#include "systole/io/http/http_retry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "systole/base/escape.h"
#include "systole/base/log.h"
#include "systole/base/number_text.h"

namespace systole::http {
namespace {

constexpr size_t kMaxDetailBytes = 300;
constexpr int kMaxRecoveries = 2;

double random_fraction() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.5, 1.0)(generator);
}

std::string attempts_text(int attempts) {
  return attempts == 1 ? "" : fmt::format(" after {} attempts", attempts);
}

}  // namespace

Backoff::Backoff(const RetryOptions& options, std::string what)
    : options_(options), what_(std::move(what)), started_(clock().steady_now()) {}

Clock& Backoff::clock() const { return options_.clock == nullptr ? real_clock() : *options_.clock; }

bool Backoff::wait(const HttpResponse* response, std::string_view reason) {
  if (attempts_ >= options_.attempts) return false;
  auto wait = options_.max_wait;
  if (attempts_ <= 20) {
    wait = std::min(options_.max_wait, options_.first_wait * (int64_t{1} << (attempts_ - 1)));
  }
  wait = std::chrono::milliseconds(static_cast<int64_t>(wait.count() * random_fraction()));
  if (response != nullptr) {
    const auto seconds = parse_number<int64_t>(response->header("retry-after"));
    if (seconds && *seconds >= 0) {
      wait = std::min<std::chrono::milliseconds>(
          options_.max_wait, std::chrono::seconds(std::min<int64_t>(*seconds, 3600)));
    }
  }
  if (clock().steady_now() + wait - started_ > options_.total) return false;
  ++attempts_;
  const std::string status = response == nullptr ? "" : fmt::format("HTTP {}", response->status);
  log_warning(
      "{}, got {}; trying again in {:.2g} s, {} of {}", what_,
      reason.empty() ? (status.empty() ? "no answer" : status) : escaped(reason, {.ascii = true}),
      std::chrono::duration<double>(wait).count(), attempts_, options_.attempts);
  clock().sleep(wait);
  return true;
}

HttpResponse send_retried(HttpClient& client, const RetryOptions& options,
                          const RetriedRequest& request) {
  Backoff backoff(options, request.what);
  int recoveries = 0;
  while (true) {
    const auto call = client.start(request.make(backoff.attempts() + recoveries));
    call->wait();
    const HttpResponse& response = call->response();
    const auto& failure = call->failure();
    const bool transient =
        failure ? failure->code == Code::unavailable || failure->code == Code::deadline_exceeded
                : is_transient_http_status(response.status);
    if (!failure && !transient) {
      const bool rejected = response.status / 100 == 4;
      if (rejected && request.recover && recoveries < kMaxRecoveries && request.recover(response)) {
        ++recoveries;
        continue;
      }
      return response;
    }
    const bool again =
        transient && (failure ? backoff.wait(nullptr, failure->message) : backoff.wait(&response));
    if (again) continue;
    if (!failure) {
      const std::string detail = request.error_text(response.body);
      const Error error = http_error(request.what, response, detail);
      throw Error(error.code(), error.message() + attempts_text(backoff.attempts()));
    }
    throw make_error(failure->code, "{}, got '{}'{}", request.what,
                     escaped(failure->message, {.ascii = true}), attempts_text(backoff.attempts()));
  }
}

Error http_error(const std::string& what, const HttpResponse& response, const std::string& detail) {
  std::string text = detail.empty() ? response.body.substr(0, kMaxDetailBytes) : detail;
  if (text.size() > kMaxDetailBytes) text = text.substr(0, kMaxDetailBytes) + "...";
  return make_error(code_of_http_status(response.status), "{}, got HTTP {}{}", what,
                    response.status,
                    text.empty() ? "" : fmt::format(" '{}'", escaped(text, {.ascii = true})));
}

std::string json_error_text(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return "";
  const auto& error = json["error"];
  if (error.is_object() && error.contains("message") && error["message"].is_string()) {
    return error["message"].get<std::string>();
  }
  if (!error.is_string()) return "";
  std::string text = error.get<std::string>();
  if (json.contains("error_description") && json["error_description"].is_string()) {
    text += ": " + json["error_description"].get<std::string>();
  }
  return text;
}

}  // namespace systole::http
