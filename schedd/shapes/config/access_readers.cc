// Role, ClusterRole, RoleBinding and ClusterRoleBinding of rbac.authorization.k8s.io/v1, and
// Muster's AccessToken: their readers and their entries in the table of kinds (rules U1 to U6). The
// checks are those of Kubernetes' pkg/apis/rbac/validation; a field that means nothing is refused
// besides. All five lie in ConfigView::access, of which each edit makes a new table.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

std::vector<std::string> ReadTexts(const Field& list) {
  std::vector<std::string> texts;
  for (const Field& item : list.Elements()) {
    if (!item.present()) item.Fail("must be a string, not null");
    texts.emplace_back(item.StringOr(""));
  }
  return texts;
}

// The combinations of a rule, 0 if it has none; saturates well above the bound.
std::size_t CountParts(const PolicyRule& rule) {
  const auto times = [](std::size_t a, std::size_t b) {
    return std::min(a, limits::kRoleParts + 1) * std::min(b, limits::kRoleParts + 1);
  };
  const std::size_t names = std::max<std::size_t>(rule.resource_names.size(), 1);
  const std::size_t resources = times(times(rule.api_groups.size(), rule.resources.size()), names);
  return times(resources + rule.non_resource_urls.size(), rule.verbs.size());
}

// ValidatePolicyRule.
PolicyRule ReadPolicyRule(const Field& item, bool namespaced) {
  item.OnlyMembers({"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"});
  PolicyRule rule;
  rule.verbs = ReadTexts(item["verbs"]);
  rule.api_groups = ReadTexts(item["apiGroups"]);
  rule.resources = ReadTexts(item["resources"]);
  rule.resource_names = ReadTexts(item["resourceNames"]);
  rule.non_resource_urls = ReadTexts(item["nonResourceURLs"]);
  if (rule.verbs.empty()) item["verbs"].Fail("verbs must contain at least one value");
  if (!rule.non_resource_urls.empty()) {
    const Field urls = item["nonResourceURLs"];
    if (namespaced) urls.Fail("namespaced rules cannot apply to non-resource URLs");
    if (!rule.api_groups.empty() || !rule.resources.empty() || !rule.resource_names.empty())
      urls.Fail("rules cannot apply to both regular resources and non-resource URLs");
    return rule;
  }
  if (rule.api_groups.empty())
    item["apiGroups"].Fail("resource rules must supply at least one api group");
  if (rule.resources.empty())
    item["resources"].Fail("resource rules must supply at least one resource");
  return rule;
}

std::vector<PolicyRule> ReadPolicyRules(const Field& rules, bool namespaced) {
  std::vector<PolicyRule> read;
  std::size_t parts = 0;
  for (const Field& item : rules.Elements()) {
    read.push_back(ReadPolicyRule(item, namespaced));
    parts += CountParts(read.back());
    if (parts > limits::kRoleParts) {
      rules.Fail("must have at most " + std::to_string(limits::kRoleParts) +
                 " combinations of verbs with resources and names: use '*' or several roles");
      return {};
    }
  }
  return read;
}

// The rules of a role with an aggregationRule are those that it collects. What a manifest says
// instead is dropped, as Kubernetes' controller does (ForgetCollectedRules).
std::vector<LabelSelector> ReadAggregation(const Field& aggregation) {
  aggregation.OnlyMembers({"clusterRoleSelectors"});
  const Field list = aggregation["clusterRoleSelectors"];
  std::vector<LabelSelector> selectors;
  for (const Field& item : list.Elements()) selectors.push_back(ReadLabelSelector(item));
  if (selectors.empty())
    list.Fail("at least one clusterRoleSelector required if aggregationRule is non-nil");
  return selectors;
}

void CheckPrincipalName(const Field& name) {
  const auto text = name.String();
  if (!name.Require() || !text) return;
  if (text->empty()) name.Fail("is required");
  if (text->size() > limits::kPrincipalNameBytes) {
    name.Fail("must have at most " + std::to_string(limits::kPrincipalNameBytes) + " bytes");
  }
}

// "" or absent stands for `wanted`, as Kubernetes' defaults have it.
void CheckSubjectGroup(const Field& group, std::string_view wanted) {
  const auto text = group.String();
  if (!text || text->empty() || *text == wanted) return;
  group.Fail(wanted.empty() ? "must be empty for a ServiceAccount"
                            : "must be " + std::string(wanted) + ", not " + Quoted(*text));
}

