// sacct: what ran, when and how it ended (rule B23).
#include <getopt.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/sacct_fields.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kMe[] = "sacct";
constexpr char kDefaultFormat[] = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
constexpr char kBriefFormat[] = "JobID,State,ExitCode";
constexpr char kLongFormat[] =
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,AveRSS,MaxRSS,AveCPU,NTasks,AllocCPUS,Elapsed,"
    "State,ExitCode,ReqMem,"
    "ReqTRES,AllocTRES,Start,End,Submit";

struct SacctColumn {
  std::size_t field = 0;
  int width = 0;  // negative: left
};

struct SacctOptions {
  std::vector<JobSpec> jobs;
  std::vector<std::string> users, accounts, partitions, qos, names, nodes;
  std::vector<State> states;
  std::vector<SacctColumn> columns;
  std::optional<std::int64_t> start, end;
  std::string format, delimiter = "|";
  char unit = 0;  // of memory; 0: what reads best
  bool by_state = false, all_users = false, allocations = false, no_header = false,
       parsable = false, parsable2 = false;
  bool help = false, help_format = false, version = false;
};

enum LongOnly : int {
  kName = 256,
  kDelimiter,
  kHelp,
  kUsage,
  kNoConvert,
  kUnits,
  kLocal,
  kFederation,
  kJson,
  kYaml,
};

constexpr option kOptions[] = {
    {"jobs", required_argument, nullptr, 'j'},
    {"user", required_argument, nullptr, 'u'},
    {"uid", required_argument, nullptr, 'u'},
    {"allusers", no_argument, nullptr, 'a'},
    {"accounts", required_argument, nullptr, 'A'},
    {"partition", required_argument, nullptr, 'r'},
    {"qos", required_argument, nullptr, 'q'},
    {"name", required_argument, nullptr, kName},
    {"nodelist", required_argument, nullptr, 'N'},
    {"state", required_argument, nullptr, 's'},
    {"starttime", required_argument, nullptr, 'S'},
    {"endtime", required_argument, nullptr, 'E'},
    {"format", required_argument, nullptr, 'o'},
    {"allocations", no_argument, nullptr, 'X'},
    {"noheader", no_argument, nullptr, 'n'},
    {"parsable", no_argument, nullptr, 'p'},
    {"parsable2", no_argument, nullptr, 'P'},
    {"delimiter", required_argument, nullptr, kDelimiter},
    {"brief", no_argument, nullptr, 'b'},
    {"long", no_argument, nullptr, 'l'},
    {"helpformat", no_argument, nullptr, 'e'},
    {"help", no_argument, nullptr, kHelp},
    {"usage", no_argument, nullptr, kUsage},
    {"version", no_argument, nullptr, 'V'},
    {"noconvert", no_argument, nullptr, kNoConvert},
    {"units", required_argument, nullptr, kUnits},
    {"local", no_argument, nullptr, kLocal},
    {"federation", no_argument, nullptr, kFederation},
    {"allclusters", no_argument, nullptr, 'L'},
    {"clusters", required_argument, nullptr, 'M'},
    {"truncate", no_argument, nullptr, 'T'},
    {"duplicates", no_argument, nullptr, 'D'},
    {"json", optional_argument, nullptr, kJson},
    {"yaml", optional_argument, nullptr, kYaml},
    {nullptr, 0, nullptr, 0},
};

constexpr char kHelpText[] = R"(Usage: sacct [OPTIONS]
Which jobs:
  -j, --jobs=LIST  -u, --user=LIST  -a, --allusers  -A, --accounts=LIST  -r, --partition=LIST
  -q, --qos=LIST  --name=LIST  -N, --nodelist=LIST  -s, --state=LIST
  -S, --starttime=TIME  -E, --endtime=TIME  -X, --allocations (no steps)
Which columns:
  -o, --format=Field[%WIDTH],...  -b, --brief  -l, --long  -e, --helpformat
How:
  -n, --noheader  -p, --parsable  -P, --parsable2  --delimiter=TEXT
      --help  -V, --version
Without -j the window is today from 00:00 to now; with -s alone it is now.
)";

std::string AddStates(const char* text, SacctOptions* out) {
  out->by_state = true;
  for (const std::string& part : SplitList(text)) {
    State state = State::kPending;
    if (ParseState(part, &state))
      out->states.push_back(state);
    else if (!IsSlurmState(part))
      return "Invalid state: " + part;
  }
  return "";
}

/// --units: K, M, G, T or P.
std::string SetUnit(std::string_view text, SacctOptions* out) {
  const std::size_t at = text.size() == 1 ? std::string_view("KMGTP").find(text[0])
                                          : std::string_view::npos;
  if (at == std::string_view::npos) return "Invalid unit type: " + std::string(text);
  out->unit = text[0];
  return "";
}

