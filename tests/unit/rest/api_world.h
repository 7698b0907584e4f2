// ApiWorld: the real routes over a real service, engine and memory store, asked through a socket.
#pragma once

#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/rest/rest_server.h"
#include "tests/e2e/rest_probes/raw_client.h"
#include "tests/support/held_calls.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {

using rest_probes::Answer;
using rest_probes::RawClient;

/// A backend that has one log, written by the test.
class LogBackend final : public Backend {
 public:
  void Append(const std::string& text, bool last = false) {
    const std::lock_guard lock(mutex_);
    log_ += text;
    ended_ = last;
  }
  /// From now on reads from `offset` on, or later, fail.
  void FailFrom(std::int64_t offset, Error error) {
    const std::lock_guard lock(mutex_);
    fails_from_ = offset;
    failure_ = std::move(error);
  }
  std::vector<std::string> Clusters() const override { return {"east"}; }
  void Ensure(const DispatchOrder&, Callback<RemoteRef> done) override { done(RemoteRef{}); }
  void Remove(const DispatchKey&, const RemovePolicy&, Callback<RemovalResult> done) override {
    done(RemovalResult{});
  }
  void List(const std::string&, Callback<std::vector<Observation>> done) override {
    done(std::vector<Observation>{});
  }
  void Start(ObservationSink&) override {}
  void Stop() override {}
  void Facts(const std::string&, Callback<ClusterFacts> done) override { done(ClusterFacts{}); }
  Result<std::vector<PodStatus>> Pods(const DispatchKey&) override {
    return std::vector<PodStatus>(1);
  }
  Result<LogChunk> ReadLog(const DispatchKey&, const LogQuery& query) override {
    log_reads.Pass();
    const std::lock_guard lock(mutex_);
    if (query.container == "absent") return NotFound("there is no container \"absent\"");
    if (failure_ && query.offset >= fails_from_) return *failure_;
    const auto size = static_cast<std::int64_t>(log_.size());
    const std::int64_t begin =
        std::clamp<std::int64_t>(query.offset < 0 ? size + query.offset : query.offset, 0, size);
    LogChunk chunk;
    chunk.data = log_.substr(static_cast<std::size_t>(begin), query.max_bytes);
    chunk.next_offset = begin + static_cast<std::int64_t>(chunk.data.size());
    chunk.ended = ended_ && chunk.next_offset == size;
    return chunk;
  }

  HeldCalls log_reads;

 private:
  std::mutex mutex_;
  std::string log_;
  bool ended_ = false;
  std::int64_t fails_from_ = 0;
  std::optional<Error> failure_;
};

class ApiWorld {
 public:
  explicit ApiWorld(EngineOptions options = {})
      : w(std::move(options)),
        service(*w.world.engine, w.world.store, w.world.random, w.authorizer,
                [this](const std::string&) { return &backend; }),
        server(service, *w.world.metrics, authenticator, {"127.0.0.1", 0, 2}) {
    const Status started = server.Start();
    MUSTER_CHECK(started.ok());
    engine = std::jthread([this](std::stop_token stop) { w.world.engine->Run(stop); });
  }
  ~ApiWorld() {
    server.Stop();
    engine.request_stop();
  }

  Answer Ask(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& headers = "") {
    RawClient client(server.port());
    client.Send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Muster-User: alice\r\n" +
                headers +
                (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") +
                "\r\n" + body);
    return client.Read(method == "HEAD");
  }
  Answer Get(const std::string& path) { return Ask("GET", path); }
  Answer Post(const std::string& path, const json::value& body, const std::string& headers = "") {
    return Ask("POST", path, WriteJson(body), headers);
  }
  /// The number of a job just submitted.
  std::string Submit(const std::string& name) {
    const Answer answer = Post("/v1/namespaces/default/jobs", JobManifest(name));
    MUSTER_CHECK(answer.status == 201);
    return std::to_string(Json(answer.body).at("id").to_number<std::int64_t>());
  }
  /// The same of a job that was sent to a member, so that it has a log.
  std::string SubmitSent(const std::string& name) {
    const std::string id = Submit(name);
    while (Get("/v1/jobs/" + id + "/logs").status != 200) std::this_thread::yield();
    return id;
  }

  ServiceWorld w;
  LogBackend backend;
  api::SchedulerService service;
  FixedAuthenticator authenticator;
  api::RestServer server;
  std::jthread engine;
};

/// Names of the objects of a list.
inline std::vector<std::string> NamesOf(const json::value& list) {
  std::vector<std::string> names;
  for (const json::value& one : list.at("items").as_array())
    names.emplace_back(std::string_view(one.at("metadata").at("name").as_string()));
  return names;
}
inline std::vector<std::string> WorkloadNames(ApiWorld& api, const std::string& path) {
  return NamesOf(Json(api.Get(path).body));
}

}  // namespace muster::test
