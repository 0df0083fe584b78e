#include "views.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <map>

#include "arrays.hpp"

namespace bindings {

using namespace gangsched;

void refuse_late() { raise({errc::wrong_state, "view", "", "the hook that it was handed to has returned"}); }

const pod_info& pod_seen::itself() const {
  static_cast<void>(of_class());
  if (!info_) {
    raise({errc::contract, "pod", "",
           "a plugin that says what it reads of nodes is asked about a class of pods, not about one of them"});
  }
  return *info_;
}

std::string pod_seen::queue() const {
  std::optional<queue_view> found;
  if (info_)
    found = info_->queue();
  else
    found = cluster_view{*state_}.queue_of(of_class());
  return found ? std::string{found->name()} : std::string{};
}

void nodes_seen::may(reads facets) const {
  check();
  if (!covers(by_->may_read, facets))
    raise({errc::contract, "plugin " + by_->name, "reads", "does not name what the hook asks a node for"});
}

std::int64_t nodes_seen::word(std::size_t at, const std::string& column) const {
  may(reads::own);
  const auto found = std::find(by_->columns.begin(), by_->columns.end(), column);
  const auto place = static_cast<std::size_t>(found - by_->columns.begin());
  if (place >= by_->attached_columns.size())
    raise({errc::unknown, "plugin " + by_->name, "columns", "has no \"" + column + "\""});
  return node(at, reads::own).own(by_->attached_columns[place]);
}

std::pair<std::int32_t, std::int32_t> nodes_seen::ask(std::size_t at) const {
  const node_info seen = node(at, reads::devices);
  if (!seen.has_devices()) return {0, 0};
  const gpu_ask asked = gpu_ask_of(*context_.cls, seen);
  return {asked.gpus, asked.milli};
}

namespace {

constexpr reads room = reads::allocatable | reads::usage;

using amount_of = std::int64_t (*)(const node_info&, resource_kind);
constexpr amount_of allocatable_of = [](const node_info& node, resource_kind kind) { return node.allocatable(kind); };
constexpr amount_of used_of = [](const node_info& node, resource_kind kind) { return node.used(kind); };
constexpr amount_of free_of = [](const node_info& node, resource_kind kind) { return node.free(kind); };

auto one_amount(reads facets, amount_of of) {
  return [=](const node_seen& seen, const std::string& resource) {
    const node_info node = seen.node(0, facets);
    const auto kind = seen.kind(resource);
    return kind ? of(node, *kind) : 0;
  };
}

auto all_amounts(reads facets, amount_of of) {
  return [=](const nodes_seen& seen, const std::string& resource) {
    seen.may(facets);
    std::vector<std::int64_t> made(seen.size());
    if (const auto kind = seen.kind(resource))
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = of(seen.node(i, facets), *kind);
    return array_of(std::move(made));
  };
}

std::optional<std::string> label_of(const nodes_seen& seen, std::size_t at, const std::string& key) {
  const auto found = seen.node(at, reads::labels).label(std::string_view{key});
  return found ? std::optional{std::string{*found}} : std::nullopt;
}

void add_pod_view(nb::module_& to) {
  nb::class_<pod_seen>(to, "PodView", "The pod that a hook is asked about; good until the hook returns")
      .def_prop_ro("priority", [](const pod_seen& of) { return of.of_class().priority(); })
      .def_prop_ro("namespace", [](const pod_seen& of) { return std::string{of.of_class().ns()}; })
      .def_prop_ro("queue", &pod_seen::queue, "The name of its queue; empty if it is in none")
      .def(
          "request",
          [](const pod_seen& of, const std::string& resource) {
            return of.of_class().request(std::string_view{resource});
          },
          "resource"_a, "How much it requests: cpu in milli, everything else in whole units.")
      .def_prop_ro(
          "requests",
          [](const pod_seen& of) {
            std::map<std::string, std::int64_t> made;
            for (const amount& one : of.of_class().requests())
              made.emplace(of.of_class().kind_name(one.kind), one.value);
            return made;
          },
          "All that it requests, in the same units")
      .def_prop_ro("name", [](const pod_seen& of) { return std::string{of.itself().name()}; })
      .def_prop_ro("id", [](const pod_seen& of) { return of.itself().id(); })
      .def_prop_ro("cookie", [](const pod_seen& of) { return of.itself().cookie(); })
      .def_prop_ro("labels",
                   [](const pod_seen& of) {
                     return std::map<std::string, std::string>(of.itself().labels().begin(),
                                                               of.itself().labels().end());
                   })
      .def_prop_ro(
          "group",
          [](const pod_seen& of) {
            const auto group = of.itself().group();
            return group ? std::string{group->name()} : std::string{};
          },
          "The name of its group; empty if it is in none")
      .def_prop_ro("role", [](const pod_seen& of) { return std::string{of.itself().role()}; })
      .def_prop_ro("rank", [](const pod_seen& of) { return of.itself().rank(); });
}

void add_node_view(nb::module_& to) {
  nb::class_<node_seen>(to, "NodeView", "A node that a hook is asked about; good until the hook returns")
      .def_prop_ro("name", [](const node_seen& of) { return std::string{of.node(0, reads::name).name()}; })
      .def_prop_ro("id", [](const node_seen& of) { return of.node(0, reads::name).id(); })
      .def_prop_ro("cookie", [](const node_seen& of) { return of.node(0, reads::name).cookie(); })
      .def_prop_ro("unschedulable", [](const node_seen& of) { return of.node(0, reads::schedulable).unschedulable(); })
      .def(
          "label", [](const node_seen& of, const std::string& key) { return label_of(of, 0, key); }, "key"_a)
      .def("allocatable", one_amount(reads::allocatable, allocatable_of), "resource"_a,
           "cpu in milli, everything else in whole units")
      .def("requested", one_amount(reads::usage, used_of), "resource"_a)
      .def("free", one_amount(room, free_of), "resource"_a)
      .def(
          "gpu_free_milli",
          [](const node_seen& of) {
            const device_state state = of.node(0, reads::devices).devices();
            std::vector<std::int32_t> free;
            for (std::uint32_t gpu = 0; gpu < state.gpu_count(); ++gpu) free.push_back(state.free_milli(gpu));
            return free;
          },
          "Thousandths that nobody has of each GPU that the node tells of")
      .def(
          "gpu_ask", [](const node_seen& of) { return of.ask(0); },
          "How many GPUs the pod asks of it, and thousandths of each")
      .def(
          "column", [](const node_seen& of, const std::string& name) { return of.word(0, name); }, "name"_a,
          "A word that the host set, of a column that the plugin names in `columns`");
}

void add_nodes_view(nb::module_& to) {
  nb::class_<nodes_seen>(to, "NodesView",
                         "The nodes that a hook is asked about, in its order; good until the hook returns")
      .def("__len__", &nodes_seen::size)
      .def_prop_ro(
          "rows",
          [](const nodes_seen& of) {
            std::vector<std::uint32_t> rows(of.size());
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = of.row(i);
            return array_of(std::move(rows));
          },
          nb::rv_policy::automatic, "The row of each: as `NodeId.row`")
      .def_prop_ro("names",
                   [](const nodes_seen& of) {
                     std::vector<std::string> names;
                     for (std::size_t i = 0; i < of.size(); ++i) names.emplace_back(of.node(i, reads::name).name());
                     return names;
                   })
      .def(
          "label",
          [](const nodes_seen& of, const std::string& key) {
            std::vector<std::optional<std::string>> values;
            for (std::size_t i = 0; i < of.size(); ++i) values.push_back(label_of(of, i, key));
            return values;
          },
          "key"_a)
      .def("allocatable", all_amounts(reads::allocatable, allocatable_of), "resource"_a,
           "cpu in milli, everything else in whole units")
      .def("requested", all_amounts(reads::usage, used_of), "resource"_a)
      .def("free", all_amounts(room, free_of), "resource"_a)
      .def(
          "gpu_free_milli",
          [](const nodes_seen& of) {
            of.may(reads::devices);
            std::size_t most = 0;
            for (std::size_t i = 0; i < of.size(); ++i)
              most = std::max<std::size_t>(most, of.node(i, reads::devices).devices().gpu_count());
            auto* const all = new std::vector<std::int32_t>(of.size() * most, -1);
            const nb::capsule owner(all, [](void* at) noexcept { delete static_cast<std::vector<std::int32_t>*>(at); });
            for (std::size_t i = 0; i < of.size(); ++i) {
              const device_state state = of.node(i, reads::devices).devices();
              for (std::uint32_t gpu = 0; gpu < state.gpu_count(); ++gpu)
                (*all)[i * most + gpu] = state.free_milli(gpu);
            }
            return nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>>(all->data(), {of.size(), most}, owner);
          },
          "nodes × GPUs: thousandths that nobody has; -1 where a node has no such GPU")
      .def(
          "gpu_ask",
          [](const nodes_seen& of) {
            std::pair<std::int32_t, std::int32_t> asked{0, 0};
            for (std::size_t i = 0; i < of.size() && asked.first == 0; ++i) asked = of.ask(i);
            return asked;
          },
          "How many GPUs the pod asks of such nodes, and thousandths of each")
      .def(
          "column",
          [](const nodes_seen& of, const std::string& name) {
            std::vector<std::int64_t> words(of.size());
            for (std::size_t i = 0; i < words.size(); ++i) words[i] = of.word(i, name);
            return array_of(std::move(words));
          },
          "name"_a, "Words that the host set, of a column that the plugin names in `columns`");
}

}  // namespace

void add_views(nb::module_& to) {
  add_pod_view(to);
  add_node_view(to);
  add_nodes_view(to);
  nb::class_<room_seen>(to, "PermitRoom", "The pods that wait for a plugin; good until the hook returns")
      .def_prop_ro(
          "now", [](const room_seen& of) { return to_seconds(of.now); }, "Seconds")
      .def(
          "waiting",
          [](const room_seen& of) {
            const auto all = of.open().waiting();
            return std::vector<pod_id>(all.begin(), all.end());
          },
          "Those that wait for this plugin, in order of their reservation.")
      .def(
          "allow", [](const room_seen& of, pod_id pod) { of.open().allow(pod); }, "pod"_a,
          "The plugin has nothing against that pod any more.");
}

}  // namespace bindings
