// Parses squeue's options and its SQUEUE_* variables.
//
// The variables fill in only what the command line leaves open: a filter, the format, the order.
// Defaults come last, because the default format and order depend on -s, --start and -l. Options of
// Slurm without a meaning here are accepted if they change nothing (kSqueueAccepted) and refused by
// name otherwise.
#include "clients/slurm/squeue_options.h"

#include <getopt.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/slurm/environment.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/squeue_fields.h"
#include "clients/slurm/squeue_steps.h"

namespace muster::slurm {
namespace {

constexpr char kDefaultFormat[] = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr char kLongFormat[] = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr char kStepFormat[] = "%.15i %.8j %.9P %.8u %.9M %N";
constexpr char kStateFormat[] = "%.18i %.8T";
constexpr char kStartFormat[] = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

constexpr char kJobStates[] =
    "Valid job states include: "
    "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,"
    "DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,"
    "REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

// Ids of options without a letter; they begin above all letters. kSqueueAccepted stands for
// options without effect here.
enum SqueueOptionId : int {
  kSqueueMe = 256,
  kSqueueStart,
  kSqueueJson,
  kSqueueHelp,
  kSqueueUsage,
  kSqueueNoConvert,
  kSqueueAccepted,
  kSqueueYaml,
  kSqueueOnlyState,
};

constexpr option kSqueueOptions[] = {
    {"user", required_argument, nullptr, 'u'},
    {"users", required_argument, nullptr, 'u'},
    {"me", no_argument, nullptr, kSqueueMe},
    {"jobs", optional_argument, nullptr, 'j'},
    {"name", required_argument, nullptr, 'n'},
    {"partition", required_argument, nullptr, 'p'},
    {"partitions", required_argument, nullptr, 'p'},
    {"account", required_argument, nullptr, 'A'},
    {"accounts", required_argument, nullptr, 'A'},
    {"qos", required_argument, nullptr, 'q'},
    {"states", required_argument, nullptr, 't'},
    {"noheader", no_argument, nullptr, 'h'},
    {"array", no_argument, nullptr, 'r'},
    {"sort", required_argument, nullptr, 'S'},
    {"iterate", required_argument, nullptr, 'i'},
    {"format", required_argument, nullptr, 'o'},
    {"Format", required_argument, nullptr, 'O'},
    {"long", no_argument, nullptr, 'l'},
    {"steps", optional_argument, nullptr, 's'},
    {"start", no_argument, nullptr, kSqueueStart},
    {"nodelist", required_argument, nullptr, 'w'},
    {"node", required_argument, nullptr, 'w'},
    {"nodes", required_argument, nullptr, 'w'},
    {"all", no_argument, nullptr, 'a'},
    {"json", optional_argument, nullptr, kSqueueJson},
    {"help", no_argument, nullptr, kSqueueHelp},
    {"usage", no_argument, nullptr, kSqueueUsage},
    {"version", no_argument, nullptr, 'V'},
    {"verbose", no_argument, nullptr, 'v'},
    {"hide", no_argument, nullptr, kSqueueAccepted},
    {"only-job-state", no_argument, nullptr, kSqueueOnlyState},
    {"local", no_argument, nullptr, kSqueueAccepted},
    {"priority", no_argument, nullptr, 'P'},
    {"noconvert", no_argument, nullptr, kSqueueNoConvert},
    {"yaml", optional_argument, nullptr, kSqueueYaml},
    {"reservation", required_argument, nullptr, 'R'},
    {"licenses", required_argument, nullptr, 'L'},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"federation", no_argument, nullptr, kSqueueAccepted},
    {"sibling", no_argument, nullptr, kSqueueAccepted},
    {"array-unique", no_argument, nullptr, 'r'},
    {nullptr, 0, nullptr, 0},
};
constexpr char kSqueueShort[] = "u:j::n:p:A:q:t:hrS:i:o:O:ls::w:avVPR:L:M:";

// Prints the error and sets the exit status; always false, so that parsers can return it.
bool RefuseOption(const std::string& message, int* exit) {
  PrintError(kSqueue, message);
  *exit = ErrorExit(kExitRefused);
  return false;
}

void AddAll(const char* text, std::vector<std::string>* out) {
  for (std::string& part : SplitList(text)) out->push_back(std::move(part));
}

// Adds the ids of -j or -s.
bool AddJobs(const char* text, bool steps, SqueueOptions* out, int* exit) {
  out->by_job = true;
  for (const std::string& part : SplitList(text)) {
    const auto spec = ParseJobSpec(part);
    if (!spec && steps) return RefuseOption("Invalid job_step id: " + part + ".??", exit);
    if (!spec) return RefuseOption("Invalid job id: " + part, exit);
    out->jobs.push_back(*spec);
  }
  return true;
}

// A state that Muster's jobs never have is accepted and matches nothing. A second -t replaces the
// first, as in Slurm.
bool AddStates(const char* text, SqueueOptions* out, int* exit) {
  out->states.clear();
  out->all_states = false;
  for (const std::string& part : SplitList(text)) {
    out->by_state = true;
    State state = State::kPending;
    if (::strcasecmp(part.c_str(), "all") == 0)
      out->all_states = true;
    else if (ParseState(part, &state))
      out->states.push_back(state);
    else if (!IsSlurmState(part)) {
      RefuseOption("Invalid job state specified: " + part + "\n" + kJobStates, exit);
      std::fputs("\n", stderr);
      return false;
    }
  }
  return true;
}

// With -s the columns are those of steps.
FieldByLetter FieldByLetterOf(const SqueueOptions& options) {
  return options.steps ? StepFieldByLetter : SqueueFieldByLetter;
}
FieldByName FieldByNameOf(const SqueueOptions& options) {
  return options.steps ? StepFieldByName : SqueueFieldByName;
}

// Each key is a letter or a long name, with a minus in front for descending order.
bool SetSort(std::string_view text, SqueueOptions* out) {
  out->sort.clear();
  for (const std::string& part : SplitList(text)) {
    SortKey key;
    std::string_view letter = part;
    key.descending = letter.starts_with('-');
    if (letter.starts_with('-') || letter.starts_with('+')) letter.remove_prefix(1);
    const auto field =
        letter.size() == 1 ? FieldByLetterOf(*out)(letter[0]) : FieldByNameOf(*out)(letter);
    if (!field) {
      out->bad_sort = part;
      return true;
    }
    key.field = *field;
    out->sort.push_back(key);
  }
  return true;
}

bool SetFormat(const char* text, bool named, SqueueOptions* out, int* exit) {
  out->format = Format();
  if (!named && std::string_view(text) == "%all") {
    for (std::size_t i = 0; i < SqueueFieldCount(); ++i)
      out->format.columns.push_back({.field = i, .before = i == 0 ? "" : "|"});
    return true;
  }
  std::optional<std::string> error;
  if (named) {
    error = ParseNamedFormat(text, FieldByNameOf(*out), &out->format);
  } else {
    ParsePercentFormat(text, FieldByLetterOf(*out), &out->format);
  }
  for (const std::string& one : out->format.unknown)
    PrintError(kSqueue, "Invalid job format specification: " + one);
  return !error || RefuseOption(*error, exit);
}

// Fills a filter that the command line does not set from its variable.
bool FillList(const char* name, std::vector<std::string>* to, int* exit) {
  if (!to->empty()) return true;
  VariableList list = ListFromVariable(name);
  *to = std::move(list.values);
  return list.error.empty() || RefuseOption(list.error, exit);
}

// The value of a variable; null if it is not set or empty.
const char* SetAndNotEmpty(const char* name) {
  const char* value = SetVariable(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Applies SQUEUE_* for what the command line leaves open. `own_format`: the options determine the
// columns, so the variables of formats are not read. SQUEUE_FORMAT wins over SQUEUE_FORMAT2.
bool FromEnvironment(bool own_format, SqueueOptions* out, int* exit) {
  if (const auto refused = RefusedVariable(kSqueue)) return RefuseOption(*refused, exit);
  const char* format = own_format ? nullptr : SetAndNotEmpty("SQUEUE_FORMAT");
  const char* format2 = own_format ? nullptr : SetAndNotEmpty("SQUEUE_FORMAT2");
  if (format != nullptr && !SetFormat(format, false, out, exit)) return false;
  if (format == nullptr && format2 != nullptr && !SetFormat(format2, true, out, exit)) return false;
  const char* sort = SetAndNotEmpty("SQUEUE_SORT");
  if (out->sort.empty() && sort != nullptr && !SetSort(sort, out)) return false;
  const char* states = SetAndNotEmpty("SQUEUE_STATES");
  if (!out->by_state && states != nullptr && !AddStates(states, out, exit)) return false;
  if (SetVariable("SQUEUE_ARRAY") != nullptr || SetVariable("SQUEUE_ARRAY_UNIQUE") != nullptr)
    out->one_line_per_task = true;
  ClustersFromEnvironment(&out->clusters);
  return FillList("SQUEUE_USERS", &out->users, exit) &&
         FillList("SQUEUE_NAMES", &out->names, exit) &&
         FillList("SQUEUE_PARTITION", &out->partitions, exit) &&
         FillList("SQUEUE_ACCOUNT", &out->accounts, exit) &&
         FillList("SQUEUE_LICENSES", &out->licenses, exit) &&
         FillList("SQUEUE_QOS", &out->qos, exit);
}

// The field that an option without an argument sets; null for any other option.
bool* FlagOf(int id, SqueueOptions* out) {
  switch (id) {
    case 'h':
      return &out->no_header;
    case 'r':
      return &out->one_line_per_task;
    case 'l':
      return &out->long_form;
    case kSqueueStart:
      return &out->start;
    case kSqueueJson:
      return &out->json;
    case kSqueueYaml:
      return &out->yaml;
    case kSqueueOnlyState:
      return &out->only_state;
    case 's':
      return nullptr;
    case kSqueueNoConvert:
      return &out->no_convert;
    case kSqueueHelp:
    case kSqueueUsage:
      return &out->help;
    case 'V':
      return &out->version;
    default:
      return nullptr;
  }
}

// Applies one option of getopt_long; false after an error.
bool TakeOption(int id, SqueueOptions* out, int* exit) {
  if (bool* flag = FlagOf(id, out)) {
    *flag = true;
    return true;
  }
  switch (id) {
    case 'u':
      out->me = false;
      out->users.clear();
      AddAll(optarg, &out->users);
      return true;
    case kSqueueMe:
      out->me = true;
      out->users.assign(1, client::CurrentUser());
      return true;
    case 'j':
      return optarg == nullptr || AddJobs(optarg, false, out, exit);
    case 'R':
      AddAll(optarg, &out->reservations);
      return true;
    case 'L':
      AddAll(optarg, &out->licenses);
      return true;
    case 'M':
      out->clusters = ClustersOf(optarg);
      return true;
    case 'n':
      AddAll(optarg, &out->names);
      return true;
    case 'p':
      out->partitions.clear();
      AddAll(optarg, &out->partitions);
      return true;
    case 'A':
      out->accounts.clear();
      AddAll(optarg, &out->accounts);
      return true;
    case 'q':
      AddAll(optarg, &out->qos);
      return true;
    case 'w': {
      const std::string error = AddHosts("--nodelist", optarg, &out->nodes);
      return error.empty() || RefuseOption(error, exit);
    }
    case 't':
      return AddStates(optarg, out, exit);
    case 's':
      out->steps = true;
      return optarg == nullptr || AddJobs(optarg, true, out, exit);
    case 'a':
    case 'v':
    case 'P':
    case kSqueueAccepted:
      // Every job is visible and local, each is in one partition, and states cost nothing extra.
      return true;
    case 'i': {
      const auto seconds = ParseCount(optarg);
      if (!seconds || *seconds < 1 || *seconds > 86'400)
        return RefuseOption(std::string("--iterate=") + optarg, exit);
      out->every_s = *seconds;
      return true;
    }
    case '?':
      *exit = UsageExit(kSqueue);
      return false;
    default:
      return RefuseOption(NotSupported(kSqueueOptions, id), exit);
  }
}

// Slurm's default formats and orders.
void FillDefaults(SqueueOptions* out, int* exit) {
  if (out->format.columns.empty() && out->format.unknown.empty()) {
    const char* text = out->steps        ? kStepFormat
                       : out->only_state ? kStateFormat
                       : out->start      ? kStartFormat
                       : out->long_form  ? kLongFormat
                                         : kDefaultFormat;
    SetFormat(text, false, out, exit);
  }
  if (out->sort.empty()) SetSort(out->start ? "S" : out->steps ? "P,i" : "P,t,-p", out);
}

}  // namespace

bool ParseSqueue(int argc, char** argv, SqueueOptions* options, int* exit) {
  optind = 0;
  opterr = 1;
  int id = 0;
  // What -o, -O and -S name depends on -s, which may stand behind them.
  const char* percent_format = nullptr;
  const char* named_format = nullptr;
  const char* sort = nullptr;
  while ((id = ::getopt_long(argc, argv, kSqueueShort, kSqueueOptions, nullptr)) != -1) {
    // getopt_long takes the optional value of -j only from the same word ("-j12"); Slurm also takes
    // it from the next one ("-j 12").
    if ((id == 'j' || id == 's') && optarg == nullptr && optind < argc && argv[optind][0] != '-') {
      optarg = argv[optind++];
    }
    if (id == 'o')
      percent_format = optarg;
    else if (id == 'O')
      named_format = optarg;
    else if (id == 'S')
      sort = optarg;
    else if (!TakeOption(id, options, exit))
      return false;
  }
  if (percent_format != nullptr && named_format != nullptr)
    return RefuseOption("-O (--Format) is incompatible with -o (--format)", exit);
  if (percent_format != nullptr && options->long_form) {
    return RefuseOption(
        "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and "
        "retry.",
        exit);
  }
  if (optind < argc) return RefuseOption(std::string("Unrecognized option: ") + argv[optind], exit);
  if (options->help || options->version) return true;
  if (percent_format != nullptr && !SetFormat(percent_format, false, options, exit)) return false;
  if (named_format != nullptr && !SetFormat(named_format, true, options, exit)) return false;
  if (sort != nullptr && !SetSort(sort, options)) return false;
  const bool own_format = percent_format != nullptr || named_format != nullptr ||
                          options->long_form || options->steps || options->start ||
                          options->only_state;
  if (!FromEnvironment(own_format, options, exit)) return false;
  FillDefaults(options, exit);
  return true;
}

// -s shows jobs that have their nodes and --start pending ones, whatever -t says.
bool ShowsState(const SqueueOptions& options, State state) {
  if (options.steps) return HasNodes(state);
  if (options.start) return state == State::kPending;
  if (options.all_states) return true;
  if (!options.by_state) return !IsOver(state);
  return std::find(options.states.begin(), options.states.end(), state) != options.states.end();
}

std::string_view SqueueHelp() {
  return R"(Usage: squeue [OPTIONS]
  -u, --user=LIST  --me  -j, --jobs=LIST  -n, --name=LIST  -p, --partition=LIST  -A, --account=LIST
  -q, --qos=LIST  -t, --states=LIST|all  -w, --nodelist=LIST  -L, --licenses=LIST
  -R, --reservation=LIST  -M, --clusters=LIST|all       which jobs (all conditions together)
  -o, --format='%.18i %j'  -O, --Format=JobID:18,Name          which columns
  -l, --long  -s, --steps  --start  -r, --array        ready-made forms; one line per array task
  -S, --sort=[-]LETTER,...  -h, --noheader  -i, --iterate=SEC  --json  --yaml
      --only-job-state
      --help  -V, --version
)";
}

}  // namespace muster::slurm
