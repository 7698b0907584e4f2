// How a change of one record reaches everything that follows from it.
//
// Put is the only way a record changes in substance. In this order: it writes the event and stamps
// its number into the record as resource version; it notes which pairs of quota the change charges
// or frees (TouchCharges); it moves the ledger, the holders, the placed jobs, the queue and all
// followers from the record before to the record after (Change); it takes the rows of admission
// fair sharing; and it writes the row with the open transaction.
//
// PutSoft is for reasons, messages and counts. They change with every heartbeat of a member, so
// they are shown in the view at once and written later, when another commit leaves anyway
// (AddLazyRows); losing them in a crash loses nothing that recovery would not find again.
#include "schedd/engine/live/live_jobs.h"

#include <algorithm>
#include <limits>

#include "schedd/base/fault_points.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/live/wakes.h"
#include "schedd/lifecycle/holder_of.h"
#include "schedd/lifecycle/step_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"

namespace muster {
namespace {

// How many records of PutSoft one commit takes along.
constexpr std::size_t kLazyRows = 512;

bool Holds(const JobRecord& job) { return job.admission != nullptr && HoldsQuota(job.state); }

}  // namespace

LiveJobs::LiveJobs(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
                   const KnownMembers& members, WaitingJobs& waiting)
    : context_(context), commits_(commits), config_(config), members_(members), waiting_(waiting) {
  Reset(core::QuotaTree::Build(*config_.view()), {});
}

void LiveJobs::Reset(const core::QuotaTreePtr& tree, const std::vector<FairUseRow>& fair_use) {
  jobs_.clear();
  lazy_.clear();
  uses_.clear();
  pending_news_.Clear();
  planned_ = Ledger(tree, context_.options.settings);
  holders_ = core::Holders(tree);
  placed_.Clear();
  placed_.Configure(config_.view(), jobs_);
  fair_ = FairUseTracker(context_.options.settings);
  fair_.RestoreRows(fair_use);
  next_fair_sample_ = context_.clock.Now();
}

JobPtr LiveJobs::Find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

// The record is durable already (accepted or loaded): nothing is written, and the job is queued at
// once.
void LiveJobs::Enter(const JobPtr& job) {
  jobs_[job->id] = job;
  planned_.Move(nullptr, job.get());
  placed_.Move(nullptr, job);
  fair_.Adopt(*config_.view(), *job);
  if (Holds(*job)) holders_.Put(HolderOf(tree(), context_.settings(), job));
  if (changes::MayQueue(*job)) waiting_.Add(job);
  for (JobFollower* follower : followers_) follower->Enter(job);
}

// Its row is written with its transaction, and what follows for it in the same step with it. It is
// queued when it is durable, if it still waits then.
void LiveJobs::Create(const JobPtr& job) {
  jobs_[job->id] = job;
  planned_.Move(nullptr, job.get());
  placed_.Move(nullptr, job);
  fair_.Adopt(*config_.view(), *job);
  commits_.tx().new_jobs[job->id] = job;
  commits_.tx().jobs[job->id] = job;
  commits_.tx().news.push_back(
      {job->accept_seq, job->submit_time, "JobAccepted", job->id, ObjectName(*job), "", ""});
  if (changes::MayQueue(*job)) commits_.tx().to_queue.push_back(job->id);
  for (JobFollower* follower : followers_) follower->Enter(job);
}

// `before` is a copy of the caller's pointer, which may be the table's own and is then replaced
// here. The row in the transaction carries the soft changes too, so none is owed any more. A change
// of substance makes the next reason news again (PendingNews).
JobPtr LiveJobs::Put(JobPtr before, changes::Draft after, const char* event) {
  after->resource_version = commits_.AddEvent(
      event, after->id, ObjectName(*after), std::string(ReasonName(after->reason)), after->message);
  const JobPtr job = std::move(after);
  TouchCharges(*before, *job);
  Change(before, job);
  PutFairUse();
  commits_.tx().jobs[job->id] = job;
  lazy_.erase(job->id);
  if (std::string_view(event) != kPendingEvent) pending_news_.Forget(job->id);
  if (MUSTER_PLANTED(view_before_commit)) commits_.Show(job);
  return job;
}

// Four cases: the record takes quota; it gives all of it back; or it goes on holding and charges
// another amount (reclaimable pods, an elastic size), or holds its room on another member, which
// frees the room where it was. If a dispatched job gives its quota back, its attempt has ended, and
// its line of accounting is written with it.
void LiveJobs::TouchCharges(const JobRecord& before, const JobRecord& after) {
  const bool held = Holds(before), holds = Holds(after);
  if (!held && holds) commits_.tx().Touch(*after.admission);
  const bool frees = held && !holds;
  const bool moves = held && holds && before.cluster != after.cluster;
  if (!frees && !moves && !(held && holds && ChargesOther(before, after))) return;
  waiting_.NoteReleased(before.admission->cluster_queue);
  if (!MUSTER_PLANTED(usage_row_not_written)) commits_.tx().Touch(*before.admission);
  if (frees && IsDispatched(before.state) && !MUSTER_PLANTED(attempt_not_accounted)) {
    AttemptRecord& closed = commits_.tx().attempts[{before.id, before.attempt}];
    closed = changes::ClosedAttempt(before, after, context_.clock.WallNow());
    if (const auto use = uses_.extract(before.id)) closed.use = use.mapped();
    if (MUSTER_PLANTED(attempt_left_open)) closed.end_time = {};
  }
}

// Shared pointers that are equal spare the comparison in nearly all cases.
bool LiveJobs::ChargesOther(const JobRecord& before, const JobRecord& after) const {
  if (before.admission == after.admission && before.admission_state == after.admission_state)
    return false;
  return *ChargedAdmission(before, context_.settings()) !=
         *ChargedAdmission(after, context_.settings());
}

// A job that starts to wait is queued when the change is durable (Owners::OnDurable); one that
// stops waiting leaves its queue at once.
void LiveJobs::Change(const JobPtr& before, const JobPtr& job) {
  planned_.Move(before.get(), job.get());
  if (Holds(*before) || Holds(*job)) TrackHolder(*before, job, Holds(*job));
  placed_.Move(before.get(), job);
  const bool waited = changes::MayQueue(*before);
  const bool waits = changes::MayQueue(*job);
  if (waited && !waits && !MUSTER_PLANTED(held_job_stays_queued)) waiting_.Remove(job->id);
  if (!waited && waits && !MUSTER_PLANTED(requeued_job_not_queued))
    commits_.tx().to_queue.push_back(job->id);
  if (waited && waits && changes::OtherToQueue(*before, *job) && waiting_.Contains(job->id))
    waiting_.Add(job);
  jobs_[job->id] = job;
  for (JobFollower* follower : followers_) follower->Change(*before, job);
  fair_.Move(*config_.view(), *before, *job, context_.clock.WallNow());
}

// Keeps the index of holders in which searches for victims look (rule A35). A job on a lost member
// is not in it: its pods cannot be proven gone, so nobody could have its quota. A holder that would
// be equal is not made again.
void LiveJobs::TrackHolder(const JobRecord& before, const JobPtr& after, bool holds) {
  const core::HolderPtr* known = holders_.Find(after->id);
  // No search may choose a victim on a member that does not answer.
  if (!holds || members_.IsOnLostMember(*after)) return holders_.Erase(after->id);
  const bool same = known != nullptr && before.conditions == after->conditions &&
                    before.reason == after->reason && before.admission == after->admission &&
                    before.admission_state == after->admission_state &&
                    before.priority == after->priority &&
                    before.priority_boost == after->priority_boost;
  if (same) return;
  holders_.Put(HolderOf(tree(), context_.settings(), after));
}

// The live record and the committed record may differ (a commit is on its way); `change` is applied
// to each, so the view never shows what is not durable. A row that is already in the open
// transaction is replaced by the newer record.
void LiveJobs::PutSoft(JobPtr before, const SoftChange& change, bool persist) {
  JobPtr next = change(*before);
  if (next == nullptr) return;
  const JobPtr shown = commits_.committed().jobs.Find(before->id);
  jobs_[next->id] = next;
  for (JobFollower* follower : followers_) follower->ChangeSoft(next);
  if (persist) lazy_.insert(next->id);
  auto& rows = commits_.tx().jobs;
  if (const auto row = rows.find(next->id); row != rows.end()) row->second = next;
  if (shown == nullptr) return;
  JobPtr show = shown == before ? next : JobPtr(change(*shown));
  if (show != nullptr) commits_.Show(show);
}

void LiveJobs::NoteUse(JobId id, const MeasuredUse& use) {
  if (use == MeasuredUse{}) return;
  MeasuredUse& known = uses_[id];
  known = changes::MostOf(known, use);
}

// Only ended jobs leave. Holders and placed jobs dropped them when they ended.
void LiveJobs::Leave(const JobPtr& job) {
  const JobId id = job->id;
  planned_.Move(job.get(), nullptr);
  lazy_.erase(id);
  uses_.erase(id);
  pending_news_.Forget(id);
  for (JobFollower* follower : followers_) follower->Leave(id);
  jobs_.erase(id);
}

// Rows join a commit that leaves anyway, or make one if nothing is on its way. A reason that was
// news within the last minute is kept back (PendingNews).
void LiveJobs::AddLazyRows() {
  for (const JobId id : pending_news_.TakeDue(context_.clock.Now())) lazy_.insert(id);
  if (lazy_.empty() || (commits_.tx().Empty() && !commits_.Idle())) return;
  const std::size_t rows = std::min(kLazyRows, commits_.Room());
  for (std::size_t i = 0; i < rows && !lazy_.empty();) {
    const JobId id = *lazy_.begin();
    lazy_.erase(lazy_.begin());
    const JobPtr job = Find(id);
    if (job == nullptr) continue;
    const bool waits = job->state == JobState::kPending;
    if (waits && !pending_news_.Tell(id, job->reason, context_.clock.Now())) continue;
    Put(job, std::make_shared<JobRecord>(*job), waits ? kPendingEvent : "JobUpdated");
    ++i;
  }
}

void LiveJobs::EraseHolder(JobId id) {
  if (holders_.Find(id) != nullptr) holders_.Erase(id);
}

// Jobs of this member were left out by TrackHolder or EraseHolder while it was away.
void LiveJobs::ReturnHolders(const std::string& cluster) {
  for (const auto& [id, job] : jobs_) {
    if (job->cluster == cluster && Holds(*job))
      holders_.Put(HolderOf(tree(), context_.settings(), job));
  }
}

// Another quota tree has other indices, so everything is counted from the records. All pairs of all
// holders are touched: some may have left the quotas and others come into them.
void LiveJobs::Recount(const core::QuotaTreePtr& tree) {
  Ledger planned(tree, context_.options.settings);
  core::Holders holders(tree);
  for (const auto& [id, job] : jobs_) {
    planned.Move(nullptr, job.get());
    if (!Holds(*job)) continue;
    holders.Put(HolderOf(*tree, context_.settings(), job));
    // Its pairs may have left the quotas, or come into them.
    commits_.tx().Touch(*job->admission);
  }
  planned_ = std::move(planned);
  holders_ = std::move(holders);
}

// Histories change with reservations, samples and edits; each of these writes them.
void LiveJobs::PutFairUse() {
  if (!fair_.on()) return;
  for (FairUseRow& row : fair_.TakeRows()) {
    std::pair key(row.ns, row.local_queue);
    commits_.tx().fair_use[std::move(key)] = std::move(row);
  }
}

// Every sampling interval (rule A42).
bool LiveJobs::FireFairSample() {
  const Monotonic now = context_.clock.Now();
  if (!fair_.on() || now < next_fair_sample_) return false;
  next_fair_sample_ = now + SecondsToNanos(fair_.interval_s());
  fair_.Sample(*config_.view(), context_.clock.WallNow());
  PutFairUse();
  commits_.MarkChanged();
  return true;
}

Monotonic LiveJobs::NextFairSample() const {
  return fair_.on() ? next_fair_sample_ : Monotonic{std::numeric_limits<std::int64_t>::max()};
}

void LiveJobs::ConfigureFairUse() {
  fair_.Configure(*config_.view(), context_.clock.WallNow());
  PutFairUse();
}

std::vector<core::ClusterView> LiveJobs::Clusters() {
  auto clusters = planned_.Clusters(*config_.view(), members_.facts());
  AddStarting(&clusters);
  return clusters;
}

// Without machines a member's room is a sum, and the ledger charges starting jobs there already.
void LiveJobs::AddStarting(std::vector<core::ClusterView>* clusters) {
  for (core::ClusterView& view : *clusters) {
    if (view.member.machines != nullptr) view.starting = placed_.StartingOn(view.member.name);
  }
}

// A change of one job's priority or gates may free or contest quota anywhere in its tree (rule
// A16).
void LiveJobs::WakeTreeAfterCommit(const std::string& cluster_queue) {
  AddTree({*config_.view(), tree()}, cluster_queue, &commits_.tx().wakes);
}

}  // namespace muster
