// An edit is split at its first '/', its first ':' and its last '=' into kind, name, place and
// amount. The place names a quota (FLAVOR/RESOURCE, perhaps with .borrowingLimit or .lendingLimit)
// or a resource of a member. The configuration is copied, changed and put in place of the old one.
#include "schedd/simulate/edits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"

namespace muster::simulate {
namespace {

// What an error says about the form of an edit.
constexpr const char* kForm =
    "an edit reads clusterqueue/NAME:FLAVOR/RESOURCE=AMOUNT, cohort/NAME:FLAVOR/RESOURCE=AMOUNT or "
    "membercluster/NAME:RESOURCE=AMOUNT";

// Which amount of a quota is edited.
enum class Part : std::uint8_t { kNominal, kBorrowing, kLending };

// The parts of an edit.
struct Words {
  std::string whole, kind, name, place, amount;
  Part part = Part::kNominal;
};

Error Wrong(const Words& words, const std::string& what) {
  return InvalidArgument("\"" + words.whole + "\": " + what);
}

// nullopt if the edit does not have the form.
std::optional<Words> Split(std::string_view edit) {
  Words words;
  words.whole = std::string(edit);
  // The amount is behind the last '=', because names of resources may contain a '/' but no '='.
  const auto slash = edit.find('/');
  const auto colon = edit.find(':');
  const auto equals = edit.rfind('=');
  if (slash == std::string_view::npos || colon == std::string_view::npos ||
      equals == std::string_view::npos || slash > colon || colon > equals) {
    return std::nullopt;
  }
  words.kind = std::string(edit.substr(0, slash));
  words.name = std::string(edit.substr(slash + 1, colon - slash - 1));
  words.place = std::string(edit.substr(colon + 1, equals - colon - 1));
  words.amount = std::string(edit.substr(equals + 1));
  const std::pair<std::string_view, Part> parts[] = {{".nominalQuota", Part::kNominal},
                                                     {".borrowingLimit", Part::kBorrowing},
                                                     {".lendingLimit", Part::kLending}};
  for (const auto& [suffix, part] : parts) {
    if (!words.place.ends_with(suffix)) continue;
    words.place.resize(words.place.size() - suffix.size());
    words.part = part;
    break;
  }
  return words;
}

// The amount after the edit: the given one, or `before` changed by "+8" or "-8".
Result<std::int64_t> Changed(const Words& words, const std::string& resource, std::int64_t before) {
  const bool grows = words.amount.starts_with('+');
  const bool shrinks = words.amount.starts_with('-');
  const std::string_view text = std::string_view(words.amount).substr(grows || shrinks ? 1 : 0);
  const Result<std::int64_t> amount = ParseQuantity(resource, text);
  if (!amount.ok()) return Wrong(words, amount.error().detail);
  if (!IsWholeAmount(resource, text)) return Wrong(words, kWholeAmountRule);
  const std::int64_t after = grows     ? SaturatingAdd(before, *amount)
                             : shrinks ? SaturatingSub(before, *amount)
                                       : *amount;
  if (after < 0) return Wrong(words, "that would leave less than nothing");
  return after;
}

// A limit may be absent; then only an absolute amount makes sense.
Status EditLimit(const Words& words, const std::string& resource,
                 std::optional<std::int64_t>* limit) {
  if (words.amount == "none") {
    limit->reset();
    return Done{};
  }
  const bool relative = words.amount.starts_with('+') || words.amount.starts_with('-');
  if (relative && !*limit) return Wrong(words, "there is no limit to change: give an amount");
  const Result<std::int64_t> amount = Changed(words, resource, limit->value_or(0));
  if (!amount.ok()) return amount.error();
  *limit = *amount;
  return Done{};
}

// Finds the quota of the place among all groups and flavors; the first match is edited.
Status EditQuota(const Words& words, std::vector<ResourceGroup>* groups) {
  for (ResourceGroup& group : *groups) {
    for (FlavorQuotas& flavor : group.flavors) {
      for (auto& [resource, quota] : flavor.resources) {
        if (flavor.flavor + "/" + resource != words.place) continue;
        if (words.part == Part::kBorrowing)
          return EditLimit(words, resource, &quota.borrowing_limit);
        if (words.part == Part::kLending) return EditLimit(words, resource, &quota.lending_limit);
        const Result<std::int64_t> amount = Changed(words, resource, quota.nominal);
        if (!amount.ok()) return amount.error();
        quota.nominal = *amount;
        return Done{};
      }
    }
  }
  return Wrong(words, words.kind + " \"" + words.name + "\" has no quota of \"" + words.place +
                          "\" (FLAVOR/RESOURCE)");
}

// The amounts of a member with machines follow from its machines.
Status EditMember(const Words& words, MemberCluster* member) {
  if (words.part != Part::kNominal) return Wrong(words, kForm);
  if (!member->nodes.empty())
    return Wrong(words, "it declares machines: edit its manifest to add or remove some");
  const Result<std::int64_t> amount =
      Changed(words, words.place, AmountOf(member->allocatable, words.place));
  if (!amount.ok()) return amount.error();
  SetAmount(&member->allocatable, words.place, *amount);
  return Done{};
}

template <class Objects>
auto* FindIn(Objects* objects, const std::string& name) {
  const auto found = objects->find(name);
  return found == objects->end() ? nullptr : &found->second;
}

}  // namespace

// Nothing changes if the edit is wrong.
Status ApplyEdit(std::string_view edit, Scenario* scenario) {
  const std::optional<Words> words = Split(edit);
  if (!words) return InvalidArgument("\"" + std::string(edit) + "\": " + kForm);
  auto config = std::make_shared<ConfigView>(*scenario->config);
  Status done = Done{};
  const auto missing = [&] {
    return Wrong(*words, words->kind + " \"" + words->name + "\" does not exist");
  };
  if (words->kind == "clusterqueue") {
    ClusterQueue* queue = FindIn(&config->cluster_queues, words->name);
    done = queue == nullptr ? missing() : EditQuota(*words, &queue->resource_groups);
  } else if (words->kind == "cohort") {
    Cohort* cohort = FindIn(&config->cohorts, words->name);
    done = cohort == nullptr ? missing() : EditQuota(*words, &cohort->resource_groups);
  } else if (words->kind == "membercluster") {
    MemberCluster* member = FindIn(&config->member_clusters, words->name);
    done = member == nullptr ? missing() : EditMember(*words, member);
  } else {
    done = Wrong(*words, kForm);
  }
  if (done.ok()) scenario->config = std::move(config);
  return done;
}

}  // namespace muster::simulate
