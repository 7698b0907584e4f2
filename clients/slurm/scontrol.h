// The parts of scontrol: one source for each group of keywords. For use inside of the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/clusters.h"
#include "clients/slurm/command.h"
#include "clients/slurm/scontrol_show.h"

namespace muster::slurm {

inline constexpr char kScontrol[] = "scontrol";
/// A keyword and its arguments.
using Words = std::vector<std::string>;

struct ScontrolOptions {
  bool one_line = false, quiet = false, json = false, yaml = false;
  ClusterChoice clusters;
};

/// The server, and what every record needs: the default namespace, the format of times and the
/// present time.
struct Session {
  Session(client::Settings settings, const ScontrolOptions& asked);
  client::ApiClient api;
  ScontrolOptions options;
  ShowContext context;
};

/// Prints a line on stderr without the command's name, as scontrol does; gives the exit status.
int FailPlain(const std::string& text);
/// Slurm's sentence for a refused change of a job.
std::string ChangeFailure(const client::Failure& failure, bool job_is_over);
/// True if the job is the caller's own. Costs a request.
bool IsOfCaller(client::ApiClient& api, const JobRow& row);
/// "jobid=12" and "job=12" as "12"; any other text unchanged.
std::string WithoutJobKey(const std::string& text);

/// `show ENTITY [ID]`.
int ShowEntity(Session& session, const Words& words);
/// `show hostnames|hostlist|hostlistsorted LIST`; nullopt for any other entity. No server is asked.
std::optional<int> ShowHosts(const Words& words);
/// `hold`, `uhold`, `release`, `requeue`, `requeuehold`, `suspend`, `resume`, `top` and the jobs.
int ChangeJobs(Session& session, const Words& words);
/// `update JobId=ID KEY=VALUE...`, and of partitions and nodes.
int UpdateEntity(Session& session, const Words& words);
/// `wait_job ID`, `write batch_script ID [FILE]`, `notify ID TEXT`, `token [lifespan=S]
/// [username=U]`.
int WaitForJob(Session& session, const Words& words);
int WriteScript(Session& session, const Words& words);
int NotifyJob(Session& session, const Words& words);
int MintToken(Session& session, const Words& words);

}  // namespace muster::slurm
