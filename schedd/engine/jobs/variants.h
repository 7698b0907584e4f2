// Variants: the queue entries of a job whose ClusterQueue tries each flavor separately (concurrent
// admission, KEP-8691, rule A57). Pure.
#pragma once

#include <set>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

/// The preemption gate of each variant (rule A56).
inline constexpr const char* kVariantGate = "kueue.x-k8s.io/concurrent-admission";

/// True if the job's ClusterQueue has the policy: the job becomes a parent, which is never queued.
bool HasVariants(const ConfigView& config, const AdmissionSettings& settings, const JobRecord& job);
/// Marks a job as a parent, at its submission.
void MarkParent(JobRecord* job);
bool IsParent(const JobRecord& job);
/// One variant for each flavor that the job may still get: all flavors while it waits; while it
/// runs, with TryPreferredFlavors, the flavors that are better than its own and good enough to move
/// to. `open_gates`: the slots of variants that may preempt.
std::vector<JobPtr> VariantsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates);

}  // namespace muster
