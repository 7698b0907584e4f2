// JobList: parses the server's job list while it arrives and keeps only the members that rows show.
//
// The goal is 100,000 jobs in half a second for client and server together. So the answer (about a
// kilobyte a job) is never held as text or as a JSON tree: a SAX handler copies the strings that
// rows need into an arena.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/slurm/job_row.h"

namespace muster::slurm {

/// Memory for strings that live as long as the list; strings are never freed one by one.
class Arena {
 public:
  /// Copies `text` into the arena.
  std::string_view Keep(std::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t left_ = 0;
  char* at_ = nullptr;
};

/// Rows that may come from several answers.
class JobList {
 public:
  JobList();
  ~JobList();
  JobList(const JobList&) = delete;
  JobList& operator=(const JobList&) = delete;

  /// Parses one part of an answer, which is `{"items":[view, ...],"next_page_token":...}` or a
  /// single job view. False once the text is not JSON.
  bool Feed(std::string_view part);
  /// Ends an answer: true if it was complete. The rows stay, and Feed may begin another answer.
  bool Finish();

  std::vector<JobRow>& rows() { return rows_; }
  const std::string& next_page_token() const { return next_page_token_; }
  Arena& arena() { return arena_; }

 private:
  friend struct JobListHandler;
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::vector<JobRow> rows_;
  std::deque<JobExtra> extras_;  // rows point into it
  std::string next_page_token_;
  Arena arena_;
};

/// Reads every page of GET /v1/jobs with these filters into `list`.
client::Outcome<Done> FetchJobs(client::ApiClient& api, const client::Query& filters,
                                JobList* list);

/// Appends the job of GET /v1/jobs/{id} to `list`; false if there is no such job.
client::Outcome<bool> FetchJob(client::ApiClient& api, const std::string& id, JobList* list);

}  // namespace muster::slurm