std::string SetTime(const char* text, std::optional<std::int64_t>* out) {
  *out = ParsePoint(text, WallSeconds());
  return *out ? "" : std::string("Invalid time specification (pos=0): ") + text;
}

/// Where an option without an argument is noted; null for any other option.
bool* FlagOf(int id, SacctOptions* out) {
  switch (id) {
    case 'a':
      return &out->all_users;
    case 'X':
      return &out->allocations;
    case 'n':
      return &out->no_header;
    case 'p':
      return &out->parsable;
    case 'P':
      return &out->parsable2;
    case 'e':
      return &out->help_format;
    case kHelp:
    case kUsage:
      return &out->help;
    case 'V':
      return &out->version;
    default:
      return nullptr;
  }
}

/// Where an option with a list of names adds them; null for any other option.
std::vector<std::string>* ListOf(int id, SacctOptions* out) {
  switch (id) {
    case 'u':
      return &out->users;
    case 'A':
      return &out->accounts;
    case 'r':
      return &out->partitions;
    case 'q':
      return &out->qos;
    case kName:
      return &out->names;
    default:
      return nullptr;
  }
}

std::string TakeOption(int id, SacctOptions* out) {
  if (bool* flag = FlagOf(id, out)) {
    *flag = true;
    return "";
  }
  if (auto* list = ListOf(id, out)) {
    for (std::string& part : SplitList(optarg)) list->push_back(std::move(part));
    return "";
  }
  switch (id) {
    case 'j':
      for (const std::string& part : SplitList(optarg)) {
        const auto spec = ParseJobSpec(part);
        if (!spec) return "Invalid job id: " + part;
        out->jobs.push_back(*spec);
      }
      return "";
    case 'N':
      return AddHosts("--nodelist", optarg, &out->nodes);
    case 's':
      return AddStates(optarg, out);
    case 'S':
      return SetTime(optarg, &out->start);
    case 'E':
      return SetTime(optarg, &out->end);
    case 'o':
      out->format += (out->format.empty() ? "" : ",") + std::string(optarg);
      return "";
    case kDelimiter:
      out->delimiter = optarg;
      return "";
    case 'b':
      out->format = kBriefFormat;
      return "";
    case 'l':
      out->format = kLongFormat;
      return "";
    case kNoConvert:
      out->unit = 'M';  // the unit that memory is kept in
      return "";
    case kUnits:
      return SetUnit(optarg, out);
    case 'L':
    case kLocal:
      return "";  // there is one cluster, which is local
    case 'M':
      return ::strcasecmp(optarg, "all") == 0
                 ? ""
                 : "other clusters are not known here; use -N for a member cluster";
    case 'T':
      return "-T is not supported by this version";
    case 'D':
      return "-D is not supported by this version; each job is shown with its last attempt";
    case kFederation:
      return NotSupported(kOptions, id);
    default:
      return NotSupported(kOptions, id, "not supported by this version; use -P");
  }
}

