// What a session is made with, and why its owner is asked for another one.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/model/scheduling.h"

namespace muster::k8s {

struct SessionOptions {
  std::string member;       // its name
  std::string instance_id;  // of this Muster: the value of the label muster.io/instance
  LabelMap labels;          // declared for the member
  int connections = 0;      // 0: the client's own number
  /// After this time the session is ready even if the pods of others are not listed: a member may
  /// have a hundred thousand of them.
  std::int64_t others_within_ms = 5000;
  std::int64_t heartbeat_s = 60;  // MemberCluster::heartbeat_s
};

/// Why a session asks its owner for another one.
enum class Renewal : std::uint8_t {
  kOtherMember,  // another incarnation answers, or the same one restored from a backup
  /// The member refuses us or does not answer: the kubeconfig may name another server or other
  /// credentials by now.
  kUnusable,
};

}  // namespace muster::k8s
