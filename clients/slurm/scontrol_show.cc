// Lays out the records of `scontrol show` word by word as Slurm does (rule B24). Tools parse them,
// so every key of Slurm's record is there, in Slurm's order and on Slurm's line; a value that
// Muster does not have is Slurm's word for none. Cells that squeue shows too come from its table
// (SqueueText).
#include "clients/slurm/scontrol_show.h"

#include <algorithm>

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"
#include "clients/slurm/hostlist.h"
#include "clients/slurm/slurm_time.h"
#include "clients/slurm/squeue_fields.h"
#include "schedd/base/limits.h"

namespace muster::slurm {
namespace {

// Collects `Key=Value` words. Line() begins a new line, indented by three blanks; with -o all is
// one line.
class Record {
 public:
  explicit Record(bool one_line) : one_line_(one_line) {}
  Record& Line() {
    if (!text_.empty()) text_ += one_line_ ? " " : "\n   ";
    fresh_ = true;
    return *this;
  }
  Record& Add(std::string_view key, std::string_view value) {
    if (!fresh_) text_ += ' ';
    fresh_ = false;
    text_ += key;
    text_ += '=';
    text_ += client::VisibleText(value);
    return *this;
  }
  // A line of its own, if there is a value.
  Record& LineIf(std::string_view key, std::string_view value) {
    return value.empty() ? *this : Line().Add(key, value);
  }
  std::string Finish() { return text_ + (one_line_ ? "\n" : "\n\n"); }

