// The agent of one node of a job: runs the node's tasks, and on the first node is the step manager.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "clients/steps/agent/event_loop.h"
#include "clients/steps/agent/job_facts.h"
#include "clients/steps/agent/manager.h"
#include "clients/steps/agent/node_tasks.h"

namespace muster::steps {

class Agent {
 public:
  explicit Agent(JobFacts facts);
  ~Agent();

  /// Takes its sockets, or says why not. kTaken: another agent of this node lives already.
  enum class Begin { kServes, kTaken, kFailed };
  Begin Start(std::string* error);
  /// Keeps the connection to the client of an allocation; its end ends this agent. `status` of
  /// Run() is then what the client said.
  void KeepAllocation(Descriptor socket);
  /// Serves until SIGTERM has come and no task runs, or the allocation is given back. Returns the
  /// exit status.
  int Run();
  EventLoop* loop() { return &loop_; }

 private:
  bool Listen(const std::string& name, std::function<void(Descriptor)> serve);
  void ServeManager(Descriptor socket);
  void ReadManager();
  void LoseManager();
  void SendToManager(MessageType type, std::string payload,
                     std::vector<Descriptor> descriptors = {});
  void WatchSignals();
  void OnSignal();
  void WatchMarkers();
  void OnMarkers();
  void ReadAllocation();
  void StopWhenIdle();

  JobFacts facts_;
  EventLoop loop_;
  Descriptor directory_, lock_, signals_, markers_;
  std::vector<Descriptor> listening_;
  std::unique_ptr<NodeTasks> tasks_;
  std::unique_ptr<Manager> manager_;
  std::unique_ptr<Channel> to_manager_;  // of an agent that is not the manager
  std::unique_ptr<Channel> allocation_;
  NodeHello hello_;
  bool stopping_ = false, detached_ = false;
  int status_ = 0;
};

}  // namespace muster::steps
