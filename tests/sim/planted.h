// The bugs that the product's code can be told to have (MUSTER_PLANTED). Each breaks one rule; the
// simulation must notice each of them.
#pragma once

#include <string_view>

namespace muster::sim {

struct PlantedBug {
  const char* name;
  const char* rule;  // what it breaks
};

inline constexpr PlantedBug kPlantedBugs[] = {
    {"reply_before_commit", "a client is answered before its change is durable"},
    {"failed_accept_answered", "a submission that failed is answered as a success"},
    {"unknown_taken_for_success", "a commit with a warning or a lost answer counts as durable"},
    {"orders_before_commit", "members are asked before the attempt is on record"},
    {"orders_without_permit", "a leader that was replaced goes on giving orders"},
    {"stale_epoch_accepted", "the store takes a write of a leader that was replaced"},
    {"view_before_commit", "the view shows what is not durable"},
    {"event_number_repeated", "two events have one number"},
    {"idempotency_key_ignored", "a repeated submission makes a second job"},
    {"lost_wake_up", "quota that came free wakes nobody"},
    {"room_wakes_no_preemptor", "room that came free elsewhere does not wake who has it made"},
    {"edit_wakes_nobody", "an edit that gives quota wakes nobody"},
    {"requeued_job_not_queued", "an evicted job is not put into its queue again"},
    {"held_job_stays_queued", "a held job is still decided on"},
    {"double_release", "an end gives its quota back twice"},
    {"quota_kept_by_evicted", "an eviction gives no quota back"},
    {"room_not_freed", "an end gives no room on its member back"},
    {"usage_row_not_written", "stored usage does not follow an end"},
    {"gang_in_part", "a job is admitted without one of its pod sets"},
    {"attempt_not_accounted", "an attempt ends without a record"},
    {"attempt_left_open", "an attempt's record has no end"},
    {"attempt_number_reused", "the second attempt has the number of the first"},
    {"attempt_row_forgotten", "a job is admitted and no attempt is on record"},
    {"name_not_given_up", "an attempt that is over keeps the object's name"},
    {"uid_not_recorded", "an object is released whose uid is not on record"},
    {"absence_taken_for_loss", "an object that a list lacks counts as gone"},
    {"no_answer_taken_for_gone", "an object that cannot be asked for counts as gone"},
    {"revoked_taken_for_stopped", "an attempt counts as over when its removal is ordered"},
    {"failed_removal_taken_for_done", "a removal that failed counts as done"},
    {"ended_attempt_taken_up", "an ended attempt takes part again"},
    {"intent_not_redriven", "after a restart attempts in Intent are forgotten"},
    {"removal_not_redriven", "after a restart removals are forgotten"},
    {"calls_of_one_key_overlap", "two calls about one attempt are under way at once"},
    {"policy_wait_ignored", "a silent member's attempts are started elsewhere under `wait`"},
    {"dependency_ignored", "a dependent does not wait for its parent"},
    {"end_on_its_way_asked",
     "a dependent believes the store about an end that is on its way there"},
    {"dependents_not_told", "an end tells no dependent"},
    {"array_task_lost", "a start takes two tasks off an array"},
    {"array_limit_ignored", "%N of an array is not kept"},
    {"back_off_never_ends", "a job that backs off is never tried again"},
    {"stored_dependencies_dropped", "a script is read from its columns without its dependencies"},
    {"last_task_not_respecified", "an array's last task is not written into the array's row"},
    {"unadmitted_member_chosen", "a member gets a job that its own queue has not admitted"},
    {"copies_not_collected", "copies stay in members' queues that no job needs any more"},
};

}  // namespace muster::sim
