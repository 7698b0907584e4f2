// The tasks that run on this node: starts them, signals them, reaps them and measures what they
// used. When the last task of a share has ended, what is left of its processes is killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clients/steps/agent/event_loop.h"
#include "clients/steps/agent/memory_kills.h"
#include "clients/steps/agent/pmi2_server.h"
#include "clients/steps/messages.h"

namespace muster::steps {

/// Who wants to know. A share is known by its step and part.
struct NodeTaskHooks {
  std::function<void(const TasksEnded&)> ended;
  std::function<void(const ShareNumber&)> done;
  std::function<void(std::int32_t step, Descriptor master)> terminal;
  std::function<void(const KvsFence&)> fence;
};

class NodeTasks {
 public:
  NodeTasks(EventLoop* loop, NodeHello node, NodeTaskHooks hooks);

  /// Three descriptors for each task, as in Launch. A launch that makes no sense is answered by
  /// tasks that end at once.
  void Start(const NodeLaunch& launch, std::vector<Descriptor> descriptors);
  void Signal(const StepSignal& signal);
  void Fenced(const KvsFence& all);
  /// To be called on SIGCHLD.
  void Reap();
  bool idle() const { return shares_.empty(); }
  /// SIGKILL to everything, without waiting.
  void KillAll();

 private:
  struct Task {
    std::int32_t task = 0;
    pid_t pid = -1;
    bool ended = false;
  };
  struct Share {
    std::int32_t step = 0, part = 0;
    std::vector<Task> tasks;
    std::size_t running = 0;
    std::unique_ptr<Pmi2Server> pmi;
  };
  using Key = std::pair<std::int32_t, std::int32_t>;
  // What the processes that a share leaves behind are known by: its step, and the ended tasks whose
  // sessions and groups they may still be in.
  struct Remains {
    std::int32_t step = 0, part = 0;
    std::vector<pid_t> tasks;
  };

  TaskEnd StartOne(const NodeLaunch& launch, std::size_t index, Descriptor (&std_fds)[3],
                   Share* share, const std::vector<std::string>& environment);
  void Finish(Share* share);
  static std::vector<pid_t> EndedTasks(const Share& share);
  void KillStrays(const Remains& remains);

  EventLoop* loop_;
  NodeHello node_;
  NodeTaskHooks hooks_;
  std::map<Key, Share> shares_;
  std::map<pid_t, Key> by_pid_;
  MemoryKills memory_kills_;
};

}  // namespace muster::steps
