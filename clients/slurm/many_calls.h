// Many small requests of one command: a few at once, so that they share the commits of the server,
// as scancel and scontrol of Slurm send theirs by threads.
#pragma once

#include <cstddef>
#include <functional>

#include "clients/lib/api_client.h"

namespace muster::slurm {

/// Calls `work` once for each number below `count`, from several threads and in no order; `work`
/// gets a client of its thread and must not print. From this thread with `api`, and in order, if
/// they are few, or if the credentials are a login that the commands renew.
void ForEachCall(client::ApiClient& api, std::size_t count,
                 const std::function<void(client::ApiClient& api, std::size_t i)>& work);

}  // namespace muster::slurm