 private:
  bool one_line_;
  bool fresh_ = true;
  std::string text_;
};

// The cell of squeue's field of this long name.
std::string SqueueText(const char* field, const JobRow& row, const ShowContext& context) {
  std::string scratch;
  RowContext cell;
  cell.default_ns = context.default_ns;
  cell.time_format = context.time_format;
  cell.now = context.now;
  return std::string(SqueueCell(*SqueueFieldByName(field), row, cell, &scratch));
}

// Slurm's word for an absent text.
std::string_view NullIfEmpty(std::string_view text) { return text.empty() ? "(null)" : text; }

// The stamp as local time, or `otherwise` if there is none.
std::string TimeOr(std::string_view stamp, const ShowContext& context, const char* otherwise) {
  const std::int64_t epoch = ParseStamp(stamp);
  return epoch == 0 ? otherwise : FormatTime(epoch, context.time_format);
}

std::string Megabytes(std::int64_t bytes) { return std::to_string(bytes >> 20); }

// The lines from RunTime to Scheduler.
void AddTimes(const JobRow& row, const ShowContext& context, Record* out) {
  const JobExtra& extra = *row.extra;
  out->Line()
      .Add("RunTime", LongDuration(ElapsedSeconds(row, context.now)))
      .Add("TimeLimit", row.time_limit_s == 0 ? "UNLIMITED" : LongDuration(row.time_limit_s))
      .Add("TimeMin", extra.time_min_s == 0 ? "N/A" : LongDuration(extra.time_min_s));
  const std::string eligible = row.held ? "Unknown" : TimeOr(EligibleTime(row), context, "Unknown");
  out->Line()
      .Add("SubmitTime", TimeOr(row.submit_time, context, "Unknown"))
      .Add("EligibleTime", eligible);
  out->Line().Add("AccrueTime", eligible);
  const std::string end = SqueueText("EndTime", row, context);
  out->Line()
      .Add("StartTime", TimeOr(StartTime(row), context, "Unknown"))
      .Add("EndTime", end == "N/A" ? "Unknown" : end)
      .Add("Deadline", TimeOr(extra.deadline, context, "N/A"));
  out->Line()
      .Add("SuspendTime", TimeOr(extra.suspended_since, context, "None"))
      .Add("SecsPreSuspend", std::to_string(extra.suspended_s))
      .Add("LastSchedEval",
           TimeOr(row.admit_time.empty() ? row.submit_time : row.admit_time, context, "Unknown"))
      .Add("Scheduler", "Main");
}

// "4" or, with a range, "2-4".
std::string NodesText(const JobRow& row) {
  const std::int32_t nodes = NodeCount(row);
  const bool range = IsPending(row.state) && row.max_nodes > nodes;
  return std::to_string(nodes) + (range ? "-" + std::to_string(row.max_nodes) : "");
}

// What an option says how the job runs; "" if it was not given.
std::string HowValue(const JobExtra& extra, std::string_view option) {
  for (const auto& [name, value] : extra.how) {
    if (name == option) return std::string(value);
  }
  return "";
}

// The lines from Partition to MinCPUsNode.
void AddNodesAndResources(const JobRow& row, const ShowContext& context, Record* out) {
  const JobExtra& extra = *row.extra;
  const bool pending = IsPending(row.state);
  out->Line()
      .Add("Partition", SqueueText("Partition", row, context))
      .Add("AllocNode:Sid", "(null)");
  out->Line()
      .Add("ReqNodeList", NullIfEmpty(extra.required_nodes))
      .Add("ExcNodeList", NullIfEmpty(extra.excluded_nodes));
  out->Line().Add("NodeList", pending ? std::string_view() : HostsOf(row));
  if (!pending && row.is_batch) out->Line().Add("BatchHost", SqueueText("BatchHost", row, context));
  out->Line()
      .Add("NumNodes", NodesText(row))
      .Add("NumCPUs", std::to_string(CpuCount(row)))
      .Add("NumTasks", SqueueText("NumTasks", row, context))
      .Add("CPUs/Task", SqueueText("MinCPUs", row, context))
      .Add("ReqB:S:C:T", "0:0:*:*");
  out->Line().Add("TRES", SqueueText("tres", row, context));
  out->Line()
      .Add("Socks/Node", "*")
      .Add("NtasksPerN:B:S:C", std::to_string(extra.tasks_per_node) + ":0:*:*")
      .Add("CoreSpec", "*");
  const bool per_cpu = extra.memory_per_cpu_mb != 0;
  const std::int64_t per_node_cpus = (row.cpus_per_task > 0 ? row.cpus_per_task : 1) *
                                     (extra.tasks_per_node > 0 ? extra.tasks_per_node : 1);
  const std::int64_t least_cpus = ParseCount(HowValue(extra, "mincpus")).value_or(0);
  const std::string disk = HowValue(extra, "tmp");
  out->Line()
      .Add("MinCPUsNode", std::to_string(std::max<std::int64_t>(per_node_cpus, least_cpus)))
      .Add(per_cpu ? "MinMemoryCPU" : "MinMemoryNode", SqueueText("MinMemory", row, context))
      .Add("MinTmpDiskNode", disk.empty() ? "0" : ParseCount(disk) ? disk + "M" : disk);
}

// The first line: ids and the name.
void AddIds(const JobRow& row, const ShowContext& context, Record* out) {
  out->Add("JobId", std::to_string(row.id));
  if (row.array_job_id != 0) {
    out->Add("ArrayJobId", std::to_string(row.array_job_id))
        .Add("ArrayTaskId", SqueueText("ArrayTaskID", row, context));
    if (row.extra->task_throttle != 0)
      out->Add("ArrayTaskThrottle", std::to_string(row.extra->task_throttle));
  }
  if (row.het_offset >= 0) {
    out->Add("HetJobId", std::to_string(row.id))
        .Add("HetJobOffset", std::to_string(row.het_offset));
  }
  out->Add("JobName", row.name);
  if (row.het_offset >= 0) out->Line().Add("HetJobIdSet", SqueueText("HetJobIDSet", row, context));
}

// "END,FAIL" of the bits of --mail-type.
std::string MailTypes(std::int64_t events) {
  static constexpr const char* kMailNames[] = {
      "BEGIN",          "END",        "FAIL",          "REQUEUE",
      "INVALID_DEPEND", "TIME_LIMIT", "TIME_LIMIT_90", "TIME_LIMIT_80",
      "TIME_LIMIT_50",  "STAGE_OUT",  "ARRAY_TASKS"};
  std::string out;
  // scontrol names the invalid dependency first.
  static constexpr std::size_t kFirst = 4;
  const auto add = [&](std::size_t bit) {
    if ((events >> bit & 1) != 0) out += (out.empty() ? "" : ",") + std::string(kMailNames[bit]);
  };
  add(kFirst);
  for (std::size_t bit = 0; bit < std::size(kMailNames); ++bit) {
    if (bit != kFirst) add(bit);
  }
  return out;
}

// An option that says how a job runs, as Slurm's key where it has one: "gpu-bind" is "GpuBind".
std::string HowKey(std::string_view option) {
  std::string out;
  bool upper = true;
  for (const char c : option) {
    if (c == '-' || c == '_') {
      upper = true;
      continue;
    }
    out.push_back(upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
    upper = false;
  }
  return out;
}

// Options that the lines above show as fields, and the umask, which scontrol does not show.
bool HasOwnField(std::string_view option) {
  return option == "requeue" || option == "umask" || option == "mincpus" || option == "tmp";
}

}  // namespace

std::string ShowJob(const JobRow& row, const ShowContext& context) {
  const JobExtra& extra = *row.extra;
  Record out(context.one_line);
  AddIds(row, context, &out);
  out.Line()
      .Add("UserId", std::string(row.user) + "(" + SqueueText("UserID", row, context) + ")")
      .Add("GroupId",
           SqueueText("GroupName", row, context) + "(" + SqueueText("GroupID", row, context) + ")")
      .Add("MCS_label", "N/A");
  out.Line()
      .Add("Priority", SqueueText("Priority", row, context))
      .Add("Nice", std::to_string(extra.nice))
      .Add("Account", NullIfEmpty(row.cluster_queue))
      .Add("QOS", QosOf(row));
  if (!extra.wckey.empty()) out.Add("WCKey", extra.wckey);
  out.Line()
      .Add("JobState", LongName(row.state))
      .Add("Reason", SlurmReason(row))
      .Add("Dependency", NullIfEmpty(extra.dependency));
  out.Line()
      .Add("Requeue", row.requeue ? "1" : "0")
      .Add("Restarts", std::to_string(Restarts(row)))
      .Add("BatchFlag", SqueueText("BatchFlag", row, context))
      .Add("Reboot", "0")
      .Add("ExitCode", ExitText(row));
  AddTimes(row, context, &out);
  AddNodesAndResources(row, context, &out);
  out.Line().Add("Features", NullIfEmpty(extra.features)).Add("DelayBoot", "00:00:00");
  if (!extra.reservation.empty()) out.Line().Add("Reservation", extra.reservation);
  out.Line()
      .Add("OverSubscribe", extra.exclusive ? "NO" : "OK")
      .Add("Contiguous", "0")
      .Add("Licenses", NullIfEmpty(extra.licenses))
      .Add("Network", "(null)");
  out.Line().Add("Command", NullIfEmpty(row.command));
  out.Line().Add("WorkDir", NullIfEmpty(row.work_dir));
  out.LineIf("Comment", row.comment);
  if (row.is_batch) {
    out.Line().Add("StdErr", row.std_err.empty() ? row.std_out : row.std_err);
    out.Line().Add("StdIn", row.std_in.empty() ? "/dev/null" : row.std_in);
    out.Line().Add("StdOut", row.std_out);
  }
  out.Line().Add("Power", "");
  if (!row.gres.empty()) out.Line().Add("TresPerNode", SqueueText("tres-per-node", row, context));
  if (!extra.mail_user.empty() || extra.mail_events != 0) {
    out.Line()
        .Add("MailUser", extra.mail_user.empty() ? row.user : extra.mail_user)
        .Add("MailType", extra.mail_events == 0 ? "NONE" : MailTypes(extra.mail_events));
  }
  for (const auto& [option, value] : extra.how) {
    if (!HasOwnField(option)) out.Line().Add(HowKey(option), value);
  }
  return out.Finish();
}

std::string ShowStep(const JobRow& row, const StepInfo* step, const ShowContext& context) {
  Record out(context.one_line);
  const std::string start(step == nullptr ? row.start_time : std::string_view(step->start_time));
  const std::string id = SqueueText("JobArrayID", row, context);
  out.Add("StepId", id + "." + (step == nullptr ? "batch" : std::to_string(step->step)))
      .Add("UserId", SqueueText("UserID", row, context))
      .Add("StartTime", TimeOr(start, context, "Unknown"))
      .Add("TimeLimit", row.time_limit_s == 0 ? "UNLIMITED" : LongDuration(row.time_limit_s));
  const State state =
      step == nullptr ? (HasNodes(row.state) ? State::kRunning : row.state) : step->state;
  out.Line()
      .Add("State", LongName(state))
      .Add("Partition", SqueueText("Partition", row, context))
      .Add("NodeList", step == nullptr || step->nodes.empty()
                           ? SqueueText("BatchHost", row, context)
                           : step->nodes);
  const std::string cpus =
      step == nullptr ? std::to_string(CpuCount(row)) : std::to_string(step->cpus);
  const std::string nodes = step == nullptr ? "1" : std::to_string(step->node_count);
  out.Line()
      .Add("Nodes", nodes)
      .Add("CPUs", step == nullptr ? "0" : cpus)
      .Add("Tasks", step == nullptr ? "0" : std::to_string(step->tasks))
      .Add("Name", step == nullptr ? "batch" : step->name)
      .Add("Network", "(null)");
  out.Line().Add("TRES", "cpu=" + cpus + ",node=" + nodes);
  out.Line().Add("ResvPorts", "(null)");
  out.Line().Add("CPUFreqReq", "Default").Add("Dist", "Block");
  out.Line().Add("SrunHost:Pid", "(null):0");
  return out.Finish();
}

// Every partition has all nodes of the fleet, so the totals are those of the fleet.
std::string ShowPartition(const PartitionInfo& partition, const Fleet& fleet,
                          const ShowContext& context) {
  std::vector<std::string> names;
  std::int64_t cpus = 0;
  for (const NodeInfo& node : fleet.nodes) {
    names.push_back(node.name);
    cpus += node.TotalCpus();
  }
  Record out(context.one_line);
  out.Add("PartitionName", partition.Name(context.default_ns));
  out.Line()
      .Add("AllowGroups", "ALL")
      .Add("AllowAccounts", NullIfEmpty(partition.cluster_queue))
      .Add("AllowQos", "ALL");
  out.Line()
      .Add("AllocNodes", "ALL")
      .Add("Default", partition.is_default ? "YES" : "NO")
      .Add("QoS", "N/A");
  const auto limit = [](std::int64_t seconds, const char* none) {
    return seconds == 0 ? std::string(none) : LongDuration(seconds);
  };
  const auto number = [](std::int64_t value) {
    return value == 0 ? std::string("UNLIMITED") : std::to_string(value);
  };
  out.Line()
      .Add("DefaultTime", limit(partition.default_time_s, "NONE"))
      .Add("DisableRootJobs", "NO")
      .Add("ExclusiveUser", "NO")
      .Add("GraceTime", "0")
      .Add("Hidden", "NO");
  out.Line()
      .Add("MaxNodes", number(partition.max_nodes))
      .Add("MaxTime", limit(partition.max_time_s, "UNLIMITED"))
      .Add("MinNodes", std::to_string(partition.min_nodes))
      .Add("LLN", "NO")
      .Add("MaxCPUsPerNode", "UNLIMITED");
  out.Line().Add("Nodes", NullIfEmpty(FoldHostlist(names)));
  out.Line()
      .Add("PriorityJobFactor", "1")
      .Add("PriorityTier", std::to_string(partition.tier))
      .Add("RootOnly", "NO")
      .Add("ReqResv", "NO")
      .Add("OverSubscribe", "NO");
  out.Line().Add("OverTimeLimit", "NONE").Add("PreemptMode", "OFF");
  const char* state = partition.state == "up"      ? "UP"
                      : partition.state == "down"  ? "DOWN"
                      : partition.state == "drain" ? "DRAIN"
                                                   : "INACTIVE";
  out.Line()
      .Add("State", state)
      .Add("TotalCPUs", std::to_string(cpus))
      .Add("TotalNodes", std::to_string(names.size()))
      .Add("SelectTypeParameters", "NONE");
  out.Line().Add("JobDefaults", "(null)");
  out.Line()
      .Add("DefMemPerCPU", number(partition.default_memory_per_cpu_mb))
      .Add("MaxMemPerCPU", number(partition.max_memory_per_cpu_mb));
  out.Line().Add("TRES", "cpu=" + std::to_string(cpus) + ",node=" + std::to_string(names.size()) +
                             ",billing=" + std::to_string(cpus));
  return out.Finish();
}

// The state is in capitals here, unlike in sinfo.
std::string ShowNode(const NodeInfo& node, const Fleet& fleet, const ShowContext& context) {
  std::string partitions;
  for (const PartitionInfo& partition : fleet.partitions) {
    partitions += (partitions.empty() ? "" : ",") + partition.Name(context.default_ns);
  }
  std::string state = node.StateName(false);
  for (char& c : state) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  Record out(context.one_line);
  const std::string total = std::to_string(node.TotalCpus());
  out.Add("NodeName", node.name).Add("Arch", "x86_64").Add("CoresPerSocket", total);
  out.Line()
      .Add("CPUAlloc", std::to_string(node.AllocatedCpus()))
      .Add("CPUEfctv", total)
      .Add("CPUTot", total)
      .Add("CPULoad", "N/A");
  out.Line().Add("AvailableFeatures", NullIfEmpty(node.features));
  out.Line().Add("ActiveFeatures", NullIfEmpty(node.features));
  out.Line().Add("Gres", NullIfEmpty(node.gres));
  out.Line().Add("NodeAddr", node.name).Add("NodeHostName", node.name).Add("Version", "25.05.0");
  out.Line()
      .Add("RealMemory", Megabytes(node.memory_bytes))
      .Add("AllocMem", Megabytes(node.memory_bytes - node.free_memory_bytes))
      .Add("FreeMem", Megabytes(node.free_memory_bytes))
      .Add("Sockets", "1")
      .Add("Boards", "1");
  out.Line()
      .Add("State", state)
      .Add("ThreadsPerCore", "1")
      .Add("TmpDisk", "0")
      .Add("Weight", "1")
      .Add("Owner", "N/A")
      .Add("MCS_label", "N/A");
  out.Line().Add("Partitions", NullIfEmpty(partitions));
  const std::int64_t mb = node.memory_bytes >> 20;
  const std::int64_t used_mb = (node.memory_bytes - node.free_memory_bytes) >> 20;
  out.Line().Add("CfgTRES", "cpu=" + total + ",mem=" + std::to_string(mb) + "M,billing=" + total);
  out.Line().Add("AllocTRES", node.AllocatedCpus() == 0
                                  ? std::string()
                                  : "cpu=" + std::to_string(node.AllocatedCpus()) +
                                        ",mem=" + std::to_string(used_mb) + "M");
  if (node.cordoned)
    out.Line().Add("Reason", "cordoned");
  else if (!node.reason.empty())
    out.Line().Add("Reason", node.reason);
  return out.Finish();
}

// The settings that tools look up. MaxArraySize is one more than the largest number of tasks, as in
// Slurm.
std::string ShowConfig(const ShowContext& context) {
  const auto line = [](std::string key, const std::string& value) {
    key.resize(23, ' ');
    return key + " = " + value + "\n";
  };
  return "Configuration data as of " + FormatTime(context.now, "") + "\n" +
         line("ClusterName", "muster") + line("EnforcePartLimits", "NO") + line("JobRequeue", "1") +
         line("KillWait", "30 sec") + line("MaxArraySize", std::to_string(limits::kBatchJobs + 1)) +
         line("MinJobAge", std::to_string(limits::kFinishedJobsKeptMs / 1000) + " sec") +
         line("SLURM_VERSION", "25.05.0");
}

}  // namespace muster::slurm
