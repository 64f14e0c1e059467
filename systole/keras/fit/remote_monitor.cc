// Sends the logs of epochs to a server.
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/log.h"
#include "systole/io/http/http_client.h"
#include "systole/keras/base/json.h"
#include "systole/keras/fit/callbacks.h"

namespace systole::keras::callbacks {
namespace {

class RemoteMonitorCallback : public Callback {
 public:
  explicit RemoteMonitorCallback(RemoteMonitorOptions options) : options_(std::move(options)) {}

  bool writes() const override { return true; }
  void on_epoch_end(int64_t epoch, Logs& logs) override {
    Json message = {{"epoch", epoch}};
    for (const auto& [name, value] : logs) message[name] = value;
    http::HttpRequest request{.method = "POST",
                              .url = options_.root + options_.path,
                              .connect_timeout = std::chrono::seconds(5),
                              .timeout = std::chrono::seconds(10)};
    request.headers.push_back({"Content-Type", options_.send_as_json
                                                   ? "application/json"
                                                   : "application/x-www-form-urlencoded"});
    for (const auto& [name, value] : options_.headers) request.headers.push_back({name, value});
    request.body = options_.send_as_json
                       ? message.dump()
                       : options_.field + "=" + http::percent_encoded(message.dump());
    try {
      const http::HttpResponse answer = http::shared_http_client().send(std::move(request));
      if (answer.status >= 300) warn(fmt::format("status {}", answer.status));
    } catch (const Error& error) {
      warn(error.message());
    }
  }

 private:
  void warn(const std::string& reason) const {
    log_warning("could not reach RemoteMonitor root server at {}: {}", options_.root, reason);
  }

  const RemoteMonitorOptions options_;
};

}  // namespace

CallbackPtr RemoteMonitor(const RemoteMonitorOptions& options) {
  return std::make_shared<RemoteMonitorCallback>(options);
}

}  // namespace systole::keras::callbacks
