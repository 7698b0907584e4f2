// Benchmark: durable submission by people with tokens over TLS to a musterd with 10,000 bindings,
// beside the same over plain loopback to a second musterd. The two take turns, so that both meet
// the same machine; CPU times say more than rates where others run on it.
#include <string>
#include <vector>

#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/secure_site.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

constexpr int kBindings = 10'000;
constexpr double kBar = 0.9;
constexpr double kWarmUpSeconds = 1;

// The figures of one way to submit, one entry for each round. CPU in microseconds of a request.
struct Way {
  std::vector<double> rate, daemon_cpu, client_cpu;
};

struct Comparison {
  Way plain, secure;
  std::vector<double> ratio;
};

// What a way to submit needs beside a server.
struct Door {
  const Server* server = nullptr;
  const TlsClient* tls = nullptr;
  std::vector<std::string> tokens;
};

Status Submit(const Door& door, int connections, double seconds, const std::string& prefix,
              Way* out) {
  LoadOptions load;
  load.port = door.server->port();
  load.connections = connections;
  load.seconds = seconds;
  load.tls = door.tls;
  load.bearer_tokens = door.tokens;
  load.make = [&prefix](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = prefix + std::to_string(i);
    *path = "/v1/namespaces/bench/jobs";
    *body = JobManifest(*name);
  };
  const double daemon = door.server->Cpu().daemon, client = OwnCpu();
  const LoadResult result = RunLoad(load);
  if (result.answered == 0 || result.refused > 0)
    return Internal("a submission was not accepted: " + result.first_refusal);
  const auto each = [&result](double cpu) {
    return cpu * 1e6 / static_cast<double>(result.answered);
  };
  out->client_cpu.push_back(each(OwnCpu() - client));
  out->daemon_cpu.push_back(each(door.server->Cpu().daemon - daemon));
  out->rate.push_back(result.rate());
  return Done{};
}

// Every other round begins with the other one.
Status OneRound(const Door& plain, const Door& secure, int connections, double seconds, int round,
                Comparison* out) {
  const std::string prefix = "c" + std::to_string(connections) + "r" + std::to_string(round) + "n";
  for (int turn = 0; turn < 2; ++turn) {
    const bool first = (turn + round) % 2 == 0;
    const Status done = first ? Submit(plain, connections, seconds, prefix, &out->plain)
                              : Submit(secure, connections, seconds, prefix, &out->secure);
    if (!done.ok()) return done;
  }
  out->ratio.push_back(out->secure.rate.back() / out->plain.rate.back());
  return Done{};
}

Status Prepare(Server* server, int bindings) {
  auto started = server->Start();
  if (!started.ok()) return started.error();
  auto applied = server->Call("POST", "/v1/apply", QueueManifests("1000000", true));
  if (!applied.ok()) return applied.error();
  return bindings > 0 ? SecureSite::ApplyBindings(*server, bindings) : Done{};
}

void AddFigures(const Comparison& all, int connections, std::vector<Figure>* out) {
  const std::string at = ", " + std::to_string(connections) + " connections";
  out->push_back({"plain" + at, Median(all.plain.rate), "jobs/s", 0, false, "the ceiling"});
  out->push_back(
      {"TLS, token, 10,000 bindings" + at, Median(all.secure.rate), "jobs/s", 0, false, ""});
  out->push_back({"ratio" + at, Median(all.ratio), "", kBar, false, "median of ratios"});
  out->push_back(
      {"musterd, CPU of a request, plain", Median(all.plain.daemon_cpu), "us", 0, false, ""});
  out->push_back(
      {"musterd, CPU of a request, secure", Median(all.secure.daemon_cpu), "us", 0, false, ""});
  out->push_back(
      {"this client, CPU of a request, plain", Median(all.plain.client_cpu), "us", 0, false, ""});
  out->push_back(
      {"this client, CPU of a request, secure", Median(all.secure.client_cpu), "us", 0, false, ""});
}

}  // namespace

Result<std::vector<Figure>> BenchSecure(const BenchOptions& options) {
  const std::vector<std::string> cluster = {
      "--simulated-cluster=sim,cpu=1000000,memory=1000Ti,run-time-ms=1000"};
  SecureSite site;
  if (Status opened = site.Open(); !opened.ok()) return opened.error();
  std::vector<std::string> flags = site.Flags();
  flags.insert(flags.end(), cluster.begin(), cluster.end());
  Server plain_server(options.bin_dir, cluster);
  Server secure_server(options.bin_dir, flags, Server::Calls::kOverSocket);
  if (Status ready = Prepare(&plain_server, 0); !ready.ok()) return ready.error();
  if (Status ready = Prepare(&secure_server, kBindings); !ready.ok()) return ready.error();
  const auto tls = TlsClient::Make(site.CertificatePath());
  if (!tls.ok()) return tls.error();
  const Door plain{&plain_server, nullptr, {}};
  const Door secure{&secure_server, &*tls, site.Tokens()};
  Way warm;
  for (const Door& door : {plain, secure}) {
    const Status done = Submit(door, 64, kWarmUpSeconds, "warm", &warm);
    if (!done.ok()) return done.error();
  }
  std::vector<Figure> figures;
  for (const int connections : {64, 8}) {
    Comparison all;
    for (int round = 0; round < options.runs; ++round) {
      const Status done = OneRound(plain, secure, connections, options.seconds, round, &all);
      if (!done.ok()) return done.error();
    }
    AddFigures(all, connections, &figures);
  }
  return figures;
}

}  // namespace muster::bench