// ValidateRoleBindingSubject. `ns`: of the binding, "" for that of the cluster.
AccessSubject ReadAccessSubject(const Field& item, const std::string& ns) {
  item.OnlyMembers({"kind", "apiGroup", "name", "namespace"});
  AccessSubject subject;
  const Field name = item["name"], kind = item["kind"], of = item["namespace"];
  CheckPrincipalName(name);
  subject.name = name.StringOr("");
  if (!kind.Require()) return subject;
  const auto text = kind.OneOf({"ServiceAccount", "User", "Group"});
  if (!text) return subject;
  subject.kind = *text == "Group" ? AccessSubject::Kind::kGroup : AccessSubject::Kind::kUser;
  CheckSubjectGroup(item["apiGroup"], *text == "ServiceAccount" ? "" : kAccessGroup);
  if (*text != "ServiceAccount") {
    if (!of.StringOr("").empty()) of.Fail("is for a ServiceAccount alone");
    return subject;
  }
  if (!subject.name.empty() && !IsDnsSubdomain(subject.name)) name.Fail(kDnsSubdomainRule);
  const std::string account_ns(of.StringOr("").empty() ? std::string_view(ns) : of.StringOr(""));
  if (account_ns.empty()) of.Fail("is required");
  if (!account_ns.empty() && !IsDnsLabel(account_ns)) of.Fail(kDnsLabelRule);
  subject.name = "system:serviceaccount:" + account_ns + ":" + subject.name;
  return subject;
}

RoleBinding ReadBinding(const Field& root, const std::string& ns) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "subjects", "roleRef"});
  RoleBinding binding;
  binding.name = NameOf(root);
  binding.ns = ns;
  const Field role = root["roleRef"];
  if (role.Require()) {
    role.OnlyMembers({"apiGroup", "kind", "name"});
    CheckSubjectGroup(role["apiGroup"], kAccessGroup);
    const Field kind = role["kind"], name = role["name"];
    if (kind.Require()) {
      const auto text =
          ns.empty() ? kind.OneOf({"ClusterRole"}) : kind.OneOf({"Role", "ClusterRole"});
      binding.cluster_role = text.value_or("ClusterRole") == "ClusterRole";
    }
    if (name.Require()) binding.role = name.StringOr("");
    if (name.String() && !IsPathSegment(binding.role)) name.Fail(kPathSegmentRule);
  }
  const Field subjects = root["subjects"];
  const std::vector<Field> items = subjects.Elements();
  if (items.size() > limits::kBindingSubjects) {
    subjects.Fail("must have at most " + std::to_string(limits::kBindingSubjects) + " entries");
    return binding;
  }
  for (const Field& item : items) binding.subjects.push_back(ReadAccessSubject(item, ns));
  return binding;
}

// The API fills in the namespace of a document that has none before it stores the document.
std::string NamespaceOrDefault(const Field& root) {
  const std::string ns = NamespaceOf(root);
  return ns.empty() ? "default" : ns;
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// --- the five kinds

Role ReadRole(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "rules"});
  Role role;
  role.name = NameOf(root);
  role.ns = NamespaceOrDefault(root);
  role.labels = ReadLabelMap(root["metadata"]["labels"]);
  role.rules = ReadPolicyRules(root["rules"], true);
  return role;
}

Role ReadClusterRole(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "rules", "aggregationRule"});
  Role role;
  role.name = NameOf(root);
  role.labels = ReadLabelMap(root["metadata"]["labels"]);
  role.rules = ReadPolicyRules(root["rules"], false);
  const Field aggregation = root["aggregationRule"];
  if (aggregation.present()) {
    role.aggregated = ReadAggregation(aggregation);
    role.rules.clear();
  }
  return role;
}

RoleBinding ReadRoleBinding(const Field& root) {
  return ReadBinding(root, NamespaceOrDefault(root));
}

RoleBinding ReadClusterRoleBinding(const Field& root) { return ReadBinding(root, ""); }

AccessToken ReadAccessToken(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec"});
  AccessToken token;
  token.name = NameOf(root);
  const Field spec = root["spec"];
  if (!spec.Require()) return token;
  spec.OnlyMembers({"user", "groups", "uid", "expires", "sha256", "description"});
  CheckPrincipalName(spec["user"]);
  token.user = spec["user"].StringOr("");
  const std::vector<Field> groups = spec["groups"].Elements();
  if (groups.size() > limits::kTokenGroups) {
    spec["groups"].Fail("must have at most " + std::to_string(limits::kTokenGroups) + " entries");
  }
  for (const Field& group : groups) {
    CheckPrincipalName(group);
    token.groups.emplace_back(group.StringOr(""));
  }
  // The last number stands for "no account" in chown(2).
  if (const auto uid = spec["uid"].Int(0, UINT32_MAX - 1))
    token.uid = static_cast<std::uint32_t>(*uid);
  const Field expires = spec["expires"];
  if (const auto text = expires.String(); text && !ParseRfc3339(std::string(*text), &token.expires))
    expires.Fail("must be a time such as 2027-01-31T12:00:00Z");
  const Field hash = spec["sha256"];
  if (hash.Require()) token.sha256 = hash.StringOr("");
  if (hash.String() && !IsSha256(token.sha256))
    hash.Fail("must be the SHA-256 of the token in 64 lower case hexadecimal digits");
  (void)spec["description"].String();
  return token;
}

