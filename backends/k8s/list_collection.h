// ListCollection: reads a collection of a member as it is now.
#pragma once

#include <functional>
#include <string>

#include "backends/k8s/client/api_client.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// The objects at a path that the selectors match.
struct Collection {
  std::string path;  // "/apis/batch/v1/jobs"
  std::string label_selector, field_selector;
  int page = 500;
};

/// The receiver of ListCollection.
struct ListCallbacks {
  /// Called before the first page, and again if the list had to begin again (410 on a page): then
  /// the pages so far are void.
  std::function<void()> on_start;
  /// The next objects, each with apiVersion and kind filled in. Valid only during the call.
  std::function<void(const json::array& items)> on_page;
  /// Called once, at last, with the list's resourceVersion or the reason why it is incomplete
  /// (ErrorOf of the answer, or the error of Send).
  Callback<std::string> done;
};
/// Reads a collection as it is now (a consistent read), page by page, on the client's strand.
/// `client` must live until `done` was called.
void ListCollection(ApiClient& client, const Collection& collection, ListCallbacks callbacks);

}  // namespace muster::k8s
