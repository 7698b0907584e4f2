// spec.strategy of a placement: how its configuration objects reach members (rules P21, P25).
//
// A job is created once and never applied again. A placement that selects only jobs may still have
// a strategy: its values are checked, and those that would change what happens to a job are
// refused, because nothing would carry them out.
#include <algorithm>
#include <charconv>

#include "schedd/shapes/config/placement_parts.h"

namespace muster::shapes {
namespace {

// The text of a number or of a percentage; nullopt if it is neither. A percentage is at most 100;
// "050%" is none.
std::optional<CountOrPercent> ParseCount(std::string_view text) {
  CountOrPercent count;
  count.percent = text.ends_with('%');
  if (count.percent) text.remove_suffix(1);
  const bool digits =
      !text.empty() && text.size() <= (count.percent ? 3 : 9) &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return std::nullopt;
  std::from_chars(text.data(), text.data() + text.size(), count.value);
  if (count.percent && (count.value > 100 || (text.size() == 3 && count.value < 100)))
    return std::nullopt;
  return count;
}

// A Kubernetes IntOrString: a number, or a text that ParseCount reads.
CountOrPercent ReadIntOrPercent(const Field& field, CountOrPercent otherwise) {
  if (!field.present()) return otherwise;
  constexpr char kRule[] = "must be a number of member clusters or a percentage such as 25%";
  if (const auto* text = field.value()->if_string()) {
    const auto count = ParseCount(std::string_view(*text));
    if (!count) field.Fail(kRule);
    return count.value_or(otherwise);
  }
  if (field.value()->is_int64()) return {field.CountOr(otherwise.value, 0), false};
  field.Fail(kRule);
  return otherwise;
}

RollingUpdate ReadRollingUpdate(const Field& rolling) {
  rolling.OnlyMembers({"maxUnavailable", "maxSurge", "unavailablePeriodSeconds"});
  RollingUpdate read;
  read.max_unavailable = ReadIntOrPercent(rolling["maxUnavailable"], read.max_unavailable);
  read.max_surge = ReadIntOrPercent(rolling["maxSurge"], read.max_surge);
  read.unavailable_period_s =
      rolling["unavailablePeriodSeconds"].Count(0).value_or(read.unavailable_period_s);
  return read;
}

// Refuses the values of an apply strategy that have no meaning for jobs. `takes_over`:
// whenToTakeOver is given and not Never.
void RefuseForJobs(const Field& apply, const ApplyStrategy& read, bool takes_over) {
  if (read.type == ApplyType::kReportDiff) {
    apply["type"].Fail(
        "ReportDiff is only for configuration objects: a job that is not made does not run");
  }
  if (read.full_comparison) {
    apply["comparisonOption"].Fail(
        "FullComparison is only for configuration objects: a job's object is not compared");
  }
  if (read.allow_co_ownership) {
    apply["allowCoOwnership"].Fail(
        "is only for configuration objects: a job's object is Muster's alone");
  }
  if (takes_over) {
    apply["whenToTakeOver"].Fail(
        std::string(apply["whenToTakeOver"].StringOr("")) +
        " is only for configuration objects: of a job, an object that Muster did not make is never "
        "taken over; leave this out or say Never");
  }
}

ApplyStrategy ReadApplyStrategy(const Field& apply, bool jobs_alone) {
  apply.OnlyMembers({"comparisonOption", "whenToApply", "type", "allowCoOwnership",
                     "serverSideApplyConfig", "whenToTakeOver"});
  ApplyStrategy read;
  const Field type = apply["type"];
  const auto way = type.OneOf({"ClientSideApply", "ServerSideApply", "ReportDiff"});
  if (way == "ServerSideApply") read.type = ApplyType::kServerSide;
  if (way == "ReportDiff") read.type = ApplyType::kReportDiff;
  read.if_not_drifted = apply["whenToApply"].OneOf({"Always", "IfNotDrifted"}) == "IfNotDrifted";
  read.full_comparison =
      apply["comparisonOption"].OneOf({"PartialComparison", "FullComparison"}) == "FullComparison";
  read.allow_co_ownership = apply["allowCoOwnership"].BoolOr(false);
  const Field config = apply["serverSideApplyConfig"];
  config.OnlyMembers({"force"});
  read.force_conflicts = config["force"].BoolOr(false);
  if (config.present() && way != "ServerSideApply" && (way || !type.present()))
    config.Fail("is only for type ServerSideApply");
  const auto when = apply["whenToTakeOver"].OneOf({"Always", "IfNoDiff", "Never"});
  if (when == "IfNoDiff") read.take_over = TakeOver::kIfNoDiff;
  if (when == "Never") read.take_over = TakeOver::kNever;
  if (jobs_alone) RefuseForJobs(apply, read, when && when != "Never");
  return read;
}

// reportBackStrategy is only checked: the status of a job is always brought back.
void CheckReportBack(const Field& report, bool jobs_alone) {
  if (report.Object() == nullptr) return;
  report.OnlyMembers({"type", "destination"});
  const Field type = report["type"];
  const Field destination = report["destination"];
  const auto way = type.OneOf({"Disabled", "Mirror"});
  const auto where = destination.OneOf({"OriginalResource", "WorkAPI"});
  if (way == "Mirror" && !jobs_alone) {
    type.Fail(
        "Mirror is only for jobs: how configuration objects fare on each member is told in the "
        "placement's status");
    return;
  }
  if (way == "Mirror") {
    (void)destination.Require();
  } else {
    destination.Refuse("is only for type Mirror");
  }
  if (way == "Mirror" && where == "WorkAPI")
    destination.Fail("WorkAPI is not supported: a job's status is told by the job itself");
}

}  // namespace

void ReadStrategy(const Field& strategy, Placement* placement) {
  const auto& selectors = placement->selectors;
  const bool jobs_alone = !selectors.empty() && std::all_of(selectors.begin(), selectors.end(),
                                                            [](const ResourceSelector& selector) {
    return IsPlacedJob(selector.group, selector.kind);
  });
  strategy.OnlyMembers(
      {"type", "rollingUpdate", "applyStrategy", "deleteStrategy", "reportBackStrategy"});
  const Field type = strategy["type"];
  if (type.OneOf({"RollingUpdate", "External"}) == "External")
    type.Fail("External, which is staged update runs, is not supported by this version");
  placement->rollout = ReadRollingUpdate(strategy["rollingUpdate"]);
  placement->apply = ReadApplyStrategy(strategy["applyStrategy"], jobs_alone);
  const Field removal = strategy["deleteStrategy"];
  removal.OnlyMembers({"propagationPolicy"});
  const Field policy = removal["propagationPolicy"];
  placement->abandon = policy.OneOf({"Delete", "Abandon"}) == "Abandon";
  if (placement->abandon && jobs_alone) {
    policy.Fail(
        "Abandon is only for configuration objects; leave it out: the end of a placement leaves "
        "its jobs as they are");
  }
  CheckReportBack(strategy["reportBackStrategy"], jobs_alone);
}

}  // namespace muster::shapes
