// The table of the kinds of configuration objects: one entry per kind with everything that the
// engine, the store, the APIs and `muster` have to know of it. An entry is a constant in the file
// that holds the kind's reader; kind_list.h lists the entries.
//
// Adding a kind is its value of ObjectKind, one file with its reader and its entry, one line in
// kind_list.h, and a migration that creates its table in the database (README.md of this room's
// parent directory).
//
// Constants and pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/shapes/config/printer_columns.h"
#include "schedd/text/json.h"

namespace muster::shapes {

class Field;

/// What a change of an object matters to.
enum class Concern : std::uint8_t {
  kQueues,      // which amounts are charged to which queue: the quota tree is built anew
  kPlacements,  // which member clusters jobs may go to, or have to leave
  kJobSizes,    // the amounts that waiting jobs ask for
  kMembers,     // only what is sent to member clusters; no decision about a job looks at it
};

/// Who writes an object's status.
enum class StatusWriter : std::uint8_t {
  kNobody,      // the kind has no status
  kApi,         // the API computes it for each answer (api/service/objects.cc); it is not stored
  kController,  // a controller, through the status subresource; it is stored with the object
  kEngine,      // the engine; it is stored with the object
};

/// One kind.
struct KindInfo {
  ObjectKind kind;
  const char* name;         // "ClusterQueue"
  const char* plural;       // "clusterqueues", as in paths
  const char* group;        // "" for the core group
  const char* versions[2];  // the served ones, oldest first; the second is null if there is but one
  bool namespaced;
  /// True if names may be any segment of a path ("system:masters"); otherwise they are DNS
  /// subdomains.
  bool path_names = false;
  /// Its table in the database (db/migrations): columns name, uid, generation, resource_version,
  /// creation_time, manifest, and namespace if it is namespaced.
  const char* table;

  /// Checks everything but the metadata that all kinds have.
  void (*check)(const Field& root);
  /// Puts an object into the tables of a ConfigView. Errors: what may not change has changed. Null
  /// for a kind that no ConfigView holds.
  Status (*put)(const json::value& manifest, ConfigView* config) = nullptr;
  /// Removes it; no error if it is absent. Null where `put` is.
  void (*remove)(ConfigView* config, const std::string& ns, const std::string& name) = nullptr;
  /// Brings a checked manifest into the form that is stored; null if that is the form it has.
  void (*normalise)(json::object& manifest) = nullptr;

  Concern concern = Concern::kMembers;
  StatusWriter status = StatusWriter::kNobody;
  /// True if placements may select it and send it to member clusters.
  bool sent = false;

  /// The short names that discovery tells kubectl; null where there are fewer.
  std::array<const char*, 3> short_names = {};
  /// The one that `muster get` takes; "" if none.
  const char* cli_name = "";
  /// Its place in the list of kinds that `muster` prints; equal ones keep this table's order.
  int cli_place = 100;
  std::span<const PrinterColumn> columns;
};

/// Every kind, in the order in which a set of objects is applied: what an object names comes before
/// it.
std::span<const KindInfo* const> Kinds();
/// CHECKs that the kind is listed: every value of ObjectKind is.
const KindInfo& InfoOf(ObjectKind kind);
/// By group and plural, as in a path; null if Muster keeps no such kind.
const KindInfo* FindKind(std::string_view group, std::string_view plural);
/// By group and name ("ClusterQueue"); null if Muster keeps no such kind.
const KindInfo* FindKindOf(std::string_view group, std::string_view name);

bool Serves(const KindInfo& info, std::string_view version);
/// "ClusterQueue is served in v1beta1 and v1beta2, not "v1"".
std::string NotServed(const KindInfo& info, std::string_view version);
/// True if the status is stored with the object: who writes the rest of it must keep the status.
bool HasStoredStatus(const KindInfo& info);

/// The groups of Kueue and KubeFleet.
inline constexpr char kKueueGroup[] = "kueue.x-k8s.io";
inline constexpr char kClusterGroup[] = "cluster.kubernetes-fleet.io";
inline constexpr char kPlacementGroup[] = "placement.kubernetes-fleet.io";
/// The groups of roles and bindings, and of Muster's own kinds.
inline constexpr char kAccessGroup[] = "rbac.authorization.k8s.io";
inline constexpr char kMusterGroup[] = "muster.io";

}  // namespace muster::shapes
