// scancel: ends jobs by id or by filter (rule B27).
//
// The jobs are fetched first (by id, or all that have not ended) and filtered here; then each is
// cancelled by a request of its own. A job that has ended in the meantime is no error, as in Slurm;
// -v reports it. A filter that cannot be read, or an unknown user, is an error before anything is
// cancelled: a wrong filter would cancel too much.
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

constexpr char kScancel[] = "scancel";
constexpr char kValidStates[] = "Valid job states are PENDING, RUNNING, and SUSPENDED";

struct ScancelOptions {
  std::vector<std::string> users, names, partitions, accounts, qos, nodes;
  std::vector<State> states;
  std::vector<JobSpec> jobs;
  bool by_state = false;  // -t was given; `states` may be empty if it names only other states
  bool me = false;        // --me: `users` is whom the server takes the caller for
  bool filtered = false, verbose = false, quiet = false, ask = false, help = false, version = false;
};

// Ids of options without a letter; they begin above all letters.
enum ScancelOptionId : int {
  kScancelMe = 256,
  kScancelHelp,
  kScancelUsage,
  kScancelCtld,
  kScancelWckey,
  kScancelSibling
};

constexpr option kScancelOptions[] = {
    {"user", required_argument, nullptr, 'u'},
    {"me", no_argument, nullptr, kScancelMe},
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
    {"ctld", no_argument, nullptr, kScancelCtld},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"reservation", required_argument, nullptr, 'R'},
    {"wckey", required_argument, nullptr, kScancelWckey},
    {"sibling", required_argument, nullptr, kScancelSibling},
    {"help", no_argument, nullptr, kScancelHelp},
    {"usage", no_argument, nullptr, kScancelUsage},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0},
};

constexpr char kScancelHelpText[] = R"(Usage: scancel [OPTIONS] [JOB_ID[_TASK]...]
  -u, --user=NAME  --me  -n, --name=NAME  -p, --partition=QUEUE  -A, --account=CLUSTERQUEUE
  -q, --qos=CLASS  -t, --state=PENDING|RUNNING  -w, --nodelist=CLUSTER
                                     which jobs (all conditions together)
  -i, --interactive  -v, --verbose  -Q, --quiet  --help  -V, --version
)";

// True for the signals TERM and KILL. Cancelling always sends TERM and, after the grace period,
// KILL, so these two mean just that; no other signal can be sent.
bool EndsTheJob(const char* signal) {
  if (::strncasecmp(signal, "SIG", 3) == 0) signal += 3;
  for (const char* known : {"TERM", "KILL", "15", "9"}) {
    if (::strcasecmp(signal, known) == 0) return true;
  }
  return false;
}

// False if the text is no state of Slurm.
bool AddState(const char* text, ScancelOptions* out) {
  State state = State::kPending;
  if (ParseState(text, &state))
    out->states.push_back(state);
  else if (!IsSlurmState(text))
    return false;
  out->by_state = out->filtered = true;
  return true;
}

// Applies one option of getopt_long; returns the text of an error, or "".
std::string TakeOption(int id, ScancelOptions* out) {
  const auto add = [&](std::vector<std::string>* to) {
    for (std::string& part : SplitList(optarg)) to->push_back(std::move(part));
    out->filtered = true;
  };
  switch (id) {
    case 'u':
      if (out->me) out->users.clear();
      add(&out->users);
      out->me = false;
      return "";
    case kScancelMe:
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
      return AddState(optarg, out)
                 ? ""
                 : std::string("Invalid job state specified: ") + optarg + "\n" + kValidStates;
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
    case kScancelHelp:
    case kScancelUsage:
      out->help = true;
      return "";
    case 'V':
      out->version = true;
      return "";
    default:
      return NotSupported(kScancelOptions, id);
  }
}

// Parses the values of boolean variables as scancel does; nullopt for any other word.
std::optional<bool> Truth(const char* text) {
  for (const char* yes : {"true", "T"}) {
    if (::strcasecmp(text, yes) == 0) return true;
  }
  for (const char* no : {"false", "F"}) {
    if (::strcasecmp(text, no) == 0) return false;
  }
  return std::nullopt;
}