/// "JobID%20", "NodeList%-256".
std::string SetColumns(SacctOptions* out) {
  const char* env = std::getenv("SACCT_FORMAT");
  if (out->format.empty()) out->format = env != nullptr && *env != '\0' ? env : kDefaultFormat;
  for (const std::string& part : SplitList(out->format)) {
    const std::size_t percent = part.find('%');
    const std::string name = part.substr(0, percent);
    const auto field = SacctField(name);
    if (!field) return "Invalid field requested: \"" + name + "\"";
    SacctColumn column{*field, SacctWidth(*field)};
    if (percent != std::string::npos) {
      const bool left = part.size() > percent + 1 && part[percent + 1] == '-';
      const auto width = ParseCount(std::string_view(part).substr(percent + (left ? 2 : 1)));
      if (!width || *width == 0 || *width > 100'000)
        return "Invalid width requested: \"" + part + "\"";
      column.width = left ? -static_cast<int>(*width) : static_cast<int>(*width);
    }
    out->columns.push_back(column);
  }
  return "";
}

bool In(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

bool InPartitions(const SacctOptions& options, const JobRow& row, const std::string& default_ns) {
  return options.partitions.empty() ||
         std::any_of(options.partitions.begin(), options.partitions.end(),
                     [&](const std::string& text) {
                       const Partition partition = SplitPartition(text, default_ns);
                       return partition.queue == row.queue && partition.ns == row.ns;
                     });
}

struct Window {
  std::int64_t from = 0, to = 0;
};

/// Today by default, everything with -j, this moment with -s alone: Slurm's three different
/// windows.
Window WindowOf(const SacctOptions& options, std::int64_t now) {
  Window out{0, now};
  if (options.start)
    out.from = *options.start;
  else if (options.by_state)
    out.from = now;
  else if (options.jobs.empty())
    out.from = ParsePoint("today", now).value_or(0);
  if (options.end) out.to = *options.end;
  return out;
}

bool InWindow(const JobRow& row, const Window& window) {
  const std::int64_t submitted = ParseStamp(row.submit_time);
  const std::int64_t ended = ParseStamp(row.end_time);
  return submitted <= window.to && (ended == 0 || ended >= window.from);
}

bool Chosen(const SacctOptions& options, const JobRow& row, const Window& window,
            const std::string& default_ns) {
  const bool in_state = !options.by_state || std::find(options.states.begin(), options.states.end(),
                                                       row.state) != options.states.end();
  return in_state && In(options.users, row.user) && In(options.accounts, row.cluster_queue) &&
         InPartitions(options, row, default_ns) && In(options.qos, row.priority_class) &&
         In(options.names, row.name) && In(options.nodes, row.cluster) && InWindow(row, window);
}

/// Fixed columns cut with a plus, as sacct does; parsable ones never.
void AppendCell(const SacctOptions& options, const SacctColumn& column, std::string text, bool last,
                std::string* out) {
  if (!client::IsPlain(text)) text = client::VisibleText(text);
  if (options.parsable || options.parsable2) {
    out->append(text);
    if (options.parsable || !last) out->append(options.delimiter);
    return;
  }
  const auto width = static_cast<std::size_t>(column.width < 0 ? -column.width : column.width);
  if (text.size() > width) text = text.substr(0, width - 1) + "+";
  const std::size_t pad = width - text.size();
  if (column.width > 0) out->append(pad, ' ');
  out->append(text);
  if (column.width < 0) out->append(pad, ' ');
  out->push_back(' ');
}

void AppendHeader(const SacctOptions& options, std::string* out) {
  for (const SacctColumn& column : options.columns) {
    AppendCell(options, column, std::string(SacctName(column.field)),
               &column == &options.columns.back(), out);
  }
  out->push_back('\n');
  if (options.parsable || options.parsable2) return;
  for (const SacctColumn& column : options.columns) {
    out->append(static_cast<std::size_t>(column.width < 0 ? -column.width : column.width), '-');
    out->push_back(' ');
  }
  out->push_back('\n');
}

void AppendLine(const SacctOptions& options, const SacctLine& line, std::string* out) {
  for (const SacctColumn& column : options.columns) {
    AppendCell(options, column, SacctCell(column.field, line), &column == &options.columns.back(),
               out);
  }
  out->push_back('\n');
}

int Show(SacctOptions options) {
  const std::optional<client::Settings> settings = FindServer(kMe);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  for (std::string& user : options.users) user = UserName(user);
  const bool own_only = !options.all_users && options.users.empty() && options.jobs.empty();
  if (own_only && settings->user != "root") options.users.push_back(settings->user);
  JobList list;
  client::Query query;
  if (options.users.size() == 1) query.Add("user", options.users[0]);
  const client::Outcome<Done> fetched =
      options.jobs.empty() ? FetchJobs(api, query, &list) : FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) {
    PrintError(kMe, FailureText(fetched.failure()));
    return ErrorExit(kExitRefused);
  }
  SacctLine line;
  line.default_ns = settings->ns;
  line.time_format = client::ProcessEnv("SLURM_TIME_FORMAT");
  line.now = WallSeconds();
  line.unit = options.unit;
  const Window window = WindowOf(options, line.now);
  std::vector<JobRow>& rows = list.rows();
  std::sort(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) { return a.id < b.id; });
  std::string out;
  if (!options.no_header) AppendHeader(options, &out);
  for (const JobRow& row : rows) {
    if (!Chosen(options, row, window, settings->ns)) continue;
    line.row = &row;
    line.batch_step = false;
    AppendLine(options, line, &out);
    if (options.allocations || !row.is_batch || row.start_time.empty()) continue;
    line.batch_step = true;
    AppendLine(options, line, &out);
  }
  WriteOut(out);
  return 0;
}

}  // namespace

int RunSacct(int argc, char** argv) {
  SacctOptions options;
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "j:u:aA:r:q:N:s:S:E:o:XnpPbleVLM:TD", kOptions,
                             nullptr)) != -1) {
    if (id == '?') return ErrorExit(kExitRefused);  // sacct adds nothing to what getopt has said
    const std::string error = TakeOption(id, &options);
    if (!error.empty()) return PrintError(kMe, error), ErrorExit(kExitRefused);
  }
  if (options.help) return WriteOut(kHelpText), 0;
  if (options.help_format) return WriteOut(SacctHelpFormat()), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  if (optind < argc)
    return PrintError(kMe, std::string("Unknown arguments: ") + argv[optind]),
           ErrorExit(kExitRefused);
  if (const auto refused = RefusedVariable(kMe))
    return PrintError(kMe, *refused), ErrorExit(kExitRefused);
  const std::string error = SetColumns(&options);
  if (!error.empty()) return PrintError(kMe, error), ErrorExit(kExitRefused);
  return Show(std::move(options));
}

}  // namespace muster::slurm
