// The labels of Pod Security are Kubernetes' own, with its words for what is wrong
// (k8s.io/pod-security-admission/api). Annotations of muster.io/ are this product's.
#include "schedd/shapes/security/tenancy_readers.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/parts/metadata.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kPodSecurityPrefix = "pod-security.kubernetes.io/";

std::optional<PodSecurityLevel> ReadSecurityLevel(const Field& field) {
  const auto text = field.OneOf({"privileged", "baseline", "restricted"});
  if (!text) return std::nullopt;
  if (*text == "privileged") return PodSecurityLevel::kPrivileged;
  return *text == "baseline" ? PodSecurityLevel::kBaseline : PodSecurityLevel::kRestricted;
}

// All of `text` as a decimal number from `least` to `most`.
template <class Number>
std::optional<Number> WholeNumber(std::string_view text, Number least, Number most) {
  Number number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return std::nullopt;
  return number;
}

// "latest" or "v1.N" without leading zeros.
int ReadPolicyVersion(const Field& field) {
  const auto text = field.String();
  if (!text || *text == "latest") return PodSecurityPolicy::kLatest;
  const std::string_view number = text->starts_with("v1.") ? text->substr(3) : std::string_view();
  const auto minor = WholeNumber<int>(number, 0, 100'000);
  if (!minor || std::to_string(*minor) != number) field.Fail("must be \"latest\" or \"v1.x\"");
  return minor.value_or(PodSecurityPolicy::kLatest);
}

// One mode and its version. A version without a level is about the default level, as in Kubernetes.
std::optional<PodSecurityPolicy> ReadSecurityPolicy(const Field& labels, std::string_view mode) {
  const std::string key = std::string(kPodSecurityPrefix) + std::string(mode);
  const Field level = labels.Named(key);
  const Field version = labels.Named(key + "-version");
  if (!level.present() && !version.present()) return std::nullopt;
  PodSecurityPolicy policy;
  policy.level = ReadSecurityLevel(level).value_or(policy.level);
  policy.minor = ReadPolicyVersion(version);
  return policy;
}

// Another label of this prefix is most likely a misspelt one, which would silently protect nothing.
void RefuseUnknownModes(const Field& labels) {
  const json::object* members = labels.Object();
  if (members == nullptr) return;
  for (const auto& member : *members) {
    std::string_view key = member.key();
    if (!key.starts_with(kPodSecurityPrefix)) continue;
    std::string_view mode = key.substr(kPodSecurityPrefix.size());
    if (mode.ends_with("-version")) mode.remove_suffix(8);
    if (mode != "enforce" && mode != "warn" && mode != "audit")
      labels.Named(key).Fail("is not enforce, warn or audit, or one of these with -version");
  }
}

}  // namespace

NamespaceTenancy ReadNamespaceTenancy(const Field& metadata) {
  NamespaceTenancy read;
  const Field labels = metadata["labels"];
  RefuseUnknownModes(labels);
  read.enforce = ReadSecurityPolicy(labels, "enforce");
  read.warn = ReadSecurityPolicy(labels, "warn");
  read.audit = ReadSecurityPolicy(labels, "audit").has_value();
  const Field annotations = metadata["annotations"];
  read.service_accounts =
      ReadNameList(annotations.Named("muster.io/service-accounts"), &IsDnsSubdomain,
                   "must be names of service accounts separated by commas");
  const Field of_class = annotations.Named("muster.io/max-priority-class");
  if (const auto text = of_class.String()) {
    if (!IsDnsSubdomain(*text)) of_class.Fail("must be the name of a WorkloadPriorityClass");
    read.max_priority_class = *text;
  }
  const Field most = annotations.Named("muster.io/max-priority");
  if (const auto text = most.String()) {
    read.max_priority = WholeNumber<std::int32_t>(*text, INT32_MIN, INT32_MAX);
    if (!read.max_priority) most.Fail("must be a whole number of 32 bits");
  }
  const Field pending = annotations.Named("muster.io/max-pending-jobs");
  if (const auto text = pending.String()) {
    constexpr auto kMost = static_cast<std::int64_t>(limits::kPendingJobs);
    read.max_pending_jobs = WholeNumber<std::int64_t>(*text, 1, kMost);
    if (!read.max_pending_jobs)
      pending.Fail("must be a whole number from 1 to " + std::to_string(kMost));
  }
  return read;
}

std::optional<PodSecurityLevel> ReadPodSecurityAnnotation(const Field& annotations) {
  return ReadSecurityLevel(annotations.Named("muster.io/pod-security"));
}

}  // namespace muster::shapes
