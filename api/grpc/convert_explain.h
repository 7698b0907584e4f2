// A job's explanation as a message of muster.v1. Pure, thread-safe.
#pragma once

#include "api/service/job_explanation.h"
#include "muster/v1/explain.pb.h"

namespace muster::api {

void ToProto(const JobExplanation& explained, v1::Explanation* out);

}  // namespace muster::api
