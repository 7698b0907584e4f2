// ProbeServer: an HttpServer with small routes of its own, one per behaviour that the probes need.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/rest/http/http_server.h"
#include "schedd/base/limits.h"
#include "schedd/telemetry/metrics.h"

namespace muster::rest_probes {

class ProbeServer {
 public:
  /// `readers`: threads that read requests and answer those that never block.
  explicit ProbeServer(int max_connections = 4096, int max_descriptors = 0, int readers = 2)
      : server_(Routes(), metrics_, Options(max_connections, max_descriptors, readers)) {}
  ~ProbeServer() {
    server_.Stop();
    for (std::thread& thread : late_) thread.join();
  }

  Status Start() { return server_.Start(); }
  int port() const { return server_.port(); }
  rest::HttpServer& server() { return server_; }
  Metrics& metrics() { return metrics_; }
  /// Responders that /never keeps.
  std::vector<rest::Responder> Kept() {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  /// Streams that /stream opened.
  std::vector<std::shared_ptr<rest::StreamSink>> Streams() {
    const std::lock_guard lock(mutex_);
    return streams_;
  }

 private:
  static rest::HttpOptions Options(int max_connections, int max_descriptors, int readers) {
    rest::HttpOptions options;
    options.max_connections = max_connections;
    options.max_descriptors = max_descriptors;
    options.threads = readers;
    return options;
  }

  static rest::Response Text(std::string body) {
    rest::Response response;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
  }

  rest::RouteTable Routes() {
    using rest::Method;
    using rest::Run;
    std::vector<rest::Route> routes;
    const auto sync = [&](Method method, const char* pattern, std::size_t limit, Run run,
                          rest::SyncHandler handler) {
      routes.push_back(
          {method, pattern, auth::Verb::kGet, "probe", limit, run, std::move(handler)});
    };
    const auto async =
        [&](Method method, const char* pattern, std::size_t limit, rest::AsyncHandler handler) {
      routes.push_back(
          {method, pattern, auth::Verb::kGet, "probe", limit, Run::kInline, std::move(handler)});
    };
    sync(Method::kGet, "/hello", 0, Run::kInline, [](rest::Request& request) {
      const std::string* name = request.Query("name");
      return Text("hello " + (name ? *name : std::string("world")));
    });
    sync(Method::kGet, "/pool/{name}", 0, Run::kPool,
         [](rest::Request& request) { return Text(request.params[0]); });
    sync(Method::kPost, "/echo", 1 << 20, Run::kInline,
         [](rest::Request& request) { return Text(request.body); });
    sync(Method::kPost, "/api/echo", 1 << 20, Run::kInline,
         [](rest::Request& request) { return Text(request.body); });
    sync(Method::kGet, "/throw", 0, Run::kInline,
         [](rest::Request&) -> rest::Response { throw std::runtime_error("the secret inside"); });
    sync(Method::kGet, "/throw42", 0, Run::kPool,
         [](rest::Request&) -> rest::Response { throw 42; });
    sync(Method::kGet, "/big", 0, Run::kPool,
         [](rest::Request&) { return Text(std::string(16 << 20, 'b')); });
    sync(Method::kGet, "/long", 0, Run::kPool, [](rest::Request&) {
      rest::Response response;
      response.content_type = "text/plain";
      response.producer = [left = 200](std::string* out) mutable {
        out->append(100'000, 'x');
        return --left > 0;
      };
      return response;
    });
    sync(Method::kGet, "/broken", 0, Run::kPool, [](rest::Request&) {
      rest::Response response;
      response.producer = [first = true](std::string* out) mutable {
        if (!first) throw std::runtime_error("the store went away");
        first = false;
        out->append("[1,");
        return true;
      };
      return response;
    });
    sync(Method::kGet, "/stream", 0, Run::kPool, [this](rest::Request&) {
      rest::Response response;
      response.content_type = "text/event-stream";
      response.stream = [this](std::shared_ptr<rest::StreamSink> sink) {
        {  // known before the client can see it open
          const std::lock_guard lock(mutex_);
          streams_.push_back(sink);
        }
        sink->Write(": open\n\n");
      };
      return response;
    });
    async(Method::kPost, "/late", 1 << 20, [this](rest::Request& request, rest::Responder respond) {
      const std::lock_guard lock(mutex_);
      late_.emplace_back(
          [respond, body = request.body] { respond([body] { return Text(body); }); });
    });
    async(Method::kPost, "/never", 1 << 20, [this](rest::Request&, rest::Responder respond) {
      const std::lock_guard lock(mutex_);
      kept_.push_back(std::move(respond));
    });
    async(Method::kPost, "/dropped", 1 << 20, [](rest::Request&, rest::Responder) {});
    async(Method::kPost, "/latethrow", 1 << 20, [](rest::Request&, rest::Responder respond) {
      respond([]() -> rest::Response { throw std::runtime_error("the secret inside"); });
    });
    return rest::RouteTable(std::move(routes));
  }

  std::mutex mutex_;
  std::vector<std::thread> late_;
  std::vector<std::shared_ptr<rest::StreamSink>> streams_;
  std::vector<rest::Responder> kept_;
  Metrics metrics_;
  rest::HttpServer server_;
};

}  // namespace muster::rest_probes
