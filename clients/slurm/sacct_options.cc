// Parses sacct's options. Columns come from -o, else SACCT_FORMAT, else Slurm's default.
#include "clients/slurm/sacct_options.h"

#include <getopt.h>
#include <strings.h>

#include <cstdio>
#include <cstdlib>

#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/sacct_fields.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kDefaultColumns[] = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
constexpr char kBriefColumns[] = "JobID,State,ExitCode";
constexpr char kLongColumns[] =
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,"
    "MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,"
    "MinCPUTask,AveCPU,NTasks,AllocCPUS,Elapsed,State,ExitCode,AveCPUFreq,ReqCPUFreqMin,"
    "ReqCPUFreqMax,ReqCPUFreqGov,ReqMem,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,"
    "MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,"
    "ReqTRES,AllocTRES,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,"
    "TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutMax,"
    "TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutAve,TRESUsageOutTot";

// Marks in front of an error: sacct says some with "fatal", and some without its name.
constexpr char kSacctFatal[] = "\1", kSacctPlain[] = "\2";

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
  kSacctAccepted,
  kSacctEnvironment,
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
    {"group", required_argument, nullptr, 'g'},
    {"gid", required_argument, nullptr, 'g'},
    {"constraints", required_argument, nullptr, 'C'},
    {"nnodes", required_argument, nullptr, 'i'},
    {"ncpus", required_argument, nullptr, 'I'},
    {"timelimit-min", required_argument, nullptr, 'k'},
    {"timelimit-max", required_argument, nullptr, 'K'},
    {"reason", required_argument, nullptr, 'R'},
    {"wckeys", required_argument, nullptr, 'W'},
    {"batch-script", no_argument, nullptr, 'B'},
    {"env-vars", no_argument, nullptr, kSacctEnvironment},
    {"verbose", no_argument, nullptr, 'v'},
    {"use-local-uid", no_argument, nullptr, kSacctAccepted},
    {"whole-hetjob", optional_argument, nullptr, kSacctAccepted},
    {"array", no_argument, nullptr, kSacctAccepted},
    {"associations", required_argument, nullptr, 'x'},
    {"completion", no_argument, nullptr, 'c'},
    {"file", required_argument, nullptr, 'f'},
    {"flags", required_argument, nullptr, 'F'},
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
  -D, --duplicates (all attempts)  -T, --truncate  -B, --batch-script  --env-vars  --json  --yaml
  -M, --clusters=LIST  -L, --allclusters  -g, --group=LIST  -C, --constraints=LIST
  -R, --reason=LIST  -W, --wckeys=LIST  -i, --nnodes=N[-M]  -I, --ncpus=N[-M]
  -k, --timelimit-min=TIME  -K, --timelimit-max=TIME
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
      return kSacctFatal + ("unrecognized job state value '" + part + "'");
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

// "4" or "4-8".
std::string SetRange(const char* option, std::string_view text, SacctRange* out) {
  const std::size_t dash = text.find('-');
  const auto low = ParseCount(text.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : ParseCount(text.substr(dash + 1));
  if (!low || !high)
    return std::string("Invalid ") + option + " specification: " + std::string(text);
  *out = {true, *low, *high};
  return "";
}

// The value of -S or -E; relative forms count from now.
std::string SetTime(const char* text, std::optional<std::int64_t>* out) {
  *out = ParsePoint(text, WallSeconds());
  return *out ? "" : kSacctPlain + std::string("Invalid time specification (pos=0): ") + text;
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
    case 'h':
    case kSacctHelp:
    case kSacctUsage:
      return &out->help;
    case 'V':
      return &out->version;
    case 'D':
      return &out->duplicates;
    case 'T':
      return &out->truncate;
    case 'B':
      return &out->script;
    case kSacctEnvironment:
      return &out->environment;
    case kSacctJson:
      return &out->json;
    case kSacctYaml:
      return &out->yaml;
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
    case 'g':
      return &out->groups;
    case 'C':
      return &out->constraints;
    case 'R':
      return &out->reasons;
    case 'W':
      return &out->wckeys;
    default:
      return nullptr;
  }
}

// Returns the text of an error, or "".
std::string AddJobs(const char* list, SacctOptions* out) {
  for (const std::string& part : SplitList(list)) {
    const auto spec = ParseJobSpec(part);
    if (!spec) return kSacctFatal + ("Bad job/step specified: " + part);
    out->jobs.push_back(*spec);
  }
  return "";
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
      return AddJobs(optarg, out);
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
      out->no_convert = true;
      return "";
    case kSacctUnits:
      return SetUnit(optarg, out);
    case 'L':
      out->clusters = ClustersOf("all");
      return "";
    case 'M':
      out->clusters = ClustersOf(optarg);
      return "";
    case 'i':
      return SetRange("--nnodes", optarg, &out->node_count);
    case 'I':
      return SetRange("--ncpus", optarg, &out->cpu_count);
    case 'k':
    case 'K': {
      const auto seconds = ParseTimeLimit(optarg);
      if (!seconds) return "Invalid time limit specification";
      (id == 'k' ? out->limit_minutes.low : out->limit_minutes.high) = *seconds / 60;
      out->limit_minutes.set = true;
      return "";
    }
    case kSacctLocal:
    case kSacctFederation:
    case kSacctAccepted:
    case 'v':
      // There is no federation; components are shown anyway, and users go by their names.
      return "";
    default:
      return NotSupported(kSacctOptions, id);
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

// Prints the error as its mark says; gives the exit status.
int FailSacct(const std::string& error) {
  if (error.starts_with(kSacctFatal))
    std::fprintf(stderr, "sacct: fatal: %s\n", error.c_str() + 1);
  else if (error.starts_with(kSacctPlain))
    std::fprintf(stderr, "%s\n", error.c_str() + 1);
  else
    PrintError(kSacct, error);
  return ErrorExit(kExitRefused);
}

}  // namespace

bool ParseSacct(int argc, char** argv, SacctOptions* options, int* exit) {
  const auto fail = [&](const std::string& error) {
    *exit = FailSacct(error);
    return false;
  };
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv,
                             "j:u:aA:r:q:N:s:S:E:o:XnpPbleVLM:TDg:C:i:I:k:K:R:W:Bvx:cf:F:h",
                             kSacctOptions, nullptr)) != -1) {
    // getopt_long has printed the error, and sacct adds no advice.
    if (id == '?') return *exit = ErrorExit(kExitRefused), false;
    const std::string error = TakeOption(id, options);
    if (!error.empty()) return fail(error);
  }
  *exit = 0;
  if (options->help) return WriteOut(kSacctHelpText), false;
  if (options->help_format) return WriteOut(SacctHelpFormat()), false;
  if (options->version) return WriteOut(kVersionLine), false;
  if (optind < argc) return fail(std::string("Unknown arguments: ") + argv[optind]);
  if (const auto refused = RefusedVariable(kSacct)) return fail(*refused);
  if (options->script && options->environment)
    return fail("Options --batch-script and --env-vars are mutually exclusive");
  if ((options->script || options->environment) && options->jobs.empty()) {
    return fail(std::string("When requesting ") +
                (options->script ? "--batch-script" : "--env-vars") +
                " you must also request specific jobs with the '-j' option.");
  }
  if (options->start && options->end && *options->start > *options->end) {
    return fail(kSacctPlain +
                ("Start time (" + FormatTime(*options->start, "") +
                 ") requested is after end time (" + FormatTime(*options->end, "") + ")."));
  }
  const std::string error = SetColumns(options);
  return error.empty() || fail(error);
}

}  // namespace muster::slurm
