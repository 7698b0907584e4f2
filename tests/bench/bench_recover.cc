// Benchmark: kills the daemon again and again under eight submitting clients, every other time
// together with its PostgreSQL, and compares the list of jobs with the acknowledged submissions.
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "schedd/text/json.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

// How often each name is in the list of the namespace's jobs.
Result<std::map<std::string, int>> Names(const Server& server) {
  std::map<std::string, int> names;
  std::string token;
  do {
    auto text = server.Call("GET", "/v1/jobs?namespace=bench&limit=10000" +
                                       (token.empty() ? "" : "&page_token=" + token));
    if (!text.ok()) return text.error();
    auto page = ParseJson(*text);
    if (!page.ok()) return page.error();
    for (const auto& item : page->at("items").as_array())
      ++names[std::string(item.at("name").as_string())];
    const auto* next = page->as_object().if_contains("next_page_token");
    token = next != nullptr && next->is_string() ? std::string(next->as_string()) : "";
  } while (!token.empty());
  return names;
}

}  // namespace

Result<std::vector<Figure>> BenchRecover(const BenchOptions& options) {
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000,memory=1000Ti,run-time-ms=1000"});
  auto started = server.Start();
  if (!started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000", true));
  if (!applied.ok()) return applied.error();
  std::set<std::string> acknowledged;
  std::vector<double> ready;
  // The moments of the kills are random, but the same in every run.
  std::mt19937 random(20260101);
  for (int kill = 0; kill < options.kills; ++kill) {
    LoadResult load;
    {
      std::jthread clients([&] {
        LoadOptions load_options;
        load_options.port = server.port();
        load_options.connections = 8;
        load_options.seconds = 30;
        load_options.remember = true;
        load_options.make =
            [kill](std::size_t i, std::string* name, std::string* path, std::string* body) {
          *name = "k" + std::to_string(kill) + "-" + std::to_string(i);
          *path = "/v1/namespaces/bench/jobs";
          *body = JobManifest(*name);
        };
        load = RunLoad(load_options);
      });
      std::this_thread::sleep_for(
          std::chrono::milliseconds(200 + static_cast<int>(random() % 1000)));
      // Every other time PostgreSQL is killed as well.
      server.Kill(kill % 2 == 0);
    }
    acknowledged.insert(load.acknowledged.begin(), load.acknowledged.end());
    auto seconds = server.Start();
    if (!seconds.ok()) return seconds.error();
    ready.push_back(*seconds);
  }
  auto names = Names(server);
  if (!names.ok()) return names.error();
  double lost = 0, twice = 0;
  for (const auto& name : acknowledged) lost += names->contains(name) ? 0 : 1;
  for (const auto& [name, count] : *names) twice += count > 1 ? 1 : 0;
  return std::vector<Figure>{
      {"kills (every other one with PostgreSQL)", static_cast<double>(options.kills), "", 0, false,
       ""},
      {"jobs acknowledged", static_cast<double>(acknowledged.size()), "", 0, false, ""},
      {"jobs in the database at the end", static_cast<double>(names->size()), "", 0, false, ""},
      {"acknowledged and lost", lost, "", 0.5, true, "Slurm: 2,000 to 10,842 a kill"},
      {"there twice", twice, "", 0.5, true, ""},
      {"ready again, worst", Percentile(&ready, 1.0), "s", 3, true,
       "at up to as many jobs as above"},
      {"ready again, median", Percentile(&ready, 0.5), "s", 0, false, ""},
  };
}

}  // namespace muster::bench
