// The compiled form of a flavor search (rule A27).
//
// 1. Pod sets of one topology group form one batch, every other pod set is a batch of its own.
// 2. The resources that a batch requests are sorted by the 64-bit FNV-1a of their names: that is
//    the order in which Kueue visits them, and the order matters because the first resource of a
//    group starts its scan.
// 3. The first resource of each resource group makes one step, for all requested resources that the
//    group covers, with one option per flavor of the group.
// 4. Each option is checked for everything that no usage can change: allowed flavors (rule A57),
//    topology (rule A32), taints and node labels (rule A28).
//
// All string work of a search is done here, once per class of equal workloads; FlavorWalk then
// works on integers.
#include "schedd/core/flavor/flavor_compile.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor/flavor_topology.h"
#include "schedd/core/quota/flavor_match.h"

namespace muster::core {
namespace {

constexpr std::string_view kPods = "pods";

// Kueue visits resources in ascending 64-bit FNV-1a of their names (rule A27).
std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

bool Covers(const ResourceGroup& group, std::string_view resource) {
  const auto& covered = group.covered_resources;
  return std::find(covered.begin(), covered.end(), resource) != covered.end();
}

// One compilation; Run is called once.
class Compiler {
 public:
  Compiler(const ConfigView& config, const AdmissionSettings& settings, const QuotaTree& tree,
           const ClusterQueue& queue, const JobRecord& job, const Demand& demand,
           const QueueTopology& topology)
      : config_(config),
        tree_(tree),
        queue_(queue),
        demand_(demand),
        topology_(topology),
        ignore_undeclared_(settings.quota_check_strategy && settings.ignore_undeclared) {
    if (settings.concurrent_admission && job.admission_state != nullptr &&
        job.admission_state->allowed_flavors) {
      allowed_ = &*job.admission_state->allowed_flavors;
    }
  }

  std::vector<FlavorBatch> Run() {
    std::vector<FlavorBatch> batches;
    std::vector<std::string> names;  // topology group of each batch, "" for none
    for (std::size_t i = 0; i < demand_.size(); ++i) {
      const auto& request = demand_[i].pod_set->topology;
      const std::string name = request == nullptr ? "" : request->pod_set_group;
      const auto known = std::find(names.begin(), names.end(), name);
      if (name.empty() || known == names.end()) {
        names.push_back(name);
        batches.emplace_back().pod_sets.push_back(i);
      } else {
        batches[static_cast<std::size_t>(known - names.begin())].pod_sets.push_back(i);
      }
    }
    for (auto& batch : batches) Compile(&batch);
    return batches;
  }

 private:
  // The requests of a batch's pod sets together, in the order in which resources are visited. If
  // some group of the queue covers `pods`, each pod asks for one; a request for `pods` of its own
  // is replaced by that.
  std::vector<FlavorNeed> NeedsOf(const FlavorBatch& batch) const {
    std::vector<FlavorNeed> needs;
    const auto add = [&](std::string_view resource, std::size_t pod_set, std::int64_t per_pod) {
      auto need = std::find_if(needs.begin(), needs.end(),
                               [&](const FlavorNeed& known) { return known.resource == resource; });
      if (need == needs.end()) {
        need = needs.insert(needs.end(), FlavorNeed{std::string(resource), 0, {}, true});
      }
      need->parts.push_back({pod_set, per_pod});
      need->amount = SaturatingAdd(need->amount, SaturatingMul(per_pod, demand_[pod_set].count));
    };
    for (const std::size_t pod_set : batch.pod_sets) {
      for (const auto& [resource, amount] : demand_[pod_set].per_pod) {
        if (resource != kPods) add(resource, pod_set, amount);
      }
      if (core::Covers(queue_, kPods)) add(kPods, pod_set, 1);
    }
    std::sort(needs.begin(), needs.end(), [](const FlavorNeed& a, const FlavorNeed& b) {
      return std::make_pair(Fnv1a(a.resource), a.resource) <
             std::make_pair(Fnv1a(b.resource), b.resource);
    });
    return needs;
  }

