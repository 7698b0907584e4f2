#include "clients/slurm/sinfo_fields.h"

#include <algorithm>
#include <iterator>

#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

using FleetRef = const FleetLine&;
using FleetCell = std::string (*)(FleetRef line);
struct FleetField {
  char letter;  // 0 if it has only a name
  const char* name;
  const char* header;
  bool tells_nodes_apart;
  FleetCell cell;
};

// A figure of the nodes added up.
std::string Sum(FleetRef line, std::int64_t (NodeInfo::*part)() const) {
  std::int64_t total = 0;
  for (const NodeInfo* node : line.nodes) total += (node->*part)();
  return std::to_string(total);
}

// "A/I/O/T" of CPUs: allocated, idle, other, total.
std::string CpuStates(FleetRef line) {
  return Sum(line, &NodeInfo::AllocatedCpus) + "/" + Sum(line, &NodeInfo::IdleCpus) + "/" +
         Sum(line, &NodeInfo::OtherCpus) + "/" + Sum(line, &NodeInfo::TotalCpus);
}

struct NodeCounts {
  int allocated = 0, idle = 0, other = 0;
};
NodeCounts CountsOf(FleetRef line) {
  NodeCounts out;
  for (const NodeInfo* node : line.nodes) {
    if (!node->healthy || node->cordoned)
      ++out.other;
    else if (node->AllocatedCpus() > 0)
      ++out.allocated;
    else
      ++out.idle;
  }
  return out;
}
// "A/I" of nodes.
std::string NodeStatesInUse(FleetRef line) {
  const NodeCounts counts = CountsOf(line);
  return std::to_string(counts.allocated) + "/" + std::to_string(counts.idle);
}
// "A/I/O/T" of nodes.
std::string NodeStates(FleetRef line) {
  return NodeStatesInUse(line) + "/" + std::to_string(CountsOf(line).other) + "/" +
         std::to_string(line.nodes.size());
}

// The nodes' names as a folded hostlist.
std::string NodeNames(FleetRef line) {
  std::vector<std::string> names;
  for (const NodeInfo* node : line.nodes) names.push_back(node->name);
  return FoldHostlist(names);
}

// Any node of the line: columns that tell nodes apart have the same value for all of them.
const NodeInfo* FirstOf(FleetRef line) { return line.nodes.empty() ? nullptr : line.nodes.front(); }

std::string StateText(FleetRef line, bool compact) {
  return FirstOf(line) == nullptr ? "n/a" : FirstOf(line)->StateName(compact);
}

// A number of a node; 0 without nodes.
std::string OfNode(FleetRef line, std::int64_t number) {
  return std::to_string(FirstOf(line) == nullptr ? 0 : number);
}
std::string NullOr(const std::string& text) { return text.empty() ? "(null)" : text; }

std::string NodeReason(FleetRef line) {
  const NodeInfo* node = FirstOf(line);
  if (node == nullptr) return "none";
  if (node->cordoned) return "cordoned";
  return node->reason.empty() ? "none" : node->reason;
}

std::string JobSize(FleetRef line) {
  const std::int32_t low = std::max(1, line.partition->min_nodes), high = line.partition->max_nodes;
  if (high == low) return std::to_string(low);
  return std::to_string(low) + "-" + (high == 0 ? "infinite" : std::to_string(high));
}

std::string NameWithStar(FleetRef line) {
  return line.partition->Name(line.default_ns) + (line.partition->is_default ? "*" : "");
}

template <const char* kText>
std::string Fixed(FleetRef) {
  return kText;
}
constexpr char kFleetNull[] = "(null)", kFleetNone[] = "N/A", kFleetAll[] = "all",
               kFleetNo[] = "no", kFleetOff[] = "OFF", kFleetNotShared[] = "NO", kFleetZero[] = "0",
               kFleetOne[] = "1", kFleetUnknown[] = "Unknown", kFleetUnlimited[] = "UNLIMITED",
               kFleetVersion[] = "25.05.0", kFleetEmpty[] = "";

