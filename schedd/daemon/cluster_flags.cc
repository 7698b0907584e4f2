// The flags that declare member clusters: NAME, then parts behind commas. A part that is not known
// is an error that names it.
#include <charconv>
#include <filesystem>
#include <sstream>

#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/daemon/config.h"

namespace muster {
namespace {

// Connections of one member: with more, requests only wait inside the API server.
constexpr int kConnectionsMax = 256;

// job-account=USER and root-jobs=submitter|never of --local-cluster.
bool IsAccountPart(const std::string& key) { return key == "job-account" || key == "root-jobs"; }
Status SetAccountPart(const std::string& key, const std::string& value, DeclaredCluster* cluster) {
  if (key == "job-account") {
    cluster->job_account = value;
    return value.empty() ? InvalidArgument("job-account: must name a user") : Status(Done{});
  }
  if (value != "submitter" && value != "never")
    return InvalidArgument("root-jobs: \"" + value + "\" is not submitter or never");
  cluster->root_jobs = value == "submitter";
  return Done{};
}

// One part of a cluster flag: "label:KEY=VALUE", "run-time-ms=N", "job-account=USER",
// "root-jobs=WORD" or "RESOURCE=AMOUNT".
Status AddClusterPart(const std::string& part, bool simulated, DeclaredCluster* cluster) {
  const auto equals = part.find('=', part.starts_with("label:") ? 6 : 0);
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("\"" + part + "\" is not RESOURCE=AMOUNT");
  }
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  if (key.starts_with("label:")) {
    cluster->labels[key.substr(6)] = value;
    return Done{};
  }
  if (key == "run-time-ms" && simulated) {
    const auto parsed =
        std::from_chars(value.data(), value.data() + value.size(), cluster->run_time_ms);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() ||
        cluster->run_time_ms < 0) {
      return InvalidArgument("run-time-ms: \"" + value + "\" is not a number of milliseconds");
    }
    return Done{};
  }
  if (IsAccountPart(key) && !simulated) return SetAccountPart(key, value, cluster);
  auto amount = ParseQuantity(key, value);
  if (!amount.ok()) return InvalidArgument(key + ": " + amount.error().detail);
  if (!IsByteResource(key) && !IsWholeAmount(key, value))
    return InvalidArgument(key + ": " + kWholeAmountRule);
  SetAmount(&cluster->allocatable, key, *amount);
  return Done{};
}

// The name becomes the name of a MemberCluster object, a DNS label.
Status CheckName(const std::string& name) {
  if (IsDnsLabel(name)) return Done{};
  return InvalidArgument("\"" + name + "\" is not a cluster name (DNS label)");
}

// A flag of two words, such as dispatch=fast|safe.
Status SetWord(const std::string& key, const std::string& value, const char* yes, const char* no,
               bool* out) {
  *out = value == yes;
  if (*out || value == no) return Done{};
  return InvalidArgument(key + ": \"" + value + "\" is not " + yes + " or " + no);
}

// A number from 1 to kConnectionsMax.
Status SetConnections(const std::string& value, int* out) {
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), *out);
  if (parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() && *out >= 1 &&
      *out <= kConnectionsMax) {
    return Done{};
  }
  return InvalidArgument("connections: \"" + value + "\" is not a number from 1 to " +
                         std::to_string(kConnectionsMax));
}

// Paths are made absolute, because the daemon may change its directory later.
Status SetPath(const std::string& key, const std::string& value, std::string* out) {
  if (value.empty()) return InvalidArgument(key + ": must not be empty");
  std::error_code failed;
  *out = std::filesystem::absolute(value, failed).lexically_normal().string();
  if (failed) return InvalidArgument(key + ": \"" + value + "\" is not a path");
  return Done{};
}

// One part of --member-cluster after the name: "KEY=VALUE" or "label:KEY=VALUE".
Status AddMemberPart(const std::string& part, DeclaredMember* member) {
  const auto equals = part.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("\"" + part + "\" is not KEY=VALUE");
  }
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  if (key.starts_with("label:")) {
    member->labels[key.substr(6)] = value;
    return Done{};
  }
  if (key == "kubeconfig") return SetPath(key, value, &member->kubeconfig);
  if (key == "credentials-dir") return SetPath(key, value, &member->credentials_dir);
  if (key == "dispatch") return SetWord(key, value, "fast", "safe", &member->fast);
  if (key == "allow-exec") return SetWord(key, value, "true", "false", &member->allow_exec);
  if (key == "connections") return SetConnections(value, &member->connections);
  if (key == "context") {
    member->context = value;
    return Done{};
  }
  return InvalidArgument("\"" + key +
                         "\" is not kubeconfig, context, credentials-dir, dispatch, connections, "
                         "allow-exec or label:KEY");
}

}  // namespace

// Splits at commas; a value can therefore not have one.
Result<DeclaredMember> ParseMemberFlag(const std::string& text) {
  DeclaredMember member;
  std::stringstream parts(text);
  std::getline(parts, member.name, ',');
  const Status named = CheckName(member.name);
  if (!named.ok()) return named.error();
  std::string part;
  while (std::getline(parts, part, ',')) {
    const Status status = AddMemberPart(part, &member);
    if (!status.ok()) return InvalidArgument(member.name + ": " + status.error().detail);
  }
  if (member.kubeconfig.empty()) {
    return InvalidArgument(member.name + ": kubeconfig=FILE is missing");
  }
  return member;
}

// The name, then parts that AddClusterPart reads.
Result<DeclaredCluster> ParseClusterFlag(const std::string& text, bool simulated) {
  DeclaredCluster cluster;
  std::stringstream parts(text);
  std::getline(parts, cluster.name, ',');
  const Status named = CheckName(cluster.name);
  if (!named.ok()) return named.error();
  std::string part;
  while (std::getline(parts, part, ',')) {
    const auto status = AddClusterPart(part, simulated, &cluster);
    if (!status.ok()) return status.error();
  }
  return cluster;
}

}  // namespace muster
