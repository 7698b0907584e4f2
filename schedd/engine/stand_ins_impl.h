// Engine::Impl::StandIns: keeps the stand-ins of all jobs in step with their records, and carries
// out what is decided of them. On the engine thread only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins.h"

namespace muster {

/// What was found of the variants of one job (KEP-8691), by slot, and whose gates are open.
struct VariantNotes {
  bool holds = false;  // the job held quota then
  std::map<std::size_t, std::pair<Reason, std::string>> found;
  std::set<std::size_t> blocked, open;  // they would have to preempt; they may
  WallTime next;                        // when the next gate may be opened
};

struct Engine::Impl::StandIns {
  explicit StandIns(Impl& engine_in) : engine(engine_in) {}

  // stand_ins.cc
  void Clear();
  /// Called with every record that is put: the queue hears of new entries when they are durable,
  /// and of those that go at once.
  void Sync(const JobPtr& job);
  /// Of a job that is durable as it is: accepted, or read by recovery.
  void Queue(const JobPtr& job);
  /// A configuration may have given a queue other flavors.
  void Resync();
  /// What was found of a stand-in is shown with its job.
  void Note(const core::NotAdmitted& waiting);
  void QueueWhenDurable(JobId stand_in);

  // elastic.cc
  Result<JobPtr> Replace(const ReplaceJobCommand& command);
  Status Resize(JobRecord* job, const ReplaceJobCommand& command);
  void NoteSlice(const JobPtr& job, const core::NotAdmitted& waiting);
  void AdmitSlice(const core::Admit& admit);
  void ResizeWhenDurable(const JobRecord& job);
  void SendResize(JobId id);
  void NoteResized(const EnsuredCommand& answer);

  // variants.cc
  std::set<std::size_t> OpenGates(const JobRecord& job);
  void NoteVariant(const JobPtr& job, const core::NotAdmitted& waiting);
  void OpenNextGate(const JobPtr& job);
  /// Opens the gates whose time has come; false if there were none.
  bool FireGates();
  WallTime NextGate() const { return gate_times.empty() ? WallTime{} : gate_times.begin()->first; }

  Impl& engine;
  std::map<JobId, std::vector<JobPtr>> by_job;  // the entries of each; also in engine.live.pending
  std::map<JobId, VariantNotes> variant_notes;  // by the job
  std::set<std::pair<WallTime, JobId>> gate_times;  // when a further variant may preempt
};

}  // namespace muster
