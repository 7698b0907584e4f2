// sinfo: partitions and the nodes behind them (rule B26). A node is a member cluster here, and
// every partition has all nodes.
//
// A line is a partition with those of its nodes that look alike in every column shown: BuildLines
// groups the nodes of each partition by the cells of the columns that differ between nodes
// (tells_nodes_apart). A partition without a matching node is still shown, unless a filter asks for
// nodes.
#include <getopt.h>
#include <strings.h>

#include <algorithm>
#include <map>

#include "clients/slurm/columns.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/hostlist.h"

namespace muster::slurm {
namespace {

constexpr char kSinfo[] = "sinfo";

struct SinfoOptions {
  std::vector<std::string> partitions, nodes, states;
  std::string format;
  bool summary = false, by_node = false, long_form = false, reasons = false, no_header = false;
  bool responding = false, dead = false;  // only nodes that answer; only those that do not
  bool help = false, version = false;
};

// One line of the table. `nodes` is empty for a partition without a matching node.
struct Line {
  const PartitionInfo* partition = nullptr;
  std::vector<const NodeInfo*> nodes;
  std::string default_ns;
};

using FleetCell = std::string (*)(const Line& line);
struct FleetField {
  char letter;
  const char* header;
  bool tells_nodes_apart;  // nodes with different values stand on different lines
  FleetCell cell;
};

// A figure of the nodes added up.
std::string Sum(const Line& line, std::int64_t (NodeInfo::*part)() const) {
  std::int64_t total = 0;
  for (const NodeInfo* node : line.nodes) total += (node->*part)();
  return std::to_string(total);
}

// "A/I/O/T" of CPUs: allocated, idle, other, total.
std::string CpuStates(const Line& line) {
  return Sum(line, &NodeInfo::AllocatedCpus) + "/" + Sum(line, &NodeInfo::IdleCpus) + "/" +
         Sum(line, &NodeInfo::OtherCpus) + "/" + Sum(line, &NodeInfo::TotalCpus);
}

// "A/I/O/T" of nodes: allocated, idle, other, total.
std::string NodeStates(const Line& line) {
  int allocated = 0, idle = 0, other = 0;
  for (const NodeInfo* node : line.nodes) {
    if (!node->healthy || node->cordoned)
      ++other;
    else if (node->AllocatedCpus() > 0)
      ++allocated;
    else
      ++idle;
  }
  return std::to_string(allocated) + "/" + std::to_string(idle) + "/" + std::to_string(other) +
         "/" + std::to_string(line.nodes.size());
}

// The nodes' names as a folded hostlist.
std::string Names(const Line& line) {
  std::vector<std::string> names;
  for (const NodeInfo* node : line.nodes) names.push_back(node->name);
  return FoldHostlist(names);
}

// Any node of the line: columns that tell nodes apart have the same value for all of them.
const NodeInfo* First(const Line& line) {
  return line.nodes.empty() ? nullptr : line.nodes.front();
}

std::string StateText(const Line& line, bool compact) {
  return First(line) == nullptr ? "n/a" : First(line)->StateName(compact);
}

constexpr FleetField kFleetFields[] =
    {
        {'P', "PARTITION", false,
         [](const Line& l) {
  return l.partition->Name(l.default_ns) + (l.partition->is_default ? "*" : "");
         }},
        {'R', "PARTITION", false, [](const Line& l) { return l.partition->Name(l.default_ns); }},
        {'a', "AVAIL", false,
         [](const Line& l) { return std::string(l.partition->up ? "up" : "inact"); }},
        {'l', "TIMELIMIT", false, [](const Line&) { return std::string("infinite"); }},
        {'L', "DEFAULTTIME", false, [](const Line&) { return std::string("n/a"); }},
        {'D', "NODES", false, [](const Line& l) { return std::to_string(l.nodes.size()); }},
        {'t', "STATE", true, [](const Line& l) { return StateText(l, true); }},
        {'T', "STATE", true, [](const Line& l) { return StateText(l, false); }},
        {'N', "NODELIST", false, Names},
        {'n', "HOSTNAMES", true, Names},
        {'C', "CPUS(A/I/O/T)", false, CpuStates},
        {'F', "NODES(A/I/O/T)", false, NodeStates},
        {'A', "NODES(A/I)", false,
         [](const Line& l) {
  const std::string all = NodeStates(l);
  return all.substr(0, all.find('/', all.find('/') + 1));
         }},
                     {'c', "CPUS", true,
                      [](const Line& l) {
  return std::to_string(First(l) ? First(l)->TotalCpus() : 0);
                      }},
    {'m', "MEMORY", true,
     [](const Line& l) { return std::to_string(First(l) ? First(l)->memory_bytes >> 20 : 0); }},
    {'e', "FREE_MEM", true,
     [](const Line& l) {
  return std::to_string(First(l) ? First(l)->free_memory_bytes >> 20 : 0);
     }},
    {'G', "GRES", true,
     [](const Line& l) {
  return First(l) && !First(l)->gres.empty() ? First(l)->gres : std::string("(null)");
     }},
    {'f', "AVAIL_FEATURES", false, [](const Line&) { return std::string("(null)"); }},
    {'d', "TMP_DISK", false, [](const Line&) { return std::string("0"); }},
    {'w', "WEIGHT", false, [](const Line&) { return std::string("1"); }},
    {'p', "PRIO_TIER", false, [](const Line&) { return std::string("1"); }},
    {'z', "S:C:T", true,
     [](const Line& l) {
  return "1:" + std::to_string(First(l) ? First(l)->TotalCpus() : 0) + ":1";
     }},
    {'E', "REASON", true,
     [](const Line& l) {
  if (First(l) == nullptr) return std::string("none");
  if (First(l)->cordoned) return std::string("cordoned");
  return First(l)->reason.empty() ? std::string("none") : First(l)->reason;
     }},
    {'u', "USER", false, [](const Line&) { return std::string("Unknown"); }},
    {'H', "TIMESTAMP", false, [](const Line&) { return std::string("Unknown"); }},
    };

// The index in kFleetFields; letters are case-sensitive.
std::optional<std::size_t> FindField(char letter) {
  for (std::size_t i = 0; i < std::size(kFleetFields); ++i) {
    if (kFleetFields[i].letter == letter) return i;
  }
  return std::nullopt;
}

// Ids of options without a letter; they begin above all letters. kSinfoAccepted: no effect.
enum SinfoOptionId : int {
  kSinfoHelp = 256,
  kSinfoUsage,
  kSinfoAccepted,
  kSinfoJson,
  kSinfoYaml,
  kSinfoFederation
};

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
    {"federation", no_argument, nullptr, kSinfoFederation},
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
  -h, --noheader  --help  -V, --version
)";

// Slurm's default formats. SINFO_FORMAT replaces only the plain one.
std::string DefaultFormat(const SinfoOptions& options) {
  const char* env = std::getenv("SINFO_FORMAT");
  if (options.reasons) return "%20E %9u %19H %N";
  if (options.by_node)
    return options.long_form ? "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E"
                             : "%#N %.6D %#P %6t";
  if (options.summary) return "%#P %.5a %.10l %.16F  %N";
  if (options.long_form) return "%#P %.5a %.10l %.6D %.11T %N";
  return env != nullptr && *env != '\0' ? env : "%#P %.5a %.10l %.6D %.6t %N";
}

// True if all filters match the node. A state matches in its long and its compact form.
bool NodeChosen(const SinfoOptions& options, const NodeInfo& node) {
  if (!PassesFilter(options.nodes, node.name)) return false;
  if ((options.responding && !node.healthy) || (options.dead && node.healthy)) return false;
  if (options.reasons && node.healthy && !node.cordoned) return false;
  return options.states.empty() ||
         std::any_of(options.states.begin(), options.states.end(), [&](const std::string& state) {
           return ::strcasecmp(state.c_str(), node.StateName(true)) == 0 ||
                  ::strcasecmp(state.c_str(), node.StateName(false)) == 0 ||
                  ::strcasecmp(state.c_str(), "all") == 0;
         });
}

// Groups the nodes of each chosen partition into lines.
std::vector<Line> BuildLines(const SinfoOptions& options, const Format& format, const Fleet& fleet,
                             const std::string& ns) {
  std::vector<Line> out;
  for (const PartitionInfo& partition : fleet.partitions) {
    const bool chosen = options.partitions.empty() ||
                        std::any_of(options.partitions.begin(), options.partitions.end(),
                                    [&](const std::string& text) {
      const Partition wanted = SplitPartition(text, ns);
      return wanted.ns == partition.ns && wanted.queue == partition.queue;
                        });
    if (!chosen) continue;
    std::map<std::string, std::size_t> by_key;
    const std::size_t first = out.size();
    for (const NodeInfo& node : fleet.nodes) {
      if (!NodeChosen(options, node)) continue;
      const Line alone{&partition, {&node}, ns};
      std::string key = options.by_node ? node.name : std::string();
      for (const Column& column : format.columns) {
        if (kFleetFields[column.field].tells_nodes_apart)
          key += "\n" + kFleetFields[column.field].cell(alone);
      }
      const auto [at, added] = by_key.emplace(key, out.size());
      if (added)
        out.push_back(alone);
      else
        out[at->second].nodes.push_back(&node);
    }
    const bool filtered =
        !options.nodes.empty() || !options.states.empty() || options.reasons || options.by_node;
    if (out.size() == first && !filtered) out.push_back({&partition, {}, ns});
  }
  // -R lists nodes, not partitions: every partition has the same nodes, so one is enough.
  if (options.reasons && !out.empty()) {
    std::erase_if(out, [&](const Line& line) { return line.partition != out.front().partition; });
  }
  return out;
}

// Sets the width of each column written %#P, as Slurm's own defaults write them: as wide as the
// widest cell. `text` is the format that `format` was parsed from.
void FitOpenColumns(const std::vector<Line>& lines, std::string_view text, Format* format) {
  std::size_t at = 0;
  for (Column& column : format->columns) {
    at = text.find('%', at);
    if (at == std::string_view::npos) return;
    if (at + 1 < text.size() && text[at + 1] == '#') {
      column.width = std::string_view(kFleetFields[column.field].header).size();
      for (const Line& line : lines)
        column.width = std::max(column.width, kFleetFields[column.field].cell(line).size());
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
      return "";
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

int Show(const SinfoOptions& options) {
  const std::string text = options.format.empty() ? DefaultFormat(options) : options.format;
  Format format;
  if (const auto error = ParsePercentFormat(text, FindField, &format)) {
    return Fail(kSinfo, *error);
  }
  const std::optional<client::Settings> settings = FindServer(kSinfo);
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  const client::Outcome<Fleet> fleet = FetchFleet(api);
  if (!fleet.ok()) return Fail(kSinfo, FailureText(fleet.failure()));
  const std::vector<Line> lines = BuildLines(options, format, *fleet, settings->ns);
  FitOpenColumns(lines, text, &format);
  std::string out;
  if (!options.no_header) {
    for (const Column& column : format.columns)
      AppendCell(column, kFleetFields[column.field].header, &out);
    out += format.after + "\n";
  }
  for (const Line& line : lines) {
    for (const Column& column : format.columns)
      AppendCell(column, kFleetFields[column.field].cell(line), &out);
    out += format.after + "\n";
  }
  WriteOut(out);
  return 0;
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
    if (!IsNodeState(state)) return Fail(kSinfo, "Bad state string: \"" + state + "\"");
  }
  return Show(options);
}

}  // namespace muster::slurm
