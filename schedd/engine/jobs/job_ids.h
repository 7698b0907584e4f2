// JobIds: gives out the numbers of new jobs, each once. On the engine thread only.
#pragma once

#include "schedd/base/ids.h"

namespace muster {

class JobIds {
 public:
  JobId Next() { return JobId{++last_.value}; }
  /// `last`: the highest id that the database has given to a job.
  void Reset(JobId last) { last_ = last; }

 private:
  JobId last_;
};

}  // namespace muster
