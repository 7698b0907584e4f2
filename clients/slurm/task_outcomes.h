// What became of a change of a job, task by task, in Slurm's words (rule B40). Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clients/slurm/command.h"

namespace muster::slurm {

class TaskOutcomes {
 public:
  /// `spec`: what the user named; the rows are those that it matches.
  explicit TaskOutcomes(const JobSpec& spec) : spec_(spec), of_tasks_(spec.tasks_only) {}

  /// "" : it was changed.
  void Add(const JobRow& row, const std::string& failure);
  /// Takes a task that has ended as `finished`; false for a row that is no task of an array.
  bool Skips(const JobRow& row, const std::string& finished = "Job has already finished");
  /// True if an array, or tasks of one, were named.
  bool OfTasks() const { return of_tasks_; }
  /// Nothing if all were changed. "36_0-1: Job is no longer pending execution" and the like for the
  /// tasks of an array, in the order of their indexes, those that are changed as "No error"; of a
  /// job "Job has already finished for job 36". `text`: what the user named it.
  std::vector<std::string> Lines(const std::string& text) const;

 private:
  JobSpec spec_;
  bool of_tasks_;
  std::int64_t array_ = 0;                                 // 0: no row was one of a task yet
  std::map<std::int32_t, std::string> tasks_, cancelled_;  // by index
  std::vector<std::string> failures_;
};

}  // namespace muster::slurm
