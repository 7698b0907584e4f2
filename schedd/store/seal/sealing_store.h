// SealingStore: a Store over another Store that keeps no secret in the clear. README.md of this
// directory says what is sealed.
#pragma once

#include <memory>

#include "schedd/store/seal/sealer.h"
#include "schedd/store/store.h"

namespace muster::seal {

/// Thread-safe as the store below it, which it owns. Load answers kFailedPrecondition if the keys
/// do not open what is stored; as the leader it then also seals what is there in the clear or under
/// an older key, and waits for that commit. ReadObjects opens
/// likewise.
std::unique_ptr<Store> MakeSealingStore(std::unique_ptr<Store> below, Sealer sealer);

/// Of a sealing store: whether its keys open all objects that are sealed; kFailedPrecondition with
/// a sentence if they do not. Changes nothing and needs no lead, so a daemon can ask before it
/// serves.
Status CheckKeys(Store& store);

}  // namespace muster::seal
