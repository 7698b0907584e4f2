// What lists on Kubernetes paths are asked for: selectors, and pages by `limit` and `continue`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/rest/http/message.h"
#include "api/rest/kube_selectors.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::rest {

struct ListWish {
  KubeSelector selector;
  std::size_t limit = 0;  // 0: all
  std::string after;      // the `continue` of the page before; "" = the first
};
/// kInvalidArgument names the query parameter that is wrong.
Result<ListWish> ReadListWish(const Request& request);

/// The 400 of a `continue` that this server did not give.
Error BadContinue();

/// A part of a list of configuration objects.
struct ObjectPage {
  json::array items;
  std::string next;            // `continue` of the next page; "" = the last
  std::int64_t remaining = 0;  // objects after it that the selector takes
};
/// `objects` in the order of namespace and name. A page begins after the name where the last one
/// ended, so objects that come and go between two pages do not shift the others.
Result<ObjectPage> PageOf(const std::vector<json::value>& objects, const ListWish& wish);

}  // namespace muster::rest
