// Edits one quota in the JSON of a ClusterQueue's manifest, in place, so that everything else in
// the manifest stays as its author wrote it. Amounts are written as canonical quantities. Usage
// comes from the quota tree of the view; quota of jobs whose admission checks are not ready counts
// as reserved and not as used.
#include "api/service/quota_edit.h"

#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// The object in `list` whose member `name` is `name`; null if there is none.
json::value* NamedItem(json::value* list, std::string_view name) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (json::value& item : list->get_array()) {
    const json::string* own = FindText(item, "name");
    if (own != nullptr && *own == name) return &item;
  }
  return nullptr;
}

// The quota (nominalQuota and its limits) in the manifest; null if there is none.
json::object* FindQuota(json::value* manifest, const QuotaKey& key) {
  json::value* groups = MutableMember(MutableMember(manifest, "spec"), "resourceGroups");
  if (groups == nullptr || !groups->is_array()) return nullptr;
  for (json::value& group : groups->get_array()) {
    json::value* flavor = NamedItem(MutableMember(&group, "flavors"), key.flavor);
    json::value* resource = NamedItem(MutableMember(flavor, "resources"), key.resource);
    if (resource != nullptr) return &resource->get_object();
  }
  return nullptr;
}

Error NoSuchQuota(const QuotaKey& key) {
  return NotFound("ClusterQueue \"" + key.cluster_queue + "\" has no quota for resource \"" +
                  key.resource + "\" of flavor \"" + key.flavor + "\"");
}

// Refuses an edit that sets nothing, contradicts itself or has a negative amount.
Status CheckEdit(const QuotaEdit& edit) {
  if (!edit.nominal && !edit.borrowing_limit && !edit.lending_limit &&
      !edit.clear_borrowing_limit && !edit.clear_lending_limit) {
    return InvalidField("update_mask",
                        "the edit sets none of nominal_quota, borrowing_limit and "
                        "lending_limit");
  }
  if (edit.borrowing_limit && edit.clear_borrowing_limit) {
    return InvalidField("borrowing_limit", "cannot be set and removed at once");
  }
  if (edit.lending_limit && edit.clear_lending_limit) {
    return InvalidField("lending_limit", "cannot be set and removed at once");
  }
  if (edit.nominal.value_or(0) < 0) return InvalidField("nominal_quota", "must not be negative");
  if (edit.borrowing_limit.value_or(0) < 0)
    return InvalidField("borrowing_limit", "must not be negative");
  if (edit.lending_limit.value_or(0) < 0)
    return InvalidField("lending_limit", "must not be negative");
  return Done{};
}

}  // namespace

Result<json::value> EditedManifest(const std::string& manifest, const QuotaEdit& edit) {
  const Status valid = CheckEdit(edit);
  if (!valid.ok()) return valid.error();
  Result<json::value> parsed = ParseJson(manifest);
  if (!parsed.ok()) return Internal("the stored ClusterQueue could not be read");
  json::object* quota = FindQuota(&*parsed, edit.key);
  if (quota == nullptr) return NoSuchQuota(edit.key);
  const auto set = [&](const char* field, const std::optional<std::int64_t>& amount) {
    if (amount) (*quota)[field] = FormatQuantity(edit.key.resource, *amount);
  };
  set("nominalQuota", edit.nominal);
  set("borrowingLimit", edit.borrowing_limit);
  set("lendingLimit", edit.lending_limit);
  if (edit.clear_borrowing_limit) quota->erase("borrowingLimit");
  if (edit.clear_lending_limit) quota->erase("lendingLimit");
  return parsed;
}

Result<QuotaView> QuotaOf(const WorldView& view, const QuotaKey& key,
                          const std::map<std::string, Amounts>& unadmitted) {
  const auto queue = view.config->cluster_queues.find(key.cluster_queue);
  if (queue == view.config->cluster_queues.end()) {
    return NotFound("ClusterQueue \"" + key.cluster_queue + "\" does not exist");
  }
  for (const ResourceGroup& group : queue->second.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      if (flavor.flavor != key.flavor) continue;
      for (const auto& [resource, quota] : flavor.resources) {
        if (resource != key.resource) continue;
        QuotaView out;
        out.key = key;
        out.quota = quota;
        const auto object = view.objects->find({ObjectKind::kClusterQueue, "", key.cluster_queue});
        if (object != view.objects->end())
          out.etag = std::to_string(object->second->resource_version);
        const core::QuotaTreePtr& tree = view.usage.tree_ptr();
        // The amounts stay 0 if the view has no quota tree yet or the tree does not have this
        // quota.
        if (tree == nullptr) return out;
        const core::NodeIndex node = tree->ClusterQueueIndex(key.cluster_queue);
        const core::FlavorResourceIndex pair = tree->PairIndex(key.flavor, key.resource);
        if (node < 0 || pair < 0) return out;
        out.used = out.reserved = view.usage.At(node, pair);
        if (const auto of_queue = unadmitted.find(key.cluster_queue); of_queue != unadmitted.end())
          out.used = SaturatingSub(out.used, AmountIn(of_queue->second, key.flavor, key.resource));
        out.borrowed = view.usage.Borrowed(node, pair);
        out.available = view.usage.Available(node, pair);
        return out;
      }
    }
  }
  return NoSuchQuota(key);
}

}  // namespace muster::api
