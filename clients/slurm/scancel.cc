// scancel: ends jobs by id or by filter (slurm.md 2.15, ecosystem.md 2.3): silent about jobs that
// are gone.
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"

namespace muster::slurm {
namespace {

constexpr char kMe[] = "scancel";

struct ScancelOptions {
  std::vector<std::string> users, names, partitions, accounts, qos, nodes;
  std::vector<State> states;
  std::vector<JobSpec> jobs;
  bool filtered = false, verbose = false, quiet = false, ask = false, help = false, version = false;
};

enum LongOnly : int { kMe2 = 256, kHelp, kUsage, kUnsupported };

constexpr option kOptions[] = {
    {"user", required_argument, nullptr, 'u'},
    {"me", no_argument, nullptr, kMe2},
    {"name", required_argument, nullptr, 'n'},
    {"jobname", required_argument, nullptr, 'n'},
    {"partition", required_argument, nullptr, 'p'},
    {"account", required_argument, nullptr, 'A'},
    {"qos", required_argument, nullptr, 'q'},
    {"state", required_argument, nullptr, 't'},
    {"nodelist", required_argument, nullptr, 'w'},
    {"interactive", no_argument, nullptr, 'i'},
    {"quiet", no_argument, nullptr, 'Q'},
    {"verbose", no_argument, nullptr, 'v'},
    {"signal", required_argument, nullptr, 's'},
    {"batch", no_argument, nullptr, 'b'},
    {"full", no_argument, nullptr, 'f'},
    {"hurry", no_argument, nullptr, 'H'},
    {"ctld", no_argument, nullptr, kUnsupported},
    {"clusters", required_argument, nullptr, 'M'},
    {"reservation", required_argument, nullptr, 'R'},
    {"wckey", required_argument, nullptr, kUnsupported},
    {"help", no_argument, nullptr, kHelp},
    {"usage", no_argument, nullptr, kUsage},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0},
};

constexpr char kHelpText[] = R"(Usage: scancel [OPTIONS] [JOB_ID[_TASK]...]
  -u, --user=NAME  --me  -n, --name=NAME  -p, --partition=QUEUE  -A, --account=CLUSTERQUEUE
  -q, --qos=CLASS  -t, --state=PENDING|RUNNING  -w, --nodelist=CLUSTER
                                     which jobs (all conditions together)
  -i, --interactive  -v, --verbose  -Q, --quiet  --help  -V, --version
)";

int Fail(const std::string& message) {
  PrintError(kMe, message);
  return ErrorExit(kExitRefused);
}

/// The end of a job is always TERM, grace period, KILL: signals that ask for just that are taken.
bool EndsTheJob(const char* signal) {
  if (::strncasecmp(signal, "SIG", 3) == 0) signal += 3;
  for (const char* known : {"TERM", "KILL", "15", "9"}) {
    if (::strcasecmp(signal, known) == 0) return true;
  }
  return false;
}

std::string TakeOption(int id, ScancelOptions* out) {
  const auto add = [&](std::vector<std::string>* to) {
    for (std::string& part : SplitList(optarg)) to->push_back(std::move(part));
    out->filtered = true;
  };
  switch (id) {
    case 'u':
      add(&out->users);
      return "";
    case kMe2:
      out->users = {client::CurrentUser()};
      out->filtered = true;
      return "";
    case 'n':
      add(&out->names);
      return "";
    case 'p':
      add(&out->partitions);
      return "";
    case 'A':
      add(&out->accounts);
      return "";
    case 'q':
      add(&out->qos);
      return "";
    case 'w':
      add(&out->nodes);
      return "";
    case 't': {
      State state = State::kPending;
      if (!ParseState(optarg, &state)) return std::string("Invalid job state specified: ") + optarg;
      out->states.push_back(state);
      out->filtered = true;
      return "";
    }
    case 'i':
      out->ask = true;
      return "";
    case 'Q':
      out->quiet = true;
      return "";
    case 'v':
      out->verbose = true;
      return "";
    case 's':
      return EndsTheJob(optarg) ? ""
                                : std::string("--signal=") + optarg +
                                      ": only TERM and KILL are supported, and end the job";
    case kHelp:
    case kUsage:
      out->help = true;
      return "";
    case 'V':
      out->version = true;
      return "";
    default:
      return "this option is not supported by this version";
  }
}

