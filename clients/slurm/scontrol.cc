// scontrol: shows records, and holds, releases and requeues jobs (rules B24, B25).
//
// RunScontrol collects the words that are no options and calls the function of the first one. A job
// id is always resolved to rows first (FetchSpecs): an array then stands for its tasks, and a job
// that does not exist is reported in Slurm's words without a change.
#include <getopt.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/scontrol_show.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kScontrol[] = "scontrol";
using Words = std::vector<std::string>;

constexpr char kScontrolHelpText[] = R"(Usage: scontrol [-o] COMMAND
  show job [ID]  show partition [NAME]  show node [NAME]  show config
  show hostnames [LIST]  show hostlist NAMES
  hold ID...  release ID...  requeue ID...  ping  version
)";

int SayUnknownJob() {
  std::fprintf(stderr, "slurm_load_jobs error: Invalid job id specified\n");
  return ErrorExit(kExitRefused);
}

// The server, and what every record needs: the default namespace, the format of times and the
// present time.
struct Session {
  explicit Session(client::Settings settings) : api(std::move(settings)) {
    context.default_ns = api.settings().ns;
    context.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
    context.now = WallSeconds();
  }
  client::ApiClient api;
  ShowContext context;
};

// show job [ID]: without an id all jobs.
int ShowJobs(Session& session, const std::string& which) {
  JobList list;
  if (which.empty()) {
    client::Outcome<Done> fetched = FetchJobs(session.api, client::Query(), &list);
    if (!fetched.ok())
      return Fail(kScontrol, "slurm_load_jobs error: " + FailureText(fetched.failure()));
  } else {
    std::vector<JobSpec> specs;
    for (const std::string& part : SplitList(which)) {
      const auto spec = ParseJobSpec(part);
      if (!spec) return SayUnknownJob();
      specs.push_back(*spec);
    }
    client::Outcome<Done> fetched = FetchSpecs(session.api, specs, &list);
    if (!fetched.ok())
      return Fail(kScontrol, "slurm_load_jobs error: " + FailureText(fetched.failure()));
    if (list.rows().empty()) return SayUnknownJob();
  }
  if (list.rows().empty()) return WriteOut("No jobs in the system\n"), 0;
  std::string out;
  for (const JobRow& row : list.rows()) out += ShowJob(row, session.context);
  WriteOut(out);
  return 0;
}

// show node [LIST] and show partition [NAME].
int ShowFleet(Session& session, bool nodes, const std::string& which) {
  const client::Outcome<Fleet> fleet = FetchFleet(session.api);
  if (!fleet.ok()) return Fail(kScontrol, FailureText(fleet.failure()));
  std::string out;
  if (nodes) {
    const auto wanted = ExpandHostlist(which);
    for (const NodeInfo& node : fleet->nodes) {
      const bool chosen = which.empty() || (wanted && std::find(wanted->begin(), wanted->end(),
                                                                node.name) != wanted->end());
      if (chosen) out += ShowNode(node, *fleet, session.context);
    }
    if (out.empty() && !which.empty())
      return std::printf("Node %s not found\n", which.c_str()), ErrorExit(kExitRefused);
  } else {
    for (const PartitionInfo& partition : fleet->partitions) {
      if (which.empty() || partition.Name(session.context.default_ns) == which) {
        out += ShowPartition(partition, *fleet, session.context);
      }
    }
    if (out.empty() && !which.empty()) {
      return std::printf("Partition %s not found\n", which.c_str()), ErrorExit(kExitRefused);
    }
  }
  WriteOut(out);
  return 0;
}

// Prints one host a line. Without a list it expands the job's own node list (rule B24); distributed
// training starts with this command.
int ShowHostnames(const std::string& list) {
  std::string text = list.empty() ? client::ProcessEnv("SLURM_JOB_NODELIST") : list;
  if (text.empty()) text = client::ProcessEnv("SLURM_NODELIST");
  const auto hosts = ExpandHostlist(text);
  if (!hosts || hosts->empty()) return Fail(kScontrol, "Invalid hostlist: " + text);
  std::string out;
  for (const std::string& host : *hosts) out += host + "\n";
  WriteOut(out);
  return 0;
}

// "show job 12" and "show job=12" mean the same; the entity may be in the plural. Host lists need
// no server.
int Show(const Words& words, bool one_line) {
  const std::string what = words.size() > 1 ? words[1] : "";
  std::string which = words.size() > 2 ? words[2] : "";
  std::string entity = what;
  const std::size_t equals = what.find('=');
  if (equals != std::string::npos) {
    entity = what.substr(0, equals);
    which = what.substr(equals + 1);
  }
  const auto is = [&](const char* name) {
    return ::strcasecmp(entity.c_str(), name) == 0 ||
           ::strcasecmp(entity.c_str(), (std::string(name) + "s").c_str()) == 0;
  };
  if (is("hostname")) return ShowHostnames(which);
  if (is("hostlist")) {
    const auto hosts = ExpandHostlist(which);
    if (!hosts) return Fail(kScontrol, "Invalid hostlist: " + which);
    return WriteOut(FoldHostlist(*hosts) + "\n"), 0;
  }
  const bool known = is("job") || is("jobid") || is("node") || is("partition") || is("config");
  if (!known)
    return Fail(
        kScontrol,
        "invalid entity:" + entity +
            " for keyword:show ; this version shows job, partition, node, config, hostnames "
            "and hostlist");
  std::optional<client::Settings> settings = FindServer(kScontrol);
  if (!settings) return ErrorExit(kExitRefused);
  Session session(std::move(*settings));
  session.context.one_line = one_line;
  if (is("job") || is("jobid")) return ShowJobs(session, which);
  if (is("config")) return WriteOut(ShowConfig(session.context)), 0;
  return ShowFleet(session, is("node"), which);
}

