// The control path of a fake member, for tests in other processes:
//   POST /fake/COMMAND with a JSON body, GET /fake/counts, and /fake/user/PATH for requests as a
//   user of the member's own makes them.
#include "tests/support/fake_member/member_impl.h"

namespace muster::fake {
namespace {

Answer Said(json::object object) { return {200, json::serialize(object)}; }

json::object CountsText(const Counts& counts) {
  json::object requests, pods;
  for (const auto& [name, number] : counts.requests) requests[name] = number;
  for (const auto& [name, number] : counts.pods_created) pods[name] = number;
  return {{"requests", std::move(requests)},
          {"pods_created", std::move(pods)},
          {"foreign_writes", json::value_from(counts.foreign_writes)},
          {"overlaps", json::value_from(counts.overlaps)}};
}

}  // namespace

// False and `why` if there is no such command or its body is malformed.
bool FakeMember::Impl::Command(const std::string& command, const json::object& body,
                               std::string* why) {
  const std::string name = Text(body, {"name"});
  if (command == "pause") {
    face->Pause();
  } else if (command == "resume") {
    face->Resume();
  } else if (command == "break") {
    face->BreakConnections();
  } else if (command == "close-watches") {
    face->CloseWatches();
  } else if (command == "bookmarks") {
    face->SendBookmarks();
  } else if (command == "compact") {
    face->Compact();
  } else if (command == "wipe") {
    face->Wipe();
  } else if (command == "save") {
    face->Save(name);
  } else if (command == "restore" && saved.count(name) > 0) {
    face->Restore(name);
  } else if (command == "token") {
    face->SetToken(Text(body, {"token"}));
  } else if (command == "installed" && cluster.store().Plural(name) >= 0) {
    face->SetInstalled(name, Flag(body, {"installed"}));
  } else if (command == "right") {
    face->SetRight(Text(body, {"verb"}), name, Text(body, {"namespace"}), Flag(body, {"allowed"}));
  } else if (command == "pod-quota") {
    face->SetPodQuota(Text(body, {"namespace"}), Number(body, {"pods"}, -1));
  } else if (command == "controllers") {
    face->SetControllers(Flag(body, {"on"}));
  } else if (command == "advance" && options.manual_clock) {
    face->Advance(Number(body, {"ms"}));
  } else if (command == "disrupt") {
    face->Disrupt(Text(body, {"namespace"}), name, Text(body, {"reason"}));
  } else if (command == "node-ready") {
    face->SetNodeReady(name, Flag(body, {"ready"}));
  } else if (command == "log") {
    face->AppendLog(Text(body, {"namespace"}), name, Text(body, {"text"}));
  } else if (command == "clear-faults") {
    face->ClearFaults();
  } else {
    *why = "there is no command \"" + command + "\" with that body here";
    return false;
  }
  return true;
}

Answer FakeMember::Impl::Control(const Request& request, const Route& route) {
  const std::string command = route.path.substr(6);
  if (command.starts_with("user/")) {
    Request inner = request;
    inner.target = request.target.substr(10);
    return CallLocked(inner, Writer::kTest);
  }
  if (command == "counts") return Said(CountsText(cluster.counts()));
  std::string why;
  const std::optional<json::object> body =
      request.body.empty() ? json::object() : ParseObject(request.body);
  if (!body) return BadRequest("the body is no JSON object");
  if (command == "fault") {
    const std::optional<Fault> fault = ReadFault(*body, &why);
    if (!fault) return BadRequest(why);
    return Said({{"fault", face->Inject(*fault)}});
  }
  if (command == "struck")
    return Said({{"struck", face->Struck(static_cast<int>(Number(*body, {"fault"})))}});
  if (!Command(command, *body, &why)) return BadRequest(why);
  return Said({});
}

}  // namespace muster::fake
