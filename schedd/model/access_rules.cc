// A rule has lists, and a question matches it if one entry of each list matches. To compare two
// sets of rules, the wanted ones are broken into parts that have one entry in each list: such a
// part is covered by one rule of the other set, or by none.
#include "schedd/model/access_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace muster {
namespace {

using Texts = std::vector<std::string>;

// FNV-1a, which can go on with more text.
constexpr std::uint64_t kHashStart = 14695981039346656037U;
std::uint64_t HashOn(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

bool HasText(const Texts& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool HasOrAll(const Texts& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(),
                     [text](const std::string& one) { return one == "*" || one == text; });
}

// True if `text` is "RESOURCE" or, with a subresource, "RESOURCE/SUBRESOURCE".
bool IsResource(std::string_view text, std::string_view resource, std::string_view subresource) {
  if (subresource.empty()) return text == resource;
  return text.size() == resource.size() + 1 + subresource.size() && text.starts_with(resource) &&
         text[resource.size()] == '/' && text.ends_with(subresource);
}

// True if `text` is "*/SUBRESOURCE".
bool IsSubresourceOfAll(std::string_view text, std::string_view subresource) {
  return !subresource.empty() && text.size() == subresource.size() + 2 && text.starts_with("*/") &&
         text.ends_with(subresource);
}

bool MatchesResource(const Texts& resources, const AccessQuestion& question) {
  return std::any_of(resources.begin(), resources.end(), [&](const std::string& one) {
    return one == "*" || IsResource(one, question.resource, question.subresource) ||
           IsSubresourceOfAll(one, question.subresource);
  });
}

// A path of a rule may end in one or more stars, which stand for anything.
bool MatchesPath(std::string_view rule, std::string_view path) {
  if (rule == path) return true;
  if (!rule.ends_with('*')) return false;
  while (rule.ends_with('*')) rule.remove_suffix(1);
  return path.starts_with(rule);
}

// `part` has at most one entry in each list.
bool CoversPart(const PolicyRule& own, const PolicyRule& part) {
  if (!HasText(own.verbs, "*") && !HasText(own.verbs, part.verbs.front())) return false;
  if (!part.non_resource_urls.empty()) {
    return own.resource_names.empty() &&
           std::any_of(own.non_resource_urls.begin(), own.non_resource_urls.end(),
                       [&](const std::string& path) {
      return MatchesPath(path, part.non_resource_urls[0]);
           });
  }
  if (!HasOrAll(own.api_groups, part.api_groups.front())) return false;
  const std::string& resource = part.resources.front();
  if (!HasOrAll(own.resources, resource)) {
    const std::size_t slash = resource.find('/');
    if (slash == std::string::npos || !HasText(own.resources, "*" + resource.substr(slash)))
      return false;
  }
  if (own.resource_names.empty()) return true;
  return !part.resource_names.empty() && HasText(own.resource_names, part.resource_names.front());
}

// All combinations of one entry of each list.
Texts NamesOrNone(const PolicyRule& rule) {
  return rule.resource_names.empty() ? Texts{""} : rule.resource_names;
}

std::vector<PolicyRule> PartsOf(const PolicyRule& rule) {
  std::vector<PolicyRule> parts;
  const Texts names = NamesOrNone(rule);
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        for (const std::string& name : names) {
          PolicyRule part{{verb}, {group}, {resource}, {}, {}};
          if (!rule.resource_names.empty()) part.resource_names = {name};
          parts.push_back(std::move(part));
        }
      }
    }
  }
  for (const std::string& path : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) parts.push_back({{verb}, {}, {}, {}, {path}});
  }
  return parts;
}

// `, Verbs:["get" "list"]`; nothing for an empty list.
void AppendList(const char* name, const Texts& list, std::string* out) {
  if (list.empty()) return;
  *out += (out->size() > 1 ? ", " : "") + std::string(name) + ":[";
  for (std::size_t i = 0; i < list.size(); ++i) *out += (i == 0 ? "\"" : " \"") + list[i] + '"';
  *out += ']';
}

