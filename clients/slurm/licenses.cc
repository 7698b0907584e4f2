#include "clients/slurm/licenses.h"

#include <map>
#include <string_view>
#include <utility>

#include "clients/lib/job_view.h"
#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kLicense = "license/";

// The amount of a resource that is a licence; 0 for any other.
std::int64_t LicenseAmount(const json::value& resource, const char* member, std::string* name) {
  const std::string whole = client::PathText(resource, "name");
  if (!whole.starts_with(kLicense)) return 0;
  *name = whole.substr(kLicense.size());
  const Result<std::int64_t> amount = ParseQuantity(whole, client::PathText(resource, member));
  return amount.ok() ? *amount : 0;
}

}  // namespace

client::Outcome<std::vector<LicenseInfo>> FetchLicenses(client::ApiClient& api) {
  const client::Outcome<json::value> queues = api.Get("/apis/kueue.x-k8s.io/v1beta1/clusterqueues");
  if (!queues.ok() && queues.failure().status == 403) return std::vector<LicenseInfo>();
  if (!queues.ok()) return queues.failure();
  // By pool and name.
  std::map<std::pair<std::string, std::string>, LicenseInfo> pools;
  std::string name;
  for (const json::value& queue : ArrayOrEmpty(*queues, "items")) {
    std::string pool = client::PathText(queue, "spec.cohort");
    if (pool.empty()) pool = "/" + client::PathText(queue, "metadata.name");
    for (const json::value& group : ArrayOrEmpty(queue, {"spec", "resourceGroups"})) {
      for (const json::value& flavor : ArrayOrEmpty(group, "flavors")) {
        for (const json::value& one : ArrayOrEmpty(flavor, "resources")) {
          name.clear();
          const std::int64_t total = LicenseAmount(one, "nominalQuota", &name);
          if (!name.empty()) pools[{pool, name}].total += total;
        }
      }
    }
    for (const json::value& flavor : ArrayOrEmpty(queue, {"status", "flavorsUsage"})) {
      for (const json::value& one : ArrayOrEmpty(flavor, "resources")) {
        name.clear();
        const std::int64_t used = LicenseAmount(one, "total", &name);
        if (!name.empty()) pools[{pool, name}].used += used;
      }
    }
  }
  std::map<std::string, LicenseInfo> largest;
  for (const auto& [key, info] : pools) {
    LicenseInfo& best = largest[key.second];
    if (best.name.empty() || info.total > best.total) best = {key.second, info.total, info.used};
  }
  std::vector<LicenseInfo> out;
  for (const auto& [key, info] : largest) out.push_back(info);
  return out;
}

std::string ShowLicenses(const std::vector<LicenseInfo>& licenses, bool one_line) {
  if (licenses.empty()) return "No licenses configured in Slurm.\n";
  std::string out;
  for (const LicenseInfo& one : licenses) {
    out += "LicenseName=" + one.name + (one_line ? " " : "\n    ") +
           "Total=" + std::to_string(one.total) + " Used=" + std::to_string(one.used) +
           " Free=" + std::to_string(one.total - one.used) + " Reserved=0 Remote=no\n";
  }
  return out;
}

}  // namespace muster::slurm
