// LiveConfig: the configuration that decisions go by, which may not be durable yet, and the objects
// that it was read from. Only schedd/engine/configure and recovery set it. On the engine thread
// only.
#pragma once

#include <memory>
#include <utility>

#include "schedd/world/world_view.h"

namespace muster {

class LiveConfig {
 public:
  /// Never null.
  const ConfigPtr& view() const { return view_; }
  const std::shared_ptr<const ObjectTable>& objects() const { return objects_; }

  /// Both are immutable; earlier ones live on in views and snapshots.
  void Set(ConfigPtr view, std::shared_ptr<const ObjectTable> objects) {
    view_ = std::move(view);
    objects_ = std::move(objects);
  }

 private:
  ConfigPtr view_ = std::make_shared<const ConfigView>();
  std::shared_ptr<const ObjectTable> objects_ = std::make_shared<const ObjectTable>();
};

}  // namespace muster
