// The calls of the store as the group committer takes them: one of Accept, one of Commit. Internal
// to schedd/store/pg.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "schedd/model/audit_chain.h"
#include "schedd/store/pg/group_commit.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {

// What the writer gets is ready to be written; it makes no copies of the rows.
inline std::vector<AuditRow> BoundedRows(std::vector<AuditRow> rows) {
  for (AuditRow& row : rows) BoundAuditRow(&row);
  return rows;
}

/// One call of Store::Accept. Its units are the audit rows, if there are any, and then the jobs,
/// and
// each has its own outcome. The rows stand first, so that a group that is written in halves has
// them no later than the jobs.
class AcceptCall final : public WriteCall {
 public:
  AcceptCall(Epoch epoch, std::vector<NewJob> jobs, std::vector<AuditRow> audit,
             Callback<std::vector<Result<AcceptedJob>>> done)
      : epoch_(epoch),
        jobs_(std::move(jobs)),
        audit_(BoundedRows(std::move(audit))),
        done_(std::move(done)) {}

  Epoch epoch() const override { return epoch_; }
  std::size_t rows() const override { return jobs_.size(); }
  bool only_jobs() const override { return true; }
  std::vector<WriteUnit> Units() const override {
    std::vector<WriteUnit> units;
    units.reserve(jobs_.size() + 1);
    if (!audit_.empty()) units.emplace_back().audit = &audit_;
    for (const NewJob& job : jobs_) units.emplace_back().job = &job;
    return units;
  }
  void Answer(std::span<WriteUnit> units) override {
    // A failure of the database or of the lead hits every job alike: then the whole call fails.
    std::vector<Result<AcceptedJob>> answers;
    answers.reserve(units.size());
    for (WriteUnit& unit : units) {
      if (unit.job != nullptr) answers.push_back(std::move(*unit.accepted));
    }
    const auto whole = [](const Result<AcceptedJob>& answer) {
      return !answer.ok() &&
             (answer.error().code == Code::kAborted || answer.error().code == Code::kUnavailable ||
              answer.error().code == Code::kUnknown);
    };
    bool all = !answers.empty();
    for (const Result<AcceptedJob>& answer : answers) all = all && whole(answer);
    if (all) return done_(answers.front().error());
    // The database refuses the rows themselves, though their texts are bounded: no job was written.
    for (const WriteUnit& unit : units) {
      if (unit.noted && !unit.noted->ok())
        Log(LogLevel::kError, "store", "audit_not_written", {{"err", unit.noted->error().detail}});
    }
    done_(std::move(answers));
  }
  void Refuse(Error error) override { done_(std::move(error)); }

 private:
  const Epoch epoch_;
  const std::vector<NewJob> jobs_;
  const std::vector<AuditRow> audit_;
  const Callback<std::vector<Result<AcceptedJob>>> done_;
};

/// One call of Store::Commit: one unit.
class CommitCall final : public WriteCall {
 public:
  CommitCall(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done)
      : epoch_(epoch), commit_(std::move(commit)), done_(std::move(done)) {
    commit_.audit = BoundedRows(std::move(commit_.audit));
  }

  Epoch epoch() const override { return epoch_; }
  std::size_t rows() const override { return 1; }
  bool only_jobs() const override { return false; }
  std::vector<WriteUnit> Units() const override {
    std::vector<WriteUnit> units(1);
    units[0].commit = &commit_;
    return units;
  }
  void Answer(std::span<WriteUnit> units) override { done_(std::move(*units[0].committed)); }
  void Refuse(Error error) override { done_(std::move(error)); }

 private:
  const Epoch epoch_;
  PlanCommit commit_;
  const Callback<CommitVersion> done_;
};

}  // namespace muster::pg
