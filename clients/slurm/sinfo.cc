// sinfo: partitions and the nodes behind them (rule B26). A node is a member cluster here, and
// every partition has all nodes.
//
// A line is a partition with those of its nodes that look alike in every column shown: BuildLines
// groups the nodes of each partition by the cells of the columns that differ between nodes
// (TellsNodesApart). A partition without a matching node is still shown, unless a filter asks for
// nodes.
#include <getopt.h>
#include <poll.h>
#include <strings.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "clients/slurm/clusters.h"
#include "clients/slurm/columns.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/fleet_json.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/json_document.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/sinfo_fields.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kSinfo[] = "sinfo";

struct SinfoOptions {
  std::vector<std::string> partitions, nodes, states;
  ClusterChoice clusters;
  std::string format, named_format, sort;
  std::int64_t every_s = 0;  // -i
  bool summary = false, by_node = false, long_form = false, reasons = false, no_header = false;
  bool responding = false, dead = false;  // only nodes that answer; only those that do not
  bool json = false, yaml = false, reservations = false;
  bool help = false, version = false;
};

// Ids of options without a letter; they begin above all letters. kSinfoAccepted: no effect.
enum SinfoOptionId : int { kSinfoHelp = 256, kSinfoUsage, kSinfoAccepted, kSinfoJson, kSinfoYaml };

constexpr option kSinfoOptions[] = {
    {"partition", required_argument, nullptr, 'p'},
    {"nodes", required_argument, nullptr, 'n'},
    {"states", required_argument, nullptr, 't'},
    {"format", required_argument, nullptr, 'o'},
    {"summarize", no_argument, nullptr, 's'},
    {"Node", no_argument, nullptr, 'N'},
    {"long", no_argument, nullptr, 'l'},
    {"list-reasons", no_argument, nullptr, 'R'},
    {"noheader", no_argument, nullptr, 'h'},
    {"all", no_argument, nullptr, 'a'},
    {"exact", no_argument, nullptr, 'e'},
    {"responding", no_argument, nullptr, 'r'},
    {"dead", no_argument, nullptr, 'd'},
    {"hide", no_argument, nullptr, kSinfoAccepted},
    {"local", no_argument, nullptr, kSinfoAccepted},
    {"federation", no_argument, nullptr, kSinfoAccepted},
    {"sort", required_argument, nullptr, 'S'},
    {"noconvert", no_argument, nullptr, kSinfoAccepted},
    {"verbose", no_argument, nullptr, 'v'},
    {"Format", required_argument, nullptr, 'O'},
    {"iterate", required_argument, nullptr, 'i'},
    {"clusters", required_argument, nullptr, 'M'},
    {"cluster", required_argument, nullptr, 'M'},
    {"json", optional_argument, nullptr, kSinfoJson},
    {"yaml", optional_argument, nullptr, kSinfoYaml},
    {"reservation", no_argument, nullptr, 'T'},
    {"help", no_argument, nullptr, kSinfoHelp},
    {"usage", no_argument, nullptr, kSinfoUsage},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0},
};

constexpr char kSinfoHelpText[] = R"(Usage: sinfo [OPTIONS]
  -p, --partition=LIST  -n, --nodes=LIST  -t, --states=LIST     which queues and member clusters
  -r, --responding  -d, --dead       only members that answer; only those that do not
  -o, --format='%P %t %N'  -s, --summarize  -N, --Node  -l, --long  -R, --list-reasons
  -O, --Format=NodeHost:20,CPUs  -S, --sort=[-]LETTER,...  -M, --clusters=LIST|all
  -h, --noheader  -i, --iterate=SEC  --json  --yaml  -T, --reservation  --help  -V, --version
)";

constexpr char kNodeStates[] =
    "valid states: unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,"
    "reserved,perfctrs,cloud,completing,powering_down,powered_down,power_down,powering_up,fail,"
    "maint,reboot,reboot^,unknown";

// Slurm's default formats. SINFO_FORMAT replaces only the plain one.
std::string DefaultFormat(const SinfoOptions& options) {
  const char* env = std::getenv("SINFO_FORMAT");
  if (options.reasons) return options.long_form ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
  if (options.by_node)
    return options.long_form ? "%#N %.6D %#.P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
                             : "%#N %.6D %#.P %6t";
  if (options.summary) return "%#P %.5a %.10l %.16F %N";
  if (options.long_form) return "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
  return env != nullptr && *env != '\0' ? env : "%#P %.5a %.10l %.6D %.6t %N";
}