std::string DescribeRule(const PolicyRule& rule) {
  std::string out = "{";
  AppendList("APIGroups", rule.api_groups, &out);
  AppendList("Resources", rule.resources, &out);
  AppendList("NonResourceURLs", rule.non_resource_urls, &out);
  AppendList("ResourceNames", rule.resource_names, &out);
  AppendList("Verbs", rule.verbs, &out);
  return out + "}";
}

// True if the rule is about one resource of one group, and one name or all.
bool IsSimple(const PolicyRule& rule) {
  return rule.api_groups.size() == 1 && rule.resources.size() == 1 &&
         rule.resource_names.size() <= 1 && rule.non_resource_urls.empty();
}

}  // namespace

bool Grants(const PolicyRule& rule, const AccessQuestion& question) {
  if (!HasOrAll(rule.verbs, question.verb)) return false;
  if (!question.path.empty()) {
    return std::any_of(rule.non_resource_urls.begin(), rule.non_resource_urls.end(),
                       [&](const std::string& path) { return MatchesPath(path, question.path); });
  }
  return HasOrAll(rule.api_groups, question.group) && MatchesResource(rule.resources, question) &&
         (rule.resource_names.empty() || HasText(rule.resource_names, question.name));
}

std::uint64_t RuleSet::ResourceHash(const AccessQuestion& question) {
  std::uint64_t hash = HashOn(kHashStart, question.resource);
  if (!question.subresource.empty()) hash = HashOn(HashOn(hash, "/"), question.subresource);
  return hash;
}

RuleSet::RuleSet(std::vector<PolicyRule> rules) : rules_(std::move(rules)) {
  for (std::uint32_t at = 0; at < rules_.size(); ++at) {
    bool unnamed = !rules_[at].non_resource_urls.empty();
    for (const std::string& resource : rules_[at].resources) {
      unnamed = unnamed || resource.starts_with('*');
      by_resource_.emplace_back(HashOn(kHashStart, resource), at);
    }
    if (unnamed) unnamed_.push_back(at);
  }
  std::sort(by_resource_.begin(), by_resource_.end());
}

bool RuleSet::Grants(const AccessQuestion& question, std::uint64_t resource_hash) const {
  const auto grants = [&](std::uint32_t at) { return muster::Grants(rules_[at], question); };
  if (std::any_of(unnamed_.begin(), unnamed_.end(), grants)) return true;
  if (!question.path.empty()) return false;
  for (auto at = std::lower_bound(by_resource_.begin(), by_resource_.end(),
                                  std::pair<std::uint64_t, std::uint32_t>(resource_hash, 0));
       at != by_resource_.end() && at->first == resource_hash; ++at) {
    if (grants(at->second)) return true;
  }
  return false;
}

std::vector<PolicyRule> UncoveredBy(std::span<const PolicyRule> own,
                                    std::span<const PolicyRule> wanted) {
  std::vector<PolicyRule> uncovered;
  for (const PolicyRule& rule : wanted) {
    for (PolicyRule& part : PartsOf(rule)) {
      const auto covers = [&](const PolicyRule& one) { return CoversPart(one, part); };
      if (std::none_of(own.begin(), own.end(), covers)) uncovered.push_back(std::move(part));
    }
  }
  return uncovered;
}

std::string DescribeRules(std::span<const PolicyRule> rules) {
  std::map<std::tuple<std::string, std::string, Texts>, PolicyRule> simple;
  std::set<std::string> lines;
  for (const PolicyRule& rule : rules) {
    if (!IsSimple(rule)) {
      lines.insert(DescribeRule(rule));
      continue;
    }
    const auto [at, added] =
        simple.try_emplace({rule.api_groups[0], rule.resources[0], rule.resource_names}, rule);
    if (!added)
      at->second.verbs.insert(at->second.verbs.end(), rule.verbs.begin(), rule.verbs.end());
  }
  for (const auto& [resource, rule] : simple) lines.insert(DescribeRule(rule));
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

}  // namespace muster
