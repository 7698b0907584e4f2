// Columns: what PostgreSQL would give back of the records that are written. The store in memory
// keeps records as they are; the real one keeps columns, some of them JSON texts (schedd/store/pg/
// row_json.h), and of what a job was submitted with only what an update names as changed. So a
// field that has no column, or that is not named, is seen at the next restart. One thread.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "schedd/store/store.h"
#include "tests/sim/stage.h"

namespace muster::sim {

class Columns {
 public:
  explicit Columns(Stage& stage) : stage_(stage) {}

  /// The record of a new job as it is read back.
  JobPtr Accepted(const JobPtr& job);
  /// The records of a change as they are read back.
  void ReadBack(PlanCommit* commit);
  /// The change has taken effect: what it names as respecified is in the row from now on.
  void Keep(const PlanCommit& commit);

 private:
  template <class T>
  using Ptr = std::shared_ptr<const T>;
  // The same value is not written and read again: by what was written, with what was read. Both
  // live as long as the world, so that no address is used twice.
  template <class T>
  using Known = std::map<Ptr<T>, Ptr<T>>;
  template <class T, class ToText, class Parse>
  Ptr<T> Through(Known<T>* known, const Ptr<T>& value, ToText to_text, Parse parse);
  JobPtr Row(const JobRecord& submitted, const JobRecord& state);
  void Specify(const JobRecord& job, JobRecord* row);

  Stage& stage_;
  std::map<Uid, JobPtr> submitted_;  // the rows of table jobs
  Known<PodSets> pod_sets_;
  Known<BatchDetails> batches_;
  Known<JobPlacement> placements_;
  Known<Admission> admissions_;
  Known<std::vector<Condition>> conditions_;
};

}  // namespace muster::sim
