// scontrol: shows records and changes jobs, partitions and nodes (rules B24, B25, B50).
//
// RunScontrol collects the words that are no options and calls the function of the first one; the
// keywords are in the other sources of scontrol.h. A job id is always resolved to rows first
// (FetchSpecs): a job that does not exist is reported in Slurm's words without a change.
#include "clients/slurm/scontrol.h"

#include <getopt.h>
#include <strings.h>

#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kScontrolHelpText[] = R"(Usage: scontrol [-o] [-M CLUSTER] [--json] COMMAND
  show job [ID]  show step [ID]  show partition [NAME]  show node [NAME]  show config
  show licenses  show reservation  show hostnames [LIST]  show hostlist NAMES
  show hostlistsorted NAMES  completing
  update JobId=ID KEY=VALUE...  update PartitionName=NAME KEY=VALUE...
  update NodeName=NAME State=DRAIN|RESUME
  hold ID...  uhold ID...  release ID...  requeue ID...  requeuehold [State=SpecialExit] ID...
  suspend ID...  resume ID...  top ID...  notify ID TEXT  wait_job ID
  write batch_script ID [FILE|-]  token [lifespan=SECONDS] [username=NAME]  ping  version
)";

// A keyword of Slurm that Muster does not have, and what to do instead.
struct RefusedKeyword {
  const char* name;
  const char* why;
};
constexpr RefusedKeyword kRefusedKeywords[] = {
    {"abort", "the daemon is stopped by its service manager"},
    {"shutdown", "the daemon is stopped by its service manager"},
    {"takeover", "another daemon leads by itself when this one is gone"},
    {"reconfigure", "queues are changed by `muster apply` and take effect at once"},
    {"create", "queues are made by `muster apply`; reservations are not supported"},
    {"delete", "queues are removed by `muster delete`; reservations are not supported"},
    {"reboot", "machines belong to their member clusters"},
    {"reboot_nodes", "machines belong to their member clusters"},
    {"cancel_reboot", "machines belong to their member clusters"},
    {"setdebug", "the daemon's log level is in its configuration"},
    {"setdebugflags", "the daemon's log level is in its configuration"},
    {"schedloglevel", "the daemon's log level is in its configuration"},
    {"fsdampeningfactor", "shares are weights of Cohorts and ClusterQueues"},
    {"listpids", "processes are shown on their member clusters"},
    {"pidinfo", "processes are shown on their member clusters"},
    {"callerid", "processes are shown on their member clusters"},
    {"power", "machines belong to their member clusters"},
    {"checkpoint", "checkpoints are made by jobs themselves"},
    {"errnumstr", "errors are told as sentences"},
    {"holdu", "use uhold"},
};

// A daemon that is not ready is DOWN, as a controller that does not schedule is.
int Ping(Session& session) {
  const bool up = session.api.GetText("/readyz").ok();
  WriteOut("Slurmctld(primary) at " + session.api.settings().server.ToString() +
           (up ? " is UP\n" : " is DOWN\n"));
  if (!up) {
    WriteOut(
        "*****************************************\n"
        "** RESTORE SLURMCTLD DAEMON TO SERVICE **\n"
        "*****************************************\n");
  }
  return up ? 0 : ErrorExit(kExitRefused);
}

using Keyword = int (*)(Session& session, const Words& words);
struct KnownKeyword {
  const char* name;
  std::size_t least, most;  // words behind the keyword; most 0: any number
  Keyword run;
};
constexpr KnownKeyword kKeywords[] = {
    {"show", 1, 2, ShowEntity},     {"hold", 1, 0, ChangeJobs},
    {"uhold", 1, 0, ChangeJobs},    {"release", 1, 0, ChangeJobs},
    {"requeue", 1, 0, ChangeJobs},  {"requeuehold", 1, 0, ChangeJobs},
    {"suspend", 1, 0, ChangeJobs},  {"resume", 1, 0, ChangeJobs},
    {"top", 1, 0, ChangeJobs},      {"update", 1, 0, UpdateEntity},
    {"wait_job", 1, 1, WaitForJob}, {"write", 2, 3, WriteScript},
    {"notify", 2, 0, NotifyJob},    {"ping", 0, 0, nullptr},
    {"token", 0, 2, MintToken},
};

// Runs one command; gives the exit status.
int RunKeyword(const Words& words, const ScontrolOptions& options) {
  const std::string& command = words[0];
  const std::size_t count = words.size() - 1;
  if (SameWord(command, "version")) return WriteOut(kVersionLine), 0;
  if (SameWord(command, "help")) return WriteOut(kScontrolHelpText), 0;
  if (const auto shown = ShowHosts(words)) return *shown;
  for (const RefusedKeyword& refused : kRefusedKeywords) {
    if (SameWord(command, refused.name))
      return Fail(kScontrol, command + " is not supported: " + refused.why);
  }
  for (const KnownKeyword& known : kKeywords) {
    if (!SameWord(command, known.name)) continue;
    if (count < known.least) {
      return FailPlain(SameWord(command, "update") ? "too few arguments for update keyword"
                                                   : "too few arguments for keyword:" + command);
    }
    // "show job=12" has one word less than "show job 12".
    const bool whole = SameWord(command, "show") && words[1].find('=') != std::string::npos;
    const bool none = known.run == nullptr;
    if ((known.most != 0 && count > known.most - (whole ? 1 : 0)) || (none && count > 0))
      return FailPlain("too many arguments for keyword:" + command);
    std::optional<client::Settings> settings = FindServer(kScontrol);
    if (!settings) return ErrorExit(kExitRefused);
    Session session(std::move(*settings), options);
    const client::Outcome<std::string> refused =
        ResolveClusters(session.api, &session.options.clusters);
    if (!refused.ok()) return Fail(kScontrol, FailureText(refused.failure()));
    if (!refused->empty()) return Fail(kScontrol, *refused);
    return none ? Ping(session) : known.run(session, words);
  }
  return FailPlain("invalid keyword: " + command);
}

}  // namespace

