#pragma once
#include <gangsched/devices/gpu_outlook.hpp>
#include <gangsched/framework/device_views.hpp>
#include <gangsched/framework/extension_point.hpp>
#include <gangsched/framework/hooks.hpp>
#include <gangsched/framework/queue_view.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins.hpp"

/// What hooks in Python are handed: views that end with the call.
namespace bindings {

[[noreturn]] void refuse_late();

/// A pod of a class, or, where the hook is asked about single pods, the pod itself.
class pod_seen {
 public:
  explicit pod_seen(const gangsched::hook_context& c) : state_(c.state), class_{{*c.state, *c.cls}} {
    if (c.pod != gangsched::no_row) info_.emplace(*c.state, c.pod);
  }
  pod_seen(const gangsched::pod_info& pod) : class_{pod}, info_{pod} {}

  void expire() { class_.reset(), info_.reset(); }
  [[nodiscard]] const gangsched::pod_view& of_class() const {
    if (!class_) refuse_late();
    return *class_;
  }
  [[nodiscard]] const gangsched::pod_info& itself() const;
  [[nodiscard]] std::string queue() const;

 private:
  const gangsched::model::viewed_tables* state_ = nullptr;
  std::optional<gangsched::pod_view> class_;
  std::optional<gangsched::pod_info> info_;
};

/// Some nodes, as a hook of a plugin may read them.
class nodes_seen {
 public:
  nodes_seen(const gangsched::hook_context& c, std::span<const gangsched::row_t> rows, const plugin_state& by)
      : context_(c), rows_(rows), by_(&by) {}

  void expire() { by_ = nullptr; }
  [[nodiscard]] std::size_t size() const { return check(), rows_.size(); }
  [[nodiscard]] gangsched::row_t row(std::size_t at) const { return rows_[at]; }
  /// The node at a place, for a reader of @p facets. Throws contract, if the plugin says that it does not read them.
  [[nodiscard]] gangsched::node_info node(std::size_t at, gangsched::reads facets) const {
    may(facets);
    return {*context_.state, rows_[at]};
  }
  [[nodiscard]] std::int64_t word(std::size_t at, const std::string& column) const;
  /// What the pod asks of a node's GPUs: how many, and thousandths of each.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> ask(std::size_t at) const;
  /// The kind of a resource; nothing if nobody ever named it.
  [[nodiscard]] std::optional<gangsched::resource_kind> kind(std::string_view resource) const {
    check();
    return context_.state->kinds.find(resource);
  }
  void may(gangsched::reads facets) const;

 private:
  void check() const {
    if (by_ == nullptr) refuse_late();
  }
  gangsched::hook_context context_;
  std::span<const gangsched::row_t> rows_;
  const plugin_state* by_;
};

/// One of them.
struct node_seen : nodes_seen {
  using nodes_seen::nodes_seen;
};

/// The permit room, and what time it is.
struct room_seen {
  gangsched::permit_room* room;
  gangsched::instant now;
  void expire() { room = nullptr; }
  [[nodiscard]] gangsched::permit_room& open() const {
    if (room == nullptr) refuse_late();
    return *room;
  }
};

/// Hands a view to Python for as long as this lives.
template <class View>
class lent {
 public:
  template <class... A>
  explicit lent(A&&... from) : object_(nb::cast(View(std::forward<A>(from)...))), at_(nb::inst_ptr<View>(object_)) {}
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  ~lent() { at_->expire(); }
  [[nodiscard]] const nb::object& object() const { return object_; }

 private:
  nb::object object_;
  View* at_;
};

void add_views(nb::module_& to);

}  // namespace bindings
