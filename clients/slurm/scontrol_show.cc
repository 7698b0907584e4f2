// Lays out the records of `scontrol show` word by word as Slurm does (rule B24). Tools parse them,
// so every key of Slurm's record is there, in Slurm's order and on Slurm's line; a value that
// Muster does not have is Slurm's word for none. Cells that squeue shows too come from its table
// (SqueueText).
#include "clients/slurm/scontrol_show.h"

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
std::string_view OrNull(std::string_view text) { return text.empty() ? "(null)" : text; }

// The stamp as local time, or `otherwise` if there is none.
std::string TimeOr(std::string_view stamp, const ShowContext& context, const char* otherwise) {
  const std::int64_t epoch = ParseStamp(stamp);
  return epoch == 0 ? otherwise : FormatTime(epoch, context.time_format);
}

std::string Megabytes(std::int64_t bytes) { return std::to_string(bytes >> 20); }

// The lines from RunTime to Deadline.
void AddTimes(const JobRow& row, const ShowContext& context, Record* out) {
  out->Line()
      .Add("RunTime", LongDuration(ElapsedSeconds(row, context.now)))
      .Add("TimeLimit", row.time_limit_s == 0 ? "UNLIMITED" : LongDuration(row.time_limit_s))
      .Add("TimeMin", "N/A");
  out->Line()
      .Add("SubmitTime", TimeOr(row.submit_time, context, "Unknown"))
      .Add("EligibleTime", row.held ? "Unknown" : TimeOr(EligibleTime(row), context, "Unknown"));
  out->Line().Add("AccrueTime", TimeOr(row.submit_time, context, "Unknown"));
  const std::string end = SqueueText("EndTime", row, context);
  out->Line()
      .Add("StartTime", TimeOr(StartTime(row), context, "Unknown"))
      .Add("EndTime", end == "N/A" ? "Unknown" : end)
      .Add("Deadline", "N/A");
}

// The lines from Partition to MinCPUsNode.
void AddNodesAndResources(const JobRow& row, const ShowContext& context, Record* out) {
  out->Line()
      .Add("Partition", SqueueText("Partition", row, context))
      .Add("AllocNode:Sid", "(null)");
  out->Line().Add("ReqNodeList", "(null)").Add("ExcNodeList", "(null)");
  out->Line().Add("NodeList", row.state == State::kPending ? std::string_view() : row.cluster);
  if (row.state != State::kPending && row.is_batch) out->Line().Add("BatchHost", row.cluster);
  out->Line()
      .Add("NumNodes", SqueueText("NumNodes", row, context))
      .Add("NumCPUs", std::to_string(CpuCount(row)))
      .Add("NumTasks", SqueueText("NumTasks", row, context))
      .Add("CPUs/Task", SqueueText("MinCPUs", row, context))
      .Add("ReqB:S:C:T", "0:0:*:*");
  out->Line().Add("TRES", SqueueText("tres", row, context));
  out->Line()
      .Add("MinCPUsNode", SqueueText("MinCPUs", row, context))
      .Add("MinMemoryNode", SqueueText("MinMemory", row, context))
      .Add("MinTmpDiskNode", "0");
}

}  // namespace

std::string ShowJob(const JobRow& row, const ShowContext& context) {
  Record out(context.one_line);
  out.Add("JobId", std::to_string(row.id));
  if (row.array_job_id != 0) {
    out.Add("ArrayJobId", std::to_string(row.array_job_id))
        .Add("ArrayTaskId", std::to_string(row.array_task_id));
  }
  out.Add("JobName", row.name);
  out.Line()
      .Add("UserId", std::string(row.user) + "(" + SqueueText("UserID", row, context) + ")")
      .Add("GroupId", "(null)")
      .Add("MCS_label", "N/A");
  out.Line()
      .Add("Priority", SqueueText("Priority", row, context))
      .Add("Nice", "0")
      .Add("Account", OrNull(row.cluster_queue))
      .Add("QOS", OrNull(row.priority_class));
  out.Line()
      .Add("JobState", LongName(row.state))
      .Add("Reason", SlurmReason(row))
      .Add("Dependency", "(null)");
  out.Line()
      .Add("Requeue", row.requeue ? "1" : "0")
      .Add("Restarts", SqueueText("RestartCnt", row, context))
      .Add("BatchFlag", row.is_batch ? "1" : "0")
      .Add("Reboot", "0")
      .Add("ExitCode", ExitText(row));
  AddTimes(row, context, &out);
  AddNodesAndResources(row, context, &out);
  out.Line().Add("Features", "(null)").Add("DelayBoot", "00:00:00");
  out.Line()
      .Add("OverSubscribe", "OK")
      .Add("Contiguous", "0")
      .Add("Licenses", "(null)")
      .Add("Network", "(null)");
  out.Line().Add("Command", OrNull(row.command));
  out.Line().Add("WorkDir", OrNull(row.work_dir));
  if (row.is_batch) {
    out.Line().Add("StdErr", row.std_err.empty() ? row.std_out : row.std_err);
    out.Line().Add("StdIn", "/dev/null");
    out.Line().Add("StdOut", row.std_out);
  }
  if (!row.comment.empty()) out.Line().Add("Comment", row.comment);
  if (!row.gres.empty()) out.Line().Add("TresPerNode", SqueueText("tres-per-node", row, context));
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
      .Add("AllowAccounts", OrNull(partition.cluster_queue))
      .Add("AllowQos", "ALL");
  out.Line()
      .Add("AllocNodes", "ALL")
      .Add("Default", partition.is_default ? "YES" : "NO")
      .Add("QoS", "N/A");
  out.Line().Add("DefaultTime", "NONE").Add("DisableRootJobs", "NO").Add("Hidden", "NO");
  out.Line().Add("MaxNodes", "UNLIMITED").Add("MaxTime", "UNLIMITED").Add("MinNodes", "0");
  out.Line().Add("Nodes", OrNull(FoldHostlist(names)));
  out.Line()
      .Add("PriorityJobFactor", "1")
      .Add("PriorityTier", "1")
      .Add("ReqResv", "NO")
      .Add("OverSubscribe", "NO");
  out.Line()
      .Add("State", partition.up ? "UP" : "INACTIVE")
      .Add("TotalCPUs", std::to_string(cpus))
      .Add("TotalNodes", std::to_string(names.size()));
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
  out.Add("NodeName", node.name);
  out.Line()
      .Add("CPUAlloc", std::to_string(node.AllocatedCpus()))
      .Add("CPUTot", std::to_string(node.TotalCpus()));
  out.Line().Add("AvailableFeatures", "(null)");
  out.Line().Add("Gres", OrNull(node.gres));
  out.Line()
      .Add("RealMemory", Megabytes(node.memory_bytes))
      .Add("AllocMem", Megabytes(node.memory_bytes - node.free_memory_bytes))
      .Add("FreeMem", Megabytes(node.free_memory_bytes));
  out.Line().Add("State", state).Add("Partitions", OrNull(partitions));
  if (!node.reason.empty()) out.Line().Add("Reason", node.reason);
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
         line("ClusterName", "muster") +
         line("MaxArraySize", std::to_string(limits::kBatchJobs + 1)) +
         line("MinJobAge", std::to_string(limits::kFinishedJobsKeptMs / 1000) + " sec") +
         line("SLURM_VERSION", "25.05.0");
}

}  // namespace muster::slurm
