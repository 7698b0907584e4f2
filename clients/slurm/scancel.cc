// scancel: ends jobs, array tasks and steps, or sends them a signal, by id or by filter (rule B27).
//
// Without -s a job is cancelled. With -s the signal goes to its steps, with -b to the batch shell,
// with -f to both; the job goes on. Waiting tasks of an array are one record, so they are named in
// the request (36_[1-5]).
//
// The jobs are fetched first (by id, or all that have not ended) and filtered here; then each is
// cancelled by a request of its own. A job that has ended in the meantime is no error, as in Slurm;
// -v reports it. A filter that cannot be read, or an unknown user, is an error before anything is
// cancelled: a wrong filter would cancel too much.
#include <getopt.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/attempts.h"
#include "clients/slurm/clusters.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/job_signal.h"
#include "clients/slurm/many_calls.h"
#include "clients/slurm/signals.h"
#include "clients/slurm/task_ranges.h"

namespace muster::slurm {
namespace {

constexpr char kScancel[] = "scancel";
constexpr char kValidStates[] = "Valid job states are PENDING, RUNNING, and SUSPENDED";

struct ScancelOptions {
  std::vector<std::string> users, names, partitions, accounts, qos, nodes, reservations, wckeys;
  ClusterChoice clusters;
  std::vector<State> states;
  std::vector<JobSpec> jobs;
  std::optional<int> signal;  // -s
  bool batch = false, full = false;
  bool by_state = false;  // -t was given
  bool me = false;        // --me: `users` is whom the server takes the caller for
  bool filtered = false, verbose = false, quiet = false, ask = false, help = false, version = false;
};

// Ids of options without a letter; they begin above all letters.
enum ScancelOptionId : int {
  kScancelMe = 256,
  kScancelHelp,
  kScancelUsage,
  kScancelAccepted,
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
    {"hurry", no_argument, nullptr, kScancelAccepted},
    {"ctld", no_argument, nullptr, kScancelAccepted},
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

constexpr char kScancelHelpText[] = R"(Usage: scancel [OPTIONS] [JOB_ID[_TASK][.STEP]...]
  -u, --user=NAME  --me  -n, --name=NAME  -p, --partition=QUEUE  -A, --account=CLUSTERQUEUE
  -q, --qos=CLASS  -t, --state=PENDING|RUNNING|SUSPENDED  -w, --nodelist=HOSTS
  -R, --reservation=NAME  --wckey=KEY  -M, --clusters=LIST|all
                                     which jobs (all conditions together)
  -s, --signal=NAME|NUMBER  -b, --batch  -f, --full    send a signal: to the steps, to the batch
                                     shell, to both
  -i, --interactive  -v, --verbose  -Q, --quiet  --help  -V, --version
)";

// False if the text is none of the three states that scancel knows.
bool AddState(const char* text, ScancelOptions* out) {
  State state = State::kPending;
  if (!ParseState(text, &state)) return false;
  if (state != State::kPending && state != State::kRunning && state != State::kSuspended)
    return false;
  out->states.push_back(state);
  out->by_state = out->filtered = true;
  return true;
}

// True if the filter's state is the one that the row's state is a part of.
bool InState(State wanted, State state) {
  if (wanted == State::kPending) return IsPending(state);
  if (wanted == State::kRunning)
    return state == State::kRunning || state == State::kConfiguring || state == State::kCompleting;
  return state == wanted;
}

// Marks an error that scancel prints without its name.
constexpr char kScancelPlain[] = "\1";

// The list that a filter adds to; null if the option is no such filter.
std::vector<std::string>* FilterOf(int id, ScancelOptions* out) {
  switch (id) {
    case 'n':
      return &out->names;
    case 'p':
      return &out->partitions;
    case 'A':
      return &out->accounts;
    case 'q':
      return &out->qos;
    case 'R':
      return &out->reservations;
    case kScancelWckey:
      return &out->wckeys;
    default:
      return nullptr;
  }
}

// Applies one option of getopt_long; returns the text of an error, or "".
std::string TakeOption(int id, ScancelOptions* out) {
  const auto add = [&](std::vector<std::string>* to) {
    for (std::string& part : SplitList(optarg)) to->push_back(std::move(part));
    out->filtered = true;
  };
  if (auto* filter = FilterOf(id, out)) {
    add(filter);
    return "";
  }
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
    case 'w':
      out->filtered = true;
      return AddHosts("--nodelist", optarg, &out->nodes);
    case 't':
      return AddState(optarg, out) ? ""
                                   : kScancelPlain + std::string("Invalid job state specified: ") +
                                         optarg + "\n" + kValidStates;
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
      out->signal = ParseSignal(optarg);
      return out->signal ? "" : kScancelPlain + std::string("Unknown job signal: ") + optarg;
    case 'b':
      out->batch = true;
      return "";
    case 'f':
      out->full = true;
      return "";
    case 'H':
    case kScancelAccepted:
      // There is no burst buffer, and every request goes to the daemon.
      return "";
    case 'M':
      out->clusters = ClustersOf(optarg);
      return "";
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
      {"SCANCEL_ACCOUNT", &out->accounts},     {"SCANCEL_NAME", &out->names},
      {"SCANCEL_PARTITION", &out->partitions}, {"SCANCEL_QOS", &out->qos},
      {"SCANCEL_WCKEY", &out->wckeys},         {"SCANCEL_USER", &out->users}};
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
  ClustersFromEnvironment(&out->clusters);
  const std::pair<const char*, bool*> flags[] = {{"SCANCEL_BATCH", &out->batch},
                                                 {"SCANCEL_FULL", &out->full},
                                                 {"SCANCEL_INTERACTIVE", &out->ask},
                                                 {"SCANCEL_VERBOSE", &out->verbose}};
  for (const auto& [name, to] : flags) {
    const char* value = SetVariable(name);
    if (value == nullptr) continue;
    const auto truth = Truth(value);
    if (!truth) return std::string("Unrecognized ") + name + " value: " + value;
    *to = *to || *truth;
  }
  return "";
}

// True if the job has not ended and all filters match it.
bool Chosen(const ScancelOptions& options, const JobRow& row, const std::string& default_ns) {
  if (IsOver(row.state)) return false;
  const bool in_state =
      !options.by_state || std::any_of(options.states.begin(), options.states.end(),
                                       [&](State wanted) { return InState(wanted, row.state); });
  return in_state && InPartitions(options.partitions, row, default_ns) &&
         PassesFilter(options.users, row.user) && PassesFilter(options.names, row.name) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         PassesFilter(options.qos, QosOf(row)) && OnNodes(options.nodes, row) &&
         PassesFilter(options.reservations, row.extra->reservation) &&
         PassesFilter(options.wckeys, row.extra->wckey) && InClusters(options.clusters, row);
}

// The id of the row in a request: of waiting tasks, those that the ids of the command line name.
std::string TargetOf(const ScancelOptions& options, const JobRow& row) {
  if (!IsArrayRecord(row)) return std::to_string(row.id);
  const auto waiting = ParseTasks(row.extra->waiting_tasks);
  if (!waiting) return std::to_string(row.id);
  TaskRanges wanted;
  bool whole = options.jobs.empty();
  for (const JobSpec& spec : options.jobs) {
    if (spec.id != row.array_job_id && spec.id != row.id) continue;
    if (!spec.tasks_only)
      whole = true;
    else
      wanted.insert(wanted.end(), spec.tasks.begin(), spec.tasks.end());
  }
  JobSpec target;
  target.id = row.array_job_id;
  target.tasks_only = true;
  target.tasks = whole ? *waiting : CommonTasks(*waiting, wanted);
  return SpecText(target);
}

// For -i: the end of the input means no.
bool Confirmed(const JobRow& row) {
  std::fprintf(stderr, "Cancel job_id=%lld name=%s partition=%s [y/n]? ",
               static_cast<long long>(row.id), client::VisibleText(row.name).c_str(),
               client::VisibleText(row.queue).c_str());
  char line[16] = {};
  return std::fgets(line, sizeof(line), stdin) != nullptr && (line[0] == 'y' || line[0] == 'Y');
}

// Tells of a request that failed; gives the exit status. A job that has ended or does not exist any
// more (404, 409) is no error.
int TellFailure(const ScancelOptions& options, const char* what, const std::string& id,
                const client::Failure& failure) {
  const bool gone = failure.status == 404 || failure.status == 409;
  if (gone && !options.verbose) return 0;
  if (!options.quiet) {
    const bool step = std::string_view(what) == "job step id";
    const std::string why = gone                    ? "Invalid job id specified"
                            : failure.status != 403 ? FailureText(failure)
                            : step                  ? "Invalid user id"
                                                    : "Access/permission denied";
    PrintError(kScancel, std::string("Kill job error on ") + what + " " + id + ": " + why);
  }
  return gone ? 0 : ErrorExit(kExitRefused);
}

// Tells what is about to happen to a job. False, with the exit status, if it is refused: a waiting
// job has no processes, so KILL ends it, and any other signal goes nowhere.
bool Announce(const ScancelOptions& options, const JobRow& row, int* exit) {
  const std::string id = TargetOf(options, row);
  const char* part = options.batch ? "batch " : options.full ? "full " : "";
  if (options.verbose && options.signal)
    std::fprintf(stderr, "scancel: Signal %d to %sjob %s\n", *options.signal, part, id.c_str());
  else if (options.verbose)
    std::fprintf(stderr, "scancel: Terminating %sjob %s\n", part, id.c_str());
  if (!IsPending(row.state) || !options.signal || *options.signal == SIGKILL) return true;
  if (!options.quiet)
    PrintError(kScancel, "Kill job error on job id " + id + ": Job is pending execution");
  *exit = std::max(*exit, ErrorExit(kExitRefused));
  return false;
}

// Cancels one job, or sends it the signal of -s. Prints nothing.
client::Outcome<json::value> CancelOne(client::ApiClient& api, const ScancelOptions& options,
                                       const JobRow& row) {
  const std::string id = TargetOf(options, row);
  const bool signals = !IsPending(row.state) && (options.signal || options.batch);
  if (!signals) return api.Send({"DELETE", client::JobPath(id)});
  return SendSignal(api, id, options.signal.value_or(SIGKILL),
                    options.batch  ? "batch"
                    : options.full ? "full"
                                   : "steps");
}

int CancelAll(client::ApiClient& api, const ScancelOptions& options,
              const std::vector<const JobRow*>& rows) {
  std::vector<std::optional<client::Outcome<json::value>>> answers(rows.size());
  ForEachCall(api, rows.size(), [&](client::ApiClient& own, std::size_t i) {
    answers[i] = CancelOne(own, options, *rows[i]);
  });
  int exit = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (answers[i]->ok()) continue;
    exit = std::max(
        exit, TellFailure(options, "job id", TargetOf(options, *rows[i]), answers[i]->failure()));
  }
  return exit;
}

