// The key of pod sets: equal for those which no admission or placement rule can tell apart; and the
// two functions that every part of such a key is written with. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/model/job.h"

namespace muster::core {

/// Appends a number and what ends it.
void AppendKeyNumber(std::int64_t number, std::string* key);
/// Appends a text, its length first, so that no two lists of texts can read the same.
void AppendKeyText(const std::string& text, std::string* key);

/// Appends the content of pod sets that any admission or placement rule reads. Equal text, equal
/// verdicts.
void AppendPodSetsKey(const PodSets& pod_sets, std::string* key);

}  // namespace muster::core
