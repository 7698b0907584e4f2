// Benchmark: what 1,000 queries a second of squeue, sacct and scontrol cost those who submit (R34).
#include <thread>

#include "tests/bench/benchmarks.h"
#include "tests/bench/http_load.h"
#include "tests/bench/server.h"

namespace muster::bench {
namespace {

constexpr double kSubmissionsPerS = 50;
constexpr double kQueriesPerS = 1000;
// Jobs of the user who asks: what a person or a tool has on the way.
constexpr std::size_t kOwnJobs = 20;

// What `squeue -p own`, `sacct -X -j ID` and `scontrol show job ID` ask for.
std::string QueryPath(std::size_t i) {
  if (i % 3 != 0) return "/v1/jobs/" + std::to_string(i % kOwnJobs + 1);
  return "/v1/jobs?fields=batch.allocationOnly,batch.arrayJobId,batch.arrayTaskId,batch.begin,"
         "batch.components,batch.cpusPerTask,batch.deadline,batch.dependency,batch.excludedNodes,"
         "batch.exclusive,batch.features,batch.gres,batch.heldByAdmin,batch.licenses,"
         "batch.maxNodes,batch.memoryPerCpuMb,batch.memoryPerNodeMb,batch.nice,batch.nodes,"
         "batch.partitionProblem,batch.partitions,batch.requiredNodes,batch.reservation,"
         "batch.specialExit,batch.suspendedS,batch.suspendedSince,batch.taskThrottle,batch.tasks,"
         "batch.tasksPerNode,batch.timeMinS,batch.waitingTasks,batch.wckey,cluster,displayName,"
         "endTime,id,name,namespace,nodeList,podSets,priority,queue,reason,startTime,state,"
         "stopping,user&namespace=bench&queue=own&state=Held,Pending,Admitted,Running&limit=200000";
}

// Another queue for the jobs that are asked about.
constexpr char kOwnQueue[] = R"(apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: own, namespace: bench}
spec: {clusterQueue: bench}
)";

std::string OwnJob(const std::string& name) {
  std::string manifest = JobManifest(name);
  const std::string label = R"("kueue.x-k8s.io/queue-name":"bench")";
  return manifest.replace(manifest.find(label), label.size(),
                          R"("kueue.x-k8s.io/queue-name":"own")");
}

LoadOptions Load(const Server& server, double rate, double seconds) {
  LoadOptions load;
  load.port = server.port();
  load.rate = rate;
  load.seconds = seconds;
  return load;
}

LoadResult Submit(const Server& server, double seconds, std::size_t* sent) {
  auto load = Load(server, kSubmissionsPerS, seconds);
  load.make = [sent](std::size_t, std::string* name, std::string* path, std::string* body) {
    *name = "beside" + std::to_string((*sent)++);
    *path = "/v1/namespaces/bench/jobs";
    *body = JobManifest(*name);
  };
  return RunLoad(load);
}

LoadResult Query(const Server& server, double seconds) {
  auto load = Load(server, kQueriesPerS, seconds);
  load.method = "GET";
  load.make = [](std::size_t i, std::string* name, std::string* path, std::string* body) {
    *name = *body = "";
    *path = QueryPath(i);
  };
  return RunLoad(load);
}

}  // namespace

Result<std::vector<Figure>> BenchBeside(const BenchOptions& options) {
  Server server(options.bin_dir,
                {"--simulated-cluster=sim,cpu=1000,memory=1000Ti,run-time-ms=1000"});
  if (auto started = server.Start(); !started.ok()) return started.error();
  auto applied = server.Call("POST", "/v1/apply", QueueManifests("1000", true));
  if (!applied.ok()) return applied.error();
  applied = server.Call("POST", "/v1/apply", kOwnQueue);
  if (!applied.ok()) return applied.error();
  if (auto own = SubmitBacklog(server, kOwnJobs, "own", OwnJob); !own.ok()) return own.error();
  if (auto deep = SubmitBacklog(server, options.jobs, "deep", JobManifest); !deep.ok())
    return deep.error();
  std::vector<double> alone, beside, medians_alone, medians_beside, rates, answers;
  std::size_t sent = 0;
  for (int i = 0; i < options.runs; ++i) {
    auto without = Submit(server, options.seconds, &sent);
    LoadResult asked;
    std::jthread queries([&] { asked = Query(server, options.seconds); });
    auto with = Submit(server, options.seconds, &sent);
    queries.join();
    for (const LoadResult* one : {&without, &with, &asked})
      if (one->refused > 0 || one->latencies.empty()) return Internal("refused: " + one->first_refusal);
    alone.push_back(Percentile(&without.latencies, 0.99) * 1000);
    beside.push_back(Percentile(&with.latencies, 0.99) * 1000);
    medians_alone.push_back(Percentile(&without.latencies, 0.5) * 1000);
    medians_beside.push_back(Percentile(&with.latencies, 0.5) * 1000);
    answers.push_back(Percentile(&asked.latencies, 0.99) * 1000);
    rates.push_back(asked.rate());
  }
  return std::vector<Figure>{
      {"submit p50, 50 a second, alone", Median(medians_alone), "ms", 0, false, ""},
      {"submit p50 beside the queries", Median(medians_beside), "ms", 0, false, ""},
      {"submit p99, 50 a second, alone", Median(alone), "ms", 0, false, ""},
      {"submit p99 beside the queries", Median(beside), "ms", 0, false, ""},
      {"submit p99 beside / alone", Median(beside) / Median(alone), "x", 1.1, true, ""},
      {"queries answered", Median(rates), "1/s", kQueriesPerS * 0.99, false, "1,000 sent when due"},
      {"query p99", Median(answers), "ms", 0, false, ""},
  };
}

}  // namespace muster::bench
