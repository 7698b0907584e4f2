// sacct: the jobs of a time window, with their ends (rule B23).
//
// The steps: parse the options, choose the columns, fetch the jobs (by id if -j names some, else
// all, of one user if only one is meant), drop those that the filters or the window exclude, and
// print a line for each job and one for the batch step of each script that has started. Muster has
// no steps of its own; a script's step is its one allocation. The job list has no filter by time,
// so the window is applied here.
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

constexpr char kSacct[] = "sacct";
constexpr char kDefaultColumns[] = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
constexpr char kBriefColumns[] = "JobID,State,ExitCode";
constexpr char kLongColumns[] =
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,AveRSS,MaxRSS,AveCPU,NTasks,AllocCPUS,Elapsed,"
    "State,ExitCode,ReqMem,"
    "ReqTRES,AllocTRES,Start,End,Submit";

// A column that the user asked for, by its index in the table of sacct_fields.
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

// Ids of options without a letter; they begin above all letters.
enum SacctOptionId : int {
  kSacctName = 256,
  kSacctDelimiter,
  kSacctHelp,
  kSacctUsage,
  kSacctNoConvert,
  kSacctUnits,
  kSacctLocal,
  kSacctFederation,
  kSacctJson,
  kSacctYaml,
};

constexpr option kSacctOptions[] = {
    {"jobs", required_argument, nullptr, 'j'},
    {"user", required_argument, nullptr, 'u'},
    {"uid", required_argument, nullptr, 'u'},
    {"allusers", no_argument, nullptr, 'a'},
    {"accounts", required_argument, nullptr, 'A'},
    {"partition", required_argument, nullptr, 'r'},
    {"qos", required_argument, nullptr, 'q'},
    {"name", required_argument, nullptr, kSacctName},
    {"nodelist", required_argument, nullptr, 'N'},
    {"state", required_argument, nullptr, 's'},
    {"starttime", required_argument, nullptr, 'S'},
    {"endtime", required_argument, nullptr, 'E'},
    {"format", required_argument, nullptr, 'o'},
    {"allocations", no_argument, nullptr, 'X'},
    {"noheader", no_argument, nullptr, 'n'},
    {"parsable", no_argument, nullptr, 'p'},
    {"parsable2", no_argument, nullptr, 'P'},
    {"delimiter", required_argument, nullptr, kSacctDelimiter},
    {"brief", no_argument, nullptr, 'b'},
    {"long", no_argument, nullptr, 'l'},
    {"helpformat", no_argument, nullptr, 'e'},
    {"help", no_argument, nullptr, kSacctHelp},
    {"usage", no_argument, nullptr, kSacctUsage},
    {"version", no_argument, nullptr, 'V'},
    {"noconvert", no_argument, nullptr, kSacctNoConvert},
    {"units", required_argument, nullptr, kSacctUnits},
    {"local", no_argument, nullptr, kSacctLocal},
    {"federation", no_argument, nullptr, kSacctFederation},
    {"allclusters", no_argument, nullptr, 'L'},
    {"clusters", required_argument, nullptr, 'M'},
    {"truncate", no_argument, nullptr, 'T'},
    {"duplicates", no_argument, nullptr, 'D'},
    {"json", optional_argument, nullptr, kSacctJson},
    {"yaml", optional_argument, nullptr, kSacctYaml},
    {nullptr, 0, nullptr, 0},
};

constexpr char kSacctHelpText[] = R"(Usage: sacct [OPTIONS]
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

// Returns the text of an error, or "". A state that Muster's jobs never have is accepted and
// matches nothing.
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

// The value of --units: K, M, G, T or P.
std::string SetUnit(std::string_view text, SacctOptions* out) {
  const std::size_t at =
      text.size() == 1 ? std::string_view("KMGTP").find(text[0]) : std::string_view::npos;
  if (at == std::string_view::npos) return "Invalid unit type: " + std::string(text);
  out->unit = text[0];
  return "";
}

// The value of -S or -E; relative forms count from now.
std::string SetTime(const char* text, std::optional<std::int64_t>* out) {
  *out = ParsePoint(text, WallSeconds());
  return *out ? "" : std::string("Invalid time specification (pos=0): ") + text;
}

// The field that an option without an argument sets; null for any other option.
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
    case kSacctHelp:
    case kSacctUsage:
      return &out->help;
    case 'V':
      return &out->version;
    default:
      return nullptr;
  }
}

// The list that an option with a list of names adds to; null for any other option.
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
    case kSacctName:
      return &out->names;
    default:
      return nullptr;
  }
}

