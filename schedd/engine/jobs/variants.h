// Variants: the entries of a job that tries each flavor of its ClusterQueue for itself (concurrent
// admission, KEP-8691, rule A57). Pure.
#pragma once

#include <set>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

inline constexpr const char* kVariantGate = "kueue.x-k8s.io/concurrent-admission";

/// True if its ClusterQueue is to try each flavor for itself: it is a parent then, and never
/// queued.
bool HasVariants(const ConfigView& config, const AdmissionSettings& settings, const JobRecord& job);
void MarkParent(JobRecord* job);
bool IsParent(const JobRecord& job);
/// One entry for each flavor that it may still get: all while it waits; while it runs, with
/// TryPreferredFlavors, those that are better than its own and good enough to move to.
std::vector<JobPtr> VariantsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates);

}  // namespace muster
