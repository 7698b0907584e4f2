// PostCommand: posts a command to the engine and answers exactly once, also if the inbox is full.
#pragma once

#include <memory>
#include <utility>

#include "schedd/engine/engine.h"

namespace muster::api {

/// Posts `command` with `done` as its callback; if the engine's inbox is full, `done` gets
/// kResourceExhausted on the calling thread.
template <class T, class Cmd>
void PostCommand(Engine& engine, Cmd command, Callback<T> done) {
  auto shared = std::make_shared<Callback<T>>(std::move(done));
  command.done = [shared](Result<T> result) { (*shared)(std::move(result)); };
  if (engine.Post(Command(std::move(command)))) return;
  (*shared)(Overloaded("the scheduler has more requests than it can take now; try again", 500));
}

}  // namespace muster::api