Session::Session(client::Settings settings, const ScontrolOptions& asked)
    : api(std::move(settings)), options(asked) {
  context.default_ns = api.settings().ns;
  context.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
  context.now = WallSeconds();
  context.one_line = asked.one_line;
}

int FailPlain(const std::string& text) {
  std::fprintf(stderr, "%s\n", client::VisibleText(text, client::LineEnds::kKept).c_str());
  return ErrorExit(kExitRefused);
}

std::string ChangeFailure(const client::Failure& failure, bool job_is_over) {
  const bool refused = failure.kind == client::Failure::Kind::kRefused;
  if (refused && failure.status == 403) return "Invalid user id";
  if (refused && failure.status == 404) return "Invalid job id specified";
  if (refused && job_is_over) return "Job has already finished";
  return FailureText(failure);
}

bool IsOfCaller(client::ApiClient& api, const JobRow& row) {
  const client::Outcome<std::string> self = OwnUser(api);
  return self.ok() && *self == row.user;
}

std::string WithoutJobKey(const std::string& text) {
  for (const char* prefix : {"jobid=", "job="}) {
    const std::size_t size = std::string_view(prefix).size();
    if (::strncasecmp(text.c_str(), prefix, size) == 0) return text.substr(size);
  }
  return text;
}

namespace {

enum ScontrolOptionId : int { kScontrolJson = 256, kScontrolYaml, kScontrolAccepted };
constexpr option kScontrolOptions[] = {{"oneliner", no_argument, nullptr, 'o'},
                                       {"details", no_argument, nullptr, 'd'},
                                       {"all", no_argument, nullptr, 'a'},
                                       {"quiet", no_argument, nullptr, 'Q'},
                                       {"verbose", no_argument, nullptr, 'v'},
                                       {"future", no_argument, nullptr, 'F'},
                                       {"hide", no_argument, nullptr, kScontrolAccepted},
                                       {"local", no_argument, nullptr, kScontrolAccepted},
                                       {"sibling", no_argument, nullptr, kScontrolAccepted},
                                       {"federation", no_argument, nullptr, kScontrolAccepted},
                                       {"clusters", required_argument, nullptr, 'M'},
                                       {"cluster", required_argument, nullptr, 'M'},
                                       {"uid", required_argument, nullptr, 'u'},
                                       {"json", optional_argument, nullptr, kScontrolJson},
                                       {"yaml", optional_argument, nullptr, kScontrolYaml},
                                       {"help", no_argument, nullptr, 'h'},
                                       {"version", no_argument, nullptr, 'V'},
                                       {nullptr, 0, nullptr, 0}};

}  // namespace

int RunScontrol(int argc, char** argv) {
  ScontrolOptions options;
  Words words;
  optind = 0;
  opterr = 1;
  int id = 0;
  // '-': options may stand behind the keyword too ("show job 12 -o"); getopt_long returns each
  // other word as option 1.
  while ((id = ::getopt_long(argc, argv, "-odaQhVvFM:u:", kScontrolOptions, nullptr)) != -1) {
    switch (id) {
      case 1:
        words.emplace_back(optarg);
        break;
      case 'o':
        options.one_line = true;
        break;
      case 'Q':
        options.quiet = true;
        break;
      case 'M':
        options.clusters = ClustersOf(optarg);
        break;
      case 'u':
        return Fail(kScontrol,
                    "--uid: not supported by this version; set MUSTER_AS to act as another user");
      case kScontrolJson:
        options.json = true;
        break;
      case kScontrolYaml:
        options.yaml = true;
        break;
      case 'h':
        return WriteOut(kScontrolHelpText), 0;
      case 'V':
        return WriteOut(kVersionLine), 0;
      case 'd':
      case 'a':
      case 'v':
      case 'F':
      case kScontrolAccepted:
        // Everything is always shown, and there is no federation.
        break;
      default:
        return UsageExit(kScontrol);
    }
  }
  // "--" ends the options, not the words: notify's text may hold anything.
  for (int i = optind; i < argc; ++i) words.emplace_back(argv[i]);
  if (const auto refused = RefusedVariable(kScontrol)) return Fail(kScontrol, *refused);
  ClustersFromEnvironment(&options.clusters);
  if (options.clusters.names.size() > 1)
    return Fail(kScontrol, "Only one cluster can be used at a time with scontrol");
  if (words.empty()) return Fail(kScontrol, "no command given; see scontrol --help");
  if (SameWord(words[0], "completing")) words = {"show", "completing"};
  return RunKeyword(words, options);
}

}  // namespace muster::slurm
