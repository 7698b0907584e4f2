// Rows that are shown in place of one of the server's: the waiting tasks of an array one by one
// (squeue -r), and the components of a heterogeneous job.
#pragma once

#include <deque>
#include <vector>

#include "clients/slurm/command.h"
#include "clients/slurm/job_list.h"

namespace muster::slurm {

class DerivedRows {
 public:
  explicit DerivedRows(Arena& arena) : arena_(arena) {}

  /// Replaces each heterogeneous job by its components and, with `tasks`, each record of waiting
  /// tasks by them. `specs` that name tasks or components leave out the others. The new rows live
  /// as long as this object.
  void Expand(bool tasks, const std::vector<JobSpec>& specs, std::vector<const JobRow*>* rows);

 private:
  void AddTasks(const JobRow& record, const std::vector<JobSpec>& specs,
                std::vector<const JobRow*>* out);
  void AddComponents(const JobRow& job, const std::vector<JobSpec>& specs,
                     std::vector<const JobRow*>* out);
  Arena& arena_;
  std::deque<JobRow> rows_;
};

}  // namespace muster::slurm
