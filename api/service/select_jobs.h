// All jobs that pass a filter, for tables that order, search and count them.
#pragma once

#include <memory>
#include <vector>

#include "api/service/ended_jobs.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// The jobs are those of a view, of a list of ended jobs, or of `own`; the selection keeps all
/// three, so that nothing is copied. May be moved, not copied.
struct JobSelection {
  std::vector<const JobPtr*> jobs;  // by number
  WorldViewPtr view;
  std::shared_ptr<const EndedJobs::List> ended;
  std::vector<JobPtr> own;

  JobSelection() = default;
  JobSelection(JobSelection&&) = default;
  JobSelection& operator=(JobSelection&&) = default;
};

}  // namespace muster::api
