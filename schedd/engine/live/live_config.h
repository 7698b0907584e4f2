// LiveConfig: the configuration that decisions go by, which may not be durable yet, and the objects
// that it was made of. schedd/engine/configure changes it; everybody else reads. On the engine
// thread only.
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

  void Set(ConfigPtr view, std::shared_ptr<const ObjectTable> objects) {
    view_ = std::move(view);
    objects_ = std::move(objects);
  }

 private:
  ConfigPtr view_ = std::make_shared<const ConfigView>();
  std::shared_ptr<const ObjectTable> objects_ = std::make_shared<const ObjectTable>();
};

}  // namespace muster
