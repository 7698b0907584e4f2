// ListCollection: a consistent read of a collection in pages.
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/reflector.h"
#include "schedd/text/lenient.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr int kBeginnings = 5;  // a list that expires this often is too slow to be read at all

class PagedList : public std::enable_shared_from_this<PagedList> {
 public:
  PagedList(ApiClient& client, Collection collection, ListCallbacks callbacks)
      : client_(client), collection_(std::move(collection)), callbacks_(std::move(callbacks)) {}

  void Begin() {
    ++beginnings_;
    continue_.clear();
    callbacks_.on_start();
    Ask();
  }

 private:
  void Ask() {
    ApiRequest request;
    // Without a resourceVersion the answer is as new as the question.
    request.target = collection_.path + "?limit=" + std::to_string(collection_.page);
    for (const auto& [key, value] : {std::pair("labelSelector", collection_.label_selector),
                                     std::pair("fieldSelector", collection_.field_selector),
                                     std::pair("continue", continue_)}) {
      if (!value.empty()) request.target += std::string("&") + key + "=" + PercentEncode(value);
    }
    request.urgency = Urgency::kList;
    client_.Send(
        std::move(request),
        [self = shared_from_this()](const Result<ApiResponse>& answer) { self->Answered(answer); });
  }

  void Answered(const Result<ApiResponse>& answer) {
    if (!answer) return callbacks_.done(answer.error());
    // The token has outlived its version. The one that the answer offers instead would make the
    // rest inconsistent with what came.
    if (answer->status == 410 && !continue_.empty() && beginnings_ < kBeginnings) return Begin();
    if (!answer->ok()) return callbacks_.done(ErrorOf(*answer));
    MemberDocument page(answer->body);
    if (!page.ok()) return callbacks_.done(page.error());
    auto* list = page->if_object();
    auto* items = list == nullptr ? nullptr : list->if_contains("items");
    auto* metadata = list == nullptr ? nullptr : list->if_contains("metadata");
    const bool whole = metadata != nullptr && metadata->is_object() && items != nullptr &&
                       (items->is_array() || items->is_null());
    if (!whole) return callbacks_.done(Error{Code::kDataLoss, "the member's answer is no list"});
    if (items->is_array()) {
      FillIn(*list, &items->get_array());
      callbacks_.on_page(items->get_array());
    }
    continue_ = TextAt(metadata, "continue");
    if (!continue_.empty()) return Ask();
    callbacks_.done(TextAt(metadata, "resourceVersion"));
  }

  // The API server leaves out of each item what it says once: "JobList", "batch/v1".
  static void FillIn(const json::object& list, json::array* items) {
    std::string kind = TextAt(list, "kind");
    if (kind.ends_with("List")) kind.resize(kind.size() - 4);
    const std::string api_version = TextAt(list, "apiVersion");
    for (auto& item : *items) {
      auto* object = item.if_object();
      if (object == nullptr) continue;
      if (!object->contains("kind")) (*object)["kind"] = kind;
      if (!object->contains("apiVersion")) (*object)["apiVersion"] = api_version;
    }
  }

  ApiClient& client_;
  const Collection collection_;
  const ListCallbacks callbacks_;
  std::string continue_;
  int beginnings_ = 0;
};

}  // namespace

void ListCollection(ApiClient& client, const Collection& collection, ListCallbacks callbacks) {
  auto list = std::make_shared<PagedList>(client, collection, std::move(callbacks));
  if (client.OnStrand()) return list->Begin();
  if (!client.Post([list] { list->Begin(); })) list->Begin();
}

}  // namespace muster::k8s
