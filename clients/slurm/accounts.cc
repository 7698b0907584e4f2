#include "clients/slurm/accounts.h"

#include <algorithm>

#include "clients/lib/job_view.h"
#include "clients/slurm/command.h"
#include "clients/slurm/fleet_view.h"
#include "clients/slurm/usage_text.h"
#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta1/";

// The items of a list; none if the caller may not read it.
client::Outcome<std::vector<json::value>> ItemsOf(client::ApiClient& api, const char* plural) {
  client::Outcome<json::value> answer = api.Get(std::string(kKueue) + plural);
  if (!answer.ok() && answer.failure().status == 403) return std::vector<json::value>();
  if (!answer.ok()) return answer.failure();
  const json::array& items = ArrayOrEmpty(*answer, "items");
  return std::vector<json::value>(items.begin(), items.end());
}

// The nominal quotas of all flavors added up: "cpu=8,mem=16G,gres/gpu=2".
std::string LimitsOf(const json::value& queue) {
  std::map<std::string, std::int64_t> totals;
  for (const json::value& group : ArrayOrEmpty(queue, {"spec", "resourceGroups"})) {
    for (const json::value& flavor : ArrayOrEmpty(group, "flavors")) {
      for (const json::value& one : ArrayOrEmpty(flavor, "resources")) {
        const std::string name = client::PathText(one, "name");
        const Result<std::int64_t> amount =
            ParseQuantity(name, client::PathText(one, "nominalQuota"));
        if (amount.ok()) totals[name] += *amount;
      }
    }
  }
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ",") + text; };
  for (const auto& [name, amount] : totals) {
    const std::size_t slash = name.find('/');
    if (name == "cpu")
      add("cpu=" + std::to_string(amount / 1000));
    else if (name == "memory")
      add("mem=" + MegabytesText(amount >> 20, 0));
    else if (slash != std::string::npos)
      add("gres/" + name.substr(slash + 1) + "=" + std::to_string(amount));
  }
  return out;
}

AccountInfo ToAccount(const json::value& object, bool cohort) {
  AccountInfo out;
  out.name = client::PathText(object, "metadata.name");
  out.is_cohort = cohort;
  out.parent = client::PathText(object, cohort ? "spec.parentName" : "spec.cohort");
  if (out.parent.empty() && cohort) out.parent = client::PathText(object, "spec.parent");
  if (out.parent.empty() && !cohort) out.parent = client::PathText(object, "spec.cohortName");
  if (out.parent.empty()) out.parent = "root";
  const std::string weight = client::PathText(object, "spec.fairSharing.weight");
  if (!weight.empty()) out.share = weight;
  out.limits = LimitsOf(object);
  const std::string stop = client::PathText(object, "spec.stopPolicy");
  out.held = stop == "None" ? "" : stop;
  return out;
}

// A cohort exists as soon as a queue names it.
void AddNamedCohorts(std::vector<AccountInfo>* accounts) {
  std::set<std::string> known = {"root"};
  for (const AccountInfo& one : *accounts) known.insert(one.name);
  const std::vector<AccountInfo> told = *accounts;
  for (const AccountInfo& one : told) {
    if (!known.insert(one.parent).second) continue;
    AccountInfo cohort;
    cohort.name = one.parent;
    cohort.parent = "root";
    cohort.is_cohort = true;
    accounts->push_back(cohort);
  }
}

}  // namespace

client::Outcome<AccountTree> FetchAccounts(client::ApiClient& api) {
  AccountTree out;
  for (const bool cohort : {false, true}) {
    auto items = ItemsOf(api, cohort ? "cohorts" : "clusterqueues");
    if (!items.ok()) return items.failure();
    for (const json::value& item : *items) out.accounts.push_back(ToAccount(item, cohort));
  }
  AddNamedCohorts(&out.accounts);
  std::sort(out.accounts.begin(), out.accounts.end(),
            [](const AccountInfo& a, const AccountInfo& b) { return a.name < b.name; });
  out.qos.push_back({"normal", "Normal QOS default", 0});
  auto classes = ItemsOf(api, "workloadpriorityclasses");
  if (!classes.ok()) return classes.failure();
  for (const json::value& item : *classes) {
    const QosInfo one{client::PathText(item, "metadata.name"),
                      client::PathText(item, "description"), IntegerAt(item, "value").value_or(0)};
    if (one.name == "normal")
      out.qos.front() = one;
    else
      out.qos.push_back(one);
  }
  const client::Outcome<std::vector<NodeInfo>> members = FetchMembers(api);
  if (members.ok()) {
    for (const NodeInfo& member : *members) out.clusters.push_back(member.name);
  } else if (members.failure().status != 403) {
    return members.failure();
  }
  const client::Outcome<std::string> self = OwnUser(api);
  if (!self.ok()) return self.failure();
  out.users[*self];
  out.users["root"].insert("root");
  JobList list;
  client::Query query;
  query.Add("fields", "id,state,user,clusterQueue");
  const client::Outcome<Done> fetched = FetchJobs(api, query, &list);
  if (!fetched.ok()) return fetched.failure();
  for (const JobRow& row : list.rows()) {
    if (!row.user.empty() && !row.cluster_queue.empty())
      out.users[std::string(row.user)].insert(std::string(row.cluster_queue));
  }
  return out;
}

}  // namespace muster::slurm
