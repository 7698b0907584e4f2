// scancel: ends jobs by id or by filter (rule B27): silent about jobs that
// are gone.
#include <getopt.h>
#include <pwd.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"

namespace muster::slurm {
namespace {

constexpr char kMe[] = "scancel";
constexpr char kValidStates[] = "Valid job states are PENDING, RUNNING, and SUSPENDED";

struct ScancelOptions {
  std::vector<std::string> users, names, partitions, accounts, qos, nodes;
  std::vector<State> states;
  std::vector<JobSpec> jobs;
  bool by_state = false;  // with no state in `states`: only such as no job of Muster is ever in
  bool me = false;        // the user is the caller
  bool filtered = false, verbose = false, quiet = false, ask = false, help = false, version = false;
};

enum LongOnly : int { kMe2 = 256, kHelp, kUsage, kCtld, kWckey, kSibling };

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
    {"ctld", no_argument, nullptr, kCtld},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"reservation", required_argument, nullptr, 'R'},
    {"wckey", required_argument, nullptr, kWckey},
    {"sibling", required_argument, nullptr, kSibling},
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

bool AddState(const char* text, ScancelOptions* out) {
  State state = State::kPending;
  if (ParseState(text, &state))
    out->states.push_back(state);
  else if (!IsSlurmState(text))
    return false;
  out->by_state = out->filtered = true;
  return true;
}

std::string TakeOption(int id, ScancelOptions* out) {
  const auto add = [&](std::vector<std::string>* to) {
    for (std::string& part : SplitList(optarg)) to->push_back(std::move(part));
    out->filtered = true;
  };
  switch (id) {
    case 'u':
      add(&out->users);
      out->me = false;
      return "";
    case kMe2:
      out->users = {client::CurrentUser()};
      out->me = out->filtered = true;
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
      out->filtered = true;
      return AddHosts("--nodelist", optarg, &out->nodes);
    case 't':
      return AddState(optarg, out) ? ""
                                   : std::string("Invalid job state specified: ") + optarg +
                                         "\n" + kValidStates;
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
      return NotSupported(kOptions, id);
  }
}

/// "true" and "T", "false" and "F", as scancel reads them; nullopt: another word.
std::optional<bool> Truth(const char* text) {
  for (const char* yes : {"true", "T"}) {
    if (::strcasecmp(text, yes) == 0) return true;
  }
  for (const char* no : {"false", "F"}) {
    if (::strcasecmp(text, no) == 0) return false;
  }
  return std::nullopt;
}

/// SCANCEL_* for what the command line leaves open; the text of an error, "" if there is none. A
/// value that cannot be read is an error: what was to be spared must not be cancelled.
std::string FromEnvironment(ScancelOptions* out) {
  if (const auto refused = RefusedVariable(kMe)) return *refused;
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"SCANCEL_ACCOUNT", &out->accounts},
      {"SCANCEL_NAME", &out->names},
      {"SCANCEL_PARTITION", &out->partitions},
      {"SCANCEL_QOS", &out->qos},
      {"SCANCEL_USER", &out->users}};
  for (const auto& [name, to] : lists) {
    if (!to->empty()) continue;
    VariableList list = ListFromVariable(name);
    if (!list.error.empty()) return list.error;
    out->filtered = out->filtered || list.set;
    *to = std::move(list.values);
  }
  const char* state = SetVariable("SCANCEL_STATE");
  if (!out->by_state && state != nullptr && !AddState(state, out))
    return std::string("Unrecognized SCANCEL_STATE value: ") + state + "\n" + kValidStates;
  const std::pair<const char*, bool*> flags[] = {{"SCANCEL_INTERACTIVE", &out->ask},
                                                 {"SCANCEL_VERBOSE", &out->verbose}};
  for (const auto& [name, to] : flags) {
    const char* value = SetVariable(name);
    if (value == nullptr) continue;
    const auto truth = Truth(value);
    if (!truth) return std::string("Unrecognized ") + name + " value: " + value;
    *to = *to || *truth;
  }
  for (const char* name : {"SCANCEL_BATCH", "SCANCEL_FULL"}) {
    const char* value = SetVariable(name);
    if (value != nullptr && !Truth(value))
      return std::string("Unrecognized ") + name + " value: " + value;
  }
  return "";
}

bool In(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

bool Chosen(const ScancelOptions& options, const JobRow& row, const std::string& default_ns) {
  if (IsOver(row.state)) return false;
  const bool in_state =
      !options.by_state ||
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

/// True if this host knows the user, or the server a job of theirs.
client::Outcome<bool> IsUser(client::ApiClient& api, const std::string& user) {
  if (::getpwnam(user.c_str()) != nullptr) return true;
  const client::Query query =
      client::Query().Add("user", user).Add("fields", "id").Add("limit", "1");
  client::Outcome<std::string> answer = api.GetText("/v1/jobs" + query.text());
  if (!answer.ok()) return answer.failure();
  JobList list;
  if (!list.Feed(*answer) || !list.Finish())
    return client::BadAnswer("the server's job list is not JSON");
  return !list.rows().empty();
}

int Cancel(const ScancelOptions& options) {
  const std::optional<client::Settings> settings = FindServer(kMe);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  for (const std::string& user : options.users) {
    if (options.me) break;
    const client::Outcome<bool> known = IsUser(api, user);
    if (!known.ok()) return Fail(FailureText(known.failure()));
    if (!*known) return Fail("Invalid user name: " + user);
  }
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
  if (const std::string error = FromEnvironment(&options); !error.empty()) return Fail(error);
  for (std::string& user : options.users) user = UserName(user);
  for (int i = optind; i < argc; ++i) {
    for (const std::string& part : SplitList(argv[i])) {
      const auto spec = ParseJobSpec(part);
      if (!spec) return Fail("Invalid job id " + part);
      // The end of a step is not that of its job.
      if (part.find('.') != std::string::npos)
        return Fail("Invalid job id " + part + ": steps of jobs cannot be cancelled by themselves");
      options.jobs.push_back(*spec);
    }
  }
  if (options.jobs.empty() && !options.filtered) return Fail("No job identification provided");
  return Cancel(options);
}

}  // namespace muster::slurm
