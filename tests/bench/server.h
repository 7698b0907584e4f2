// Server: a musterd of the benchmark's own in a fresh data directory. It ends with the benchmark.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::bench {

/// User and system time since the processes started.
struct CpuSeconds {
  double daemon = 0, postgres = 0;
};

/// Blocks in every call; not thread-safe but for Call.
class Server {
 public:
  /// How Call reaches the daemon: a port that speaks TLS is left to others.
  enum class Calls { kOverTcp, kOverSocket };

  /// `bin_dir` has musterd; `flags` are further flags such as --simulated-cluster=....
  Server(std::string bin_dir, std::vector<std::string> flags, Calls calls = Calls::kOverTcp);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Starts the daemon and waits until `path` is answered, by a leader unless a copy of the world
  /// serves it; returns the seconds that this took.
  Result<double> Start(const std::string& path = "/readyz");
  /// Waits until the running daemon answers `path`. Errors: it ends, or never does.
  Status AwaitAnswer(const std::string& path);
  void Stop();
  /// Sends SIGKILL to the daemon and, with `database`, to its PostgreSQL, and reaps the daemon.
  void Kill(bool database);

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  const std::string& bin_dir() const { return bin_dir_; }
  /// The libpq connection string of its private PostgreSQL.
  Result<std::string> PostgresUrl() const;
  /// The resident memory of the daemon alone, in bytes.
  std::int64_t ResidentBytes() const;
  /// CPU time of the daemon, and of its PostgreSQL with all processes that it has or has waited
  /// for.
  CpuSeconds Cpu() const;

  /// Sends one request on a connection of its own and returns the body of the answer. Errors: a
  /// status over 299, or no answer.
  Result<std::string> Call(const std::string& method, const std::string& path,
                           const std::string& body = "") const;
  /// Repeats the request while the daemon answers 429 (it has too much to do).
  Result<std::string> CallUntilTaken(const std::string& method, const std::string& path,
                                     const std::string& body) const;

 private:
  int Connect() const;

  std::string bin_dir_, data_dir_;
  std::vector<std::string> flags_;
  const Calls calls_;
  int port_ = 0, grpc_port_ = 0;
  pid_t pid_ = -1;
};

/// The queue objects of every benchmark: one flavor, one ClusterQueue with `cpu` and plenty of
/// memory, LocalQueue bench/bench. `hold` stops the queue.
std::string QueueManifests(const std::string& cpu, bool hold);
/// A Job manifest of about 1.4 KB, as users send them.
std::string JobManifest(const std::string& name);
/// The same job for members with simulated pods: it needs little of a machine, and its pods end
/// `run` after their start ("0s") or never ("").
std::string MemberJob(const std::string& name, const std::string& run);
/// Submits `count` jobs PREFIX0, PREFIX1, and so on by jobs:batch.
Status SubmitBacklog(const Server& server, std::size_t count, const std::string& prefix,
                     const std::function<std::string(const std::string&)>& manifest);
/// The value of muster_jobs{state="..."} in the metrics; -1 if there is no answer.
double JobsIn(const Server& server, const std::string& state);
/// Waits until `count` jobs run. Errors: fewer do after `patience` seconds.
Status WaitForRunning(const Server& server, std::size_t count, double patience);
/// Waits until member-1 to member-`count` are healthy.
Status WaitForMembers(const Server& server, std::size_t count);

}  // namespace muster::bench