bool In(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

bool Chosen(const ScancelOptions& options, const JobRow& row, const std::string& default_ns) {
  if (IsOver(row.state)) return false;
  const bool in_state =
      options.states.empty() ||
      std::find(options.states.begin(), options.states.end(), row.state) != options.states.end();
  const bool in_partition =
      options.partitions.empty() ||
      std::any_of(options.partitions.begin(), options.partitions.end(),
                  [&](const std::string& text) {
                    const Partition partition = SplitPartition(text, default_ns);
                    return partition.queue == row.queue && partition.ns == row.ns;
                  });
  return in_state && in_partition && In(options.users, row.user) && In(options.names, row.name) &&
         In(options.accounts, row.cluster_queue) && In(options.qos, row.priority_class) &&
         In(options.nodes, row.cluster);
}

bool Confirmed(const JobRow& row) {
  std::fprintf(stderr, "Cancel job_id=%lld name=%s partition=%s [y/n]? ",
               static_cast<long long>(row.id), client::VisibleText(row.name).c_str(),
               client::VisibleText(row.queue).c_str());
  char line[16] = {};
  return std::fgets(line, sizeof(line), stdin) != nullptr && (line[0] == 'y' || line[0] == 'Y');
}

/// 0, or the exit status of an error worth telling. A job that is gone meanwhile is none.
int CancelOne(client::ApiClient& api, const ScancelOptions& options, std::int64_t id) {
  if (options.verbose)
    std::fprintf(stderr, "scancel: Terminating job %lld\n", static_cast<long long>(id));
  const client::Outcome<json::value> answer =
      api.Send({"DELETE", client::JobPath(std::to_string(id))});
  if (answer.ok()) return 0;
  const client::Failure& failure = answer.failure();
  const bool gone = failure.status == 404 || failure.status == 409;
  if (gone && !options.verbose) return 0;
  if (!options.quiet) {
    PrintError(kMe, "Kill job error on job id " + std::to_string(id) + ": " +
                        (gone ? "Invalid job id specified" : FailureText(failure)));
  }
  return gone ? 0 : ErrorExit(kExitRefused);
}

int Cancel(const ScancelOptions& options) {
  const std::optional<client::Settings> settings = FindServer(kMe);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  JobList list;
  client::Query open;
  open.Add("state", "Held,Pending,Admitted,Running");
  if (options.users.size() == 1) open.Add("user", options.users[0]);
  const client::Outcome<Done> fetched =
      options.jobs.empty() ? FetchJobs(api, open, &list) : FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) return Fail(FailureText(fetched.failure()));
  int exit = 0;
  for (const JobSpec& spec : options.jobs) {
    const bool known = std::any_of(list.rows().begin(), list.rows().end(), [&](const JobRow& row) {
      return Matches(spec, row) && !IsOver(row.state);
    });
    if (!known && options.verbose) {
      std::fprintf(stderr, "scancel: Terminating job %lld\n", static_cast<long long>(spec.id));
      PrintError(kMe, "Kill job error on job id " + std::to_string(spec.id) +
                          ": Invalid job id specified");
    }
  }
  for (const JobRow& row : list.rows()) {
    if (!Chosen(options, row, settings->ns) || (options.ask && !Confirmed(row))) continue;
    const int status = CancelOne(api, options, row.id);
    exit = status > exit ? status : exit;
  }
  return exit;
}

}  // namespace

int RunScancel(int argc, char** argv) {
  ScancelOptions options;
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "u:n:p:A:q:t:w:iQvs:bfHM:R:V", kOptions, nullptr)) != -1) {
    if (id == '?') return UsageExit(kMe);
    const std::string error = TakeOption(id, &options);
    if (!error.empty()) return Fail(error);
  }
  if (options.help) return WriteOut(kHelpText), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  for (int i = optind; i < argc; ++i) {
    for (const std::string& part : SplitList(argv[i])) {
      const auto spec = ParseJobSpec(part);
      if (!spec) return Fail("Invalid job id " + part);
      options.jobs.push_back(*spec);
    }
  }
  if (options.jobs.empty() && !options.filtered) return Fail("No job identification provided");
  return Cancel(options);
}

}  // namespace muster::slurm