// True if all filters match the node. A state matches in its long and its compact form.
bool NodeChosen(const SinfoOptions& options, const NodeInfo& node) {
  if (!PassesFilter(options.nodes, node.name)) return false;
  if (options.clusters.chosen && !options.clusters.all &&
      !PassesFilter(options.clusters.names, node.name))
    return false;
  if ((options.responding && !node.healthy) || (options.dead && node.healthy)) return false;
  if (options.reasons && node.healthy && !node.cordoned) return false;
  return options.states.empty() ||
         std::any_of(options.states.begin(), options.states.end(), [&](const std::string& state) {
           return ::strcasecmp(state.c_str(), node.StateName(true)) == 0 ||
                  ::strcasecmp(state.c_str(), node.StateName(false)) == 0 ||
                  ::strcasecmp(state.c_str(), "all") == 0;
         });
}

// What the columns show of a partition: those that show the same share their lines, as in Slurm, so
// that "%D" is the number of nodes of the cluster.
std::string KeyOfPartition(const Format& format, const PartitionInfo& partition,
                           const std::string& ns) {
  const FleetLine empty{&partition, {}, ns};
  std::string out;
  for (const Column& column : format.columns) out += "\n" + SinfoCell(column.field, empty);
  return out;
}

// Groups the nodes of the chosen partitions into lines.
std::vector<FleetLine> BuildLines(const SinfoOptions& options, const Format& format,
                                  const Fleet& fleet, const std::string& ns) {
  std::vector<FleetLine> out;
  std::map<std::string, std::size_t> by_key;
  std::set<std::pair<std::size_t, const NodeInfo*>> counted;  // nodes of each line
  for (const PartitionInfo& partition : fleet.partitions) {
    const bool chosen = options.partitions.empty() ||
                        std::any_of(options.partitions.begin(), options.partitions.end(),
                                    [&](const std::string& text) {
      const Partition wanted = SplitPartition(text, ns);
      return wanted.ns == partition.ns && wanted.queue == partition.queue;
                        });
    if (!chosen) continue;
    const std::string of_partition = options.by_node ? partition.ns + "/" + partition.queue
                                                     : KeyOfPartition(format, partition, ns);
    bool has_nodes = false;
    for (const NodeInfo& node : fleet.nodes) {
      if (!NodeChosen(options, node)) continue;
      const FleetLine alone{&partition, {&node}, ns};
      has_nodes = true;
      std::string key = of_partition + "\n" + (options.by_node ? node.name : "");
      for (const Column& column : format.columns) {
        if (TellsNodesApart(column.field)) key += "\n" + SinfoCell(column.field, alone);
      }
      const auto [at, added] = by_key.emplace(key, out.size());
      if (added) out.push_back({&partition, {}, ns});
      if (counted.emplace(at->second, &node).second) out[at->second].nodes.push_back(&node);
    }
    const bool filtered = !options.nodes.empty() || options.reasons || options.by_node;
    if (!has_nodes && !filtered && by_key.emplace(of_partition, out.size()).second)
      out.push_back({&partition, {}, ns});
  }
  // -R lists nodes, not partitions: every partition has the same nodes, so one is enough.
  if (options.reasons && !out.empty()) {
    std::erase_if(out,
                  [&](const FleetLine& line) { return line.partition != out.front().partition; });
  }
  return out;
}

// Sets the width of each column written %#P, as Slurm's own defaults write them: as wide as the
// widest cell. `text` is the format that `format` was parsed from.
void FitOpenColumns(const std::vector<FleetLine>& lines, std::string_view text, Format* format) {
  std::size_t at = 0;
  for (Column& column : format->columns) {
    at = text.find('%', at);
    if (at == std::string_view::npos) return;
    if (at + 1 < text.size() && text[at + 1] == '#') {
      constexpr std::size_t kLeastWidth = 9;
      column.width = std::max(kLeastWidth, SinfoHeader(column.field).size());
      for (const FleetLine& line : lines)
        column.width = std::max(column.width, SinfoCell(column.field, line).size());
    }
    ++at;
  }
}

// The field that an option without an argument sets; null for any other option.
bool* FlagOf(int id, SinfoOptions* out) {
  switch (id) {
    case 's':
      return &out->summary;
    case 'N':
      return &out->by_node;
    case 'l':
      return &out->long_form;
    case 'R':
      return &out->reasons;
    case 'h':
      return &out->no_header;
    case 'r':
      return &out->responding;
    case 'd':
      return &out->dead;
    case kSinfoJson:
      return &out->json;
    case kSinfoYaml:
      return &out->yaml;
    case 'T':
      return &out->reservations;
    case kSinfoHelp:
    case kSinfoUsage:
      return &out->help;
    case 'V':
      return &out->version;
    default:
      return nullptr;
  }
}

