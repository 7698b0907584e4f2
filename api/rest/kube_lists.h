// The query of lists on Kubernetes paths (selectors, `limit` and `continue`), and pages of
// configuration objects.
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

/// What a client asks of a list; Kubernetes calls it ListOptions.
struct ListWish {
  KubeSelector selector;
  std::size_t limit = 0;  // 0: no limit
  std::string after;      // the `continue` of the page before; "" = the first page
};
/// kInvalidArgument names the wrong query parameter.
Result<ListWish> ReadListWish(const Request& request);

/// The 400 for a `continue` that this server did not give.
Error BadContinue();

/// One page of a list of configuration objects.
struct ObjectPage {
  json::array items;
  std::string next;            // `continue` of the next page; "" = the last
  std::int64_t remaining = 0;  // objects after the page that the selector matches
};
/// Cuts a page out of `objects`, which are in the order of namespace and name. A page begins after
/// the last name of the page before, so objects that come and go between two pages do not shift the
/// others.
Result<ObjectPage> PageOf(const std::vector<json::value>& objects, const ListWish& wish);

}  // namespace muster::rest
