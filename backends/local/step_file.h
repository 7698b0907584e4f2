// StepFile: reads steps.jsonl of an attempt's directory `steps`, line by line, as it grows.
//
// Directory and file belong to the job's user, who may put anything in their place: no link is
// followed, only a regular file of that user is read, never more than limits_slurm_world.h allows.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schedd/model/step.h"

namespace muster::local {

class StepFile {
 public:
  /// `dir`: absolute; `owner`: the user whom the file must belong to.
  StepFile(std::string dir, uid_t owner) : dir_(std::move(dir)), owner_(owner) {}

  /// Complete lines since the last call, in order, at most kStepReadBytes of them. Lines that are
  /// no steps are skipped and counted. Sets `more` if there is more to read now.
  std::vector<StepRecord> ReadOn(bool* more);
  /// Begins again at the first line.
  void Rewind() { offset_ = 0; }
  /// Lines that were skipped since the object was made.
  std::int64_t skipped() const { return skipped_; }

 private:
  std::string dir_;
  uid_t owner_;
  std::int64_t offset_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace muster::local