// True while the step runs.
bool StepRuns(client::ApiClient& api, std::int64_t job, std::int64_t step) {
  const client::Outcome<StepsByJob> steps = FetchSteps(api, {job});
  if (!steps.ok()) return false;
  const auto found = steps->find(job);
  if (found == steps->end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const StepInfo& one) {
    return one.step == step && one.state == State::kRunning;
  });
}

// Ends a step: TERM and, if it does not go in 30 s, KILL. With -s only that signal is sent. The
// step `batch` is the script's shell.
int CancelStep(client::ApiClient& api, const ScancelOptions& options, const JobRow& row,
               const JobSpec& spec) {
  const std::string id = std::to_string(row.id);
  const std::string shown = SpecText(spec) + "." + spec.step;
  if (options.verbose && options.signal)
    std::fprintf(stderr, "scancel: Signal %d to step %s\n", *options.signal, shown.c_str());
  else if (options.verbose)
    std::fprintf(stderr, "scancel: Terminating step %s\n", shown.c_str());
  const auto step = ParseCount(spec.step);
  if (!step) {
    const auto answer = SendSignal(api, id, options.signal.value_or(SIGKILL), "batch");
    return answer.ok() ? 0 : TellFailure(options, "job step id", shown, answer.failure());
  }
  auto answer = SendSignal(api, id, options.signal.value_or(SIGTERM), "step", *step);
  if (answer.ok() && !options.signal) {
    constexpr int kWaits = 150, kWaitMs = 200;
    int waited = 0;
    while (waited < kWaits && StepRuns(api, row.id, *step)) {
      ::poll(nullptr, 0, kWaitMs);
      ++waited;
    }
    if (waited == kWaits) answer = SendSignal(api, id, SIGKILL, "step", *step);
  }
  return answer.ok() ? 0 : TellFailure(options, "job step id", shown, answer.failure());
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
  const client::Outcome<std::string> refused = ResolveClusters(api, &options.clusters);
  if (!refused.ok()) return Fail(kScancel, FailureText(refused.failure()));
  if (!refused->empty()) return Fail(kScancel, *refused);
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
      std::fprintf(stderr, "scancel: Terminating job %s\n", SpecText(spec).c_str());
      PrintError(kScancel,
                 "Kill job error on job id " + SpecText(spec) + ": Invalid job id specified");
    }
  }
  std::vector<const JobRow*> ended;
  for (const JobRow& row : list.rows()) {
    if (!Chosen(options, row, settings->ns) || (options.ask && !Confirmed(row))) continue;
    bool whole = options.jobs.empty();
    for (const JobSpec& spec : options.jobs) {
      if (!Matches(spec, row)) continue;
      whole = whole || spec.step.empty();
      if (!spec.step.empty()) exit = std::max(exit, CancelStep(api, options, row, spec));
    }
    if (whole && Announce(options, row, &exit)) ended.push_back(&row);
  }
  return std::max(exit, CancelAll(api, options, ended));
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
    if (error.starts_with(kScancelPlain)) {
      std::fprintf(stderr, "%s\n", error.c_str() + 1);
      return ErrorExit(kExitRefused);
    }
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
      options.jobs.push_back(*spec);
    }
  }
  if (options.jobs.empty() && !options.filtered)
    return Fail(kScancel, "No job identification provided");
  return Cancel(options);
}

}  // namespace muster::slurm