// --- into a ConfigView and out of it

// A new table with one edit.
template <class Edit>
void EditAccess(ConfigView* config, const Edit& edit) {
  auto table = std::make_shared<AccessTable>(*config->access);
  edit(*table);
  config->access = std::move(table);
}

template <auto read>
Status PutRoleInto(const json::value& manifest, ConfigView* config) {
  auto role = ReadTyped(manifest, read);
  if (!role.ok()) return role.error();
  EditAccess(config, [&](AccessTable& table) { table.PutRole(std::move(*role)); });
  return Done{};
}

void RemoveRoleFrom(ConfigView* config, const std::string& ns, const std::string& name) {
  EditAccess(config, [&](AccessTable& table) { table.RemoveRole(ns, name); });
}

// A binding to another role is another binding: who may change subjects may not change the role.
template <auto read>
Status PutBindingInto(const json::value& manifest, ConfigView* config) {
  auto binding = ReadTyped(manifest, read);
  if (!binding.ok()) return binding.error();
  const RoleBinding* old = config->access->FindBinding(binding->ns, binding->name);
  if (old != nullptr && (old->role != binding->role || old->cluster_role != binding->cluster_role))
    return InvalidField("roleRef", "cannot change roleRef");
  EditAccess(config, [&](AccessTable& table) { table.PutBinding(std::move(*binding)); });
  return Done{};
}

void RemoveBindingFrom(ConfigView* config, const std::string& ns, const std::string& name) {
  EditAccess(config, [&](AccessTable& table) { table.RemoveBinding(ns, name); });
}

// Of a token only its end and its description may change: a secret that somebody holds must not
// become somebody else's.
Status PutTokenInto(const json::value& manifest, ConfigView* config) {
  auto token = ReadTyped(manifest, ReadAccessToken);
  if (!token.ok()) return token.error();
  if (const AccessToken* old = config->access->FindToken(token->name)) {
    constexpr char kImmutable[] = "field is immutable: make a new token";
    if (old->user != token->user) return InvalidField("spec.user", kImmutable);
    if (old->groups != token->groups) return InvalidField("spec.groups", kImmutable);
    if (old->uid != token->uid) return InvalidField("spec.uid", kImmutable);
    if (old->sha256 != token->sha256) return InvalidField("spec.sha256", kImmutable);
  }
  EditAccess(config, [&](AccessTable& table) { table.PutToken(std::move(*token)); });
  return Done{};
}

void RemoveTokenFrom(ConfigView* config, const std::string&, const std::string& name) {
  EditAccess(config, [&](AccessTable& table) { table.RemoveToken(name); });
}

// --- the stored form: with Kubernetes' defaults

void ForgetCollectedRules(json::object& manifest) {
  if (FindObject(manifest, "aggregationRule") != nullptr) manifest["rules"] = json::array();
}

void FillBinding(json::object& manifest) {
  if (json::object* role = MutableObject(&manifest, "roleRef");
      role != nullptr && ViewAt(*role, "apiGroup").empty()) {
    (*role)["apiGroup"] = kAccessGroup;
  }
  json::value* subjects = manifest.if_contains("subjects");
  if (subjects == nullptr || !subjects->is_array()) return;
  for (json::value& subject : subjects->get_array()) {
    if (!subject.is_object() || ViewAt(subject, "kind") == "ServiceAccount") continue;
    if (ViewAt(subject, "apiGroup").empty()) subject.get_object()["apiGroup"] = kAccessGroup;
  }
}

// --- columns, as Kubernetes' printers and kubectl have them

std::string RoleCell(const json::value& binding) {
  return TextAt(binding, {"roleRef", "kind"}) + "/" + TextAt(binding, {"roleRef", "name"});
}