  // Makes the steps of one batch. A resource that no group covers is a step that fails, unless
  // quotaCheckStrategy is IgnoreUndeclared.
  void Compile(FlavorBatch* batch) const {
    const auto needs = NeedsOf(*batch);
    std::vector<std::string> decided;
    for (const auto& need : needs) {
      if (std::find(decided.begin(), decided.end(), need.resource) != decided.end()) continue;
      const auto& groups = queue_.resource_groups;
      const auto group = std::find_if(
          groups.begin(), groups.end(),
          [&](const ResourceGroup& candidate) { return Covers(candidate, need.resource); });
      FlavorStep step;
      if (group == groups.end()) {
        if (ignore_undeclared_) continue;
        step.uncovered = true;
        step.needs.push_back(need);
        batch->steps.push_back(std::move(step));
        continue;
      }
      step.group = static_cast<std::size_t>(group - groups.begin());
      for (const auto& other : needs) {
        if (!Covers(*group, other.resource)) continue;
        if (other.resource == need.resource) step.trigger = step.needs.size();
        // If groups overlap in a resource, the group that is scanned last decides its flavor.
        for (auto& earlier : batch->steps) {
          for (auto& same : earlier.needs) same.decides &= same.resource != other.resource;
        }
        step.needs.push_back(other);
        decided.push_back(other.resource);
      }
      for (const auto& entry : group->flavors) {
        step.options.push_back(OptionOf(*batch, step, *group, entry.flavor));
      }
      batch->steps.push_back(std::move(step));
    }
  }

  // One flavor of a group: the pair of each need, and the reason if the flavor can never be taken.
  FlavorOption OptionOf(const FlavorBatch& batch, const FlavorStep& step,
                        const ResourceGroup& group, const std::string& name) const {
    FlavorOption option;
    option.flavor = name;
    for (const auto& need : step.needs) {
      option.pairs.push_back(tree_.PairIndex(name, need.resource));
    }
    if (allowed_ != nullptr &&
        std::find(allowed_->begin(), allowed_->end(), name) == allowed_->end()) {
      option.refusal = FlavorOption::Refusal::kNotAllowed;
      option.why =
          "skipping flavor " + name + " due to WorkloadAllowedResourceFlavorAnnotation annotation";
      return option;
    }
    const auto flavor = config_.flavors.find(name);
    if (flavor == config_.flavors.end()) {
      option.why = "flavor " + name + " not found";
    } else {
      for (const std::size_t pod_set : batch.pod_sets) {
        const PodSet& spec = *demand_[pod_set].pod_set;
        option.why = topology_.Mismatch(spec, flavor->second, group);
        if (option.why.empty()) {
          option.why = FlavorMismatch(flavor->second, spec.constraints.get());
        }
        if (!option.why.empty()) break;
      }
    }
    if (!option.why.empty()) option.refusal = FlavorOption::Refusal::kMismatch;
    return option;
  }

  const ConfigView& config_;
  const QuotaTree& tree_;
  const ClusterQueue& queue_;
  const Demand& demand_;
  const QueueTopology& topology_;
  const bool ignore_undeclared_;
  const std::vector<std::string>* allowed_ = nullptr;  // null: all flavors are allowed
};

}  // namespace

bool Covers(const ClusterQueue& queue, std::string_view resource) {
  return std::any_of(queue.resource_groups.begin(), queue.resource_groups.end(),
                     [&](const ResourceGroup& group) { return Covers(group, resource); });
}

std::vector<FlavorBatch> CompileBatches(const ConfigView& config, const AdmissionSettings& settings,
                                        const QuotaTree& tree, const ClusterQueue& queue,
                                        const JobRecord& job, const Demand& demand,
                                        const QueueTopology& topology) {
  return Compiler(config, settings, tree, queue, job, demand, topology).Run();
}

}  // namespace muster::core
