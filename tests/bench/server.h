// Server: a musterd of the benchmark's own, in a fresh data directory, ended with the benchmark.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::bench {

/// User and system time since their start.
struct CpuSeconds {
  double daemon = 0, postgres = 0;
};

class Server {
 public:
  /// `bin_dir` holds musterd; `clusters` are further flags such as --simulated-cluster=....
  Server(std::string bin_dir, std::vector<std::string> flags);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Starts it and waits for /readyz; seconds it took.
  Result<double> Start();
  void Stop();
  /// SIGKILL to the daemon and, with `database`, to its PostgreSQL as well; reaps the daemon.
  void Kill(bool database);

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  const std::string& bin_dir() const { return bin_dir_; }
  /// libpq connection string of its private PostgreSQL.
  Result<std::string> PostgresUrl() const;
  /// Resident memory of the daemon alone, in bytes.
  std::int64_t ResidentBytes() const;
  /// Of the daemon, and of its PostgreSQL with all processes that it has now or waited for.
  CpuSeconds Cpu() const;

  /// One request on a connection of its own; the body of the answer. Errors: status over 299 or no
  /// answer.
  Result<std::string> Call(const std::string& method, const std::string& path,
                           const std::string& body = "") const;
  /// The same, again and again while the daemon says that it has too much to do (429).
  Result<std::string> CallUntilTaken(const std::string& method, const std::string& path,
                                     const std::string& body) const;

 private:
  std::string bin_dir_, data_dir_;
  std::vector<std::string> flags_;
  int port_ = 0, grpc_port_ = 0;
  pid_t pid_ = -1;
};

/// Queue objects every benchmark uses: one flavor, one ClusterQueue with `cpu` and `memory` to
/// spare, LocalQueue bench/bench.
std::string QueueManifests(const std::string& cpu, bool hold);
/// A Job manifest of about 1.4 KB, as users send them.
std::string JobManifest(const std::string& name);
/// The same for members with simulated pods: little of a machine, a pod that ends `run` after its
/// start ("0s"), or never ("").
std::string MemberJob(const std::string& name, const std::string& run);
/// `count` jobs PREFIX0, PREFIX1, ... by jobs:batch.
Status SubmitBacklog(const Server& server, std::size_t count, const std::string& prefix,
                     const std::function<std::string(const std::string&)>& manifest);
/// Value of muster_jobs{state="..."} in the metrics; what a Prometheus would see. -1: no answer.
double JobsIn(const Server& server, const std::string& state);
/// Until `count` jobs run. Errors: fewer do after `patience` seconds.
Status WaitForRunning(const Server& server, std::size_t count, double patience);
/// Until member-1 to member-`count` answer.
Status WaitForMembers(const Server& server, std::size_t count);

}  // namespace muster::bench
