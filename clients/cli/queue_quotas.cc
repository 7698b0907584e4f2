// Reads quotas and their use from a ClusterQueue: the quotas are in spec.resourceGroups, the use in
// status.flavorsUsage, matched by flavor and resource.
#include "clients/cli/queue_quotas.h"

#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

using client::PathText;

// The use of a flavor's resource in the status; null if the status does not list it.
const json::value* UseOf(const json::value& queue, const std::string& flavor,
                         const std::string& resource) {
  for (const json::value& one : ArrayOrEmpty(queue, {"status", "flavorsUsage"})) {
    if (PathText(one, "name") != flavor) continue;
    for (const json::value& use : ArrayOrEmpty(one, "resources"))
      if (PathText(use, "name") == resource) return &use;
  }
  return nullptr;
}

std::string AmountOf(const json::value* use, const char* member) {
  const std::string text = use == nullptr ? "" : PathText(*use, member);
  return text.empty() ? "0" : text;
}

}  // namespace

std::vector<QueueQuota> QuotasOf(const json::value& queue) {
  std::vector<QueueQuota> out;
  for (const json::value& group : ArrayOrEmpty(queue, {"spec", "resourceGroups"})) {
    for (const json::value& flavor : ArrayOrEmpty(group, "flavors")) {
      for (const json::value& resource : ArrayOrEmpty(flavor, "resources")) {
        QueueQuota quota{PathText(flavor, "name"), PathText(resource, "name"),
                         PathText(resource, "nominalQuota"), "", ""};
        const json::value* use = UseOf(queue, quota.flavor, quota.resource);
        quota.used = AmountOf(use, "total");
        quota.borrowed = AmountOf(use, "borrowed");
        out.push_back(std::move(quota));
      }
    }
  }
  return out;
}

std::string QuotaTexts(const json::value& queue, std::string QueueQuota::*member, bool zeros) {
  std::string out, flavor;
  for (const QueueQuota& quota : QuotasOf(queue)) {
    if (!zeros && quota.*member == "0") continue;
    const bool same = !out.empty() && quota.flavor == flavor;
    flavor = quota.flavor;
    out += same ? "," : (out.empty() ? "" : ";") + flavor + ":";
    out += quota.resource + "=" + quota.*member;
  }
  return out;
}

}  // namespace muster::cli