// Applies one option of getopt_long; returns the text of an error, or "".
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
    case kSacctDelimiter:
      out->delimiter = optarg;
      return "";
    case 'b':
      out->format = kBriefColumns;
      return "";
    case 'l':
      out->format = kLongColumns;
      return "";
    case kSacctNoConvert:
      // Amounts of memory are kept in megabytes.
      out->unit = 'M';
      return "";
    case kSacctUnits:
      return SetUnit(optarg, out);
    case 'L':
    case kSacctLocal:
      // There is one cluster, and it is local.
      return "";
    case 'M':
      return ::strcasecmp(optarg, "all") == 0
                 ? ""
                 : "other clusters are not known here; use -N for a member cluster";
    case 'T':
      return "-T is not supported by this version";
    case 'D':
      return "-D is not supported by this version; each job is shown with its last attempt";
    case kSacctFederation:
      return NotSupported(kSacctOptions, id);
    default:
      return NotSupported(kSacctOptions, id, "not supported by this version; use -P");
  }
}

// Parses -o, else SACCT_FORMAT, else the default: "JobID%20,NodeList%-256", where a negative width
// means left-justified. Returns the text of an error, or "".
std::string SetColumns(SacctOptions* out) {
  const char* env = std::getenv("SACCT_FORMAT");
  if (out->format.empty()) out->format = env != nullptr && *env != '\0' ? env : kDefaultColumns;
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

// Seconds since 1970, both inclusive.
struct Window {
  std::int64_t from = 0, to = 0;
};

// Slurm's three defaults where -S is missing: since midnight; from the beginning with -j; this
// moment with -s.
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

// True if the job existed at some moment of the window.
bool InWindow(const JobRow& row, const Window& window) {
  const std::int64_t submitted = ParseStamp(row.submit_time);
  const std::int64_t ended = ParseStamp(row.end_time);
  return submitted <= window.to && (ended == 0 || ended >= window.from);
}

// True if all filters and the window match the row.
bool Chosen(const SacctOptions& options, const JobRow& row, const Window& window,
            const std::string& default_ns) {
  const bool in_state = !options.by_state || std::find(options.states.begin(), options.states.end(),
                                                       row.state) != options.states.end();
  return in_state && PassesFilter(options.users, row.user) &&
         PassesFilter(options.accounts, row.cluster_queue) &&
         InPartitions(options.partitions, row, default_ns) &&
         PassesFilter(options.qos, row.priority_class) && PassesFilter(options.names, row.name) &&
         PassesFilter(options.nodes, row.cluster) && InWindow(row, window);
}

// Cells of fixed columns that are too long end with a plus, as in sacct; parsable ones are never
// cut. -p puts the delimiter behind the last cell too, -P does not.
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

// Fixed columns have a line of dashes below their names, as in sacct.
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

// Without -a, -u and -j a user sees their own jobs, and root sees all.
int Show(SacctOptions options) {
  const std::optional<client::Settings> settings = FindServer(kSacct);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  for (std::string& user : options.users) user = UserName(user);
  const bool own_only = !options.all_users && options.users.empty() && options.jobs.empty();
  if (own_only) {
    const client::Outcome<std::string> self = OwnUser(api);
    if (!self.ok()) return Fail(kSacct, FailureText(self.failure()));
    if (*self != "root") options.users.push_back(*self);
  }
  JobList list;
  client::Query query;
  if (options.users.size() == 1) query.Add("user", options.users[0]);
  const client::Outcome<Done> fetched =
      options.jobs.empty() ? FetchJobs(api, query, &list) : FetchSpecs(api, options.jobs, &list);
  if (!fetched.ok()) {
    return Fail(kSacct, FailureText(fetched.failure()));
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
  while ((id = ::getopt_long(argc, argv, "j:u:aA:r:q:N:s:S:E:o:XnpPbleVLM:TD", kSacctOptions,
                             nullptr)) != -1) {
    // getopt_long has printed the error, and sacct adds no advice.
    if (id == '?') return ErrorExit(kExitRefused);
    const std::string error = TakeOption(id, &options);
    if (!error.empty()) return Fail(kSacct, error);
  }
  if (options.help) return WriteOut(kSacctHelpText), 0;
  if (options.help_format) return WriteOut(SacctHelpFormat()), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  if (optind < argc) return Fail(kSacct, std::string("Unknown arguments: ") + argv[optind]);
  if (const auto refused = RefusedVariable(kSacct)) return Fail(kSacct, *refused);
  const std::string error = SetColumns(&options);
  if (!error.empty()) return Fail(kSacct, error);
  return Show(std::move(options));
}

}  // namespace muster::slurm