// Holds, releases or requeues one job. An array means all its tasks that have not ended.
int ChangeOne(Session& session, const std::string& verb, const std::string& text) {
  const auto spec = ParseJobSpec(text);
  if (!spec || text.find('.') != std::string::npos)
    return Fail(kScontrol, "Invalid job id specified for job " + text);
  JobList list;
  const client::Outcome<Done> fetched = FetchSpecs(session.api, {*spec}, &list);
  if (!fetched.ok()) return Fail(kScontrol, FailureText(fetched.failure()));
  if (list.rows().empty()) {
    std::fprintf(stderr, "Invalid job id specified for job %s\n", text.c_str());
    return ErrorExit(kExitRefused);
  }
  int exit = 0;
  for (const JobRow& row : list.rows()) {
    if (list.rows().size() > 1 && IsOver(row.state)) continue;
    const std::string target = client::JobPath(std::to_string(row.id)) + ":" + verb;
    const client::Outcome<json::value> answer = session.api.Send({"POST", target});
    if (answer.ok()) continue;
    const bool over = IsOver(row.state) && answer.failure().kind == client::Failure::Kind::kRefused;
    const std::string why = over ? "Job has already finished" : FailureText(answer.failure());
    const std::string shown = client::VisibleText(why);
    std::fprintf(stderr, "%s for job %lld\nslurm_suspend error: %s\n", shown.c_str(),
                 static_cast<long long>(row.id), shown.c_str());
    exit = ErrorExit(kExitRefused);
  }
  return exit;
}

// hold (uhold), release or requeue of the jobs in words[1..]; "jobid=12" is accepted too. The exit
// status is the highest.
int Change(const Words& words) {
  if (words.size() < 2) return Fail(kScontrol, "too few arguments for keyword:" + words[0]);
  std::optional<client::Settings> settings = FindServer(kScontrol);
  if (!settings) return ErrorExit(kExitRefused);
  Session session(std::move(*settings));
  const std::string verb = words[0] == "uhold" ? "hold" : words[0];
  int exit = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string ids = words[i];
    for (const char* prefix : {"jobid=", "job="}) {
      if (::strncasecmp(ids.c_str(), prefix, std::string_view(prefix).size()) == 0)
        ids.erase(0, std::string_view(prefix).size());
    }
    for (const std::string& id : SplitList(ids)) {
      const int status = ChangeOne(session, verb, id);
      exit = status > exit ? status : exit;
    }
  }
  return exit;
}

// A daemon that is not ready is DOWN, as a controller that does not schedule is.
int Ping() {
  std::optional<client::Settings> settings = FindServer(kScontrol);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  const bool up = api.GetText("/readyz").ok();
  WriteOut("Slurmctld(primary) at " + settings->server.ToString() +
           (up ? " is UP\n" : " is DOWN\n"));
  return up ? 0 : ErrorExit(kExitRefused);
}

}  // namespace

int RunScontrol(int argc, char** argv) {
  static constexpr option kOptions[] = {{"oneliner", no_argument, nullptr, 'o'},
                                        {"details", no_argument, nullptr, 'd'},
                                        {"all", no_argument, nullptr, 'a'},
                                        {"quiet", no_argument, nullptr, 'Q'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {"version", no_argument, nullptr, 'V'},
                                        {nullptr, 0, nullptr, 0}};
  bool one_line = false;
  Words words;
  optind = 0;
  opterr = 1;
  int id = 0;
  // '-': options may stand behind the keyword too ("show job 12 -o"); getopt_long returns each
  // other word as option 1.
  while ((id = ::getopt_long(argc, argv, "-odaQhV", kOptions, nullptr)) != -1) {
    switch (id) {
      case 1:
        words.emplace_back(optarg);
        break;
      case 'o':
        one_line = true;
        break;
      case 'h':
        return WriteOut(kScontrolHelpText), 0;
      case 'V':
        return WriteOut(kVersionLine), 0;
      case 'd':
      case 'a':
      case 'Q':
        // Everything is always shown.
        break;
      default:
        return UsageExit(kScontrol);
    }
  }
  for (int i = optind; i < argc; ++i) words.emplace_back(argv[i]);
  if (const auto refused = RefusedVariable(kScontrol)) return Fail(kScontrol, *refused);
  if (words.empty()) return Fail(kScontrol, "no command given; see scontrol --help");
  const std::string& command = words[0];
  // hold, release and requeue take any number of jobs; "show job=12" has one word less than
  // "show job 12".
  const bool whole = words.size() > 1 && words[1].find('=') != std::string::npos;
  const std::size_t most = command == "show" ? (whole ? 2 : 3) : 1;
  const bool counted = command == "show" || command == "ping" || command == "version";
  if (counted && words.size() > most)
    return Fail(kScontrol, "too many arguments for keyword:" + command);
  if (command == "show") return Show(words, one_line);
  if (command == "hold" || command == "uhold" || command == "release" || command == "requeue")
    return Change(words);
  if (command == "ping") return Ping();
  if (command == "version") return WriteOut(kVersionLine), 0;
  if (command == "help") return WriteOut(kScontrolHelpText), 0;
  return Fail(kScontrol, "invalid keyword: " + command +
                             " (this version has show, hold, release, requeue, ping, version)");
}

}  // namespace muster::slurm
