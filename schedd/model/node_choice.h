// Which member clusters a batch script may use by --nodelist, --exclude, --constraint and the type
// of its GPUs (rule B43). A node is a member that is one machine, or a machine of a member that
// tells its machines. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/model/member_cluster.h"

namespace muster {

/// What a job says of the nodes on which it may run.
struct NodeChoice {
  std::vector<std::string> required, excluded;  // names of nodes
  std::string features;                         // "a&(b|c)"
  std::string gpu_type;                         // "": any
};

/// Null if the job says nothing of its nodes.
std::shared_ptr<const NodeChoice> NodeChoiceOf(const JobRecord& job);

/// "" if the member may take the job, else why not.
std::string NodeChoiceRefusal(const NodeChoice& choice, const MemberCluster& member);

/// True if the labels have the feature: as a key (also its part behind the last slash) whose value
/// is not "false", as a value, or as "key=value".
bool HasFeature(const LabelMap& labels, std::string_view feature);

/// The names in a feature expression; nothing if it is malformed, or counts nodes ("a*2").
std::optional<std::vector<std::string>> FeatureNames(std::string_view expression);
/// Whether the labels satisfy the expression; "&" and "," bind more tightly than "|".
bool SatisfiesFeatures(std::string_view expression, const LabelMap& labels);

/// The names of a host list, "n[1-3],gpu1"; at most 10,000.
std::vector<std::string> NodeNames(std::string_view list);

}  // namespace muster