// Applies one option of getopt_long; returns the text of an error, or "".
std::string TakeOption(int id, SinfoOptions* out) {
  if (bool* flag = FlagOf(id, out)) {
    *flag = true;
    return "";
  }
  const auto add = [](std::vector<std::string>* to) {
    for (std::string& part : SplitList(optarg)) to->push_back(std::move(part));
    return std::string();
  };
  switch (id) {
    case 'p':
      return add(&out->partitions);
    case 'n':
      return AddHosts("--nodes", optarg, &out->nodes);
    case 't':
      return add(&out->states);
    case 'o':
      out->format = optarg;
      out->named_format.clear();
      return "";
    case 'O':
      out->named_format = optarg;
      out->format.clear();
      return "";
    case 'S':
      out->sort = optarg;
      return "";
    case 'M':
      out->clusters = ClustersOf(optarg);
      return "";
    case 'i': {
      const auto seconds = ParseCount(optarg);
      if (!seconds || *seconds < 1 || *seconds > 86'400)
        return std::string("Error: invalid entry for --iterate=") + optarg;
      out->every_s = *seconds;
      return "";
    }
    case 'a':
    case 'e':
    case 'v':
    case kSinfoAccepted:
      // Every partition and node is shown anyway.
      return "";
    default:
      return NotSupported(kSinfoOptions, id);
  }
}

// Applies SINFO_PARTITION if the command line names no partition. DefaultFormat reads SINFO_FORMAT.
// Returns the text of an error, or "".
std::string FromEnvironment(SinfoOptions* out) {
  if (const auto refused = RefusedVariable(kSinfo)) return *refused;
  ClustersFromEnvironment(&out->clusters);
  const char* sort = SetVariable("SINFO_SORT");
  if (out->sort.empty() && sort != nullptr) out->sort = sort;
  if (!out->partitions.empty()) return "";
  VariableList list = ListFromVariable("SINFO_PARTITION");
  out->partitions = std::move(list.values);
  return list.error;
}

// True for every name of a node state in Slurm, also for states that member clusters never have.
bool IsNodeState(const std::string& text) {
  static constexpr const char* kStates[] = {
      "all",           "alloc",         "allocated",   "blocked",  "cloud",      "comp",
      "completing",    "down",          "drain",       "drained",  "draining",   "drng",
      "fail",          "failg",         "failing",     "future",   "futr",       "idle",
      "inval",         "maint",         "mix",         "mixed",    "no_respond", "npc",
      "perfctrs",      "planned",       "plnd",        "pow_dn",   "pow_up",     "power_down",
      "powered_down",  "powering_down", "powering_up", "power_up", "reboot",     "reboot^",
      "reboot_issued", "reserved",      "resv",        "unk",      "unknown"};
  return std::any_of(std::begin(kStates), std::end(kStates),
                     [&](const char* state) { return ::strcasecmp(state, text.c_str()) == 0; });
}

// Parses -o, -O or the default into columns; returns the text of an error, or "". `text` becomes
// the percent format, "" for a named one.
std::string SetFleetFormat(const SinfoOptions& options, Format* format, std::string* text) {
  if (!options.named_format.empty()) {
    text->clear();
    if (SameWord(options.named_format, "All")) {
      for (std::size_t i = 0; i < SinfoFieldCount(); ++i)
        format->columns.push_back({.field = i, .before = i == 0 ? "" : "|"});
      return "";
    }
    const auto error = ParseNamedFormat(options.named_format, SinfoFieldByName, format);
    for (const std::string& one : format->unknown)
      PrintError(kSinfo, "Invalid job format specification: " + one);
    return error.value_or("");
  }
  *text = options.format.empty() ? DefaultFormat(options) : options.format;
  if (*text == "%all") {
    for (std::size_t i = 0; i < SinfoFieldCount(); ++i)
      format->columns.push_back({.field = i, .before = i == 0 ? "" : "|"});
    return "";
  }
  ParsePercentFormat(*text, SinfoFieldByLetter, format);
  for (const std::string& one : format->unknown)
    std::fprintf(stderr, "Invalid node format specification: %s\n", one.c_str());
  return "";
}

// -S: letters with a sign; "#P" is the order in which partitions are shown anyway. Returns the text
// of an error, or "".
std::string SortLines(const SinfoOptions& options, std::vector<FleetLine>* lines) {
  struct Key {
    std::size_t field;
    bool descending;
  };
  std::vector<Key> keys;
  // The default order of -N is by node.
  const std::string sort = options.sort.empty() && options.by_node ? "N" : options.sort;
  for (const std::string& part : SplitList(sort)) {
    std::string_view letter = part;
    const bool descending = letter.starts_with('-');
    if (letter.starts_with('-') || letter.starts_with('+')) letter.remove_prefix(1);
    if (letter == "#P") continue;
    const auto field = letter.size() == 1 ? SinfoFieldByLetter(letter[0]) : std::nullopt;
    if (!field) return "Invalid sort specification: " + part;
    keys.push_back({*field, descending});
  }
  std::stable_sort(lines->begin(), lines->end(), [&](const FleetLine& a, const FleetLine& b) {
    for (const Key& key : keys) {
      const int order = CompareLines(key.field, a, b);
      if (order != 0) return key.descending ? order > 0 : order < 0;
    }
    return false;
  });
  return "";
}

void PrintLines(const SinfoOptions& options, const Format& format,
                const std::vector<FleetLine>& lines) {
  std::string out;
  if (!options.no_header) {
    for (const Column& column : format.columns) AppendCell(column, SinfoHeader(column.field), &out);
    out += format.after + "\n";
  }
  for (const FleetLine& line : lines) {
    for (const Column& column : format.columns)
      AppendCell(column, SinfoCell(column.field, line), &out);
    out += format.after + "\n";
  }
  WriteOut(out);
}

// Prints one table; with -M one for each cluster, below its name.
int ShowOnce(client::ApiClient& api, const SinfoOptions& options) {
  SinfoOptions asked = options;
  Format format;
  std::string text;
  if (const std::string error = SetFleetFormat(asked, &format, &text); !error.empty())
    return Fail(kSinfo, error);
  const client::Outcome<std::string> refused = ResolveClusters(api, &asked.clusters);
  if (!refused.ok()) return Fail(kSinfo, FailureText(refused.failure()));
  if (!refused->empty()) return Fail(kSinfo, *refused);
  const client::Outcome<Fleet> fleet = FetchFleet(api);
  if (!fleet.ok()) return Fail(kSinfo, FailureText(fleet.failure()));
  if (asked.json || asked.yaml) {
    const std::string document = FleetJson(*fleet, api.settings().ns, "sinfo");
    return WriteOut(asked.json ? document : YamlOf(document)), 0;
  }
  const std::vector<std::string> clusters =
      asked.clusters.chosen ? asked.clusters.names : std::vector<std::string>{""};
  for (const std::string& cluster : clusters) {
    if (!cluster.empty()) {
      asked.clusters.all = false;
      asked.clusters.names = {cluster};
      if (!asked.no_header)
        WriteOut((cluster == clusters.front() ? "CLUSTER: " : "\nCLUSTER: ") + cluster + "\n");
    }
    std::vector<FleetLine> lines = BuildLines(asked, format, *fleet, api.settings().ns);
    if (const std::string error = SortLines(asked, &lines); !error.empty())
      return Fail(kSinfo, error);
    Format fitted = format;
    FitOpenColumns(lines, text, &fitted);
    PrintLines(asked, fitted, lines);
  }
  return 0;
}

// -i repeats until the user interrupts it; with -i or -l each table has the time above it.
int Show(const SinfoOptions& options) {
  const std::optional<client::Settings> settings = FindServer(kSinfo);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  if (options.reservations) return WriteOut("No reservations in the system\n"), 0;
  for (;;) {
    if ((options.every_s != 0 || options.long_form) && !options.no_header && !options.json)
      WriteOut(FormatTime(WallSeconds(), "%a %b %d %H:%M:%S %Y\n"));
    const int exit = ShowOnce(api, options);
    if (options.every_s == 0) return exit;
    ::poll(nullptr, 0, static_cast<int>(options.every_s * 1000));
  }
}

}  // namespace

// Node states are checked before the server is asked: a misspelt state is an error, and a state
// that members never have matches none.
int RunSinfo(int argc, char** argv) {
  SinfoOptions options;
  optind = 0;
  opterr = 1;
  int id = 0;
  while ((id = ::getopt_long(argc, argv, "p:n:t:o:sNlRhaerdvO:i:M:S:TV", kSinfoOptions, nullptr)) !=
         -1) {
    if (id == '?') return UsageExit(kSinfo);
    const std::string error = TakeOption(id, &options);
    if (!error.empty()) return Fail(kSinfo, error);
  }
  if (options.help) return WriteOut(kSinfoHelpText), 0;
  if (options.version) return WriteOut(kVersionLine), 0;
  if (const std::string error = FromEnvironment(&options); !error.empty())
    return Fail(kSinfo, error);
  for (const std::string& state : options.states) {
    if (!IsNodeState(state))
      return Fail(kSinfo, "Bad state string: \"" + state + "\"\n" + kNodeStates);
  }
  return Show(options);
}

}  // namespace muster::slurm