// Applies SCANCEL_* variables for filters that the command line does not set. Returns the text of
// an error, or "". A value that cannot be read is an error, because ignoring a filter would cancel
// more jobs.
std::string FromEnvironment(ScancelOptions* out) {
  if (const auto refused = RefusedVariable(kScancel)) return *refused;
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

// True if the job has not ended and all filters match it.
bool Chosen(const ScancelOptions& options, const JobRow& row, const std::string& default_ns) {
  if (IsOver(row.state)) return false;
  const bool in_state = !options.by_state || std::find(options.states.begin(), options.states.end(),
                                                       row.state) != options.states.end();
  return in_state && InPartitions(options.partitions, row, default_ns) &&
         PassesFilter(options.users, row.user) && PassesFilter(options.names, row.name) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         PassesFilter(options.qos, row.priority_class) && PassesFilter(options.nodes, row.cluster);
}

// For -i: the end of the input means no.
bool Confirmed(const JobRow& row) {
  std::fprintf(stderr, "Cancel job_id=%lld name=%s partition=%s [y/n]? ",
               static_cast<long long>(row.id), client::VisibleText(row.name).c_str(),
               client::VisibleText(row.queue).c_str());
  char line[16] = {};
  return std::fgets(line, sizeof(line), stdin) != nullptr && (line[0] == 'y' || line[0] == 'Y');
}

// Returns 0 or the exit status of an error. A job that has ended or does not exist any more (404,
// 409) is no error.
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
    PrintError(kScancel, "Kill job error on job id " + std::to_string(id) + ": " +
                             (gone ? "Invalid job id specified" : FailureText(failure)));
  }
  return gone ? 0 : ErrorExit(kExitRefused);
}

// True if the user is known on this host, or has a job on the server.
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

// The exit status is the highest of all jobs.
int Cancel(ScancelOptions options) {
  const std::optional<client::Settings> settings = FindServer(kScancel);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  if (options.me) {
    client::Outcome<std::string> self = OwnUser(api);
    if (!self.ok()) return Fail(kScancel, FailureText(self.failure()));
    options.users = {std::move(self).value()};
  }
  for (const std::string& user : options.users) {
    if (options.me) break;
    const client::Outcome<bool> known = IsUser(api, user);
    if (!known.ok()) return Fail(kScancel, FailureText(known.failure()));
    if (!*known) return Fail(kScancel, "Invalid user name: " + user);
  }
  JobList list;
  client::Query open;
  open.Add("state", "Held,Pending,Admitted,Running");
  if (options.users.size() == 1) open.Add("user", options.users[0]);
  const client::Outcome<Done> fetched =
      options.jobs.empty() ? FetchJobs(api, open, &list) : FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) return Fail(kScancel, FailureText(fetched.failure()));
  int exit = 0;
  for (const JobSpec& spec : options.jobs) {
    const bool known = std::any_of(list.rows().begin(), list.rows().end(), [&](const JobRow& row) {
      return Matches(spec, row) && !IsOver(row.state);
    });
    if (!known && options.verbose) {
      std::fprintf(stderr, "scancel: Terminating job %lld\n", static_cast<long long>(spec.id));
      PrintError(kScancel, "Kill job error on job id " + std::to_string(spec.id) +
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

// A call that names neither a job nor a filter is refused; it does not mean all jobs.
int RunScancel(int argc, char** argv) {
  ScancelOptions options;
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "u:n:p:A:q:t:w:iQvs:bfHM:R:V", kScancelOptions,
                             nullptr)) != -1) {
    if (id == '?') return UsageExit(kScancel);
    const std::string error = TakeOption(id, &options);
    if (!error.empty()) return Fail(kScancel, error);
  }
  if (options.help) return WriteOut(kScancelHelpText), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  if (const std::string error = FromEnvironment(&options); !error.empty())
    return Fail(kScancel, error);
  for (std::string& user : options.users) user = UserName(user);
  for (int i = optind; i < argc; ++i) {
    for (const std::string& part : SplitList(argv[i])) {
      const auto spec = ParseJobSpec(part);
      if (!spec) return Fail(kScancel, "Invalid job id " + part);
      // Muster cannot end a step alone, and must not end the whole job instead.
      if (part.find('.') != std::string::npos)
        return Fail(kScancel,
                    "Invalid job id " + part + ": steps of jobs cannot be cancelled by themselves");
      options.jobs.push_back(*spec);
    }
  }
  if (options.jobs.empty() && !options.filtered)
    return Fail(kScancel, "No job identification provided");
  return Cancel(options);
}

}  // namespace muster::slurm