constexpr FleetField kFleetFields[] =
    {
        {'P', "Partition", "PARTITION", false, NameWithStar},
        {'R', "PartitionName", "PARTITION", false,
         [](FleetRef l) { return l.partition->Name(l.default_ns); }},
        {'a', "Available", "AVAIL", false, [](FleetRef l) { return l.partition->state; }},
        {'l', "Time", "TIMELIMIT", false,
         [](FleetRef l) { return PartitionLimit(l.partition->max_time_s); }},
        {'L', "DefaultTime", "DEFAULTTIME", false,
         [](FleetRef l) {
  return l.partition->default_time_s == 0 ? std::string("n/a")
                                          : PartitionLimit(l.partition->default_time_s);
         }},
        {'D', "Nodes", "NODES", false, [](FleetRef l) { return std::to_string(l.nodes.size()); }},
        {'t', "StateCompact", "STATE", true, [](FleetRef l) { return StateText(l, true); }},
        {'T', "StateLong", "STATE", true, [](FleetRef l) { return StateText(l, false); }},
        {0, "State", "STATE", true, [](FleetRef l) { return StateText(l, false); }},
        {0, "StateComplete", "STATECOMPLETE", true, [](FleetRef l) { return StateText(l, false); }},
        {'N', "NodeList", "NODELIST", false, NodeNames},
        {'n', "NodeHost", "HOSTNAMES", true, NodeNames},
        {'o', "NodeAddr", "NODE_ADDR", true, NodeNames},
        {'C', "CPUsState", "CPUS(A/I/O/T)", false, CpuStates},
        {'F', "NodeAIOT", "NODES(A/I/O/T)", false, NodeStates},
        {'A', "NodeAI", "NODES(A/I)", false, NodeStatesInUse},
        {'c', "CPUs", "CPUS", true,
         [](FleetRef l) { return OfNode(l, FirstOf(l) ? FirstOf(l)->TotalCpus() : 0); }},
        {'O', "CPUsLoad", "CPU_LOAD", true, Fixed<kFleetNone>},
        {'m', "Memory", "MEMORY", true,
         [](FleetRef l) { return OfNode(l, FirstOf(l) ? FirstOf(l)->memory_bytes >> 20 : 0); }},
        {'e', "FreeMem", "FREE_MEM", true,
         [](FleetRef l) {
  return OfNode(l, FirstOf(l) ? FirstOf(l)->free_memory_bytes >> 20 : 0);
         }},
                     {0, "AllocMem", "ALLOCMEM", true,
                      [](FleetRef l) {
  const NodeInfo* node = FirstOf(l);
  return OfNode(l, node ? (node->memory_bytes - node->free_memory_bytes) >> 20 : 0);
                      }},
    {'G', "Gres", "GRES", true,
     [](FleetRef l) { return NullOr(FirstOf(l) ? FirstOf(l)->gres : ""); }},
    {0, "GresUsed", "GRES_USED", true,
     [](FleetRef l) { return NullOr(FirstOf(l) ? FirstOf(l)->gres_used : ""); }},
    {'f', "Features", "AVAIL_FEATURES", true,
     [](FleetRef l) { return NullOr(FirstOf(l) ? FirstOf(l)->features : ""); }},
    {'b', "features_act", "ACTIVE_FEATURES", true,
     [](FleetRef l) { return NullOr(FirstOf(l) ? FirstOf(l)->features : ""); }},
    {'d', "Disk", "TMP_DISK", false, Fixed<kFleetZero>},
    {'w', "Weight", "WEIGHT", false, Fixed<kFleetOne>},
    {'p', "PriorityTier", "PRIO_TIER", false,
     [](FleetRef l) { return std::to_string(l.partition->tier); }},
    {0, "Priority", "PRIO_TIER", false,
     [](FleetRef l) { return std::to_string(l.partition->tier); }},
    {'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", false, Fixed<kFleetOne>},
    {'z', "SocketCoreThread", "S:C:T", true,
     [](FleetRef l) { return "1:" + OfNode(l, FirstOf(l) ? FirstOf(l)->TotalCpus() : 0) + ":1"; }},
    {'X', "Sockets", "SOCKETS", true, Fixed<kFleetOne>},
    {'Y', "Cores", "CORES", true,
     [](FleetRef l) { return OfNode(l, FirstOf(l) ? FirstOf(l)->TotalCpus() : 0); }},
    {'Z', "Threads", "THREADS", true, Fixed<kFleetOne>},
    {'E', "Reason", "REASON", true, NodeReason}, {'u', "User", "USER", false, Fixed<kFleetUnknown>},
    {'U', "UserLong", "USER", false, Fixed<kFleetUnknown>},
    {'H', "TimeStamp", "TIMESTAMP", false, Fixed<kFleetUnknown>},
    {'g', "Groups", "GROUPS", false, Fixed<kFleetAll>},
    {'S', "AllocNodes", "ALLOCNODES", false, Fixed<kFleetAll>},
    {'r', "Root", "ROOT", false, Fixed<kFleetNo>},
    {'h', "OverSubscribe", "OVERSUBSCRIBE", false, Fixed<kFleetNotShared>},
    {'M', "PreemptMode", "PREEMPT_MODE", false, Fixed<kFleetOff>},
    {'s', "Size", "JOB_SIZE", false, JobSize},
    {'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", false, Fixed<kFleetUnlimited>},
    {'v', "Version", "VERSION", false, Fixed<kFleetVersion>},
    {'V', "Cluster", "CLUSTER", true,
     [](FleetRef l) { return FirstOf(l) ? FirstOf(l)->name : std::string("N/A"); }},
    {0, "Comment", "COMMENT", false, Fixed<kFleetNull>},
    {0, "Extra", "EXTRA", false, Fixed<kFleetEmpty>}, {0, "Port", "PORT", false, Fixed<kFleetZero>},
    };

}  // namespace

std::string PartitionLimit(std::int64_t seconds) {
  if (seconds == 0) return "infinite";
  std::string out;
  AppendShortDuration(seconds, &out);
  return out;
}

std::optional<std::size_t> SinfoFieldByLetter(char letter) {
  for (std::size_t i = 0; i < std::size(kFleetFields); ++i) {
    if (kFleetFields[i].letter == letter) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> SinfoFieldByName(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kFleetFields); ++i) {
    if (SameWord(name, kFleetFields[i].name)) return i;
  }
  return std::nullopt;
}

std::size_t SinfoFieldCount() { return std::size(kFleetFields); }
std::string_view SinfoHeader(std::size_t field) { return kFleetFields[field].header; }
bool TellsNodesApart(std::size_t field) { return kFleetFields[field].tells_nodes_apart; }
std::string SinfoCell(std::size_t field, const FleetLine& line) {
  return kFleetFields[field].cell(line);
}

int CompareLines(std::size_t field, const FleetLine& a, const FleetLine& b) {
  const std::string one = SinfoCell(field, a), two = SinfoCell(field, b);
  const auto first = ParseCount(one), second = ParseCount(two);
  if (first && second) return (*first > *second) - (*first < *second);
  return one.compare(two);
}

}  // namespace muster::slurm
