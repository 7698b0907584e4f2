// The questions of SQL are asked together, of one snapshot; the world is read only once for all
// that need it.
#include "schedd/doctor/checks.h"

#include <algorithm>

#include "schedd/base/limits_doctor.h"
#include "schedd/doctor/quota_checks.h"
#include "schedd/store/pg/diagnosis.h"
#include "schedd/store/pg/statements_doctor.h"

namespace muster::doctor {
namespace {

constexpr Severity kOff = Severity::kOff, kNote = Severity::kNote;

// What every fault in rows has in common: nobody should edit them by hand.
constexpr const char* kRestore =
    "Stop the daemon, keep this database for a report, and restore the newest backup that "
    "`muster doctor` finds whole (docs/guide/backup-and-restore.md)";
constexpr const char* kRestart =
    "Restart the daemon: a recovery recomputes it and logs what it corrected; report the log";

}  // namespace

const std::vector<Check>& Checks() {
  namespace sql = pg::sql;
  static const std::vector<Check> checks = {
      {"schema", "", kOff, nullptr, nullptr,
       "Missing ones are applied by the start of this version's daemon; for unknown ones use the "
       "program that applied them, or go back with its `musterd migrate N`"},
      {"indexes", "I2", kOff, sql::kDoctorIndexes, nullptr,
       "Create it again as db/migrations has it; if that fails, its rows are off too"},
      {"settings", "I1", kOff, sql::kDoctorSettings, nullptr,
       "Set fsync, full_page_writes and synchronous_commit to on for this database and its roles"},
      {"standby", "I1", kNote, sql::kDoctorStandby, nullptr,
       "Where a server's loss must lose nothing: a synchronous standby "
       "(docs/guide/high-availability.md)"},
      {"lease", "I11", kOff, sql::kDoctorLease, nullptr, "Start a daemon on this database"},
      {"epochs", "I11", kOff, sql::kDoctorEpochs, nullptr,
       "Stop every daemon of this database, raise leader.epoch above the ended ones, start one"},
      {"restored", "", kNote, sql::kDoctorRestored, nullptr,
       "Look at the held jobs (`squeue -t PD`), release those that are to run, and collect the "
       "members (`muster cluster collect NAME`)"},
      {"accepted", "I1", kOff, sql::kDoctorAccepted, nullptr, kRestore},
      {"live_attempts", "I2", kOff, sql::kDoctorLiveAttempts, nullptr,
       "Cancel the job, look at both members for its pods, and submit it again"},
      {"attempt_rows", "I2", kOff, sql::kDoctorAttemptRows, nullptr, kRestart},
      {"quota_limits", "I3", kOff, nullptr, &OverQuota,
       "Requeue or cancel jobs of this queue until it fits, and report it"},
      {"quota_lowered", "I3", kNote, nullptr, &OverEditedQuota,
       "A quota that was lowered drains as its jobs end; `muster requeue` ends them sooner"},
      {"usage", "I4", kOff, nullptr, &WrongUsage, kRestart},
      {"events", "I5", kOff, sql::kDoctorEvents, nullptr, kRestore},
      {"versions", "I5", kOff, sql::kDoctorVersions, nullptr, kRestore},
      {"ends", "I5", kOff, sql::kDoctorEnds, nullptr, kRestore},
      {"attempts", "I8", kOff, sql::kDoctorAttempts, nullptr,
       "Reports over this time are wrong by these attempts: report it, and restore if it matters"},
      {"objects_ahead", "I9", kOff, sql::kDoctorAhead, nullptr,
       "Decide whether the object is to end, then `muster cluster collect MEMBER`: it is removed, "
       "and its job can be released"},
      {"lost_jobs", "I1", kOff, sql::kDoctorLostJobs, nullptr,
       "The job was accepted after the backup: save what it wrote, ask its owner to submit it "
       "again, then `muster cluster collect MEMBER`"},
      {"objects_left_alone", "I9", kNote, sql::kDoctorLeftAlone, nullptr,
       "Remove it on the member if nobody needs it"},
      {"uids", "I9", kOff, sql::kDoctorUids, nullptr, kRestart},
      {"stuck_attempts", "I9", kOff, sql::kDoctorStuck, nullptr,
       "Remove the foreign object, or cancel the job; for a quarantined attempt `muster cluster "
       "collect MEMBER`"},
      {"members_away", "I9", kNote, sql::kDoctorAway, nullptr,
       "Mend the member, or `muster cluster fence MEMBER` if nothing runs on it any more"},
      {"gangs", "I10", kOff, nullptr, &PartialGangs, "Requeue the job, and report it"},
      {"reasons", "I14", kOff, sql::kDoctorReasons, nullptr, kRestart},
      {"audit_chain", "", kOff, sql::kDoctorAudit, nullptr,
       "Somebody removed or changed rows: `muster audit --verify`, and compare with an export"},
  };
  return checks;
}

Result<std::vector<Finding>> Examine(const std::string& url, const AdmissionSettings& settings,
                                     bool expects_leader) {
  const Result<std::vector<std::string>> schema = pg::SchemaStanding(url);
  if (!schema.ok()) return schema.error();
  std::vector<const char*> questions;
  for (const Check& check : Checks()) {
    if (check.sql != nullptr) questions.push_back(check.sql);
  }
  const auto answers = pg::Ask(url, questions);
  if (!answers.ok()) return answers.error();
  const Result<StoredWorld> world = pg::ReadWorld(url);
  std::vector<Finding> findings;
  auto answer = answers->begin();
  for (const Check& check : Checks()) {
    Finding finding;
    finding.check = &check;
    if (check.sql != nullptr) {
      const Result<pg::Answer>& one = *answer++;
      const bool meant_so = check.sql == pg::sql::kDoctorLease && !expects_leader;
      if (!one.ok()) {
        finding.unasked = one.error().detail;
      } else if (!meant_so) {
        finding.what = one->texts;
        finding.count = one->count;
      }
    } else if (check.world == nullptr) {
      finding.what = *schema;
    } else if (world.ok()) {
      finding.what = check.world(*world, settings);
    } else {
      finding.unasked = world.error().detail;
    }
    finding.count = std::max(finding.count, static_cast<std::int64_t>(finding.what.size()));
    finding.what.resize(std::min(finding.what.size(), limits::kDoctorTexts));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace muster::doctor