// The names of the subjects of one kind, "a, b".
std::string SubjectsCell(const json::value& binding, std::string_view kind) {
  std::string out;
  for (const json::value& subject : ArrayOrEmpty(binding, "subjects")) {
    if (ViewAt(subject, "kind") != kind) continue;
    const std::string ns = kind == "ServiceAccount" ? TextAt(subject, "namespace") + "/" : "";
    out += (out.empty() ? "" : ", ") + ns + TextAt(subject, "name");
  }
  return out;
}
std::string UsersCell(const json::value& binding) { return SubjectsCell(binding, "User"); }
std::string GroupsCell(const json::value& binding) { return SubjectsCell(binding, "Group"); }
std::string AccountsCell(const json::value& binding) {
  return SubjectsCell(binding, "ServiceAccount");
}

std::string TokenGroupsCell(const json::value& token) {
  std::string out;
  for (const json::value& group : ArrayOrEmpty(token, {"spec", "groups"})) {
    if (group.is_string()) out += (out.empty() ? "" : ",") + std::string(group.get_string());
  }
  return out;
}

constexpr PrinterColumn kRoleColumns[] = {kNameColumn,
                                          TextColumn("CREATED AT", "metadata.creationTimestamp")};

constexpr PrinterColumn kBindingColumns[] = {
    kNameColumn,
    ComputedColumn("ROLE", RoleCell),
    kAgeColumn,
    ComputedColumn("USERS", UsersCell, true),
    ComputedColumn("GROUPS", GroupsCell, true),
    ComputedColumn("SERVICEACCOUNTS", AccountsCell, true),
};

constexpr PrinterColumn kTokenColumns[] = {
    kNameColumn,
    TextColumn("USER", "spec.user"),
    ComputedColumn("GROUPS", TokenGroupsCell),
    TextColumn("EXPIRES", "spec.expires"),
    kAgeColumn,
    TextColumn("DESCRIPTION", "spec.description", true),
};

}  // namespace

constinit const KindInfo kRoleKind = {
    .kind = ObjectKind::kRole,
    .name = "Role",
    .plural = "roles",
    .group = kAccessGroup,
    .versions = {"v1", nullptr},
    .namespaced = true,
    .path_names = true,
    .table = "roles",
    .check = CheckBy<ReadRole>,
    .put = PutRoleInto<ReadRole>,
    .remove = RemoveRoleFrom,
    .concern = Concern::kMembers,
    .cli_place = 31,
    .columns = kRoleColumns,
};

constinit const KindInfo kClusterRoleKind = {
    .kind = ObjectKind::kClusterRole,
    .name = "ClusterRole",
    .plural = "clusterroles",
    .group = kAccessGroup,
    .versions = {"v1", nullptr},
    .namespaced = false,
    .path_names = true,
    .table = "cluster_roles",
    .check = CheckBy<ReadClusterRole>,
    .put = PutRoleInto<ReadClusterRole>,
    .remove = RemoveRoleFrom,
    .normalise = ForgetCollectedRules,
    .concern = Concern::kMembers,
    .cli_place = 32,
    .columns = kRoleColumns,
};

constinit const KindInfo kRoleBindingKind = {
    .kind = ObjectKind::kRoleBinding,
    .name = "RoleBinding",
    .plural = "rolebindings",
    .group = kAccessGroup,
    .versions = {"v1", nullptr},
    .namespaced = true,
    .path_names = true,
    .table = "role_bindings",
    .check = CheckBy<ReadRoleBinding>,
    .put = PutBindingInto<ReadRoleBinding>,
    .remove = RemoveBindingFrom,
    .normalise = FillBinding,
    .concern = Concern::kMembers,
    .cli_place = 33,
    .columns = kBindingColumns,
};

constinit const KindInfo kClusterRoleBindingKind = {
    .kind = ObjectKind::kClusterRoleBinding,
    .name = "ClusterRoleBinding",
    .plural = "clusterrolebindings",
    .group = kAccessGroup,
    .versions = {"v1", nullptr},
    .namespaced = false,
    .path_names = true,
    .table = "cluster_role_bindings",
    .check = CheckBy<ReadClusterRoleBinding>,
    .put = PutBindingInto<ReadClusterRoleBinding>,
    .remove = RemoveBindingFrom,
    .normalise = FillBinding,
    .concern = Concern::kMembers,
    .cli_place = 34,
    .columns = kBindingColumns,
};

constinit const KindInfo kAccessTokenKind = {
    .kind = ObjectKind::kAccessToken,
    .name = "AccessToken",
    .plural = "accesstokens",
    .group = kMusterGroup,
    .versions = {"v1", nullptr},
    .namespaced = false,
    .table = "access_tokens",
    .check = CheckBy<ReadAccessToken>,
    .put = PutTokenInto,
    .remove = RemoveTokenFrom,
    .concern = Concern::kMembers,
    .cli_place = 35,
    .columns = kTokenColumns,
};

}  // namespace muster::shapes
