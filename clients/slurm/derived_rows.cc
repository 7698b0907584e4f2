#include "clients/slurm/derived_rows.h"

#include <algorithm>

#include "clients/slurm/hostlist.h"
#include "clients/slurm/task_ranges.h"

namespace muster::slurm {
namespace {

bool NeedsRows(bool tasks, const JobRow& row) {
  return !row.extra->components.empty() || (tasks && IsArrayRecord(row));
}

// True if no id names the job with components, or one names the whole or this one.
bool ComponentAskedFor(const std::vector<JobSpec>& specs, std::int64_t id, std::int32_t offset) {
  bool named = false;
  for (const JobSpec& spec : specs) {
    if (spec.id != id) continue;
    if (spec.het_offset < 0 || spec.het_offset == offset) return true;
    named = true;
  }
  return !named;
}

bool TaskAskedFor(const std::vector<JobSpec>& specs, std::int64_t id, std::int32_t task) {
  bool named = false;
  for (const JobSpec& spec : specs) {
    if (spec.id != id) continue;
    if (!spec.tasks_only || HasTask(spec.tasks, task)) return true;
    named = true;
  }
  return !named;
}

}  // namespace

// The usual list needs no rows, and is not copied.
void DerivedRows::Expand(bool tasks, const std::vector<JobSpec>& specs,
                         std::vector<const JobRow*>* rows) {
  if (std::none_of(rows->begin(), rows->end(),
                   [&](const JobRow* row) { return NeedsRows(tasks, *row); }))
    return;
  std::vector<const JobRow*> out;
  out.reserve(rows->size());
  for (const JobRow* row : *rows) {
    if (!NeedsRows(tasks, *row))
      out.push_back(row);
    else if (row->extra->components.empty())
      AddTasks(*row, specs, &out);
    else
      AddComponents(*row, specs, &out);
  }
  *rows = std::move(out);
}

void DerivedRows::AddTasks(const JobRow& record, const std::vector<JobSpec>& specs,
                           std::vector<const JobRow*>* out) {
  const std::optional<TaskRanges> waiting = ParseTasks(record.extra->waiting_tasks);
  if (!waiting) {
    out->push_back(&record);
    return;
  }
  for (const TaskRange& range : *waiting) {
    for (std::int32_t task = range.first; task <= range.last; task += range.step) {
      if (!TaskAskedFor(specs, record.array_job_id, task)) continue;
      JobRow& row = rows_.emplace_back(record);
      row.array_task_id = task;
      out->push_back(&row);
    }
  }
}

// A component's hosts are its share of the job's list, in order.
void DerivedRows::AddComponents(const JobRow& job, const std::vector<JobSpec>& specs,
                                std::vector<const JobRow*>* out) {
  const JobExtra& extra = *job.extra;
  const auto hosts = ExpandHostlist(job.node_list);
  std::size_t first_host = 0;
  for (std::size_t i = 0; i <= extra.components.size(); ++i) {
    const HetPart part =
        i == 0 ? HetPart{job.nodes, job.tasks, job.cpus_per_task} : extra.components[i - 1];
    const std::size_t begin = first_host;
    first_host += static_cast<std::size_t>(std::max(part.nodes, 0));
    if (!ComponentAskedFor(specs, job.id, static_cast<std::int32_t>(i))) continue;
    JobRow& row = rows_.emplace_back(job);
    row.het_offset = static_cast<std::int32_t>(i);
    row.nodes = part.nodes;
    row.tasks = part.tasks;
    row.cpus_per_task = part.cpus_per_task;
    if (i < extra.pod_sets.size()) {
      const PodAmounts& amounts = extra.pod_sets[i];
      row.pods = amounts.pods;
      row.cpu_milli = amounts.cpu_milli;
      row.memory_bytes = amounts.memory_bytes;
      row.gpus = amounts.gpus;
    }
    if (hosts && first_host <= hosts->size()) {
      const auto from = hosts->begin() + static_cast<std::ptrdiff_t>(begin);
      row.node_list = arena_.Keep(FoldHostlist(
          std::vector<std::string>(from, from + static_cast<std::ptrdiff_t>(part.nodes))));
    }
    out->push_back(&row);
  }
}

}  // namespace muster::slurm
