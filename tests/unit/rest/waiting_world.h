// WaitingWorld: the real routes over an engine that has not run.
#pragma once

#include <string>

#include "api/rest/api_context.h"
#include "api/rest/rest_server.h"
#include "tests/e2e/rest_probes/raw_client.h"
#include "tests/support/allow_all.h"
#include "tests/support/engine_world.h"

namespace muster::test {

using rest_probes::Answer;
using rest_probes::RawClient;

/// `other`: who finds out who asks; null: everybody is the tester. It must outlive this.
struct WaitingWorld {
  explicit WaitingWorld(const auth::Authenticator* other = nullptr)
      : random(1),
        engine(store, clock, random, members, metrics, {}, {}),
        service(engine, store, random, authorizer, {}),
        server(service, metrics, other == nullptr ? authenticator : *other, Options(lease)),
        context(service, metrics, other == nullptr ? authenticator : *other) {
    const Status started = server.Start();
    MUSTER_CHECK(started.ok());
  }
  ~WaitingWorld() { server.Stop(); }
  static api::RestOptions Options(const LeaseBoard& lease) {
    api::RestOptions options;
    options.port = 0;
    options.lease = &lease;
    return options;
  }
  Answer Ask(const std::string& method, const std::string& path) {
    RawClient client(server.port());
    const bool body = method != "GET" && method != "HEAD";
    client.Send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                (body ? "Content-Length: 2\r\n\r\n{}" : "\r\n"));
    return client.Read(method == "HEAD");
  }

  MemoryStore store;
  FakeClock clock;
  std::shared_ptr<LeadTerm> term = std::make_shared<LeadTerm>(clock, kNanosPerSecond);
  LeaseBoard lease{clock, term};
  SeededRandom random;
  FakeMembers members;
  Metrics metrics;
  AllowAll authorizer;
  FixedAuthenticator authenticator;
  Engine engine;
  api::SchedulerService service;
  api::RestServer server;
  rest::ApiContext context;  // for the table only
};

}  // namespace muster::test
