// SubmissionBuilder: from a request's body to validated submissions. schedd/shapes judges what a
// body means on its own; this adds what depends on the configuration: namespace, queue, priority
// class and names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth/authorizer.h"
#include "api/service/pod_set_cache.h"
#include "schedd/base/random.h"
#include "schedd/base/time.h"
#include "schedd/core/member/cluster_view.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/queue_choice.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/world/command.h"

namespace muster::api {

using shapes::QueueChoice;
using shapes::ResolveNamespace;
using shapes::ResolveQueue;

/// Bytes of all manifests of one apply: 1,000 jobs of 64 KiB. They are in memory until the store
/// has them.
inline constexpr std::size_t kArrayBytes = 64 << 20;

/// Not thread-safe; made for one request. The authorizer is asked who may exceed the namespace's
/// cap on priorities, and nothing else. The references must outlive it.
class SubmissionBuilder {
 public:
  SubmissionBuilder(const ConfigView& config, const AdmissionSettings& settings, Random& random,
                    PodSetCache& pod_sets, const auth::Principal& who,
                    const auth::Authorizer& authorizer)
      : config_(config),
        settings_(settings),
        random_(random),
        pod_sets_(pod_sets),
        who_(who),
        authorizer_(authorizer) {}

  /// The members as they are and the time: what batch scripts are checked against.
  void Know(std::span<const core::ClusterView> members, WallTime now) {
    members_ = members;
    now_ = now;
  }

  /// One submission; an array is one too. The engine names a batch script that has no name. `ns` is
  /// the path's namespace, "" for none. `idempotency_key` "" for none.
  Result<std::vector<Submission>> Build(const std::string& ns, json::value body,
                                        const std::string& idempotency_key);
  /// The same for a manifest that ParseJob has already read.
  Result<std::vector<Submission>> BuildParsed(const std::string& ns, shapes::ParsedJob parsed);

 private:
  Result<std::shared_ptr<JobRecord>> Draft(const std::string& ns, shapes::ParsedJob* parsed);
  Status TakeArray(JobRecord* draft);
  void Name(JobRecord* draft, const shapes::ParsedJob& parsed);

  const ConfigView& config_;
  const AdmissionSettings& settings_;
  Random& random_;
  PodSetCache& pod_sets_;
  const auth::Principal& who_;
  const auth::Authorizer& authorizer_;
  std::span<const core::ClusterView> members_;
  WallTime now_;
};

/// Parses a request's body: a {"script": ...} form becomes a BatchScript manifest, anything else is
/// a manifest.
/// `now` resolves points in time in Slurm's notation.
Result<shapes::ParsedJob> ParseBody(json::value body, std::string_view ns, WallTime now = {});

/// metadata.generateName resolved as Kubernetes does: the base cut to 58 characters, and five
/// random characters of an alphabet without vowels.
std::string GeneratedName(std::string_view base, Random& random);
/// True for "job-NUMBER", the form of the names that the engine gives to batch scripts. Users may
/// not choose such a name.
bool IsGivenName(std::string_view name);

}  // namespace muster::api
