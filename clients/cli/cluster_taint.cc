// muster cluster taint: edits spec.taints of a MemberCluster, with the arguments of kubectl taint.
//
// The command reads the object, applies all edits to the list and puts the whole object back. The
// object still has its resourceVersion, so the server refuses the write if another client has
// changed the object in between, and no edit is lost.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/kinds.h"
#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

struct TaintEdit {
  std::string word;  // as written
  std::string key, value, effect;
  bool remove = false;
};

// Parses key[=value]:Effect (add) and key[=value]:Effect- or key- (remove); false for anything
// else.
bool ReadEdit(const std::string& word, TaintEdit* edit) {
  std::string rest = word;
  edit->word = word;
  edit->remove = rest.ends_with('-');
  if (edit->remove) rest.pop_back();
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string::npos) {
    edit->effect = rest.substr(colon + 1);
    rest.erase(colon);
    if (edit->effect.empty()) return false;
  } else if (!edit->remove) {
    return false;
  }
  const std::size_t equals = rest.find('=');
  if (equals != std::string::npos) edit->value = rest.substr(equals + 1);
  edit->key = rest.substr(0, equals);
  return !edit->key.empty();
}

// Applies one edit to the list. Returns why it cannot be done, or "". A taint is identified by key
// and effect; an edit without an effect removes the key with every effect.
std::string Apply(const TaintEdit& edit, bool overwrite, json::array* taints) {
  const auto same = [&](const json::value& taint) {
    return client::PathText(taint, "key") == edit.key &&
           (edit.effect.empty() || client::PathText(taint, "effect") == edit.effect);
  };
  const auto found = std::find_if(taints->begin(), taints->end(), same);
  const std::string name = edit.key + (edit.effect.empty() ? "" : ":" + edit.effect);
  if (edit.remove) {
    if (found == taints->end()) return "taint \"" + name + "\" is not there";
    json::array kept;
    for (json::value& taint : *taints)
      if (!same(taint)) kept.push_back(std::move(taint));
    *taints = std::move(kept);
    return "";
  }
  json::object taint{{"key", edit.key}, {"effect", edit.effect}};
  if (!edit.value.empty()) taint["value"] = edit.value;
  if (found == taints->end()) {
    taints->push_back(std::move(taint));
  } else if (client::PathText(*found, "value") == edit.value || overwrite) {
    *found = std::move(taint);
  } else {
    return "taint \"" + name + "\" is there with another value; --overwrite changes it";
  }
  return "";
}

json::array TaintsOf(const json::value& member) { return ArrayOrEmpty(member, {"spec", "taints"}); }

}  // namespace

int ClusterTaint(Session& session, const TaintOptions& options) {
  std::vector<TaintEdit> edits(options.edits.size());
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (!ReadEdit(options.edits[i], &edits[i])) {
      return PrintError("\"" + options.edits[i] +
                        "\" is no taint: key=value:Effect, or key:Effect- to remove one"),
             kBadUsage;
    }
  }
  const std::string path = ObjectPath(*FindKind("memberclusters"), "", options.cluster);
  client::Outcome<json::value> member = session.api.Get(path);
  if (!member.ok()) return PrintFailure(member.failure());
  json::array taints = TaintsOf(*member);
  for (const TaintEdit& edit : edits) {
    const std::string refused = Apply(edit, options.overwrite, &taints);
    if (!refused.empty()) return PrintError(options.cluster + ": " + refused), kRefused;
  }
  if (!member->is_object()) return PrintError("the server's answer is no object"), kRefused;
  // The whole object as it was read: its resourceVersion lets nobody else's edit be lost.
  MakeObjectAt(member->get_object(), "spec")["taints"] = std::move(taints);
  const client::Outcome<json::value> answer = session.api.Send({"PUT", path, WriteJson(*member)});
  if (!answer.ok()) return PrintFailure(answer.failure());
  const bool only_removed =
      std::all_of(edits.begin(), edits.end(), [](const TaintEdit& edit) { return edit.remove; });
  std::printf("membercluster/%s %s\n", options.cluster.c_str(),
              only_removed ? "untainted" : "tainted");
  return 0;
}

}  // namespace muster::cli
