// The manager's connections to the agents of the job's other nodes. It connects when the first step
// needs the node.
#include <csignal>

#include "clients/steps/agent/manager.h"
#include "clients/steps/agent/manager_step.h"

namespace muster::steps {
namespace {

// An agent may be some seconds behind the script that calls srun.
constexpr std::int64_t kAgentWaitMs = 60'000;
constexpr std::int64_t kAgentRetryMs = 20;

}  // namespace

void Manager::AskNode(std::size_t node) {
  NodeLink& link = links_[node];
  if (link.channel != nullptr || link.trying) return;
  link.trying = true;
  link.give_up_at = MonotonicMs() + kAgentWaitMs;
  ConnectNode(node);
}

void Manager::ConnectNode(std::size_t node) {
  NodeLink& link = links_[node];
  const std::string& host = book_.nodes()[node].host;
  Descriptor socket = ConnectIn(directory_, host + ".sock");
  if (socket && PeerIsOwner(socket.get())) {
    link.trying = false;
    link.channel = std::make_unique<Channel>(std::move(socket));
    loop_->Watch(link.channel->fd(), [this, node] { ReadNode(node); });
    return;
  }
  if (MonotonicMs() < link.give_up_at) {
    loop_->After(kAgentRetryMs, [this, node] { ConnectNode(node); });
    return;
  }
  link.trying = false;
  // Every step that waits for this node is told.
  std::vector<std::int32_t> waiting;
  for (const auto& [number, step] : steps_) {
    if (step->grants.empty()) waiting.push_back(number);
  }
  for (const std::int32_t number : waiting) {
    const auto at = steps_.find(number);
    if (at == steps_.end()) continue;
    const PlacedStep placed = book_.Place(at->second->request, number);
    if (placed.result == Placing::kPlaced) book_.Release(number);
    if (placed.result != Placing::kUnknownNodes) continue;
    Refuse(at->second.get(),
           "Unable to create step for job " + facts_.job + ": there is no agent on node " + host);
  }
}

void Manager::SendToNode(std::size_t node, MessageType type, std::string payload,
                         std::vector<Descriptor> descriptors) {
  NodeLink& link = links_[node];
  if (link.channel == nullptr) return;
  link.channel->Send(type, std::move(payload), std::move(descriptors));
  loop_->WantWrite(*link.channel);
}

void Manager::ReadNode(std::size_t node) {
  const std::string host = book_.nodes()[node].host;
  links_[node].channel->Flush();
  const bool open = links_[node].channel->Receive();
  while (links_[node].channel != nullptr) {
    std::optional<Frame> frame = links_[node].channel->Next();
    if (!frame) break;
    if (frame->type == MessageType::kNodeHello) {
      const auto hello = Decode<NodeHello>(frame->payload);
      if (!hello || hello->protocol != kProtocol || hello->host != host) return LoseNode(node);
      book_.Learn(node, *hello);
      TryWaiting();
    } else if (frame->type == MessageType::kNodeExited) {
      if (auto ended = Decode<TasksEnded>(frame->payload)) {
        ended->host = host;
        OnEnded(*ended);
      }
    } else if (frame->type == MessageType::kNodeDone) {
      if (const auto done = Decode<ShareNumber>(frame->payload)) OnDone(*done, host);
    } else if (frame->type == MessageType::kTerminal) {
      const auto of = Decode<ShareNumber>(frame->payload);
      if (of && !frame->descriptors.empty())
        OnTerminal(of->step, std::move(frame->descriptors.front()));
    } else if (frame->type == MessageType::kKvsFence) {
      if (const auto fence = Decode<KvsFence>(frame->payload)) OnFence(*fence);
    }
  }
  if (links_[node].channel == nullptr) return;
  if (!open || links_[node].channel->broken()) return LoseNode(node);
  loop_->WantWrite(*links_[node].channel);
}

// The tasks of a lost agent are gone with it; the rest of their steps is ended.
void Manager::LoseNode(std::size_t node) {
  loop_->Forget(links_[node].channel->fd());
  links_[node].channel.reset();
  book_.nodes()[node].known = false;
  const std::string host = book_.nodes()[node].host;
  std::vector<std::int32_t> hit;
  for (const auto& [number, step] : steps_) {
    // An agent that leaves after its tasks have ended is missed by nobody.
    const auto open = [&](const NodeGrant& grant) {
      return grant.node == node &&
             (!step->launched || step->open.contains({grant.share.part, node}));
    };
    if (std::any_of(step->grants.begin(), step->grants.end(), open)) hit.push_back(number);
  }
  for (const std::int32_t number : hit) {
    const auto at = steps_.find(number);
    if (at == steps_.end()) continue;
    Step* step = at->second.get();
    step->lost_host = host;
    if (!step->launched) {
      Refuse(step, "Unable to create step for job " + facts_.job + ": Node failure on " + host);
      continue;
    }
    Notice(*step, "srun: error: Node failure on " + host + "\n");
    MissingTasks(step, host);
  }
}

void Manager::MissingTasks(Step* step, const std::string& host) {
  const std::int32_t number = step->number;
  TasksEnded ended{number, host, {}};
  for (const auto& [task, grant] : step->unended) {
    if (step->grants[static_cast<std::size_t>(grant)].share.host != host) continue;
    TaskEnd end;
    end.task = task;
    end.status = SIGKILL;
    ended.ends.push_back(end);
  }
  OnEnded(ended);
  Terminate(step, " DUE TO NODE FAILURE");
  for (const NodeGrant& grant : std::vector<NodeGrant>(step->grants)) {
    if (grant.share.host == host) OnDone({number, grant.share.part}, host);
    if (!steps_.contains(number)) return;
  }
}

}  // namespace muster::steps
