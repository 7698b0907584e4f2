// spec.strategy of a placement. A job is made once and never applied again, so rollout and apply
// strategies have nothing to do for it: their values are checked, and what would have to be done is
// refused.
#include <algorithm>

#include "schedd/shapes/placement_parts.h"

namespace muster::shapes {
namespace {

bool IsPercentage(std::string_view text) {
  if (!text.ends_with('%')) return false;
  text.remove_suffix(1);
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && (text == "100" || text.size() == 1 || text.size() == 2);
}

void CheckIntOrPercent(const Field& field) {
  if (!field.present()) return;
  constexpr char kRule[] = "must be a number of member clusters or a percentage such as 25%";
  if (const auto* text = field.value()->if_string()) {
    const std::string_view view(*text);
    const bool number =
        !view.empty() && view.size() < 10 &&
        std::all_of(view.begin(), view.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number && !IsPercentage(view)) field.Fail(kRule);
  } else if (field.value()->is_int64()) {
    (void)field.Count(0);
  } else {
    field.Fail(kRule);
  }
}

void CheckApplyStrategy(const Field& apply) {
  apply.OnlyMembers({"comparisonOption", "whenToApply", "type", "allowCoOwnership",
                     "serverSideApplyConfig", "whenToTakeOver"});
  const Field type = apply["type"];
  const auto way = type.OneOf({"ClientSideApply", "ServerSideApply", "ReportDiff"});
  if (way == "ReportDiff") type.Fail("ReportDiff is not supported by this version");
  (void)apply["whenToApply"].OneOf({"Always", "IfNotDrifted"});
  const Field comparison = apply["comparisonOption"];
  if (comparison.OneOf({"PartialComparison", "FullComparison"}) == "FullComparison")
    comparison.Fail("FullComparison is not supported by this version: it reports no drift");
  const Field shared = apply["allowCoOwnership"];
  if (shared.BoolOr(false))
    shared.Fail("is not supported by this version: a job's object is Muster's alone");
  const Field config = apply["serverSideApplyConfig"];
  config.OnlyMembers({"force"});
  (void)config["force"].Bool();
  if (config.present() && way != "ServerSideApply") config.Fail("is only for type ServerSideApply");
  const Field take = apply["whenToTakeOver"];
  const auto when = take.OneOf({"Always", "IfNoDiff", "Never"});
  if (when && when != "Never")
    take.Fail(std::string(*when) +
              " is not supported by this version: an object that Muster did not make is never "
              "taken over; leave this out or say Never");
}

void CheckReportBack(const Field& report) {
  if (report.Object() == nullptr) return;
  report.OnlyMembers({"type", "destination"});
  const Field type = report["type"];
  const Field destination = report["destination"];
  const auto way = type.OneOf({"Disabled", "Mirror"});
  const auto where = destination.OneOf({"OriginalResource", "WorkAPI"});
  if (way == "Mirror") {
    (void)destination.Require();
  } else {
    destination.Refuse("is only for type Mirror");
  }
  if (where == "WorkAPI")
    destination.Fail("WorkAPI is not supported: a job's status is told by the job itself");
}

}  // namespace

void CheckStrategy(const Field& strategy) {
  strategy.OnlyMembers(
      {"type", "rollingUpdate", "applyStrategy", "deleteStrategy", "reportBackStrategy"});
  const Field type = strategy["type"];
  if (type.OneOf({"RollingUpdate", "External"}) == "External")
    type.Fail("External, which is staged update runs, is not supported by this version");
  const Field rolling = strategy["rollingUpdate"];
  rolling.OnlyMembers({"maxUnavailable", "maxSurge", "unavailablePeriodSeconds"});
  CheckIntOrPercent(rolling["maxUnavailable"]);
  CheckIntOrPercent(rolling["maxSurge"]);
  (void)rolling["unavailablePeriodSeconds"].Count(0);
  CheckApplyStrategy(strategy["applyStrategy"]);
  const Field removal = strategy["deleteStrategy"];
  removal.OnlyMembers({"propagationPolicy"});
  const Field policy = removal["propagationPolicy"];
  if (policy.OneOf({"Delete", "Abandon"}) == "Abandon")
    policy.Fail(
        "Abandon is not supported by this version; leave it out: the end of a placement leaves its "
        "jobs as they are");
  CheckReportBack(strategy["reportBackStrategy"]);
}

}  // namespace muster::shapes
