// Slurm's sentences for what the server refuses of a submission (rule B14); tools match them.
#pragma once

#include <string>

#include "clients/lib/api_client.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// True if one of the refusal's fields has this name as the last part of its path.
bool Mentions(const client::Failure& failure, const char* field);

/// The lines to print for a submission of `body` that the server refused or did not answer.
/// `failed` stands before the last one: "Batch job submission failed: ".
std::string RefusalText(const client::Failure& failure, const json::object& body,
                        const std::string& failed);

}  // namespace muster::slurm
