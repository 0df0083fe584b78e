// What an update finds that a node's record has already, against an update that reads and makes everything anew.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/cluster_listing.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/node_claims.hpp"
#include "gangsched/model/node_records.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/model/validate.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::node_updates_test {

namespace {

/// `cluster::update_node` in the plain way.
result<void> plain_update(cluster& c, node_id node, const node_spec& spec) {
  model::cluster_state& state = inside(c);
  const std::string object = "node " + spec.name;
  state.collection.run_if_due();
  call_mark whole{state};
  if (!c.contains(node)) return detail::unknown_id("node");
  if (auto wrong = check(spec)) return std::move(*wrong);
  const model::node_record& before = *state.nodes.record[node.row];
  if (state.names.text(before.name) != spec.name)
    return error{errc::wrong_state, object, "name", "a node cannot be renamed"};
  auto allocatable = to_integers(spec.allocatable, object, "allocatable");
  if (!allocatable) return std::move(allocatable).error();
  auto devices = detail::read_devices(state, spec, object);
  if (!devices) return std::move(devices).error();
  auto record = detail::make_node_record(state, spec, *allocatable, std::move(*devices));
  const reads facets = detail::difference(before, *record, reads::nothing);
  for (resource_kind kind = 0; kind < state.kinds.count(); ++kind) {
    const auto has = std::find_if(record->allocatable.begin(), record->allocatable.end(),
                                  [&](const amount& one) { return one.kind == kind; });
    state.nodes.allocatable.set(node.row, kind, has == record->allocatable.end() ? 0 : has->value);
  }
  if (any(facets & reads::labels)) state.nodes.tree.update(node.row, record->labels);
  if (any(facets & reads::images)) state.nodes.images.remove(before.images), state.nodes.images.add(record->images);
  const bool moves = any(facets & reads::devices);
  const model::node_claims held = moves ? state.assigned.take_devices(node.row) : model::node_claims{};
  state.counting.set_node_record(node.row, std::move(record));
  if (any(facets & reads::labels)) state.queued.node_changed(node.row);
  if (moves) state.assigned.give_devices(node.row, held);
  if (any(facets)) state.changed({.kind = change_kind::node_updated, .facets = facets, .row = node.row});
  whole.keep();
  return {};
}

std::string one_of(dice& random, std::vector<std::string> all) { return random.of(all); }

void change_labels(dice& random, label_map& labels) {
  const std::string key =
      one_of(random, {"topology.kubernetes.io/zone", "a", "b/c", "kubernetes.io/hostname", "pool", "z"});
  const std::size_t what = random.below(20);
  if (what < 12) labels[key] = std::to_string(random.below(3));
  if (what >= 12 && what < 16) labels.erase(key);
  if (what == 16) labels[key] = "not a value";
  if (what == 17) labels["not a key"] = "1";
  if (what == 18) labels = {};
  for (int i = 0; what == 19 && i < 70; ++i) labels["many-" + std::to_string(i)] = std::to_string(random.below(2));
}

void change_taints(dice& random, std::vector<taint>& taints) {
  const std::size_t what = random.below(12);
  if (what < 6) {
    taints.push_back({one_of(random, {"a", "b", "c/d"}), std::to_string(random.below(2)),
                      static_cast<taint_effect>(random.below(3))});
  }
  if (what >= 6 && what < 9 && !taints.empty()) taints.pop_back();
  if (what == 9) std::reverse(taints.begin(), taints.end());
  if (what == 10) taints.push_back({"a", "", static_cast<taint_effect>(7)});
  if (what == 11) taints.push_back({"?", "", taint_effect::no_schedule});
}

void change_amounts(dice& random, resource_list& amounts) {
  const std::string name = one_of(random, {"cpu", "memory", "pods", "nvidia.com/gpu", "hugepages-1Gi",
                                           "ephemeral-storage", "storage", "example.com/x"});
  switch (random.below(12)) {
    case 0: amounts[name] = quantity::from_milli(random.between(1, 2999)); break;
    case 1: amounts[name] = 0; break;
    case 2: amounts.erase(name); break;
    case 3: amounts[name] = -1; break;
    case 4: amounts["no resource"] = random.between(0, 1); break;
    case 5: amounts["hugepages-?"] = 0; break;
    case 6: amounts[name] = quantity{~std::uint64_t{0}}; break;
    case 7: amounts[name] = quantity::from_nanos(amounts.contains(name) ? amounts.at(name).nanos() - 1 : 1); break;
    default: amounts[name] = random.between(1, 4); break;
  }
}

void change_images(dice& random, std::vector<node_image>& images) {
  const std::size_t what = random.below(12);
  const std::string name = "image:" + std::to_string(random.below(6));
  if (what < 4) images.push_back({{name}, random.between(1, 3)});
  if (what == 4) images.push_back({{name, "image:" + std::to_string(random.below(6))}, 2});
  if (what >= 5 && what < 8 && !images.empty())
    images.erase(images.begin() + static_cast<std::ptrdiff_t>(random.below(images.size())));
  if (what == 8) std::reverse(images.begin(), images.end());
  if (what == 9) images.push_back({{name, ""}, 1});
  if (what == 10 && random.percent(40)) images.push_back({{name}, -1});
  if (what == 10) images.push_back({{}, random.between(-1, 1)});
  if (what == 11 && !images.empty()) random.of(images).names = {name};
  for (int i = 0; what == 11 && random.percent(5) && i < 600; ++i) images.push_back({{"many:" + std::to_string(i)}, 1});
}

void change_features(dice& random, std::vector<std::string>& features) {
  const std::size_t what = random.below(12);
  if (what < 5) features.push_back("Feature" + std::to_string(random.below(5)));
  if (what >= 5 && what < 8 && !features.empty())
    features.erase(features.begin() + static_cast<std::ptrdiff_t>(random.below(features.size())));
  if (what == 8) std::reverse(features.begin(), features.end());
  if (what == 9 && !features.empty()) features.push_back(features.front());
  if (what == 10 && random.percent(30)) features.emplace_back();
  if (what == 11 && features.size() > 1) random.of(features) = features.front();
  for (int i = 0; what == 11 && random.percent(5) && i < 600; ++i) features.push_back("Many" + std::to_string(i));
}

void change_devices(dice& random, node_devices& devices) {
  switch (random.below(6)) {
    case 0: devices = {}; break;
    case 1: devices.gpus.resize(random.below(4)), devices.gpu.model = one_of(random, {"A100", "H100"}); break;
    case 2: devices.gpu.memory_mib = static_cast<std::int64_t>(random.below(2)) * 40000; break;
    case 3:
      if (!devices.gpus.empty()) random.of(devices.gpus).healthy = random.percent(50);
      break;
    case 4:
      if (!devices.gpus.empty()) random.of(devices.gpus).id = one_of(random, {"0", "1", "same"});
      break;
    default: devices.others.push_back({.id = one_of(random, {"nic-0", "nic-1"}), .device_class = "rdma"}); break;
  }
}

/// Of @p spec in a field or two, or in none.
void change_something(dice& random, node_spec& spec) {
  for (std::size_t i = random.below(3); i > 0; --i) {
    switch (random.below(13)) {
      case 0:
      case 1:
      case 2: change_labels(random, spec.labels); break;
      case 3: change_taints(random, spec.taints); break;
      case 4:
      case 5: change_amounts(random, spec.allocatable); break;
      case 6: change_amounts(random, spec.capacity); break;
      case 7: change_images(random, spec.images); break;
      case 8:
        if (random.percent(20)) spec.volume_limits[one_of(random, {"", "csi"})] = -1;
        spec.volume_limits[one_of(random, {"csi", "ebs"})] = static_cast<std::int32_t>(random.between(0, 2));
        if (random.percent(50)) spec.volume_limits.erase("csi");
        break;
      case 9: spec.unschedulable = random.percent(50); break;
      case 10: spec.cookie = random.below(3); break;
      case 11: change_features(random, spec.declared_features); break;
      default:
        if (random.percent(60)) change_devices(random, spec.devices);
        if (random.percent(10)) spec.name = one_of(random, {"other", "Not a name"});
        break;
    }
  }
}

/// A cluster in which somebody counts by zones and labels, and some nodes have pods.
struct house {
  cluster nodes;
  std::vector<node_id> all;

