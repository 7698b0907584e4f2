// The key of pod sets, equal for pod sets that no admission or placement rule can tell apart, and
// the two functions with which all parts of such keys are written. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/model/job.h"

namespace muster::core {

/// Appends a number and a separator.
void AppendKeyNumber(std::int64_t number, std::string* key);
/// Appends the length of a text and the text, so that two different lists of texts never give the
/// same key.
void AppendKeyText(const std::string& text, std::string* key);

/// Appends all content of pod sets that any admission or placement rule reads. Equal keys mean
/// equal verdicts.
void AppendPodSetsKey(const PodSets& pod_sets, std::string* key);

}  // namespace muster::core
