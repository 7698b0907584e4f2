// WriteUnit: what the writing thread writes, and the answer to it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "schedd/store/store.h"

namespace muster::pg {

/// The smallest item that succeeds or fails on its own: one new job, one PlanCommit, or the audit
/// rows of new jobs. Exactly one of `job`, `commit` and `audit` is set; afterwards the outcome that
/// belongs to it is set too.
struct WriteUnit {
  const NewJob* job = nullptr;
  const PlanCommit* commit = nullptr;
  const std::vector<AuditRow>* audit = nullptr;
  std::optional<Result<AcceptedJob>> accepted;
  std::optional<Result<CommitVersion>> committed;
  std::optional<Status> noted;  // of `audit`

  bool answered() const {
    return accepted.has_value() || committed.has_value() || noted.has_value();
  }
  void Fail(const Error& error);
};

/// Fails the jobs at `begin`, up to the next rows or plan, if the audit rows that stand before them
/// could not be written: nothing is done that the trail does not have. The units before `begin` are
/// answered.
void FailUnnoted(std::span<WriteUnit> units, std::size_t begin);

}  // namespace muster::pg