  explicit house(bool keeps) : nodes{{.keep_specs = keeps}} {
    for (int i = 0; i < 5; ++i) all.push_back(nodes.add_node(spec_of(i)).value());
    REQUIRE(nodes.queues().set_flavor({.name = "pool", .node_labels = {{"pool", "1"}}}));
    for (int i = 0; i < 6; ++i) {
      a_pod pod{"p" + std::to_string(i)};
      pod.label("app", "a").avoid("app", "b", "kubernetes.io/hostname");
      pod.spec.topology_spread_constraints.push_back({.topology_key = "topology.kubernetes.io/zone",
                                                      .selector = label_selector{{{"app", "a"}}, {}},
                                                      .node_taints_policy = node_inclusion::honor});
      if (i % 2 == 0) pod.on(all[static_cast<std::size_t>(i) / 2]);
      REQUIRE(nodes.add_pod(pod));
    }
  }
  static node_spec spec_of(int i) {
    return a_node("n" + std::to_string(i)).cpu(4).memory("8Gi").zone(std::to_string(i % 2)).label("pool", "1");
  }
};

}  // namespace

TEST_CASE("an update comes to what one from nothing comes to", "[model][cluster][node]") {
  std::size_t refusals = 0, nothing = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    dice random{seed};
    house fast{seed % 3 == 0}, plain{seed % 3 == 0};
    inside(fast.nodes).collection.always = inside(plain.nodes).collection.always = seed % 4 == 1;
    std::vector<node_spec> said;
    for (int i = 0; i < 5; ++i) said.push_back(house::spec_of(i));
    for (int step = 0; step < 500; ++step) {
      const std::size_t at = random.below(5);
      node_spec spec = said[at];
      change_something(random, spec);
      INFO("seed " << seed << ", step " << step);
      const std::uint64_t from = inside(fast.nodes).log.end();
      std::optional<transaction> trial[2];
      if (random.percent(10)) trial[0].emplace(inside(fast.nodes)), trial[1].emplace(inside(plain.nodes));
      const std::uint64_t before = inside(fast.nodes).digest_with_derived();
      const result<void> a = fast.nodes.update_node(fast.all[at], spec);
      const result<void> b = plain_update(plain.nodes, plain.all[at], spec);
      REQUIRE((a ? "" : a.error().message()) == (b ? "" : b.error().message()));
      const std::uint64_t after = inside(fast.nodes).digest_with_derived();
      REQUIRE(after == inside(plain.nodes).digest_with_derived());
      if (!a) REQUIRE(after == before);
      refusals += !a;
      nothing += after == before;
      REQUIRE(inside(fast.nodes).log.end() == inside(plain.nodes).log.end());
      if (trial[0]) {
        trial[0].reset(), trial[1].reset();
        REQUIRE(inside(fast.nodes).digest_with_derived() == before);
        REQUIRE(inside(plain.nodes).digest_with_derived() == before);
        continue;
      }
      const auto changes = changes_since(fast.nodes, from), expected = changes_since(plain.nodes, from);
      REQUIRE(changes.size() == expected.size());
      for (std::size_t i = 0; i < changes.size(); ++i) {
        REQUIRE(changes[i].kind == expected[i].kind);
        REQUIRE(changes[i].facets == expected[i].facets);
        REQUIRE(changes[i].row == expected[i].row);
      }
      REQUIRE(inside(fast.nodes).nodes.tree.rows() == inside(plain.nodes).nodes.tree.rows());
      const auto kept = fast.nodes.list().spec_of(fast.all[at]);
      REQUIRE(kept.has_value() == (seed % 3 == 0));
      if (!a) continue;
      if (kept)
        REQUIRE((kept->capacity == spec.capacity && kept->labels == spec.labels && kept->cookie == spec.cookie));
      said[at] = spec;
    }
  }
  CHECK(refusals > 300);
  CHECK(nothing > 1000);
}

TEST_CASE("an image that two names list twice is not another image", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").image("a", 1).image("b", 1)).value();
  REQUIRE(c.update_node(n, a_node("n").image("a", 1).image("a", 1)));
  CHECK(inside(c).nodes.record[n.row]->images.size() == 1);
  CHECK(inside(c).nodes.images.nodes(*inside(c).names.find("b")) == 0);
}

}  // namespace gangsched::testing::node_updates_test
